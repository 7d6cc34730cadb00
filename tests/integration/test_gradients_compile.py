"""Gradients are operations of `pd`, so the programs that compute them compile, and give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.autodiff import append_backward
from tx8ir.core import Builder, FunctionType, Program, VTensorType, f32
from tx8ir.dialects import builtin, func, pd
from tx8ir.testing import check

KIND = VTensorType((2, 4, 8, 8), f32)
NETWORKS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "convolution with strides": (
        lambda x, w: pd.relu(pd.conv2d(x, w, strides=(2, 2), paddings=(1, 1))),
        ((8, 4, 3, 3),),
    ),
    "largest of each window": (
        lambda x: pd.pool2d(x, kernel_size=(2, 2), strides=(2, 2), pooling_type="max"),
        (),
    ),
    "normalisation": (lambda x, s, b: pd.layer_norm(x, s, b, begin_norm_axis=-1), ((8,), (8,))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_loss_and_its_gradients(name: str) -> None:
    body, shapes = NETWORKS[name]
    program = Program.empty()
    rng = np.random.default_rng(0)
    for i, shape in enumerate(shapes):
        program.weights.add(f"w{i}", (rng.standard_normal(shape) * 0.5).astype(np.float32))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([KIND], ()))
    x = main.body.block.args[0]
    with Builder.at_end(main.body.block):
        read = [builtin.get_parameter(parameter=f"w{i}", out=VTensorType(s, f32)) for i, s in enumerate(shapes)]
        loss = pd.mean(pd.square(body(x, *read))).out
        end = func.return_([loss])
    gradients = append_backward(program, loss, wrt=[x])
    end.set_operands([loss, *gradients.parameters.values(), gradients.values[x]])
    main.set_attribute("function_type", FunctionType([KIND], [v.type for v in end.operands]))
    program.verify()
    assert len(program.outputs) == len(shapes) + 2
    assert check(program).passed
