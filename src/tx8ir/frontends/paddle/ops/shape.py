"""Other shapes, and other orders of elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tx8ir.core import Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen


@converter("reshape")
def reshape(node: PaddleNode) -> Converted:
    """The elements in another shape; 0 keeps an extent, -1 is what is left."""
    x = node.operand(0)
    old = tensor_type(x).shape
    new = list(node.known_ints(1, "shape"))
    for axis, extent in enumerate(new):
        if extent == 0 and axis < len(old):
            new[axis] = old[axis]
    return pd.reshape(x, shape=tuple(new))


@converter("split")
def split(node: PaddleNode) -> Converted:
    """Parts of given extents; one may be what is left."""
    x, sections = node.operand(0), list(node.known_ints(1, "sections"))
    axis = node.axis(int(node.known_number(2, "axis")), tensor_type(x).rank)
    if -1 in sections:
        rest = node.static_shape(x, "the operand")[axis] - sum(extent for extent in sections if extent >= 0)
        sections[sections.index(-1)] = rest
    return [pd.split(x, sections=tuple(sections), axis=axis).results]


@converter("split_with_num")
def split_with_num(node: PaddleNode) -> Converted:
    """So many equal parts."""
    x, count = node.operand(0), node.int("num")
    axis = node.axis(int(node.known_number(1, "axis")), tensor_type(x).rank)
    extent = node.static_shape(x, "the operand")[axis]
    if count < 1 or extent % count:
        raise node.error(f"{extent} elements do not divide into {count} parts")
    return [pd.split(x, sections=(extent // count,) * count, axis=axis).results]


@converter("unbind", "unstack")
def unbind(node: PaddleNode) -> Converted:
    """The parts at each place of an axis, without it."""
    x = node.operand(0)
    axis = node.axis(node.int("axis", 0), tensor_type(x).rank)
    extent = node.static_shape(x, "the operand")[axis]
    parts = pd.split(x, sections=(1,) * extent, axis=axis).results
    return [[pd.squeeze(part, axis=(axis,)).out for part in parts]]


@converter("stack")
def stack(node: PaddleNode) -> Converted:
    """Tensors beside each other along a new axis."""
    parts = node.list(0)
    axis = node.axis(node.int("axis", 0), tensor_type(parts[0]).rank + 1)
    return pd.concat([pd.unsqueeze(part, axis=(axis,)).out for part in parts], axis=axis)


@converter("slice")
def slice_(node: PaddleNode) -> Converted:
    """A part of some axes, without those of one element that are named."""
    return pd.slice(
        node.operand(0),
        axes=node.ints("axes"),
        starts=node.known_ints(1, "starts"),
        ends=node.known_ints(2, "ends"),
        decrease_axis=node.ints("decrease_axis", ()),
    )


@converter("strided_slice")
def strided_slice(node: PaddleNode) -> Converted:
    """Every so manieth element of a part of some axes."""
    x = node.operand(0)
    starts, ends, strides = (node.known_ints(i, what) for i, what in ((1, "starts"), (2, "ends"), (3, "strides")))
    for axis, start, end, stride in zip(node.ints("axes"), starts, ends, strides, strict=True):
        at = node.axis(axis, tensor_type(x).rank)
        extent = node.static_shape(x, "the operand")[at]
        x = chosen(node, x, at, list(range(*slice(start, end, stride).indices(extent))))
    return x


def expanded(node: PaddleNode, x: Value, shape: Sequence[int]) -> Value:
    """A tensor repeated along axes of one element, and along new ones in front; -1 keeps an extent."""
    old = tensor_type(x).shape
    front = len(shape) - len(old)
    if front < 0:
        raise node.error(f"expands {tensor_type(x)} to {list(shape)}, which has fewer axes")
    new = tuple(old[axis - front] if extent == -1 and axis >= front else extent for axis, extent in enumerate(shape))
    return pd.expand(x, shape=new).out


@converter("expand")
def expand(node: PaddleNode) -> Converted:
    """Repeated along axes of one element."""
    return expanded(node, node.operand(0), node.known_ints(1, "shape"))


@converter("expand_as")
def expand_as(node: PaddleNode) -> Converted:
    """Repeated to the shape of another tensor."""
    other = node.optional(1)
    shape = node.ints("target_shape", ()) if other is None else node.static_shape(other, "the other tensor")
    return expanded(node, node.operand(0), shape)


@converter("broadcast_tensors")
def broadcast_tensors(node: PaddleNode) -> Converted:
    """Tensors in the shape that they broadcast to."""
    parts = node.list(0)
    shape = np.broadcast_shapes(*(node.static_shape(part, "an operand") for part in parts))
    return [[pd.expand(part, shape=shape).out for part in parts]]


@converter("meshgrid")
def meshgrid(node: PaddleNode) -> Converted:
    """Each of some lists along an axis of its own."""
    parts = node.list(0)
    shape = tuple(node.static_shape(pd.reshape(part, shape=(-1,)).out, "an operand")[0] for part in parts)
    found: list[Value] = []
    for axis, part in enumerate(parts):
        there = tuple(-1 if a == axis else 1 for a in range(len(parts)))
        found.append(pd.expand(pd.reshape(part, shape=there), shape=shape).out)
    return [found]


@converter("tile")
def tile(node: PaddleNode) -> Converted:
    """The tensor several times along each axis."""
    x, times = node.operand(0), list(node.known_ints(1, "repeat_times"))
    shape = list(node.static_shape(x, "the operand"))
    rank = max(len(shape), len(times))
    times, shape = [1] * (rank - len(times)) + times, [1] * (rank - len(shape)) + shape
    apart = tuple(itertools.chain.from_iterable((1, extent) for extent in shape))
    wide = tuple(itertools.chain.from_iterable(zip(times, shape, strict=True)))
    whole = tuple(count * extent for count, extent in zip(times, shape, strict=True))
    return pd.reshape(pd.expand(pd.reshape(x, shape=apart), shape=wide), shape=whole)


@converter("repeat_interleave")
def repeat_interleave(node: PaddleNode) -> Converted:
    """Each place of an axis several times."""
    x = node.operand(0)
    axis = node.axis(node.int("dim", -1), tensor_type(x).rank)
    places = [place for place in range(node.static_shape(x, "the operand")[axis]) for _ in range(node.int("repeats"))]
    return chosen(node, x, axis, places)


@converter("flip")
def flip(node: PaddleNode) -> Converted:
    """Some axes backwards."""
    x = node.operand(0)
    for axis in node.axes(node.ints("axis"), tensor_type(x).rank) if node.ints("axis") else ():
        x = chosen(node, x, axis, list(range(node.static_shape(x, "the operand")[axis]))[::-1])
    return x


@converter("roll")
def roll(node: PaddleNode) -> Converted:
    """Some axes moved on, around their ends."""
    x, shifts, axes = node.operand(0), node.known_ints(1, "shifts"), node.ints("axis", ())
    shape = node.static_shape(x, "the operand")
    out = x if axes else pd.reshape(x, shape=(-1,)).out
    for axis, shift in zip(axes or (0,), shifts, strict=True):
        at = node.axis(axis, tensor_type(out).rank)
        extent = node.static_shape(out, "the operand")[at]
        out = chosen(node, out, at, [(place - shift) % extent for place in range(extent)])
    return out if axes else pd.reshape(out, shape=shape)


@converter("tril", "triu")
def triangle(node: PaddleNode) -> Converted:
    """What is not above, or not below, a diagonal; zeros elsewhere."""
    x = node.operand(0)
    build = np.tril if node.proto.short.startswith("tril") else np.triu
    mask = build(np.ones(node.static_shape(x, "the operand")[-2:], np.bool_), node.int("diagonal", 0))
    return pd.where(node.constant(mask, i1, "mask"), x, node.scalar(0, tensor_type(x).element))


@converter("pad")
def pad(node: PaddleNode) -> Converted:
    """A number around the tensor."""
    value = node.known_number(1, "pad_value") if node.count > 1 else node.float("pad_value", 0.0)
    return pd.pad(node.operand(0), paddings=node.ints("paddings"), pad_value=value)


@converter("pad3d")
def pad3d(node: PaddleNode) -> Converted:
    """A number, or what the image has there, around volumes; the last axis comes first in the paddings."""
    x, around = node.operand(0), node.known_ints(1, "paddings")
    mode = node.word("mode", "constant", ("constant", "reflect", "replicate", "circular"))
    first = 2 if node.word("data_format", "NCDHW", ("NCDHW", "NDHWC")) == "NCDHW" else 1
    by_axis = {first + 2 - index: around[2 * index : 2 * index + 2] for index in range(3)}
    if mode == "constant":
        paddings = [extent for axis in range(5) for extent in by_axis.get(axis, (0, 0))]
        return pd.pad(x, paddings=tuple(paddings), pad_value=node.float("pad_value", 0.0))
    for axis, (low, high) in by_axis.items():
        if low or high:
            x = chosen(node, x, axis, _around(node.static_shape(x, "the operand")[axis], low, high, mode))
    return x


def _around(extent: int, low: int, high: int, mode: str) -> list[int]:
    """The places of an axis, with those that stand for what is before and after it."""
    places = range(-low, extent + high)
    if mode == "replicate":
        return [min(max(place, 0), extent - 1) for place in places]
    if mode == "circular":
        return [place % extent for place in places]
    last = extent - 1
    return [last - abs(last - place % (2 * last)) if last else 0 for place in places]


@converter("pixel_shuffle")
def pixel_shuffle(node: PaddleNode) -> Converted:
    """Channels to places: [N, C r², H, W] becomes [N, C, H r, W r]."""
    x, r = node.operand(0), node.int("upscale_factor", 1)
    if node.word("data_format", "NCHW") != "NCHW":
        raise node.error("has its channels last, which is not supported")
    n, c, h, w = node.static_shape(x, "the image")
    apart = pd.transpose(pd.reshape(x, shape=(n, c // r**2, r, r, h, w)), perm=(0, 1, 4, 2, 5, 3))
    return pd.reshape(apart, shape=(n, c // r**2, h * r, w * r))


@converter("share_data")
def share_data(node: PaddleNode) -> Converted:
    """The tensor itself."""
    return node.operand(0)
