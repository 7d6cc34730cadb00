"""Sorting, and the largest elements."""

from __future__ import annotations

import math

import numpy as np

from tx8ir.core import Block, Operation, Value, i1, i32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.places import flat_places
from tx8ir.frontends.stablehlo.bodies import body_of, on_tensors
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

MOST = 1 << 10
"""Elements of the longest line that is sorted by a comparison of its own: each is compared with each."""


@converter("stablehlo.sort")
def sort(node: StableHloNode) -> Converted:
    """Elements along an axis in the order that a comparison says; of equal ones the first stays first."""
    if not node.operands:
        raise node.error("has no operand")
    shape = node.static_shape(node.operands[0], "what is sorted")
    given = node.int("dimension", -1)
    (axis,) = node.axes((given + len(shape) if given < 0 else given,), len(shape), "the axis")
    count = shape[axis]
    if count < 2:
        return node.operands
    found = _key(body_of(node))
    if found is None:
        order = _order_by_counting(node, body_of(node), axis, count)
    else:
        key, ascending = found
        value = node.operands[key]
        if tensor_type(value).element is i1:
            value = node.cast(value, i32)
        best = pd.topk(value, k=count, axis=axis, largest=not ascending)
        if len(node.operands) == 1:
            return node.cast(best.out, tensor_type(node.operands[0]).element)
        order = best.indices
    return [along(node, value, order, axis) for value in node.operands]


def along(node: StableHloNode, x: Value, order: Value, axis: int) -> Value:
    """Elements of x at places (i64) on an axis, which differ for each place on the others."""
    shape = tensor_type(x).shape
    flat = pd.reshape(x, shape=(math.prod(shape),))
    where = flat_places(node, order, shape, axis)
    return pd.reshape(pd.gather(flat, where, axis=0), shape=tensor_type(order).shape).out


def _key(body: Block) -> tuple[int, bool] | None:
    """The operand whose elements alone a comparison looks at, and whether the least is first; None for another.

    JAX lets 0 stand for -0 and one NaN for all before it compares; what sorts here does not tell them apart either.
    """
    end = body.terminator
    last = end.operands[0].defining_op if end is not None and len(end.operands) == 1 else None
    if last is None or last.name != "stablehlo.compare":
        return None
    direction = getattr(getattr(last.attributes.get("comparison_direction"), "value", None), "value", "")
    sources = [_source(value, body) for value in last.operands]
    if direction not in ("LT", "GT") or None in sources:
        return None
    first, second = (source for source in sources if source is not None)
    if first // 2 != second // 2 or first == second:
        return None
    return first // 2, (direction == "LT") == (first < second)


def _source(value: Value, body: Block) -> int | None:
    """The only argument that a value comes from, through what makes zeros and NaN equal; None for another value."""
    work, found = [value], set[Value]()
    while work:
        at = work.pop()
        if at in body.args:
            found.add(at)
            continue
        op = at.defining_op
        if op is None or op.name not in ("stablehlo.select", "stablehlo.compare", "stablehlo.constant"):
            return None
        if op.name == "stablehlo.constant":
            array = getattr(op.attributes.get("value"), "value", None)
            if array is None or (
                not (np.asarray(array) == 0).all() and not np.isnan(np.asarray(array, np.float64)).all()
            ):
                return None
        work += op.operands
    return next(iter(found)).index if len(found) == 1 else None


def _order_by_counting(node: StableHloNode, body: Block, axis: int, count: int) -> Value:
    """The places in order: each element goes after as many as come before it, by the comparison or by place."""
    if count > MOST:
        raise node.error(f"sorts {count} elements by a comparison of several; supported are {MOST}")
    shape = tensor_type(node.operands[0]).shape
    arguments: list[Value] = []
    for value in node.operands:
        arguments += [
            pd.reshape(value, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])).out,
            pd.reshape(value, shape=(*shape[:axis], 1, *shape[axis:])).out,
        ]
    (before,) = on_tensors(node, body, arguments)
    swapped = pd.transpose(before, perm=_swapped(len(shape) + 1, axis)).out
    earlier = np.tri(count, k=-1, dtype=np.bool_).T.reshape(
        [*(1 for _ in shape[:axis]), count, count, *(1 for _ in shape[axis + 1 :])]
    )
    tie: Operation = pd.logical_and(pd.logical_not(swapped), node.constant(earlier, i1, "earlier"))
    first = pd.cast(pd.logical_or(before, tie), dtype=i32)
    rank = pd.sum(first, axis=(axis,), dtype=i32)
    return pd.topk(rank, k=count, axis=axis, largest=False, dtype=i64).indices


def _swapped(rank: int, axis: int) -> tuple[int, ...]:
    order = list(range(rank))
    order[axis], order[axis + 1] = order[axis + 1], order[axis]
    return tuple(order)


@converter("chlo.top_k")
def top_k(node: StableHloNode) -> Converted:
    """The largest elements of the last axis in order, and where they are."""
    (x,) = node.take(1)
    found = pd.topk(x, k=node.int("k"), axis=-1, largest=True, dtype=node.results[1].element)
    return [found.out, found.indices]


@converter("@mhlo.topk")
def called_top_k(node: StableHloNode) -> Converted:
    """The same, as a call."""
    (x,) = node.take(1)
    found = pd.topk(x, k=node.results[0].shape[-1], axis=-1, largest=True, dtype=node.results[1].element)
    return [found.out, found.indices]
