"""Pooling against windows written out in loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tx8ir.core import Block, VerifyError, VTensorType, f32, i32
from tx8ir.dialects import pd


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


def pool(x, kind, kernel, strides, pads, *, ceil_mode=False, exclusive=True):
    """NCHW, pads (top, bottom, left, right), by the definition of the documentation."""
    rounding = math.ceil if ceil_mode else math.floor
    counts = [rounding((x.shape[2 + a] + pads[2 * a] + pads[2 * a + 1] - kernel[a]) / strides[a]) + 1 for a in range(2)]
    out = np.zeros((*x.shape[:2], *counts))
    for n, c, h, w in np.ndindex(out.shape):
        inside, padded = [], 0
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                row, column = h * strides[0] + i - pads[0], w * strides[1] + j - pads[2]
                if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                    inside.append(x[n, c, row, column])
                padded += row < x.shape[2] + pads[1] and column < x.shape[3] + pads[3]
        out[n, c, h, w] = max(inside) if kind == "max" else sum(inside) / (len(inside) if exclusive else padded)
    return out


@given(data=st.data())
def test_pool2d_equals_the_loops(evaluate_op, data):
    kernel, strides = (tuple(data.draw(st.integers(1, 3)) for _ in range(2)) for _ in range(2))
    pads = tuple(data.draw(st.integers(0, kernel[axis // 2] - 1)) for axis in range(4))
    space = tuple(data.draw(st.integers(1, 6)) for _ in range(2))
    kind, ceil_mode, exclusive = (
        data.draw(st.sampled_from(["max", "avg"])),
        data.draw(st.booleans()),
        data.draw(st.booleans()),
    )
    for a in range(2):
        room = space[a] + pads[2 * a] + pads[2 * a + 1] - kernel[a]
        assume(room >= 0)
        windows = (math.ceil if ceil_mode else math.floor)(room / strides[a]) + 1
        assume((windows - 1) * strides[a] - pads[2 * a] < space[a])
    nhwc = data.draw(st.booleans())
    x = np.random.default_rng(0).normal(size=(2, 3, *space)) - 5  # negative: padding with 0 would win a maximum
    result = evaluate_op(
        pd.pool2d,
        x.transpose(0, 2, 3, 1) if nhwc else x,
        kernel_size=kernel,
        strides=strides,
        paddings=pads,
        pooling_type=kind,
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        data_format="NHWC" if nhwc else "NCHW",
    )
    expected = pool(x, kind, kernel, strides, pads, ceil_mode=ceil_mode, exclusive=exclusive)
    np.testing.assert_allclose(result.transpose(0, 3, 1, 2) if nhwc else result, expected, rtol=1e-13)


@given(data=st.data())
def test_adaptive_windows_cover_the_image(evaluate_op, data):
    space, outputs = (tuple(data.draw(st.integers(1, 7)) for _ in range(2)) for _ in range(2))
    kind = data.draw(st.sampled_from(["max", "avg"]))
    x = np.random.default_rng(0).normal(size=(1, 2, *space))
    result = evaluate_op(pd.pool2d, x, kernel_size=outputs, pooling_type=kind, adaptive=True)
    for h, w in np.ndindex(outputs):
        rows = slice(math.floor(h * space[0] / outputs[0]), math.ceil((h + 1) * space[0] / outputs[0]))
        columns = slice(math.floor(w * space[1] / outputs[1]), math.ceil((w + 1) * space[1] / outputs[1]))
        for c in range(2):
            cells = x[0, c, rows, columns].ravel().tolist()
            expected = max(cells) if kind == "max" else math.fsum(cells) / len(cells)
            assert result[0, c, h, w] == pytest.approx(expected, rel=1e-13)


def test_global_pooling_takes_the_whole_image(evaluate_op):
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    result = evaluate_op(pd.pool2d, x, kernel_size=(1, 1), pooling_type="avg", global_pooling=True, paddings=(7, 7))
    np.testing.assert_allclose(result, np.einsum("nchw->nc", x)[:, :, None, None] / 20, rtol=1e-13)
    op = pd.pool2d(value(2, 3, 4, 5), kernel_size=(1, 1), pooling_type="avg", global_pooling=True, paddings=(7, 7))
    assert (op.kernel, op.pads) == ((4, 5), (0, 0, 0, 0))


def test_maxima_of_integers_and_of_nan(evaluate_op):
    x = np.full((1, 1, 2, 2), -7, np.int32)
    result = evaluate_op(pd.pool2d, x, kernel_size=(2, 2), paddings=(1, 1), pooling_type="max")
    assert np.all(result == -7)
    x = np.array([[[[math.nan, 1.0], [2.0, 3.0]]]])
    assert np.isnan(evaluate_op(pd.pool2d, x, kernel_size=(2, 2), pooling_type="max")).all()


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [
        ((1, 1, 4, 4), {"pooling_type": "mean"}, "attribute `pooling_type` is 'mean'; expected one of 'max', 'avg'"),
        ((1, 4, 4), {}, "of rank 3; expected rank 4"),
        ((1, 1, 4, 2), {"kernel_size": (3, 3)}, r"window does not fit along W: it has 3 cells, the image has 2"),
        ((1, 1, 4, 4), {"paddings": (2, 0)}, "window 0 of 7 along H lies wholly in padding: it starts at cell -2"),
        ((1, 1, 4, 4), {"strides": (1, 3), "paddings": (0, 0, 0, 2), "ceil_mode": True}, "window 2 of 3 along W lies"),
        ((1, 1, 4, 4), {"kernel_size": (2,)}, r"attribute `kernel_size` is \[2\]; expected 2 integers >= 1"),
        ((1, 1, 0, 4), {}, "an empty image has no windows"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(shape, attributes, message):
    with pytest.raises(VerifyError, match=message):
        pd.pool2d(value(*shape), **({"kernel_size": (2, 2), "pooling_type": "max"} | attributes))


def test_an_average_of_integers_is_refused():
    with pytest.raises(VerifyError, match="expected a floating-point element type"):
        pd.pool2d(value(1, 1, 4, 4, element=i32), kernel_size=(2, 2), pooling_type="avg")
