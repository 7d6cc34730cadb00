"""Tensors from nothing."""

from __future__ import annotations

import numpy as np

from tx8ir.core import DYNAMIC, ScalarType, Value, f32, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


def filled(node: PaddleNode, shape: tuple[int, ...], value: float, element: ScalarType) -> Value:
    """A tensor full of one number."""
    if not element.is_float and abs(int(value)) > 1 << 53:
        return pd.expand(node.scalar(value, element), shape=shape).out
    return pd.full(shape=shape, value=float(value), dtype=element).out


@converter("full")
def full(node: PaddleNode) -> Converted:
    """One number everywhere."""
    return filled(node, node.ints("shape"), node.float("value"), node.element() or f32)


@converter("full_with_tensor")
def full_with_tensor(node: PaddleNode) -> Converted:
    """The only element of a tensor everywhere."""
    value = pd.reshape(node.operand(0), shape=()).out
    return pd.expand(node.cast(value, node.result().element), shape=node.known_ints(1, "shape"))


@converter("full_like", "full_batch_size_like")
def full_like(node: PaddleNode) -> Converted:
    """One number everywhere, in the shape of another tensor."""
    like, declared = node.operand(0), node.result()
    value = node.known_number(1, "value") if node.count > 1 else node.float("value")
    if node.proto.short == "full_like" and DYNAMIC in tensor_type(like).shape:
        same = node.cast(like, declared.element)
        return pd.where(node.scalar(1, i1), node.scalar(value, declared.element), same)
    shape = node.static_shape(like, "the operand")
    if node.proto.short == "full_batch_size_like":
        if DYNAMIC in declared.shape:
            raise node.error(f"makes {declared}, whose extents must be known")
        shape = declared.shape
    return filled(node, shape, value, declared.element)


@converter("empty", "empty_like")
def empty(node: PaddleNode) -> Converted:
    """Zeros, where any numbers would do."""
    declared = node.result()
    if DYNAMIC in declared.shape:
        raise node.error(f"makes {declared}, whose extents must be known")
    return filled(node, declared.shape, 0, declared.element)


@converter("full_int_array")
def full_int_array(node: PaddleNode) -> Converted:
    """A list of integers."""
    return node.constant(np.asarray(node.ints("value"), np.int64), node.element() or i64, "numbers")


@converter("assign_value", "assign_value_")
def assign_value(node: PaddleNode) -> Converted:
    """The numbers that are in the program."""
    element = node.element() or node.result().element
    return node.constant(node.numbers("values").reshape(node.ints("shape")), element, "values")


@converter("assign_out_")
def assign_out(node: PaddleNode) -> Converted:
    """The first operand, which goes where the second is."""
    return node.operand(0)


@converter("arange")
def arange(node: PaddleNode) -> Converted:
    """Numbers from a start, by a step, that are less than an end."""
    start, end, step = (node.known_number(index, what) for index, what in enumerate(("start", "end", "step")))
    if not step or abs((end - start) / step) > 1 << 24:
        raise node.error(f"counts from {start} to {end} by {step}, which is not supported")
    return node.constant(np.arange(start, end, step), node.element() or i64, "numbers")


@converter("linspace")
def linspace(node: PaddleNode) -> Converted:
    """So many numbers from a start to an end."""
    start, stop, count = (node.known_number(index, what) for index, what in enumerate(("start", "stop", "number")))
    if not 0 <= count <= 1 << 24:
        raise node.error(f"makes {count} numbers, which is not supported")
    return node.constant(np.linspace(start, stop, int(count)), node.element() or f32, "numbers")


@converter("eye")
def eye(node: PaddleNode) -> Converted:
    """Ones on the diagonal, zeros elsewhere."""
    rows = int(node.known_number(0, "rows")) if node.count else node.int("num_rows")
    columns = int(node.known_number(1, "columns")) if node.count else node.int("num_columns")
    if not 0 <= rows * max(columns, 0) <= 1 << 24:
        raise node.error(f"makes {rows} rows of {columns}, which is not supported")
    return node.constant(np.eye(rows, columns), node.element() or f32, "identity")


@converter("one_hot")
def one_hot(node: PaddleNode) -> Converted:
    """For each place a row with a one there."""
    x, count = node.operand(0), int(node.known_number(1, "num_classes"))
    if not 0 <= count <= 1 << 24:
        raise node.error(f"makes rows of {count}, which is not supported")
    element = tensor_type(x).element
    classes = node.constant(np.arange(count), element, "classes")
    return pd.cast(pd.equal(pd.unsqueeze(x, axis=(-1,)), classes), dtype=node.result().element)
