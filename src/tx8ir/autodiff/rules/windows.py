"""`Grad` of convolution and pooling, as convolutions, paddings and reshapes of the cotangent.

A transposed convolution is a convolution of the cotangent, with zeros between its elements, with the filter turned
round; the gradient by the filter is a convolution of the image with the cotangent, in which batch and channels change
places and strides and dilations too (Dumoulin, Visin: A guide to convolution arithmetic, arXiv:1603.07285, chapter 4).
So the gradients run wherever `pd.conv2d` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import DenseAttr, Grad, IrError, Model, Value
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import (
    AddOp,
    ConcatOp,
    Conv2dOp,
    ConvolutionOp,
    DepthwiseConv2dOp,
    EqualOp,
    FusedConv2dAddActOp,
    GreaterThanOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    PadOp,
    Pool2dOp,
    ReshapeOp,
    SliceOp,
    SplitOp,
    SumOp,
    TransposeOp,
    WhereOp,
)
from tx8ir.dialects.pd.gradients import full, static_tensor, times

from .base import Cotangents, UnaryGrad, only, read

_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def _spread(x: Value, strides: Sequence[int]) -> Value:
    """[N, C, H, W] with strides - 1 zeros between neighbours: [N, C, (H - 1) s_h + 1, (W - 1) s_w + 1]."""
    if tuple(strides) == (1, 1):
        return x
    n, c, h, w = static_tensor(x).shape
    s_h, s_w = strides
    apart = ReshapeOp(x, shape=(n * c, h, 1, w, 1)).out
    padded = PadOp(apart, paddings=(0, 0, 0, 0, 0, s_h - 1, 0, 0, 0, s_w - 1)).out
    wide = ReshapeOp(padded, shape=(n, c, h * s_h, w * s_w)).out
    return SliceOp(wide, axes=(2, 3), starts=(0, 0), ends=((h - 1) * s_h + 1, (w - 1) * s_w + 1)).out


def _framed(x: Value, frame: Sequence[int], value: float = 0.0) -> Value:
    """[N, C, H, W] with so many cells more, or fewer if negative: top, bottom, left, right."""
    _, _, h, w = static_tensor(x).shape
    top, bottom, left, right = frame
    if min(frame) < 0:
        x = SliceOp(
            x,
            axes=(2, 3),
            starts=(max(0, -top), max(0, -left)),
            ends=(h - max(0, -bottom), w - max(0, -right)),
        ).out
    if max(frame) > 0:
        x = PadOp(x, paddings=(0, 0, 0, 0, *(max(0, cells) for cells in frame)), pad_value=value).out
    return x


def _turned(weight: Value) -> Value:
    """[A, B, KH, KW] with the order of rows and of columns reversed."""
    for axis in (2, 3):
        taps = static_tensor(weight).shape[axis]
        if taps > 1:
            weight = ConcatOp([*SplitOp(weight, sections=(1,) * taps, axis=axis).outs][::-1], axis=axis).out
    return weight


def _by_input(
    g: Value,
    weight: Value,
    space: Sequence[int],
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Value:
    """The gradient by an image [N, C, *space] of its convolution with a filter [O, C / groups, KH, KW]."""
    outputs, group_inputs, *kernel = static_tensor(weight).shape
    back = ReshapeOp(weight, shape=(groups, outputs // groups, group_inputs, kernel[0], kernel[1])).out
    back = TransposeOp(back, perm=(0, 2, 1, 3, 4)).out
    back = ReshapeOp(back, shape=(groups * group_inputs, outputs // groups, kernel[0], kernel[1])).out
    spread = _spread(g, strides)
    frame: list[int] = []
    for axis in (0, 1):
        reach = dilations[axis] * (kernel[axis] - 1)
        before = reach - pads[2 * axis]
        frame += (before, space[axis] + reach - static_tensor(spread).shape[2 + axis] - before)
    return Conv2dOp(_framed(spread, frame), _turned(back), dilations=tuple(dilations), groups=groups).out


def _by_filter(
    g: Value,
    image: Value,
    kernel: Sequence[int],
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Value:
    """The gradient [O, C / groups, *kernel] by the filter of the convolution of an image [N, C, H, W]."""
    n, c, h, w = static_tensor(image).shape
    seen = ReshapeOp(image, shape=(n, groups, c // groups, h, w)).out
    seen = ReshapeOp(TransposeOp(seen, perm=(2, 1, 0, 3, 4)), shape=(c // groups, groups * n, h, w)).out
    weight = TransposeOp(g, perm=(1, 0, 2, 3)).out
    out = Conv2dOp(
        seen, weight, strides=tuple(dilations), paddings=tuple(pads), dilations=tuple(strides), groups=groups
    ).out
    if static_tensor(out).shape[2:] != tuple(kernel):
        out = SliceOp(out, axes=(2, 3), starts=(0, 0), ends=tuple(kernel)).out
    return TransposeOp(out, perm=(1, 0, 2, 3)).out


@Grad.implement(Conv2dOp, DepthwiseConv2dOp, FusedConv2dAddActOp)
class ConvolutionGrad(Model[ConvolutionOp], Grad):
    """A transposed convolution of g with the filter; the convolution of the image with g; the sum of g for the bias."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        if isinstance(op, FusedConv2dAddActOp):
            zero = full(g, 0.0)
            g = WhereOp(GreaterThanOp(read(op.out), zero), g, zero).out
        image, weight = read(op.input), read(op.filter)
        channels_last, filter_last = op.data_format == "NHWC", op.filter_format == "HWOI"
        if channels_last:
            image, g = (TransposeOp(x, perm=_TO_NCHW).out for x in (image, g))
        if filter_last:
            weight = TransposeOp(weight, perm=(2, 3, 0, 1)).out
        _, _, *kernel = op.filter_shape
        by_input = _by_input(
            g, weight, static_tensor(image).shape[2:],
            strides=op.strides, pads=op.pads, dilations=op.dilations, groups=op.groups,
        )  # fmt: skip
        by_filter = _by_filter(
            g, image, kernel, strides=op.strides, pads=op.pads, dilations=op.dilations, groups=op.groups
        )
        if channels_last:
            by_input = TransposeOp(by_input, perm=_TO_NHWC).out
        if filter_last:
            by_filter = TransposeOp(by_filter, perm=(2, 3, 0, 1)).out
        if op.bias is None:
            return by_input, by_filter
        return by_input, by_filter, SumOp(g, axis=(0, 2, 3)).out


@Grad.implement(Pool2dOp)
class Pool2dGrad(UnaryGrad):
    """Mean: g divided by the cells of its window, to each of them. Maximum: g to the first cell that has it.

    Adaptive pooling: only where the windows have one size and do not overlap.
    """

    def part(self, g: Value) -> Value:
        op: Pool2dOp = self.op
        x, out = self.x, self.out
        if op.data_format == "NHWC":
            x, out, g = (TransposeOp(value, perm=_TO_NCHW).out for value in (x, out, g))
        _, c, h, w = static_tensor(x).shape
        outputs = static_tensor(out).shape[2:]
        kernel, strides, pads = op.kernel, (op.strides[0], op.strides[1]), op.pads
        if op.adaptive or op.global_pooling:
            if h % outputs[0] or w % outputs[1]:
                raise IrError(f"{op.name} has no gradient where adaptive windows overlap or differ in size", op)
            kernel = strides = (h // outputs[0], w // outputs[1])
            pads = (0, 0, 0, 0)
        if op.pooling_type == "avg":
            counts = [
                _cells(
                    (h, w)[axis],
                    outputs[axis],
                    kernel[axis],
                    strides[axis],
                    pads[2 * axis : 2 * axis + 2],
                    op.exclusive,
                )
                for axis in (0, 1)
            ]
            share = (1 / np.multiply.outer(*counts)).astype(static_tensor(x).element.dtype)
            ones = full(x, 1.0, (c, 1, *kernel))
            shared = times(g, builtin.constant(value=DenseAttr(share)).out)
            by_x = _by_input(shared, ones, (h, w), strides=strides, pads=pads, dilations=(1, 1), groups=c)
        else:
            by_x = _to_largest(x, out, g, kernel=kernel, strides=strides, pads=pads)
        return TransposeOp(by_x, perm=_TO_NHWC).out if op.data_format == "NHWC" else by_x


def _cells(
    extent: int, windows: int, size: int, stride: int, pads: Sequence[int], exclusive: bool
) -> NDArray[np.int64]:
    """By how many cells a mean along one axis divides, for each window: cells of the image, or of the padded image."""
    first = np.arange(windows) * stride - pads[0]
    begin, end = (0, extent) if exclusive else (-pads[0], extent + pads[1])
    return np.minimum(first + size, end) - np.maximum(first, begin)


def _to_largest(
    x: Value, out: Value, g: Value, *, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> Value:
    """G of each window to the first of its cells, row by row, that is its maximum; the sum over windows. [N, C, H, W].

    One sweep for each cell of a window: O(cells) operations.
    """
    n, c, h, w = static_tensor(x).shape
    rows, columns = static_tensor(out).shape[2:]
    bottom = rows * strides[0] + kernel[0] - 1 - pads[0] - h
    right = columns * strides[1] + kernel[1] - 1 - pads[2] - w
    framed = _framed(x, (pads[0], bottom, pads[2], right), -math.inf)
    zero = full(g, 0.0)
    taken: Value | None = None
    total: Value | None = None
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            ends = (i + rows * strides[0], j + columns * strides[1])
            part = SliceOp(framed, axes=(2, 3), starts=(i, j), ends=ends).out
            part = ReshapeOp(part, shape=(n * c, rows, strides[0], columns, strides[1])).out
            part = SliceOp(part, axes=(2, 4), starts=(0, 0), ends=(1, 1), decrease_axis=(2, 4)).out
            equal = EqualOp(ReshapeOp(part, shape=(n, c, rows, columns)), out).out
            chosen = equal if taken is None else LogicalAndOp(equal, LogicalNotOp(taken)).out
            taken = equal if taken is None else LogicalOrOp(taken, equal).out
            spread = _spread(WhereOp(chosen, g, zero).out, strides)
            _, _, height, width = static_tensor(spread).shape
            top, left = i - pads[0], j - pads[2]
            placed = _framed(spread, (top, h - top - height, left, w - left - width))
            total = placed if total is None else AddOp(total, placed).out
    assert total is not None  # a window has a cell
    return total
