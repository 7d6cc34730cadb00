"""Functions that the vector unit has not, on the simulated chip: within a few units of fp32 of the exact numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Builder, FunctionType, Program, VTensorType, f32
from tx8ir.dialects import func, pd
from tx8ir.interpreter import evaluate

ULP = 2.0**-23

FUNCTIONS = {
    "round": (-9.0, 9.0, 0.0), "floor": (-9.0, 9.0, 0.0), "sign": (-9.0, 9.0, 0.0), "tan": (-1.5, 1.5, 4.0),
    "atan": (-9.0, 9.0, 4.0), "asin": (-1.0, 1.0, 4.0), "acos": (-1.0, 1.0, 4.0), "sinh": (-20.0, 20.0, 4.0),
    "cosh": (-20.0, 20.0, 4.0), "asinh": (-99.0, 99.0, 4.0), "acosh": (1.0, 99.0, 4.0), "atanh": (-0.99, 0.99, 4.0),
    "erf": (-6.0, 6.0, 4.0), "gelu": (-4.0, 9.0, 24.0),
}  # fmt: skip
"""From where to where, and how many units in the last place the result may be off."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_near_the_exact_one(name: str) -> None:
    low, high, units = FUNCTIONS[name]
    near_zero = np.geomspace(1e-6, 0.1, 16)
    points = np.concatenate([np.linspace(low, high, 88), -near_zero, near_zero, [0.5, 0.25, 0.75, 0.9] * 2])
    x = np.clip(points, low, high).astype(np.float32).reshape(8, 16)
    program = Program.empty()
    type_ = VTensorType(x.shape, f32)
    with Builder.at_end(program.body):
        main = func.FuncOp(
            sym_name="main", function_type=FunctionType([type_], [type_]), arg_names=("x",), result_names=("y",)
        )
    with Builder.at_end(main.body.block):
        func.ReturnOp([getattr(pd, name)(main.body.block.args[0])])
    found = tx8ir.compile(program).run({"x": x})["y"]
    exact = evaluate(program, {"x": x}, "f64")["y"]
    np.testing.assert_array_less(np.abs(found - exact), units * ULP * np.abs(exact) + 1e-30)
