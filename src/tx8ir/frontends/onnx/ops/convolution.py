"""Convolutions over one, two and three axes, and their transposes."""

from __future__ import annotations

import math

import numpy as np

from tx8ir.core import i64
from tx8ir.dialects import pd
from tx8ir.frontends.convolution import convolve, convolve_transposed
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.windows import WINDOW, window_of
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.windows import Window


@converter("Conv", first=1, last=22, attributes=(*WINDOW, "group"))
def conv(node: OnnxNode) -> Converted:
    """Convolution of [N, C, W], [N, C, H, W] or [N, C, D, H, W] with an optional bias per output channel."""
    weight = node.type_of(1)
    kernel = node.ints("kernel_shape", weight.shape[2:])
    if weight.rank != node.type_of(0).rank or kernel != weight.shape[2:]:
        raise node.error(
            f"input {node.type_of(0)}, weight {weight} and kernel_shape {list(kernel)} do not fit each other"
        )
    window = window_of(node, kernel)
    return convolve(node, node.operand(0), node.operand(1), node.optional(2), window, node.int("group", 1))


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
    cut = _cut(node, image.shape[2:], strides, extra, reach)
    x, weights, bias = node.operand(0), node.operand(1), node.optional(2)
    return convolve_transposed(node, x, weights, bias, strides, dilations, cut, extra, groups)


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
