"""Convolutions over one, two and three axes, and their transposes."""

from __future__ import annotations

import math

import attrs
import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode, tensor_type
from tx8ir.frontends.onnx.ops.windows import WINDOW, Window, along
from tx8ir.frontends.onnx.registry import Converted, converter

LARGEST_RANK = 5
"""Images have up to three spatial axes."""


@converter("Conv", first=1, last=22, attributes=(*WINDOW, "group"))
def conv(node: OnnxNode) -> Converted:
    """Convolution of [N, C, W], [N, C, H, W] or [N, C, D, H, W] with an optional bias per output channel."""
    weight = node.type_of(1)
    kernel = node.ints("kernel_shape", weight.shape[2:])
    if weight.rank != node.type_of(0).rank or kernel != weight.shape[2:]:
        raise node.error(
            f"input {node.type_of(0)}, weight {weight} and kernel_shape {list(kernel)} do not fit each other"
        )
    window = Window.of(node, kernel)
    return convolve(node, node.operand(0), node.operand(1), node.optional(2), window, node.int("group", 1))


def convolve(
    node: OnnxNode, x: Value, weight: Value, bias: Value | None, window: Window, groups: int
) -> Value | Operation:
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


def _convolve_volume(
    node: OnnxNode, x: Value, weight: Value, bias: Value | None, window: Window, groups: int
) -> Operation:
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


_TRANSPOSED = ("auto_pad", "dilations", "kernel_shape", "pads", "strides", "group", "output_padding", "output_shape")


@converter("ConvTranspose", first=1, last=22, attributes=_TRANSPOSED)
def conv_transpose(node: OnnxNode) -> Converted:
    """The transpose of a convolution: a convolution of the image, zeros between its cells, with the filter mirrored."""
    image, weight = node.type_of(0), node.type_of(1)
    axes = image.rank - 2
    kernel = node.ints("kernel_shape", weight.shape[2:])
    groups = node.int("group", 1)
    if weight.rank != image.rank or axes < 1 or kernel != weight.shape[2:] or image.shape[1] != weight.shape[0]:
        raise node.error(f"input {image}, weight {weight} and kernel_shape {list(kernel)} do not fit each other")
    if groups < 1 or image.shape[1] % groups:
        raise node.error(f"attribute group is {groups}; {image.shape[1]} channels do not divide into so many")
    strides = node.ints("strides", (1,) * axes, length=axes)
    dilations = node.ints("dilations", (1,) * axes, length=axes)
    extra = node.ints("output_padding", (0,) * axes, length=axes)
    if min(*strides, *dilations, *kernel) < 1 or min(extra) < 0:
        raise node.error("kernel, strides and dilations must be positive, output_padding not negative")
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    begin, end = _cut(node, image.shape[2:], strides, extra, reach)
    x = _spread(node.operand(0), strides)
    for axis in range(axes):
        x = _framed(x, axis + 2, reach[axis] - 1 - begin[axis], reach[axis] - 1 - end[axis] + extra[axis])
    space = tensor_type(x).shape[2:]
    ones, zeros = (1,) * axes, (0,) * axes
    window = Window(space, kernel, ones, dilations, zeros, zeros)
    window.check(node, window.counts())
    return convolve(node, x, _mirrored(node, node.operand(1), groups), node.optional(2), window, groups)


def _cut(
    node: OnnxNode, space: tuple[int, ...], strides: tuple[int, ...], extra: tuple[int, ...], reach: list[int]
) -> tuple[list[int], list[int]]:
    """The cells that padding cuts off the result, at both ends of each axis."""
    axes = len(space)
    auto_pad = node.string("auto_pad", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), "NOTSET")
    wanted: tuple[int, ...] | None = None
    if node.has_attribute("output_shape"):
        wanted = node.ints("output_shape")[-axes:]
    elif auto_pad.startswith("SAME"):
        wanted = tuple(extent * stride for extent, stride in zip(space, strides, strict=True))
    if wanted is None:
        pads = node.ints("pads", (0,) * 2 * axes, length=2 * axes)
        return list(pads[:axes]), list(pads[axes:])
    whole = [s * (n - 1) + e + r for s, n, e, r in zip(strides, space, extra, reach, strict=True)]
    totals = [w - o for w, o in zip(whole, wanted, strict=True)]
    less = [total // 2 for total in totals]
    more = [total - half for total, half in zip(totals, less, strict=True)]
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


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


def _mirrored(node: OnnxNode, weight: Value, groups: int) -> Value:
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


@converter("Col2Im", first=18, last=18, attributes=("dilations", "pads", "strides"))
def col2im(node: OnnxNode) -> Converted:
    """The sum of blocks, each at its place in the image: the transpose of cutting an image into windows."""
    source = node.type_of(0)
    space, kernel = node.known_ints(1, "the image's extents"), node.known_ints(2, "the block's extents")
    axes = len(space)
    pads = node.ints("pads", (0,) * 2 * axes, length=2 * axes)
    window = Window(
        space,
        kernel,
        node.ints("strides", (1,) * axes, length=axes),
        node.ints("dilations", (1,) * axes, length=axes),
        pads[:axes],
        pads[axes:],
    )
    counts = window.counts()
    blocks = math.prod(kernel)
    if source.rank != 3 or len(kernel) != axes or source.shape[1] % blocks or source.shape[2] != math.prod(counts):
        raise node.error(f"{source} is not blocks of {list(kernel)} for an image of {list(space)}")
    framed = tuple(n + a + b for n, a, b in zip(space, window.begin, window.end, strict=True))
    n, channels = source.shape[0], source.shape[1] // blocks
    rows = np.zeros((*kernel, *counts), np.int64)
    for axis in range(axes):
        places = np.asarray([window.positions(axis, counts[axis], k) for k in range(kernel[axis])]) + window.begin[axis]
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = places.shape
        rows = rows * framed[axis] + places.reshape(shape)
    # One row for each cell of the image, holding all batches and channels.
    columns = pd.reshape(node.operand(0), shape=(n * channels, blocks * math.prod(counts)))
    updates = pd.transpose(columns, perm=(1, 0))
    empty = pd.full(shape=(math.prod(framed), n * channels), value=0.0, dtype=source.element)
    summed = pd.scatter(empty, node.constant(rows.reshape(-1), i64, "places"), updates, reduce="add")
    image = pd.reshape(pd.transpose(summed, perm=(1, 0)), shape=(n, channels, *framed))
    spatial = tuple(range(2, 2 + axes))
    ends = tuple(b + extent for b, extent in zip(window.begin, space, strict=True))
    return pd.slice(image, axes=spatial, starts=window.begin, ends=ends)
