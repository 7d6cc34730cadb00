"""Convolution against the sum written out in loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tx8ir.core import Block, VerifyError, VTensorType, bf16, f32
from tx8ir.dialects import pd


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


def convolve(image, weight, bias, strides, pads, dilations, groups):
    """The formula of the documentation: NCHW, OIHW, pads (top, bottom, left, right)."""
    batch, _, height, width = image.shape
    outputs, group_inputs, kernel_h, kernel_w = weight.shape
    out_h = (height + pads[0] + pads[1] - dilations[0] * (kernel_h - 1) - 1) // strides[0] + 1
    out_w = (width + pads[2] + pads[3] - dilations[1] * (kernel_w - 1) - 1) // strides[1] + 1
    out = np.zeros((batch, outputs, out_h, out_w))
    for n, o, h, w in np.ndindex(out.shape):
        total = 0.0 if bias is None else bias[o]
        first = o // (outputs // groups) * group_inputs
        for c, i, j in itertools.product(range(group_inputs), range(kernel_h), range(kernel_w)):
            row, column = h * strides[0] + i * dilations[0] - pads[0], w * strides[1] + j * dilations[1] - pads[2]
            if 0 <= row < height and 0 <= column < width:
                total += image[n, first + c, row, column] * weight[o, c, i, j]
        out[n, o, h, w] = total
    return out


def small(low, high):
    return st.integers(low, high)


@given(data=st.data())
def test_conv2d_equals_the_loops_in_every_layout(evaluate_op, data):
    groups, group_inputs, group_outputs = (data.draw(small(1, 3)) for _ in range(3))
    kernel, strides, dilations = (tuple(data.draw(small(1, 3)) for _ in range(2)) for _ in range(3))
    pads = tuple(data.draw(small(0, 2)) for _ in range(4))
    space = tuple(data.draw(small(1, 6)) for _ in range(2))
    for axis in range(2):
        assume(space[axis] + pads[2 * axis] + pads[2 * axis + 1] >= (kernel[axis] - 1) * dilations[axis] + 1)
    rng = np.random.default_rng(0)
    image = rng.normal(size=(data.draw(small(1, 2)), groups * group_inputs, *space))
    weight = rng.normal(size=(groups * group_outputs, group_inputs, *kernel))
    bias = rng.normal(size=groups * group_outputs) if data.draw(st.booleans()) else None
    nhwc, hwoi = data.draw(st.booleans()), data.draw(st.booleans())
    result = evaluate_op(
        pd.conv2d,
        image.transpose(0, 2, 3, 1) if nhwc else image,
        weight.transpose(2, 3, 0, 1) if hwoi else weight,
        bias,
        strides=strides,
        paddings=pads,
        dilations=dilations,
        groups=groups,
        data_format="NHWC" if nhwc else "NCHW",
        filter_format="HWOI" if hwoi else "OIHW",
    )
    expected = convolve(image, weight, bias, strides, pads, dilations, groups)
    np.testing.assert_allclose(result.transpose(0, 3, 1, 2) if nhwc else result, expected, rtol=1e-12, atol=1e-13)


@given(multiplier=small(1, 3), channels=small(1, 4), nhwc=st.booleans())
def test_depthwise_conv2d_filters_each_channel(evaluate_op, multiplier, channels, nhwc):
    rng = np.random.default_rng(0)
    image, weight = rng.normal(size=(2, channels, 5, 4)), rng.normal(size=(channels * multiplier, 1, 3, 2))
    result = evaluate_op(
        pd.depthwise_conv2d,
        image.transpose(0, 2, 3, 1) if nhwc else image,
        weight,
        paddings=(1, 0),
        strides=(2, 1),
        groups=channels,
        data_format="NHWC" if nhwc else "NCHW",
    )
    expected = convolve(image, weight, None, (2, 1), (1, 1, 0, 0), (1, 1), channels)
    np.testing.assert_allclose(result.transpose(0, 3, 1, 2) if nhwc else result, expected, rtol=1e-12, atol=1e-13)


@given(extent=small(1, 9), kernel=small(1, 4), stride=small(1, 3))
def test_same_padding_gives_one_window_per_stride(extent, kernel, stride):
    op = pd.conv2d(
        value(1, 1, extent, extent), value(1, 1, kernel, kernel), strides=(stride, stride), padding_algorithm="SAME"
    )
    assert op.out.type.shape == (1, 1, -(-extent // stride), -(-extent // stride))
    top, bottom, left, right = op.pads
    assert (top, bottom) == (left, right)
    assert bottom - top in (0, 1)


def test_valid_padding_ignores_paddings():
    op = pd.conv2d(value(1, 1, 5, 5), value(1, 1, 3, 3), paddings=(4, 4), padding_algorithm="VALID")
    assert op.pads == (0, 0, 0, 0)
    assert op.out.type.shape == (1, 1, 3, 3)


def test_two_paddings_are_height_and_width_and_four_are_top_bottom_left_right():
    image, weight = value(1, 1, 5, 5), value(1, 1, 3, 3)
    assert pd.conv2d(image, weight, paddings=(1, 2)).pads == (1, 1, 2, 2)
    op = pd.conv2d(image, weight, paddings=(0, 1, 2, 3))
    assert op.pads == (0, 1, 2, 3)
    assert op.out.type.shape == (1, 1, 4, 8)


def test_an_empty_batch(evaluate_op):
    weight = np.zeros((4, 2, 3, 3))
    assert evaluate_op(pd.conv2d, np.zeros((0, 2, 5, 5)), weight).shape == (0, 4, 3, 3)
    assert evaluate_op(pd.conv2d, np.zeros((0, 4, 5, 5)), weight[:, :1], groups=4).shape == (0, 4, 3, 3)
    assert evaluate_op(pd.pool2d, np.zeros((0, 4, 5, 5)), kernel_size=(2, 2), pooling_type="avg").shape == (0, 4, 4, 4)


def test_filter_shape_is_independent_of_the_layout():
    image = value(1, 6, 5, 5)
    assert pd.conv2d(image, value(4, 6, 3, 2)).filter_shape == (4, 6, 3, 2)
    assert pd.conv2d(image, value(3, 2, 4, 6), filter_format="HWOI").filter_shape == (4, 6, 3, 2)


def test_dynamic_batch_and_space_stay_dynamic():
    assert pd.conv2d(value(-1, 3, -1, 8), value(4, 3, 3, 3)).out.type is VTensorType((-1, 4, -1, 6), f32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 2, 3, 3)),
            r"pd.conv2d: the input has 3 channels \(NCHW\), the filter 2 \(OIHW\) for each of 1 groups",
        ),
        (
            lambda: pd.conv2d(value(1, 8, 8, 3), value(4, 8, 3, 3), data_format="NHWC"),
            r"the input has 3 channels \(NHWC\), the filter 8",
        ),
        (lambda: pd.conv2d(value(1, 4, 8, 8), value(3, 2, 3, 3), groups=2), "3 outputs .* do not divide into 2 groups"),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), groups=0), "`groups` is 0; expected an integer >= 1"),
        (
            lambda: pd.conv2d(value(1, 3, 8, 2), value(4, 3, 3, 3)),
            r"does not fit along W: it reaches over 3 cells, the image has 2 and padding 0 \+ 0",
        ),
        (  # the count of windows, -1, is not a dynamic extent
            lambda: pd.conv2d(value(1, 3, 8, 2), value(4, 3, 4, 4)),
            r"does not fit along W: it reaches over 4 cells, the image has 2 and padding 0 \+ 0",
        ),
        (lambda: pd.conv2d(value(3, 8, 8), value(4, 3, 3, 3)), "operand `input` .* of rank 3; expected rank 4"),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), value(3)), "operand `bias` .*; expected 4 elements"),
        (
            lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), value(4, element=bf16)),
            "different element types: `input` f32, `filter` f32, `bias` bf16",
        ),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), strides=(0, 1)), r"`strides` is \[0, 1\]; expected 2"),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), paddings=(1,)), r"`paddings` is \[1\]; expected \("),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), data_format="NCWH"), "expected one of 'NCHW', 'NHWC'"),
        (
            lambda: pd.conv2d(value(1, 3, 8, 8), value(4, 3, 3, 3), padding_algorithm="SAME", dilations=(2, 2)),
            "'SAME' needs dilations of 1",
        ),
        (lambda: pd.conv2d(value(1, 3, 8, 8), value(-1, 3, 3, 3)), "operand `filter` .*; expected a static shape"),
        (
            lambda: pd.depthwise_conv2d(value(1, 4, 8, 8), value(4, 2, 3, 3), groups=2),
            "pd.depthwise_conv2d: the filter has 2 input channels; expected 1",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()
