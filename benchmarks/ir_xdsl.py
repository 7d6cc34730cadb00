"""The IR workloads in xDSL's idiom: func.func over arith.addf, arith.mulf, and math.absf in the place of relu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, ModuleOp, TensorType, f32
from xdsl.parser import Parser
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

import ir_workloads as w

T = TensorType(f32, list(w.SHAPE))
ZEROS = DenseIntOrFPElementsAttr.from_list(T, [0.0])


def context() -> Context:
    found = Context()
    for dialect in (Builtin, func.Func, arith.Arith, math.Math):
        found.load_dialect(dialect)
    return found


def build(dag: w.Dag, results: Sequence[int]) -> ModuleOp:
    function = func.FuncOp("main", ([T, T], [T] * len(results)))
    block = function.body.block
    values: list[Any] = list(block.args)
    if any(b == w.ZERO for _, _, b in dag):
        zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(T, [0.0]))
        block.add_op(zero)
    for kind, a, b in dag:
        if kind == "relu":
            op: Any = math.AbsFOp(values[a])
        elif kind == "add":
            op = arith.AddfOp(values[a], zero.result if b == w.ZERO else values[b])
        else:
            op = arith.MulfOp(values[a], values[b])
        block.add_op(op)
        values.append(op.result)
    block.add_op(func.ReturnOp(*[values[r] for r in results]))
    return ModuleOp([function])


def body(module: Any) -> Any:
    return module.body.block.first_op.body.block


def count(module: Any) -> int:
    return sum(not isinstance(op, (func.ReturnOp, arith.ConstantOp)) for op in body(module).ops)


def halved(state: Any, outcome: Any, n: int) -> bool:
    state.verify()
    return count(state) == n // 2


def fan_out(n: int) -> Any:
    module = build(*w.fan_out(n))
    return module, *body(module).args


def single_uses(n: int) -> Any:
    module = build([("relu", 0, 0)] * n + [("relu", i + 2, 0) for i in range(n)], (2 * n + 1,))
    return module, [op.results[0] for op in list(body(module).ops)[:n]]


def replace_single_uses(state: Any) -> None:
    for previous, value in zip(state[1], state[1][1:], strict=False):
        value.replace_all_uses_with(previous)


def with_ops(pick: Any) -> Any:
    def setup(n: int) -> Any:
        module = build(*w.fan_out(n))
        ops = list(body(module).ops)
        return module, [ops[i] for i in pick(n)]

    return setup


def erase(state: Any) -> None:
    block = body(state[0])
    for op in state[1]:
        block.erase_op(op)


def insert(state: Any) -> None:
    block = body(state[0])
    x = block.args[1]
    for anchor in state[1]:
        block.insert_op_before(math.AbsFOp(x), anchor)


class AddZero(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddfOp, rewriter: PatternRewriter) -> None:
        constant = op.rhs.owner
        # Attribute equality: is_splat() and get_values() would expand all elements.
        if isinstance(constant, arith.ConstantOp) and constant.value == ZEROS:
            rewriter.replace(op, (), [op.lhs])


def walk(module: Any) -> None:
    for _ in module.walk(region_first=True):
        pass


def made(generator: Any) -> Any:
    return lambda n: build(*generator(n))


BENCHES: dict[str, w.Bench] = {
    "build": (w.mixed, lambda s: build(*s), None),
    "print": (made(w.mixed), str, None),
    "parse": (
        lambda n: (context(), str(build(*w.mixed(n)))),
        lambda s: Parser(*s).parse_module(),
        lambda s, m, n: count(m) == n,
    ),
    "verify": (made(w.mixed), lambda m: m.verify(), None),
    "clone": (made(w.mixed), lambda m: m.clone(), None),
    "replace all uses": (fan_out, lambda s: s[1].replace_all_uses_with(s[2]), None),
    "replace single uses": (single_uses, replace_single_uses, None),
    "erase half": (with_ops(lambda n: w.sampled(n - 1, n // 2)), erase, lambda s, _, n: count(s[0]) == n - n // 2),
    "insert": (with_ops(lambda n: w.chosen(n, n)), insert, lambda s, _, n: count(s[0]) == 2 * n),
    "dce": (made(w.half_dead), lambda m: DeadCodeElimination().apply(context(), m), halved),
    "cse": (made(w.half_equal), lambda m: CommonSubexpressionElimination().apply(context(), m), halved),
    "greedy rewrite": (
        made(w.add_zero),
        lambda m: PatternRewriteWalker(GreedyRewritePatternApplier([AddZero()])).rewrite_module(m),
        halved,
    ),
    "walk": (made(w.mixed), walk, None),
}

if __name__ == "__main__":
    w.main(
        BENCHES,
        build,
        "import xdsl.ir, xdsl.parser, xdsl.printer, xdsl.pattern_rewriter; "
        "from xdsl.dialects import builtin, func, arith, math",
    )
