"""Selection by index tensors, and parts replaced."""

from __future__ import annotations

import math

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.places import counted_from_front, flat_places, strides_of
from tx8ir.frontends.values import tensor_type


@converter("gather")
def gather(node: PaddleNode) -> Converted:
    """The places of an axis that a list names."""
    x, index = node.operand(0), node.operand(1)
    axis = int(node.known_number(2, "axis")) if node.count > 2 else node.int("axis", 0)
    if tensor_type(index).rank == 2:
        index = pd.reshape(index, shape=(-1,)).out
    return pd.gather(x, index, axis=node.axis(axis, tensor_type(x).rank))


@converter("index_select")
def index_select(node: PaddleNode) -> Converted:
    """The places of an axis that a list names."""
    x = node.operand(0)
    return pd.gather(x, node.operand(1), axis=node.axis(node.int("axis", 0), tensor_type(x).rank))


@converter("gather_nd")
def gather_nd(node: PaddleNode) -> Converted:
    """The parts at places that the last axis of the index names."""
    x, index = node.operand(0), node.operand(1)
    shape, places = node.static_shape(x, "the operand"), node.static_shape(index, "the index")
    depth, rest = places[-1], shape[places[-1] :]
    total: Value | None = None
    for axis, stride in enumerate(strides_of(shape[:depth])):
        part = pd.slice(index, axes=(len(places) - 1,), starts=(axis,), ends=(axis + 1,)).out
        part = counted_from_front(node, pd.reshape(part, shape=(math.prod(places[:-1]),)).out, shape[axis])
        part = part if stride == 1 else pd.scale(part, scale=float(stride), bias=0.0).out
        total = part if total is None else pd.add(total, part).out
    if total is None:
        raise node.error("indexes no axis")
    rows = pd.reshape(x, shape=(math.prod(shape[:depth]), *rest))
    return pd.reshape(pd.gather(rows, total, axis=0), shape=(*places[:-1], *rest))


@converter("take_along_axis", "index_sample")
def take_along_axis(node: PaddleNode) -> Converted:
    """The elements at given places along an axis, one for each element of the index."""
    x, index = node.operand(0), node.operand(1)
    shape, places = node.static_shape(x, "the operand"), node.static_shape(index, "the index")
    axis = 1 if node.proto.short == "index_sample" else node.axis(node.int("axis", 0), len(shape))
    flat = pd.reshape(x, shape=(math.prod(shape),))
    rows = flat_places(node, counted_from_front(node, index, shape[axis]), shape, axis)
    return pd.reshape(pd.gather(flat, rows, axis=0), shape=places)


@converter("scatter")
def scatter(node: PaddleNode) -> Converted:
    """Rows replaced, or, of those that are named, the sums of what is given for them."""
    x, index, updates = (node.operand(place) for place in range(3))
    if tensor_type(index).rank != 1:
        index = pd.reshape(index, shape=(-1,)).out
    if node.flag("overwrite", True):
        return pd.scatter(x, index, updates, reduce="assign")
    nothing = pd.scale(updates, scale=0.0, bias=0.0)
    return pd.scatter(pd.scatter(x, index, nothing, reduce="assign"), index, updates, reduce="add")


@converter("set_value")
def set_value(node: PaddleNode) -> Converted:
    """Numbers in place of a part."""
    element = tensor_type(node.operand(0)).element
    value = node.constant(node.numbers("values").reshape(node.ints("shape")), element, "values")
    return _replaced(node, value, 1)


@converter("set_value_with_tensor")
def set_value_with_tensor(node: PaddleNode) -> Converted:
    """A tensor in place of a part."""
    return _replaced(node, node.operand(1), 2)


def _replaced(node: PaddleNode, value: Value, first: int) -> Converted:
    """The first operand with a part replaced: from, to and by what step on each axis say operands from `first` on."""
    x, axes = node.operand(0), node.ints("axes")
    shape = node.static_shape(x, "the operand")
    starts, ends, steps = (
        node.known_ints(first + index, what) for index, what in enumerate(("starts", "ends", "steps"))
    )
    if any(step != 1 for step in steps) or node.ints("none_axes", ()):
        raise node.error(f"replaces a part by steps of {list(steps)}, or with new axes, which is not supported")
    dropped = tuple(node.axis(axis, len(shape)) for axis in node.ints("decrease_axes", ()))
    part = list(shape)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        part[node.axis(axis, len(shape))] = len(range(*slice(start, end).indices(shape[axis])))
    left = tuple(extent for axis, extent in enumerate(part) if axis not in dropped)
    value = node.cast(value, tensor_type(x).element)
    while tensor_type(value).rank > len(left) and tensor_type(value).shape[0] == 1:
        value = pd.squeeze(value, axis=(0,)).out
    value = value if tensor_type(value).shape == left else pd.expand(value, shape=left).out
    return pd.set_value(x, value, axes=axes, starts=starts, ends=ends, decrease_axis=dropped)
