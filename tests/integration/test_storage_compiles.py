"""Programs with tensors, in-place operations and views compile as they are, and give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Builder, FunctionType, Program, TensorType, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd
from tx8ir.testing import check

KIND = TensorType((4, 8), f32)


def dense(x: Value) -> Value:
    """A product, of which one row is written through a view, and both turned and turned back."""
    w = builtin.get_parameter(parameter="w", out=VTensorType((8, 8), f32)).out
    y = pd.relu_(pd.matmul(x, w)).out
    pd.scale_(pd.slice(y, axes=(0,), starts=(1,), ends=(2,)), scale=2.0)
    turned = pd.transpose(y, perm=(1, 0)).out
    pd.tanh_(pd.slice(turned, axes=(0,), starts=(0,), ends=(3,)))
    return pd.transpose(turned, perm=(1, 0)).out


def image(x: Value) -> Value:
    """A convolution, normalised and activated in place."""
    w = builtin.get_parameter(parameter="filter", out=TensorType((4, 1, 3, 3), f32)).out
    picture = pd.reshape(x, shape=(1, 1, 4, 8)).out
    y = pd.conv2d(picture, w, paddings=(1, 1)).out
    pd.relu_(y)
    pd.add_(y, pd.slice(y, axes=(1,), starts=(0,), ends=(1,)))
    return y


def program_of(body: Callable[[Value], Value]) -> Program:
    program = Program.empty()
    rng = np.random.default_rng(0)
    program.weights.add("w", rng.standard_normal((8, 8)).astype(np.float32))
    program.weights.add("filter", rng.standard_normal((4, 1, 3, 3)).astype(np.float32))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([KIND], ()))
    with Builder.at_end(main.body.block):
        y = body(main.body.block.args[0])
        func.return_([y])
    main.set_attribute("function_type", FunctionType([KIND], [y.type]))
    program.verify()
    return program


@pytest.mark.parametrize("body", [dense, image])
def test_it_compiles_and_agrees(body: Callable[[Value], Value]) -> None:
    program = program_of(body)
    assert check(program).passed
    x = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    found = tx8ir.compile(program).run(arg0=x)["result0"]
    assert found.shape == program.outputs["result0"].shape
