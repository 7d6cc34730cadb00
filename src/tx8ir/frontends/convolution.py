"""Convolutions over one, two and three axes, and their transposes, as `pd` operations."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type
from tx8ir.frontends.windows import Window, along

LARGEST_RANK = 5
"""Images have up to three spatial axes."""


def convolve(node: Site, x: Value, weight: Value, bias: Value | None, window: Window, groups: int) -> Value | Operation:
    """Cross-correlation of [N, C, …] with [O, C/groups, …]."""
    rank = tensor_type(x).rank
    if rank > LARGEST_RANK:
        raise node.error(f"the input is {tensor_type(x)}; supported are images of up to three axes")
    if rank == LARGEST_RANK:
        return _convolve_volume(node, x, weight, bias, window, groups)
    if rank == 3:
        shape, filter_shape = tensor_type(x).shape, tensor_type(weight).shape
        flat = _convolve_image(
            pd.reshape(x, shape=(*shape[:2], 1, shape[2])).out,
            pd.reshape(weight, shape=(*filter_shape[:2], 1, filter_shape[2])).out,
            bias,
            _with_height(window),
            groups,
        )
        return pd.squeeze(flat, axis=(2,))
    return _convolve_image(x, weight, bias, window, groups)


def _with_height(window: Window) -> Window:
    return Window(
        (1, *window.space),
        (1, *window.kernel),
        (1, *window.strides),
        (1, *window.dilations),
        (0, *window.begin),
        (0, *window.end),
    )


def _convolve_image(x: Value, weight: Value, bias: Value | None, window: Window, groups: int) -> Operation:
    depthwise = groups > 1 and tensor_type(weight).shape[1] == 1 and groups == tensor_type(x).shape[1]
    (top, left), (bottom, right) = window.begin, window.end
    return (pd.depthwise_conv2d if depthwise else pd.conv2d)(
        x,
        weight,
        bias=bias,
        strides=window.strides,
        paddings=(top, bottom, left, right),
        dilations=window.dilations,
        groups=groups,
    )


def _convolve_volume(node: Site, x: Value, weight: Value, bias: Value | None, window: Window, groups: int) -> Operation:
    """The sum over the slices of the filter, of which each meets images: those of all depths are one batch."""
    counts = window.counts()
    window.check(node, counts)
    depth = counts[0]
    flat = Window(*(field[1:] for field in attrs.astuple(window)))
    total: Operation | None = None
    for index, part in enumerate(along(node, x, 0, window, depth, 0.0)):
        n, c, _, h, w = tensor_type(part).shape
        images = pd.reshape(pd.transpose(part, perm=(0, 2, 1, 3, 4)), shape=(n * depth, c, h, w)).out
        plane = pd.slice(weight, axes=(2,), starts=(index,), ends=(index + 1,), decrease_axis=(2,)).out
        out = _convolve_image(images, plane, bias if index == 0 else None, flat, groups)
        total = out if total is None else pd.add(total, out)
    assert total is not None
    images_out, o, h, w = tensor_type(total.results[0]).shape
    split = pd.reshape(total, shape=(images_out // depth, depth, o, h, w))
    return pd.transpose(split, perm=(0, 2, 1, 3, 4))


def convolve_transposed(
    node: Site, x: Value, weight: Value, bias: Value | None, strides: tuple[int, ...], dilations: tuple[int, ...],
    cut: tuple[Sequence[int], Sequence[int]], extra: Sequence[int], groups: int,
) -> Value | Operation:  # fmt: skip
    """The transpose of a convolution: a convolution of the image, zeros between its cells, with the filter mirrored.

    Args:
        node: where it is.
        x: the image, [N, C, …].
        weight: the filter, [C, O/groups, …].
        bias: [O], or None.
        strides, dilations: of the convolution that it is the transpose of.
        cut: cells that are cut off the result, at the start and at the end of each axis.
        extra: cells that are added at the end of each axis.
        groups: of channels.
    """
    image = tensor_type(x)
    axes = image.rank - 2
    kernel = tensor_type(weight).shape[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    begin, end = cut
    x = _spread(x, strides)
    for axis in range(axes):
        x = _framed(x, axis + 2, reach[axis] - 1 - begin[axis], reach[axis] - 1 - end[axis] + extra[axis])
    space = tensor_type(x).shape[2:]
    ones, zeros = (1,) * axes, (0,) * axes
    window = Window(space, kernel, ones, dilations, zeros, zeros)
    window.check(node, window.counts())
    return convolve(node, x, _mirrored(node, weight, groups), bias, window, groups)


def _spread(x: Value, strides: tuple[int, ...]) -> Value:
    """The image with `stride - 1` zeros between neighbours on each spatial axis."""
    for axis, stride in enumerate(strides, 2):
        shape = tensor_type(x).shape
        if stride == 1:
            continue
        cells = pd.reshape(x, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])).out
        paddings = [0] * (2 * len(shape) + 2)
        paddings[2 * axis + 3] = stride - 1
        wide = pd.pad(cells, paddings=tuple(paddings), pad_value=0.0)
        whole = pd.reshape(wide, shape=(*shape[:axis], shape[axis] * stride, *shape[axis + 1 :])).out
        x = pd.slice(whole, axes=(axis,), starts=(0,), ends=((shape[axis] - 1) * stride + 1,)).out
    return x


def _framed(x: Value, axis: int, low: int, high: int) -> Value:
    """Zeros at both ends of an axis; a negative number cuts off."""
    shape = tensor_type(x).shape
    if low < 0 or high < 0:
        x = pd.slice(x, axes=(axis,), starts=(max(-low, 0),), ends=(shape[axis] + min(high, 0),)).out
    if low > 0 or high > 0:
        paddings = [0] * (2 * len(shape))
        paddings[2 * axis : 2 * axis + 2] = max(low, 0), max(high, 0)
        x = pd.pad(x, paddings=tuple(paddings), pad_value=0.0).out
    return x


def _mirrored(node: Site, weight: Value, groups: int) -> Value:
    """The filter [C, O/groups, …] as [O, C/groups, …], each spatial axis backwards."""
    c, o, *kernel = tensor_type(weight).shape
    spatial = tuple(range(3, 3 + len(kernel)))
    split = pd.reshape(weight, shape=(groups, c // groups, o, *kernel))
    swapped = pd.transpose(split, perm=(0, 2, 1, *spatial))
    out = pd.reshape(swapped, shape=(groups * o, c // groups, *kernel)).out
    for axis, extent in enumerate(kernel, 2):
        if extent > 1:
            out = pd.gather(out, node.constant(np.arange(extent - 1, -1, -1), i64, "backwards"), axis=axis).out
    return out
