"""Time per operation of each pass of the pipeline `prepare`, at 10,000 and 100,000 operations: `make bench-passes`.

The program is a stack of encoder blocks as exporters write them, with the decomposed forms that passes look for, views,
transposes, casts, equal and dead operations, and one branch with a known condition for every block. Each pass runs on
what the passes before it have left; its time is divided by the operations it was given. Linear is a ratio of 1.
"""

from __future__ import annotations

import argparse
import gc
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tx8ir.core import Builder, FunctionType, Program, Value, VTensorType, f32, i1
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.passes import PassManager
from tx8ir.transforms import PREPARATION
from tx8ir.transforms.preparation import OPTIONS

WIDTH = 8
T = VTensorType((4, WIDTH), f32)
VARIABLES = {"w": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "b": (WIDTH,), "scale": (WIDTH,), "offset": (WIDTH,)}


def number(value: float) -> Value:
    return pd.full(shape=(), value=value).out


def variable(name: str) -> Value:
    return builtin.get_parameter(parameter=name, out=VTensorType(VARIABLES[name], f32)).out


def layer_norm(x: Value) -> Value:
    centred = pd.subtract(x, pd.mean(x, axis=(-1,), keepdim=True))
    variance = pd.mean(pd.square(centred), axis=(-1,), keepdim=True)
    normal = pd.divide(centred, pd.sqrt(pd.add(variance, number(1e-5))))
    return pd.add(pd.multiply(normal, variable("scale")), variable("offset")).out


def gelu(x: Value) -> Value:
    erf = pd.erf(pd.divide(x, number(2.0**0.5)))
    return pd.multiply(pd.multiply(x, pd.add(erf, number(1.0))), number(0.5)).out


def softmax(x: Value) -> Value:
    powers = pd.exp(pd.subtract(x, pd.max(x, axis=(-1,), keepdim=True)))
    return pd.divide(powers, pd.sum(powers, axis=(-1,), keepdim=True)).out


def block(x: Value) -> Value:
    """One encoder block: about 60 operations."""
    normal = layer_norm(x)
    query, key = pd.matmul(normal, variable("w")), pd.matmul(normal, variable("v"))
    scores = pd.multiply(pd.matmul(query, pd.transpose(key, perm=(1, 0))), number(0.5))
    mixed = pd.matmul(softmax(scores.out), pd.matmul(normal, variable("w")))
    there = pd.reshape(pd.transpose(pd.reshape(mixed, shape=(1, 4, WIDTH)), perm=(1, 0, 2)), shape=(4, WIDTH))
    pd.tanh(there)  # nobody reads it
    y = pd.add(x, pd.multiply(there, number(1.0))).out
    chosen = scf.IfOp.build(pd.full(shape=(), value=1.0, dtype=i1).out, lambda: [pd.relu(y)], lambda: [y]).results[0]
    hidden = gelu(pd.add(pd.matmul(layer_norm(chosen), variable("w")), variable("b")).out)
    return pd.add(chosen, pd.matmul(hidden, variable("v"))).out


def network(size: int) -> Program:
    """A program of about `size` operations."""
    program = Program.empty()
    rng = np.random.default_rng(0)
    for name, shape in VARIABLES.items():
        program.weights.add(name, rng.standard_normal(shape).astype(np.float32))
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([T], [T]))
    x: Value = main.body.block.args[0]
    with Builder.at_end(main.body.block):
        x = block(x)
        each = sum(1 for _ in main.walk())
        for _ in range(size // each - 1):
            x = block(x)
        func.ReturnOp([x])
    program.verify()
    return program


def times(size: int, repeats: int) -> list[tuple[float, int]]:
    """CPU seconds of each pass, the least of some runs, and the operations it was given."""
    best: list[float] = [float("inf")] * len(PREPARATION)
    given = [0] * len(PREPARATION)
    for _ in range(repeats):
        program = network(size)
        for index, name in enumerate(PREPARATION):
            given[index] = sum(1 for _ in program.module.walk())
            text = f"{name}{{{OPTIONS[name]}}}" if name in OPTIONS else name
            manager = PassManager.parse(text)
            gc.collect()
            started = time.process_time()
            manager.run(program, verify_each=False)
            best[index] = min(best[index], time.process_time() - started)
    return list(zip(best, given, strict=True))


def table(sizes: Sequence[int], repeats: int) -> list[str]:
    measured = [times(size, repeats) for size in sizes]
    rows = [f"| pass | {' | '.join(f'{n:,}' for n in sizes)} | ratio |", "|---|" + "---:|" * (len(sizes) + 1)]
    for index, name in enumerate(PREPARATION):
        each = [found[index][0] / found[index][1] * 1e6 for found in measured]
        rows.append(f"| `{name}` | {' | '.join(f'{t:.2f}' for t in each)} | {each[-1] / each[0]:.2f} |")
    whole = [sum(seconds for seconds, _ in found) / found[0][1] * 1e6 for found in measured]
    rows.append(f"| all, per operation given | {' | '.join(f'{t:.2f}' for t in whole)} | {whole[-1] / whole[0]:.2f} |")
    return rows


def main() -> None:
    """Measures, prints and writes the table."""
    parser = argparse.ArgumentParser(description="Times each pass of the pipeline `prepare`.")
    parser.add_argument("--sizes", type=int, nargs=2, default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent.parent / "docs" / "benchmarks")
    options = parser.parse_args()
    lines = [
        "# The passes of the pipeline `prepare`",
        "",
        f"µs of CPU time per operation that the pass is given, garbage collector on, best of {options.repeats}, on a"
        " stack of encoder blocks as exporters write them.",
        "Linear means a ratio of 1 between the larger and the smaller program. Written by `make bench-passes`.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}",
        "",
        *table(options.sizes, options.repeats),
    ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (options.output / "passes.md").write_text(text)


if __name__ == "__main__":
    main()
