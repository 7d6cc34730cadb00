"""Convolutions that take over a relu, and integers, which do not."""

from __future__ import annotations

import numpy as np
import pytest

from tx8ir.core import Operation, Program, Value, VTensorType, f32, i8
from tx8ir.dialects import pd
from tx8ir.testing import assert_preserves

PASS = "fuse-conv-activation"


def body(x: Value, w: Value) -> Operation:
    return pd.relu(pd.conv2d(x, w))


def test_a_relu_becomes_part_of_the_convolution(build, run, names) -> None:
    program: Program = build(body, VTensorType((1, 1, 2, 2), f32), VTensorType((1, 1, 1, 1), f32))
    assert run(program, PASS).stages[0].statistics == {"fused": 1}
    assert names(program) == ["pd.fused_conv2d_add_act"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_sum_of_integers_wraps_before_the_relu(build, run, names, dynamic: bool) -> None:
    """100 * 2 is -56 in 8 bits, of which a relu leaves 0; of 200 it leaves 200, which wraps to -56 then."""
    image = VTensorType((-1 if dynamic else 1, 1, 1, 1), i8)
    program: Program = build(body, image, VTensorType((1, 1, 1, 1), i8))
    numbers = (np.full((1, 1, 1, 1), n, np.int8) for n in (100, 2))
    assert_preserves(PASS, program, inputs=dict(zip(program.inputs, numbers, strict=True)))
    assert run(program, PASS).stages[0].statistics == {}
    assert names(program) == ["pd.conv2d", "pd.relu"]
