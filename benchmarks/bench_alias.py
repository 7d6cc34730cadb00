"""Time per operation of the alias analysis and the alias passes: linear, so the same at 10,000 and 100,000 operations.

The first program is made of pieces like those of a network with in-place activations, views, branches and loops; each
of the others has one thing in plenty. Prints a table and writes `alias.md`.

    python benchmarks/bench_alias.py [--sizes 10000 100000] [--repeats 2] [--output docs/benchmarks]
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np

from tx8ir.analysis import AliasAnalysis
from tx8ir.core import (
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    Program,
    Region,
    SymbolRefAttr,
    TensorType,
    Value,
    f32,
    relaxed_gc,
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.passes import PassManager

T = TensorType((4, 4), f32)
V = T.to_vtensor()

Body = Callable[[func.FuncOp, Value, Value, int], Value]
"""Writes a function: given the function, its argument (a vtensor), a truth value, and how many operations to write.

It returns the result, a vtensor, with which the builder's block ends.
"""


def piece(x: Value, w: Value, condition: Value) -> Value:
    """19 operations on tensors: in place, through views, in a branch and in a loop."""
    y = pd.relu_(pd.add(x, w)).out
    row = pd.slice(pd.transpose(y, perm=(1, 0)), axes=(0,), starts=(1,), ends=(2,))
    pd.scale_(row, scale=0.5)
    scf.IfOp.build(condition, lambda: [pd.tanh_(y)][:0])
    z = pd.tanh(y)

    def before(p: Value) -> tuple[Value, list[Value]]:
        return condition, [p]

    def after(p: Value) -> list[Value]:
        return [pd.add_(p, y).out]

    loop = scf.WhileOp.build([z], before, after)
    return pd.reshape(pd.multiply(loop.results[0], w), shape=(4, 4)).out


def network(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Pieces one after the other."""
    w = builtin.get_parameter(parameter="w", out=T).out
    y = builtin.to_tensor(x).out
    for _ in range(size // 19):
        y = piece(y, w, condition)
    return builtin.to_vtensor(y).out


def views(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Views of one base, each written."""
    base = builtin.to_tensor(x).out
    shown = [pd.transpose(base, perm=(1, 0)).out for _ in range(size // 2)]
    for view in shown:
        pd.relu_(view)
    return builtin.to_vtensor(base).out


def writes(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Writes of one storage."""
    tensor = builtin.to_tensor(x).out
    for _ in range(size):
        pd.relu_(tensor)
    return builtin.to_vtensor(tensor).out


def nest(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Branches inside one another, each of which writes one storage."""
    tensor = builtin.to_tensor(x).out
    outer = block = function.body.block
    for _ in range(size // 3):
        inner = Block()
        with Builder.at_end(block):
            scf.IfOp(condition, then_region=Region([inner]), else_region=Region(), outputs=[])
            if block is not outer:
                scf.YieldOp([])
        with Builder.at_end(inner):
            pd.relu_(tensor)
        block = inner
    with Builder.at_end(block):
        scf.YieldOp([])
    return builtin.to_vtensor(tensor).out


def lists(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """One list of tensors, each taken out and written."""
    tensors = [builtin.to_tensor(x).out for _ in range(size // 2)]
    for tensor in builtin.split(builtin.combine(tensors).out).outputs:
        pd.relu_(tensor)
    return builtin.to_vtensor(tensors[0]).out


def carried(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """One loop that carries and writes many tensors."""
    tensors = [builtin.to_tensor(x).out for _ in range(size // 2)]

    def before(*values: Value) -> tuple[Value, list[Value]]:
        return condition, list(values)

    def after(*values: Value) -> list[Value]:
        return [pd.relu_(value).out for value in values]

    return builtin.to_vtensor(scf.WhileOp.build(tensors, before, after).results[0]).out


def moved(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Loops, each of which writes what the one before gave and gives new storage."""
    tensor = builtin.to_tensor(x).out

    def before(value: Value) -> tuple[Value, list[Value]]:
        return condition, [value]

    def after(value: Value) -> list[Value]:
        pd.relu_(value)
        return [pd.tanh(value).out]

    for _ in range(size // 5):
        tensor = scf.WhileOp.build([tensor], before, after).results[0]
    return builtin.to_vtensor(tensor).out


def blocks(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Ways that part and meet; one storage is written on one way of each, and one of its own."""
    tensor = builtin.to_tensor(x).out
    block = function.body.block
    for _ in range(size // 7):
        left, right, join = Block(), Block(), Block()
        for made in (left, right, join):
            function.body.append(made)
        with Builder.at_end(block):
            own = builtin.to_tensor(x).out
            cf.cond_br(condition, (), (), true_dest=left, false_dest=right)
        with Builder.at_end(left):
            pd.relu_(tensor)
            pd.tanh_(own)
            cf.br([], dest=join)
        with Builder.at_end(right):
            cf.br([], dest=join)
        with Builder.at_end(join):
            pd.scale_(own, scale=2.0)
        block = join
    with Builder.at_end(block):
        return builtin.to_vtensor(tensor).out


def calls(function: func.FuncOp, x: Value, condition: Value, size: int) -> Value:
    """Calls of one long function, each of whose results is written."""
    assert function.parent is not None
    with Builder.at_end(function.parent):
        callee = func.func(sym_name="callee", function_type=FunctionType([T], [T]))
    y: Value = callee.body.block.args[0]
    with Builder.at_end(callee.body.block):
        for _ in range(size // 3):
            y = pd.relu(y).out
        func.return_([y])
    tensor = builtin.to_tensor(x).out
    for _ in range(size // 3):
        tensor = func.call([tensor], callee=SymbolRefAttr("callee"), outputs=[T]).results[0]
        pd.relu_(tensor)
    return builtin.to_vtensor(tensor).out


WORKLOADS: dict[str, Body] = {
    body.__name__: body for body in (network, views, writes, nest, lists, carried, moved, blocks, calls)
}


def program_of(body: Body, size: int) -> Program:
    """A program of about `size` operations."""
    program = Program.empty()
    program.weights.add("w", np.ones((4, 4), np.float32))
    with relaxed_gc():
        with Builder.at_end(program.body):
            main = func.func(sym_name="main", function_type=FunctionType([V], [V]))
        with Builder.at_end(main.body.block):
            condition = builtin.constant(value=DenseAttr(np.array([False]))).out
            result = body(main, main.body.block.args[0], condition, size)
        last = result.parent_block
        assert last is not None
        with Builder.at_end(last):
            func.return_([result])
    program.verify()
    return program


STEPS = ("to-value-semantics", "copy-elision", "to-inplace")


@attrs.frozen
class Measured:
    """µs per operation of the program as it was first, of the analysis and of each pass in turn."""

    operations: int
    microseconds: tuple[float, ...]


def measure(body: Body, size: int, repeats: int) -> Measured:
    """The least time of some runs, each on a program of its own, in CPU time of this process."""
    best = [float("inf")] * (1 + len(STEPS))
    count = 0
    for _ in range(repeats):
        program = program_of(body, size)
        count = sum(1 for _ in program.module.walk())
        managers = [PassManager.parse(step) for step in STEPS]
        work: list[Callable[[], object]] = [lambda p=program: AliasAnalysis(p)]
        work += [lambda m=manager, p=program: m.run(p, verify_each=False) for manager in managers]
        for number, run in enumerate(work):
            gc.collect()
            start = time.process_time()
            run()
            best[number] = min(best[number], (time.process_time() - start) / count * 1e6)
    return Measured(count, tuple(best))


def main() -> None:
    """Measures, prints and writes the table."""
    parser = argparse.ArgumentParser(description="Times the alias analysis and the alias passes.")
    parser.add_argument("--sizes", type=int, nargs=2, default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent.parent / "docs" / "benchmarks")
    args = parser.parse_args()
    titles = ["analysis", *STEPS]
    lines = [
        "# The alias analysis and the alias passes",
        "",
        f"µs of CPU time per operation of the program, garbage collector on, best of {args.repeats}; each pass works on"
        " what the one before left.",
        "Linear means a ratio of 1 between the larger and the smaller program. Written by `make bench-alias`.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}",
        "",
        "| program | what it has | operations | " + " | ".join(titles) + " |",
        "| --- | --- | --- |" + " --- |" * len(titles),
    ]
    for name, body in WORKLOADS.items():
        small, large = (measure(body, size, args.repeats) for size in args.sizes)
        told = (body.__doc__ or "").splitlines()[0].rstrip(".").lower()
        for measured in (small, large):
            cells = " | ".join(f"{cost:.2f}" for cost in measured.microseconds)
            lines.append(f"| {name} | {told} | {measured.operations:,} | {cells} |")
        ratios = [b / a for a, b in zip(small.microseconds, large.microseconds, strict=True)]
        lines.append(f"| {name} | | ratio | " + " | ".join(f"{ratio:.2f}×" for ratio in ratios) + " |")
        print(f"measured {name}", file=sys.stderr)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (args.output / "alias.md").write_text(text)


if __name__ == "__main__":
    main()
