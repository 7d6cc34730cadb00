"""Build a small perceptron, evaluate it, compile it, run it on the simulated chip, and print the report."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import tx8ir
from tx8ir.core import Builder, FunctionType, Program, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate


def dense(program: Program, x: Value, name: str, weight: np.ndarray) -> Value:
    """`relu(x @ weight)`, with the weight in the program's store under `name`."""
    program.weights.add(name, weight)
    w = builtin.get_parameter(parameter=name, out=VTensorType(weight.shape, f32))
    return pd.relu(pd.matmul(x, w)).out


def perceptron(batch: int, sizes: list[int]) -> Program:
    """A program of dense layers with random weights: `sizes` are the widths of input, hidden layers and output."""
    rng = np.random.default_rng(0)
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(
            sym_name="main",
            function_type=FunctionType((VTensorType((batch, sizes[0]), f32),), (VTensorType((batch, sizes[-1]), f32),)),
            arg_names=("x",),
            result_names=("y",),
        )
    with Builder.at_end(main.body.block):
        (x,) = main.body.block.args
        for i, (k, n) in enumerate(pairwise(sizes)):
            x = dense(program, x, f"w{i}", (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32))
        func.return_([x])
    program.verify()
    return program


program = perceptron(batch=32, sizes=[128, 256, 256, 10])
x = np.random.default_rng(1).standard_normal((32, 128)).astype(np.float32)
exact = evaluate(program, {"x": x}, "f64")["y"]
for dtype in ("f32", "bf16"):
    executable = tx8ir.compile(program, options=tx8ir.CompileOptions(dtype=dtype))
    y = executable.run(x=x)["y"]
    print(f"--- {dtype}: largest error {np.abs(y - exact).max() / np.abs(exact).max():.1e} of the largest output\n")
    print(executable.report, "\n")
