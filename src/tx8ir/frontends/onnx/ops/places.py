"""Operators that find places: extrema, sorting, one-hot rows, triangles, ranges."""

from __future__ import annotations

import math

import numpy as np

from tx8ir.core import Operation, Value, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.tensors import Known, element_of


def _arg(operator: str, build: type[pd.ArgmaxOp | pd.ArgminOp]) -> None:
    @converter(operator, first=1, last=13, attributes=("axis", "keepdims", "select_last_index"))
    def convert(node: OnnxNode) -> Converted:
        type_ = node.type_of(0)
        axis = node.axis("axis", type_.rank, 0)
        keepdims = node.bool("keepdims", True)
        if not node.bool("select_last_index", False):
            return build(node.operand(0), axis=axis, keepdims=keepdims)
        last = type_.shape[axis] - 1
        backwards = node.constant(np.arange(last, -1, -1), i64, "backwards")
        found = build(pd.gather(node.operand(0), backwards, axis=axis), axis=axis, keepdims=keepdims)
        return pd.scale(found, scale=-1.0, bias=float(last))

    assert convert is not None


_arg("ArgMax", pd.ArgmaxOp)
_arg("ArgMin", pd.ArgminOp)


@converter("TopK", first=1, last=24, attributes=("axis", "k", "largest", "sorted"))
def top_k(node: OnnxNode) -> Converted:
    """The largest or smallest elements along an axis in order, and where they are."""
    type_ = node.type_of(0)
    count = (node.int("k"),) if node.version < 10 else node.known_ints(1, "the number of elements")
    if len(count) != 1:
        raise node.error(f"the number of elements is {list(count)}; expected one number")
    axis = node.axis("axis", type_.rank, -1)
    found = pd.topk(node.operand(0), k=count[0], axis=axis, largest=node.bool("largest", True))
    return [found.out, found.indices]


@converter("Hardmax", first=1, last=13, attributes=("axis",))
def hardmax(node: OnnxNode) -> Converted:
    """1 at the first largest element along the axis, 0 elsewhere."""
    type_ = node.type_of(0)
    axis = node.axis("axis", type_.rank, 1 if node.version < 13 else -1)
    x: Value | Operation = node.operand(0)
    shape = type_.shape
    if node.version < 13:  # the tensor counts as a matrix
        rows = int(np.prod(shape[:axis], dtype=np.int64))
        shape, axis = (rows, type_.num_elements // max(rows, 1)), 1
        x = pd.reshape(x, shape=shape)
    place = pd.argmax(x, axis=axis, keepdims=True)
    counted = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    hot = pd.cast(pd.equal(place, node.constant(counted, i64, "places")), dtype=type_.element)
    return hot if shape == type_.shape else pd.reshape(hot, shape=type_.shape)


@converter("OneHot", first=9, last=28, attributes=("axis",))
def one_hot(node: OnnxNode) -> Converted:
    """An axis more, on which the second value is at the place that an index names, and the first everywhere else."""
    index = node.type_of(0)
    depth = node.known(1, "the depth").reshape(-1)
    if depth.size != 1 or not depth[0] >= 1:
        raise node.error(f"the depth is {depth.tolist()}; expected one number >= 1")
    extent = int(depth[0])
    axis = node.axis("axis", index.rank + 1, -1)
    x: Value | Operation = node.operand(0)
    if index.element is not i64:
        x = pd.cast(x, dtype=i64)
    place = pd.reshape(x, shape=(*index.shape[:axis], 1, *index.shape[axis:]))
    counted = np.arange(extent).reshape([-1 if a == axis else 1 for a in range(index.rank + 1)])
    # An index from -depth on counts from the end; any other names no place.
    here = node.constant(counted, i64, "places")
    from_end = node.constant(counted - extent, i64, "places_from_the_end")
    hot = pd.logical_or(pd.equal(place, here), pd.equal(place, from_end))
    off, on = (pd.slice(node.operand(2), axes=(0,), starts=(i,), ends=(i + 1,), decrease_axis=(0,)) for i in (0, 1))
    return pd.where(hot, on, off)


@converter("Trilu", first=14, last=14, attributes=("upper",))
def trilu(node: OnnxNode) -> Converted:
    """The upper or lower triangle of matrices, from diagonal k on; zeros elsewhere."""
    type_ = node.type_of(0)
    if type_.rank < 2:
        raise node.error(f"the input is {type_}; expected matrices")
    k = int(node.known_scalar(1, "the diagonal")) if node.has(1) else 0
    rows, columns = type_.shape[-2:]
    k = min(max(k, -rows), columns)
    lower = np.tri(rows, columns, k - 1 if node.bool("upper", True) else k, dtype=np.bool_)
    kept = ~lower if node.bool("upper", True) else lower
    if not kept.size:
        return node.operand(0)
    return pd.where(node.constant(kept, i1, "triangle"), node.operand(0), node.scalar(0, type_.element))


@converter("EyeLike", first=9, last=22, attributes=("dtype", "k"))
def eye_like(node: OnnxNode) -> Converted:
    """Ones on diagonal k of a matrix of the input's shape."""
    type_ = node.type_of(0)
    if type_.rank != 2:
        raise node.error(f"the input is {type_}; expected a matrix")
    element = element_of(node.int("dtype")) if node.has_attribute("dtype") else type_.element
    eye = np.eye(*type_.shape, k=node.int("k", 0)).astype(element.dtype)
    return Known.of_array(node.output_name(0), eye, element)


MOST = 1 << 28
"""No constant is made of more elements than this."""


@converter("Range", first=11, last=27, attributes=("stash_type",))
def range_(node: OnnxNode) -> Converted:
    """The numbers from a start, in steps, to before a limit."""
    element = node.type_of(0).element
    start, limit, delta = (node.known_scalar(i, f"the {what}") for i, what in enumerate(("start", "limit", "step")))
    if delta == 0:
        raise node.error("the step is 0")
    if element.is_float:
        count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    else:
        count = len(range(int(start), int(limit), int(delta)))
    if count > MOST:
        raise node.error(f"would make a constant of {count} elements; at most {MOST} are supported")
    first, step = (float(start), float(delta)) if element.is_float else (int(start), int(delta))
    numbers = first + np.arange(count) * step
    return Known.of_array(node.output_name(0), numbers.astype(element.dtype), element)


@converter("ConstantOfShape", first=9, last=25, attributes=("value",))
def constant_of_shape(node: OnnxNode) -> Converted:
    """A tensor of one number; fp32 zeros by default."""
    shape = node.known_ints(0, "the shape")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if min(shape, default=0) < 0:
        raise node.error(f"the shape is {list(shape)}; expected extents >= 0")
    if count > MOST:
        raise node.error(f"would make a constant of {count} elements; at most {MOST} are supported")
    if not node.has_attribute("value"):
        return Known.of_array(node.output_name(0), np.zeros(shape, np.float32), element_of(1))
    value = node.tensor("value")
    if value.type.num_elements != 1:
        raise node.error(f"attribute value is {value.type}; expected one number")
    return Known.of_array(node.output_name(0), np.full(shape, value.array().reshape(())), value.type.element)


@converter("ReverseSequence", first=10, last=28, attributes=("batch_axis", "time_axis"))
def reverse_sequence(node: OnnxNode) -> Converted:
    """The first elements along the time axis in reverse; how many, the second input says for each batch."""
    type_ = node.type_of(0)
    time, batch = node.axis("time_axis", type_.rank, 0), node.axis("batch_axis", type_.rank, 1)
    if {time, batch} != {0, 1}:
        raise node.error(f"attributes time_axis {time} and batch_axis {batch} must be 0 and 1")
    steps = np.arange(type_.shape[time]).reshape([-1 if a == time else 1 for a in (0, 1)])
    here = node.constant(steps, i64, "steps")
    length = pd.reshape(node.operand(1), shape=tuple(-1 if a == batch else 1 for a in (0, 1)))
    mirrored = pd.subtract(pd.subtract(length, node.scalar(1, i64)), here)
    place = pd.where(pd.less_than(here, length), mirrored, here)
    # Rows of the first two axes, each at time * batches + batch (or the other way round).
    batches = np.arange(type_.shape[batch]).reshape([-1 if a == batch else 1 for a in (0, 1)])
    stride, other = (type_.shape[1], 1) if time == 0 else (1, type_.shape[1])
    rows = pd.add(pd.scale(place, scale=float(stride)), node.constant(batches * other, i64, "batches"))
    count = type_.shape[0] * type_.shape[1]
    table = pd.reshape(node.operand(0), shape=(count, *type_.shape[2:]))
    return pd.reshape(pd.gather(table, pd.reshape(rows, shape=(count,)), axis=0), shape=type_.shape)
