"""Time per operation of the alias analysis and the alias passes: linear, so the same at 10,000 and 100,000 operations.

The program is made of pieces like those of a network with in-place activations, views, branches and loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tx8ir.core import Builder, DenseAttr, FunctionType, Program, TensorType, Value, f32
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.transforms import AliasAnalysis, PassManager

SIZES = (10_000, 100_000)
REPEATS = 3
T = TensorType((4, 4), f32)


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


def network(size: int) -> Program:
    """A program of at least `size` operations."""
    program = Program.empty()
    program.weights.add("w", np.ones((4, 4), np.float32))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([T], [T]))
    x: Value = main.body.block.args[0]
    with Builder.at_end(main.body.block):
        w = builtin.get_parameter(parameter="w", out=T).out
        condition = builtin.constant(value=DenseAttr(np.array([False]))).out
        for _ in range(size // 19):
            x = piece(x, w, condition)
        func.return_([x])
    program.verify()
    return program


def best(work: Callable[[Program], object], make: Callable[[], Program]) -> tuple[float, int]:
    """The least time of some runs, in seconds, and the operations of the program it is for."""
    seconds: list[float] = []
    count = 0
    for _ in range(REPEATS):
        program = make()
        count = sum(1 for _ in program.module.walk())
        start = time.perf_counter()
        work(program)
        seconds.append(time.perf_counter() - start)
    return min(seconds), count


def prepared(size: int, passes: str) -> Program:
    program = network(size)
    PassManager.parse(passes).run(program, verify_each=False)
    return program


def main() -> None:
    rows: list[tuple[str, Callable[[Program], object], str]] = [
        ("alias analysis", AliasAnalysis, ""),
        ("to-value-semantics", lambda p: PassManager.parse("to-value-semantics").run(p, verify_each=False), ""),
        ("fold-copies", lambda p: PassManager.parse("fold-copies").run(p, verify_each=False), "to-value-semantics"),
        (
            "to-inplace",
            lambda p: PassManager.parse("to-inplace").run(p, verify_each=False),
            "to-value-semantics,fold-copies",
        ),
    ]
    print("us per operation, best of", REPEATS)
    print(f"{'':20}" + "".join(f"{size:>12,}" for size in SIZES) + f"{'ratio':>8}")
    for name, work, before in rows:
        cost: list[float] = []
        for size in SIZES:
            seconds, count = best(work, lambda size=size, before=before: prepared(size, before))
            cost.append(seconds / count * 1e6)
        print(f"{name:20}" + "".join(f"{c:12.2f}" for c in cost) + f"{cost[-1] / cost[0]:8.2f}")


if __name__ == "__main__":
    main()
