"""Numeric kernels behind `Compute`: plain NumPy, any float dtype, no operation and no type of the IR.

Every function works in the dtype of its first argument and returns it, so that one formula serves the float32 and
the float64 evaluation. Images are NHWC and filters HWOI (kernel height, kernel width, output channels, input
channels per group); a caller with another layout transposes views in and out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tx8ir.target.arithmetic import exp
from tx8ir.target.extrema import largest, maximum

Array: TypeAlias = NDArray[Any]


def erf(x: Array) -> Array:
    """Error function 2/sqrt(pi) * integral of exp(-t*t) from 0 to x, by the C library, in float64; dtype of `x`."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, count=x.size).reshape(x.shape).astype(x.dtype)


def erfc(x: Array) -> Array:
    """Complementary error function 1 - erf(x), accurate in the tail; by the C library, in float64; dtype of `x`."""
    return np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, count=x.size).reshape(x.shape).astype(x.dtype)


def by_number(function: Callable[[float], float], x: Array) -> Array:
    """A function of Python's `math` of each number, in float64; dtype of `x`.

    NumPy's own depend in the last bit on where in memory a number lies. Outside of the domain there is NaN.
    """

    def value(number: float) -> float:
        try:
            return function(number)
        except ValueError:
            return math.nan

    return np.fromiter(map(value, x.ravel().tolist()), np.float64, count=x.size).reshape(x.shape).astype(x.dtype)


# --- powers --------------------------------------------------------------------------------------------------------


def power(x: Array, y: Array) -> Array:
    """x^y element by element: IEEE `pow` of the C library, in float64, rounded once; x * x for the exponent 2.

    `numpy.power` computes by another rule where the exponent is one number or stretched (sqrt(x) for 0.5, which makes
    -inf a NaN), and by one that depends on the vector unit elsewhere; `numpy.float_power` calls the C library always.
    """
    return np.where(y == 2, x * x, np.float_power(x, y).astype(x.dtype))


# --- sums ----------------------------------------------------------------------------------------------------------


def total(x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Sum over `axes`, in the dtype of `x`: the elements in row-major order of those axes alone, pairwise.

    So a sum has the same bits wherever its axes stand among the others, and however `x` lies in memory; `numpy.sum`
    adds in an order that depends on both. A pass may move axes as long as those summed keep their order.
    """
    summed = sorted(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in summed]
    shape = [x.shape[axis] for axis in kept]
    rows = x.transpose(*kept, *summed).reshape(*shape, math.prod(x.shape[axis] for axis in summed))
    found = np.ascontiguousarray(rows).sum(axis=-1, dtype=x.dtype)
    if keepdims:
        found = found.reshape([1 if axis in summed else extent for axis, extent in enumerate(x.shape)])
    return np.asarray(found)


# --- activations ---------------------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows and both tails keep their relative accuracy."""
    tail = exp(-np.abs(x))
    return np.where(x >= 0, 1, tail) / (1 + tail)


def gelu(x: Array, *, approximate: bool) -> Array:
    """Gaussian error linear unit: x * Phi(x), with Phi the normal distribution function.

    `approximate` False: Phi(x) = erfc(-x / sqrt(2)) / 2. True: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    Source: Hendrycks and Gimpel, arXiv:1606.08415.
    """
    if approximate:
        return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))
    # -inf * 0 would be NaN; the limit is -0.
    return np.where(np.isneginf(x), x.dtype.type(-0.0), 0.5 * x * erfc(x * -0.7071067811865476))


def softplus(x: Array, *, beta: float, threshold: float) -> Array:
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold (Paddle's definition)."""
    scaled = x * beta
    return np.where(scaled > threshold, x, np.logaddexp(x.dtype.type(0), scaled) / beta)


def softmax(x: Array, *, axis: int) -> Array:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    powers = exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    return powers / total(powers, axes=(axis,), keepdims=True)


def mean(x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Sum over `axes` / number of elements summed; NaN over none (where NumPy's own would warn)."""
    return total(x, axes=axes, keepdims=keepdims) / math.prod(x.shape[axis] for axis in axes)


def layer_norm(x: Array, *, axes: tuple[int, ...], epsilon: float) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over `axes`, with the population variance."""
    centred = x - mean(x, axes=axes, keepdims=True)
    variance = mean(np.square(centred), axes=axes, keepdims=True)
    return centred / np.sqrt(variance + epsilon)


def rms_norm(x: Array, *, axes: tuple[int, ...], epsilon: float) -> Array:
    """X / sqrt(mean(x^2) + epsilon), the mean over `axes`."""
    return x / np.sqrt(mean(np.square(x), axes=axes, keepdims=True) + epsilon)


# --- windows -------------------------------------------------------------------------------------------------------


def conv2d(
    x: Array,
    weight: Array,
    *,
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilations: tuple[int, int],
    groups: int,
) -> Array:
    """2-D cross-correlation with zero padding.

    Args:
        x: [N, H, W, C].
        weight: [KH, KW, O, C / groups]; outputs of one group are adjacent in O.
        strides: along H and W.
        pads: top, bottom, left, right.
        dilations: along H and W.
        groups: divides C and O.

    The result is [N, OH, OW, O] with OH = (H + top + bottom - dilation * (KH - 1) - 1) // stride + 1, and OW alike.
    """
    kernel_h, kernel_w, outputs, group_inputs = weight.shape
    top, bottom, left, right = pads
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extent = ((kernel_h - 1) * dilations[0] + 1, (kernel_w - 1) * dilations[1] + 1)
    # [N, OH, OW, C, KH, KW], a view.
    windows = sliding_window_view(padded, extent, axis=(1, 2))[
        :, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]
    ]
    batch, height, width = windows.shape[:3]
    if group_inputs == 1:
        # Depthwise: a product per kernel tap beats many one-column matrix products.
        grouped = windows[:, :, :, :, None]
        factors = weight.reshape(kernel_h, kernel_w, groups, outputs // groups)
        result = np.zeros((batch, height, width, groups, outputs // groups), dtype=x.dtype)
        for i in range(kernel_h):
            for j in range(kernel_w):
                result += grouped[..., i, j] * factors[i, j]
        return result.reshape(batch, height, width, outputs)
    # Rows of patches against columns of filters, one matrix product per group.
    rows = windows.reshape(batch, height, width, groups, group_inputs, kernel_h, kernel_w)
    taps = kernel_h * kernel_w * group_inputs
    rows = rows.transpose(3, 0, 1, 2, 5, 6, 4).reshape(groups, batch * height * width, taps)
    columns = weight.reshape(kernel_h, kernel_w, groups, outputs // groups, group_inputs)
    columns = columns.transpose(2, 0, 1, 4, 3).reshape(groups, taps, outputs // groups)
    # A reshape may give a view; the matrix product of one that is transposed in memory may round differently.
    return (
        np.matmul(np.ascontiguousarray(rows), np.ascontiguousarray(columns))
        .transpose(1, 0, 2)
        .reshape(batch, height, width, outputs)
    )


def _window_count(extent: int, kernel: int, stride: int, low: int, outputs: int, *, high: int | None) -> Array:
    """How many cells of [0, extent), or of [-low, extent + high) when `high` is given, each of the windows covers."""
    first = np.arange(outputs) * stride - low
    begin, end = (0, extent) if high is None else (-low, extent + high)
    return np.minimum(first + kernel, end) - np.maximum(first, begin)


def pool2d(
    x: Array,
    function: Literal["max", "avg"],
    *,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    outputs: tuple[int, int],
    exclusive: bool,
    lowest: float,
) -> Array:
    """Largest or mean element under a sliding window; padding never wins a max.

    Args:
        x: [N, H, W, C].
        function: "max" or "avg".
        kernel: window height and width.
        strides: along H and W.
        pads: top, bottom, left, right.
        outputs: number of windows along H and W; the last may hang over the padded extent (ceil mode).
        exclusive: an average divides by the cells of `x` under the window (True) or by those of the padded image.
        lowest: no element is less; what padding holds for a maximum.

    The result is [N, OH, OW, C]; NaN under a window gives NaN.
    """
    top, bottom, left, right = pads
    over_h = max(0, (outputs[0] - 1) * strides[0] + kernel[0] - (top + x.shape[1] + bottom))
    over_w = max(0, (outputs[1] - 1) * strides[1] + kernel[1] - (left + x.shape[2] + right))
    neutral: Any = 0
    if function == "max":
        neutral = lowest
    padded = np.pad(x, ((0, 0), (top, bottom + over_h), (left, right + over_w), (0, 0)), constant_values=neutral)
    combine = maximum if function == "max" else np.add
    result = np.full((x.shape[0], *outputs, x.shape[3]), neutral, dtype=x.dtype)
    for i in range(kernel[0]):
        rows = padded[:, i : i + (outputs[0] - 1) * strides[0] + 1 : strides[0]]
        for j in range(kernel[1]):
            result = combine(result, rows[:, :, j : j + (outputs[1] - 1) * strides[1] + 1 : strides[1]])
    if function == "max":
        return result
    rows = _window_count(x.shape[1], kernel[0], strides[0], top, outputs[0], high=None if exclusive else bottom)
    columns = _window_count(x.shape[2], kernel[1], strides[1], left, outputs[1], high=None if exclusive else right)
    return result / np.multiply.outer(rows, columns)[:, :, None].astype(x.dtype)


def adaptive_pool2d(x: Array, function: Literal["max", "avg"], *, outputs: tuple[int, int]) -> Array:
    """Pooling into a fixed number of windows: window i of n covers rows [floor(i H / n), ceil((i + 1) H / n)).

    Args:
        x: [N, H, W, C].
        function: "max" or "avg".
        outputs: windows along H and W.

    The result is [N, *outputs, C].
    """
    reduce = largest if function == "max" else mean
    result = np.empty((x.shape[0], *outputs, x.shape[3]), dtype=x.dtype)
    height, width = x.shape[1:3]
    for i in range(outputs[0]):
        rows = x[:, i * height // outputs[0] : -(-(i + 1) * height // outputs[0])]
        for j in range(outputs[1]):
            cells = rows[:, :, j * width // outputs[1] : -(-(j + 1) * width // outputs[1])]
            result[:, i, j] = reduce(cells, axes=(1, 2), keepdims=False)
    return result
