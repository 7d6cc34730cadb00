"""Operations that move elements, or make them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import DYNAMIC, Operation, Value, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo import written
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

MOST = 1 << 28
"""No constant is made of more elements than this."""


@converter("stablehlo.constant", elementwise=True)
def constant(node: StableHloNode) -> Converted:
    """Numbers; where all are one, that number."""
    array = written.elements(node.attribute("value"))
    if array is None:
        raise node.error(f"has the elements {node.attribute('value')!s:.60}; expected numbers of the machine")
    element = node.result.element
    first = array[(0,) * array.ndim] if array.size else None
    splat = array.size > 1 and not any(array.strides)
    if first is not None and splat and element is not i1 and float(first) == first and abs(float(first)) < 1 << 53:
        return pd.full(shape=array.shape, value=float(first), dtype=element)
    return node.constant(array, element, "value")


@converter("stablehlo.iota")
def iota(node: StableHloNode) -> Converted:
    """The place of each element on one axis."""
    node.take(0)
    return counted(node, node.result.shape)


def counted(node: StableHloNode, shape: Sequence[int]) -> Value | Operation:
    """The place of each element of a tensor of this shape on the axis that the node names."""
    (axis,) = node.axes((node.int("iota_dimension"),), len(shape), "the axes")
    if shape[axis] > MOST:
        raise node.error(f"would make a constant of {shape[axis]} elements; at most {MOST} are supported")
    element = node.result.element
    numbers = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    found = node.constant(numbers.astype(element.dtype), element, "places")
    return found if tensor_type(found).shape == tuple(shape) else pd.expand(found, shape=tuple(shape))


@converter("stablehlo.broadcast_in_dim", elementwise=True)
def broadcast_in_dim(node: StableHloNode) -> Converted:
    """Repeats elements along new axes, and along those of extent 1."""
    (x,) = node.take(1)
    return broadcast(node, x, node.result.shape, node.ints("broadcast_dimensions"))


def broadcast(node: StableHloNode, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value | Operation:
    """A tensor of this shape, in which axis i of x is axis dims[i]."""
    if not shape:
        return x  # one element; where it is built for tensors, these
    if node.graph.is_lifted:
        raise node.error("stands in a body that works on single elements, and gives it more than one element")
    type_ = tensor_type(x)
    if len(dims) != type_.rank:
        raise node.error(f"broadcast_dimensions are {list(dims)}; expected {type_.rank} for {type_}")
    node.axes(dims, len(shape), "broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda axis: dims[axis])
    moved = x if order == list(range(len(dims))) else pd.transpose(x, perm=tuple(order)).out
    extents = {dims[axis]: type_.shape[axis] for axis in order}
    placed = tuple(extents.get(axis, 1) for axis in range(len(shape)))
    if tensor_type(moved).shape != placed[len(placed) - type_.rank :]:  # expanding aligns at the last axis
        moved = pd.unsqueeze(moved, axis=tuple(axis for axis in range(len(shape)) if axis not in extents)).out
    if placed != tuple(shape):
        return pd.expand(moved, shape=tuple(shape))
    missing = len(shape) - tensor_type(moved).rank
    return pd.unsqueeze(moved, axis=tuple(range(missing))) if missing else moved


@converter("stablehlo.reshape", elementwise=True)
def reshape(node: StableHloNode) -> Converted:
    """The elements in another shape."""
    (x,) = node.take(1)
    shape = node.result.shape
    if not shape and (node.graph.is_lifted or not tensor_type(x).rank):
        return x
    return reshaped(node, x, shape)


def reshaped(node: StableHloNode, x: Value, shape: Sequence[int]) -> Value:
    """The elements of x in another shape, of which one extent may be dynamic."""
    if tensor_type(x).shape == tuple(shape) and DYNAMIC not in shape:
        return x
    if list(shape).count(DYNAMIC) > 1:
        raise node.graph.open(f"gives the shape {list(shape)} with several dynamic extents", node.proto)
    return pd.reshape(x, shape=tuple(-1 if extent == DYNAMIC else extent for extent in shape)).out


@converter("stablehlo.transpose")
def transpose(node: StableHloNode) -> Converted:
    """The axes in another order."""
    (x,) = node.take(1)
    order = node.axes(node.ints("permutation"), tensor_type(x).rank, "the axes")
    return x if order == tuple(range(len(order))) else pd.transpose(x, perm=order)


@converter("stablehlo.reverse")
def reverse(node: StableHloNode) -> Converted:
    """Some axes backwards."""
    (x,) = node.take(1)
    axes = node.axes(node.ints("dimensions"), tensor_type(x).rank, "the axes")
    return reversed_axes(node, x, axes)


def reversed_axes(node: StableHloNode, x: Value, axes: Sequence[int]) -> Value:
    """Some axes of x backwards."""
    shape = node.static_shape(x, "what is reversed")
    for axis in axes:
        if shape[axis] > 1:
            x = pd.gather(x, node.places(np.arange(shape[axis] - 1, -1, -1), "backwards"), axis=axis).out
    return x


@converter("stablehlo.concatenate")
def concatenate(node: StableHloNode) -> Converted:
    """Tensors one after the other along an axis."""
    filled = [value for value in node.operands if 0 not in tensor_type(value).shape] or node.operands[:1]
    (axis,) = node.axes((node.int("dimension"),), node.result.rank, "the axis")
    return filled[0] if len(filled) == 1 else pd.concat(filled, axis=axis)


@converter("stablehlo.slice")
def slice_(node: StableHloNode) -> Converted:
    """So many elements of each axis, from a start to a limit."""
    (x,) = node.take(1)
    rank = tensor_type(x).rank
    starts = node.ints("start_indices", length=rank)
    limits = node.ints("limit_indices", length=rank)
    return sliced(node, x, starts, limits, node.ints("strides", (1,) * rank, length=rank))


def sliced(
    node: StableHloNode, x: Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]
) -> Value:
    """Elements of each axis from a start to a limit, each so many."""
    shape = tensor_type(x).shape
    cut = [
        axis for axis in range(len(shape)) if strides[axis] == 1 and (starts[axis], limits[axis]) != (0, shape[axis])
    ]
    if cut:
        x = pd.slice(x, axes=tuple(cut), starts=tuple(starts[a] for a in cut), ends=tuple(limits[a] for a in cut)).out
    for axis, stride in enumerate(strides):
        if stride != 1:
            x = strided(node, x, axis, starts[axis], limits[axis], stride)
    return x


def strided(node: StableHloNode, x: Value, axis: int, start: int, limit: int, stride: int) -> Value:
    """Each so many elements of an axis: the first of each group, once the axis is cut into groups."""
    if stride < 1:
        raise node.error(f"takes each {stride} elements; expected 1 or more")
    shape = node.static_shape(x, "what is taken from")
    count = max(-(-(limit - start) // stride), 0)
    if count <= 1:
        return pd.slice(x, axes=(axis,), starts=(start,), ends=(start + count,)).out
    end = start + count * stride
    if end > shape[axis]:
        paddings = [0] * (2 * len(shape))
        paddings[2 * axis + 1] = end - shape[axis]
        if tensor_type(x).element is i1:
            return pd.gather(x, node.places(np.arange(start, limit, stride), "places"), axis=axis).out
        x = pd.pad(x, paddings=tuple(paddings), pad_value=0.0).out
    x = pd.slice(x, axes=(axis,), starts=(start,), ends=(end,)).out
    groups = pd.reshape(x, shape=(*shape[:axis], count, stride, *shape[axis + 1 :]))
    firsts = pd.slice(groups, axes=(axis + 1,), starts=(0,), ends=(1,), decrease_axis=(axis + 1,))
    return firsts.out


@converter("stablehlo.pad")
def pad(node: StableHloNode) -> Converted:
    """Elements in a frame of another, and with others between them; negative widths cut off."""
    x, filler = node.take(2)
    rank = tensor_type(x).rank
    low, high, inner = (
        node.ints(key, length=rank) for key in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return padded(node, x, filler, low, high, inner)


def padded(
    node: StableHloNode, x: Value, filler: Value, low: Sequence[int], high: Sequence[int], inner: Sequence[int]
) -> Value:
    """Elements in a frame of `filler` (rank 0), and with `inner` of it between neighbours."""
    if any(width < 0 for width in inner):
        raise node.error(f"interior_padding is {list(inner)}; expected 0 or more")
    for axis, width in enumerate(inner):
        if width:
            x = _apart(node, x, filler, axis, width)
    shape = tensor_type(x).shape
    if any(width < 0 for width in (*low, *high)):
        starts = [max(-width, 0) for width in low]
        limits = [
            extent if extent == DYNAMIC else extent - max(-width, 0) for extent, width in zip(shape, high, strict=True)
        ]
        if DYNAMIC in shape:
            node.static_shape(x, "what is cut")
        x = sliced(node, x, starts, limits, (1,) * len(shape))
    return _framed(node, x, filler, [max(w, 0) for w in low], [max(w, 0) for w in high])


def _apart(node: StableHloNode, x: Value, filler: Value, axis: int, width: int) -> Value:
    shape = node.static_shape(x, "what is padded")
    if shape[axis] < 2:
        return x
    cells = pd.reshape(x, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])).out
    ends = [0] * (len(shape) + 1)
    ends[axis + 1] = width
    wide = _framed(node, cells, filler, [0] * len(ends), ends)
    whole = pd.reshape(wide, shape=(*shape[:axis], shape[axis] * (width + 1), *shape[axis + 1 :])).out
    end = (shape[axis] - 1) * (width + 1) + 1
    return pd.slice(whole, axes=(axis,), starts=(0,), ends=(end,)).out


def _framed(node: StableHloNode, x: Value, filler: Value, low: Sequence[int], high: Sequence[int]) -> Value:
    type_ = tensor_type(x)
    if not any(low) and not any(high):
        return x
    known = node.known(filler)
    if known is not None and type_.element is not i1 and abs(float(known)) != 1 << 63:
        paddings = tuple(width for pair in zip(low, high, strict=True) for width in pair)
        number = float(known)
        if type_.element.is_float or abs(number) <= 1 << 53:
            return pd.pad(x, paddings=paddings, pad_value=number).out
    for axis, widths in enumerate(zip(low, high, strict=True)):
        shape = node.static_shape(x, "what is padded")
        sides = [
            pd.expand(filler, shape=(*shape[:axis], width, *shape[axis + 1 :])).out if width else None
            for width in widths
        ]
        parts = [part for part in (sides[0], x, sides[1]) if part is not None]
        x = x if len(parts) == 1 else pd.concat(parts, axis=axis).out
    return x


@converter("stablehlo.dynamic_slice")
def dynamic_slice(node: StableHloNode) -> Converted:
    """So many elements of each axis, from a start that is computed; a start is moved so that all are there."""
    x, *starts = node.operands
    shape = node.static_shape(x, "what is taken from")
    sizes = node.ints("slice_sizes", length=len(shape))
    out = x
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if not 0 <= size <= shape[axis]:
            raise node.error(f"slice_sizes are {list(sizes)} of {tensor_type(x)}")
        if size == shape[axis]:
            continue
        known = node.known(start)
        last = shape[axis] - size
        if known is not None:
            first = min(max(int(known), 0), last)
            out = pd.slice(out, axes=(axis,), starts=(first,), ends=(first + size,)).out
            continue
        out = pd.gather(out, _run(node, start, size, last), axis=axis).out
    return out


def _run(node: StableHloNode, start: Value, size: int, last: int) -> Value:
    """So many places from a start between 0 and `last` on, as i64."""
    index = node.cast(start, i64)
    first = pd.minimum(pd.maximum(index, node.scalar(0, i64)), node.scalar(last, i64))
    return pd.add(pd.reshape(first, shape=(1,)), node.places(np.arange(size), "steps")).out


@converter("stablehlo.dynamic_update_slice")
def dynamic_update_slice(node: StableHloNode) -> Converted:
    """Elements with others in place of some, from a start that is computed."""
    x, update, *starts = node.operands
    shape, sizes = node.static_shape(x, "what is written to"), node.static_shape(update, "what is written")
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise node.error(f"writes {list(sizes)} into {list(shape)} at {len(starts)} starts")
    if math.prod(sizes) == 0:
        return x
    lasts = [extent - size for extent, size in zip(shape, sizes, strict=True)]
    known = [node.known(start) if last else np.asarray(0) for start, last in zip(starts, lasts, strict=True)]
    firsts = [
        None if place is None else min(max(int(place), 0), last) for place, last in zip(known, lasts, strict=True)
    ]
    if None not in firsts:
        places = [first for first in firsts if first is not None]
        ends = tuple(first + size for first, size in zip(places, sizes, strict=True))
        return pd.set_value(x, update, axes=tuple(range(len(shape))), starts=tuple(places), ends=ends)
    # Places of the update in each axis; elements of x in a box are replaced.
    here: Value | None = None
    spread = update
    for axis, (start, first, last) in enumerate(zip(starts, firsts, lasts, strict=True)):
        if not last:
            continue
        if first is None:
            index = node.cast(start, i64)
            begin = pd.minimum(pd.maximum(index, node.scalar(0, i64)), node.scalar(last, i64)).out
        else:
            begin = node.scalar(first, i64)
        along = [-1 if a == axis else 1 for a in range(len(shape))]
        offset = pd.subtract(node.places(np.arange(shape[axis]), "places"), begin)
        most = node.scalar(sizes[axis] - 1, i64)
        inside = pd.logical_and(pd.greater_equal(offset, node.scalar(0, i64)), pd.less_equal(offset, most))
        source = pd.minimum(pd.maximum(offset, node.scalar(0, i64)), most)
        if sizes[axis] > 1:
            spread = pd.gather(spread, source, axis=axis).out
        box = pd.reshape(inside, shape=tuple(shape[axis] if n == -1 else 1 for n in along)).out
        here = box if here is None else pd.logical_and(here, box).out
    assert here is not None
    return pd.where(here, spread, x)
