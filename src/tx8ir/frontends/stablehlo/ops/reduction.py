"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Block, Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.bodies import (
    REDUCTIONS,
    body_of,
    combination,
    is_identity,
    on_tensors,
    reduced_truths,
)
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter("stablehlo.reduce")
def reduce(node: StableHloNode) -> Converted:
    """Elements along some axes combined into one, with a first value."""
    count = len(node.operands) // 2
    inputs, firsts = node.operands[:count], node.operands[count:]
    if not count or len(firsts) != count:
        raise node.error(f"has {len(node.operands)} operands; expected tensors, and a first value for each")
    axes = node.axes(node.ints("dimensions"), tensor_type(inputs[0]).rank, "dimensions")
    body = body_of(node)
    kind = combination(body)
    if count == 1 and kind is not None:
        found = _reduced(node, inputs[0], kind, axes)
        if found is not None:
            return found if is_identity(node, firsts[0], kind) else on_tensors(node, body, [firsts[0], found])
    place = _place_of_extreme(node, body, inputs, axes)
    return _by_halves(node, body, inputs, firsts, axes) if place is None else place


def _reduced(node: StableHloNode, x: Value, kind: str, axes: tuple[int, ...]) -> Value | None:
    if not axes or any(tensor_type(x).shape[axis] == 0 for axis in axes):
        return None
    if tensor_type(x).element is i1:
        return reduced_truths(node, x, kind, axes)
    build = REDUCTIONS.get(kind)
    return None if build is None else build(x, axes).results[0]


def _by_halves(
    node: StableHloNode, body: Block, inputs: Sequence[Value], firsts: Sequence[Value], axes: Sequence[int]
) -> Sequence[Value]:
    """Any combination: the first half of the elements with the second, until one is left. (The order is free.)"""
    shape = node.static_shape(inputs[0], "what is reduced")
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rest = tuple(shape[axis] for axis in kept)
    count = 1
    for axis in axes:
        count *= shape[axis]
    spread = [pd.expand(first, shape=rest).out if rest else first for first in firsts]
    if not count:
        return spread
    lines: list[Value] = []
    for value in inputs:
        moved = pd.transpose(value, perm=(*axes, *kept)) if len(shape) > 1 else value
        lines.append(pd.reshape(moved, shape=(count, *rest)).out)
    while count > 1:
        half = count // 2
        left, right, odd = (
            [_rows(x, *bounds) for x in lines] for bounds in ((0, half), (half, 2 * half), (2 * half, count))
        )
        lines = on_tensors(node, body, [*left, *right])
        if count % 2:
            lines = [pd.concat([x, y], axis=0).out for x, y in zip(lines, odd, strict=True)]
        count -= half
    last = [pd.reshape(x, shape=rest).out for x in lines]
    found = on_tensors(node, body, [*spread, *last])
    return [_of_shape(value, rest) for value in found]


def _rows(x: Value, start: int, end: int) -> Value:
    return pd.slice(x, axes=(0,), starts=(start,), ends=(end,)).out


def _of_shape(value: Value, shape: tuple[int, ...]) -> Value:
    """What a body gave that did not look at its arguments is one number."""
    return value if tensor_type(value).shape == shape else pd.expand(value, shape=shape).out


def _place_of_extreme(
    node: StableHloNode, body: Block, inputs: Sequence[Value], axes: tuple[int, ...]
) -> Sequence[Value] | None:
    """The largest or smallest element and its place, as JAX writes argmax and argmin; None for another body."""
    if len(inputs) != 2 or len(axes) != 1 or not tensor_type(inputs[0]).element.is_float:
        return None
    (axis,) = axes
    source = node.proto.operands[1].defining_op
    if source is None or source.name != "stablehlo.iota" or tensor_type(inputs[0]).shape[axis] < 1:
        return None
    numbered = source.attributes.get("iota_dimension")
    if getattr(numbered, "value", None) != axis:
        return None
    names = [op.name.removeprefix("stablehlo.") for op in body]
    if names != ["compare", "compare", "or", "compare", "compare", "and", "or", "select", "select", "return"]:
        return None
    value, place, best, best_place = body.args
    greater, is_nan, wins, equal, before, tie, takes_place, chosen, chosen_place, end = body
    wiring = [list(op.operands) for op in body]
    expected = [
        [value, best], [value, value], [greater.results[0], is_nan.results[0]], [value, best], [place, best_place],
        [equal.results[0], before.results[0]], [wins.results[0], tie.results[0]],
        [wins.results[0], value, best], [takes_place.results[0], place, best_place],
        [chosen.results[0], chosen_place.results[0]],
    ]  # fmt: skip
    directions = [
        getattr(op.attributes.get("comparison_direction"), "value", None) for op in (greater, is_nan, equal, before)
    ]
    words = [getattr(direction, "value", "") for direction in directions]
    if wiring != expected or words[1:] != ["NE", "EQ", "LT"] or words[0] not in ("GT", "LT") or len(end.operands) != 2:
        return None
    largest = words[0] == "GT"
    extreme = (pd.max if largest else pd.min)(inputs[0], axis=axes)
    find = pd.argmax if largest else pd.argmin
    found = find(inputs[0], axis=axis)
    return [extreme.out, node.cast(found.out, tensor_type(inputs[1]).element)]
