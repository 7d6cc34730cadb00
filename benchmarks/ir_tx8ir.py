"""The IR workloads in tx8ir's own idiom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ir_workloads as w
import tx8ir
from tx8ir.core import Builder, DenseAttr, FunctionType, Operation, Program, VTensorType, f32, relaxed_gc
from tx8ir.dialects import builtin, func, pd
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.transforms.cleanup.cse import eliminate_common_subexpressions
from tx8ir.transforms.cleanup.dce import eliminate_dead_code

T = VTensorType(w.SHAPE, f32)
ZEROS = DenseAttr(np.zeros(w.SHAPE, np.float32))


def build(dag: w.Dag, results: Sequence[int]) -> Program:
    program = Program.empty()
    with relaxed_gc():
        with Builder.at_end(program.body):
            function = func.FuncOp(sym_name="main", function_type=FunctionType([T, T], [T] * len(results)))
        block = function.body.block
        values: list[Any] = list(block.args)
        with Builder.at_end(block):
            if any(b == w.ZERO for _, _, b in dag):
                zero = builtin.ConstantOp(value=ZEROS).out
            for kind, a, b in dag:
                if kind == "relu":
                    values.append(pd.relu(values[a]).out)
                elif kind == "add":
                    values.append(pd.add(values[a], zero if b == w.ZERO else values[b]).out)
                else:
                    values.append(pd.multiply(values[a], values[b]).out)
            func.ReturnOp([values[r] for r in results])
    return program


def body(program: Program) -> Any:
    return program.main.body.block


def count(program: Program) -> int:
    return sum(op.name.startswith("pd.") for op in body(program))


def halved(state: Any, outcome: Any, n: int) -> bool:
    state.verify()
    return count(state) == n // 2


def single_uses(n: int) -> Any:
    program = build([("relu", 0, 0)] * n + [("relu", i + 2, 0) for i in range(n)], (2 * n + 1,))
    return program, [op.result for op in list(body(program))[:n]]


def replace_single_uses(state: Any) -> None:
    for previous, value in zip(state[1], state[1][1:], strict=False):
        value.replace_all_uses_with(previous)


def with_ops(pick: Any) -> Any:
    def setup(n: int) -> Any:
        program = build(*w.fan_out(n))
        ops = list(body(program))
        return program, [ops[i] for i in pick(n)]

    return setup


def insert(state: Any) -> None:
    program, anchors = state
    block = body(program)
    x = block.args[1]
    with relaxed_gc():
        for anchor in anchors:
            block.insert_before(pd.relu(x), anchor)


def erase(state: Any) -> None:
    for op in state[1]:
        op.erase()


class AddZero(RewritePattern):
    """add(x, 0) -> x, as the peers' patterns do it (which ignore the sign of zero)."""

    roots = (pd.AddOp,)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        constant = op.operands[1].defining_op
        if isinstance(constant, builtin.ConstantOp) and constant.value is ZEROS:
            rewriter.replace(op, [op.operands[0]])
            return True
        return False


def walk(program: Program) -> None:
    for _ in program.module.walk():
        pass


def replace_all(program: Program) -> None:
    a, b = body(program).args
    a.replace_all_uses_with(b)


def made(generator: Any) -> Any:
    return lambda n: build(*generator(n))


BENCHES: dict[str, w.Bench] = {
    "build": (w.mixed, lambda s: build(*s), None),
    "print": (made(w.mixed), str, None),
    "parse": (lambda n: str(build(*w.mixed(n))), tx8ir.parse, lambda s, p, n: count(p) == n),
    "verify": (made(w.mixed), lambda p: p.verify(), None),
    "clone": (made(w.mixed), lambda p: p.clone(), None),
    "replace all uses": (made(w.fan_out), replace_all, None),
    "replace single uses": (single_uses, replace_single_uses, None),
    "erase half": (with_ops(lambda n: w.sampled(n - 1, n // 2)), erase, lambda s, _, n: count(s[0]) == n - n // 2),
    "insert": (with_ops(lambda n: w.chosen(n, n)), insert, lambda s, _, n: count(s[0]) == 2 * n),
    "dce": (made(w.half_dead), lambda p: eliminate_dead_code(p.module), halved),
    "cse": (made(w.half_equal), lambda p: eliminate_common_subexpressions(p.module), halved),
    "greedy rewrite": (made(w.add_zero), lambda p: rewrite_greedily(p.module, [AddZero()]), halved),
    "walk": (made(w.mixed), walk, None),
}

if __name__ == "__main__":
    w.main(BENCHES, build, "import tx8ir")
