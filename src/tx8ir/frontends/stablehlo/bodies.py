"""Bodies that work on single elements: what they are, and how they are built for tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tx8ir.core import Block, Operation, Value, f32, i1
from tx8ir.dialects import pd
from tx8ir.frontends.values import tensor_type

from .node import StableHloNode

ASSIGN: Final = "assign"
_COMMUTATIVE: Final = ("add", "multiply", "maximum", "minimum", "and", "or")


def body_of(node: StableHloNode, index: int = 0) -> Block:
    """A region of one block of a node."""
    regions = node.proto.regions
    if len(regions) <= index or len(regions[index]) != 1:
        raise node.error(f"has no region {index} of one block")
    return regions[index].block


def combination(body: Block) -> str | None:
    """What a body of two arguments does with them, if it is one operation of no order: `add`, `maximum`, …

    `assign` for one that gives its second argument.
    """
    end = body.terminator
    if end is None or len(body.args) != 2 or len(end.operands) != 1:
        return None
    found = end.operands[0]
    if found is body.args[1] and body.first_op is end:
        return ASSIGN
    op = found.defining_op
    if op is None or op is not body.first_op or op.next_op is not end or set(op.operands) != set(body.args):
        return None
    name = op.name.removeprefix("stablehlo.")
    return name if name in _COMMUTATIVE else None


def on_tensors(node: StableHloNode, body: Block, arguments: Sequence[Value]) -> list[Value]:
    """What a body gives for each element of tensors that broadcast."""
    with node.graph.lifted():
        return node.graph.run_block(body, arguments)


Reduce = Callable[[Value, tuple[int, ...]], Operation]


def _sum(x: Value, axes: tuple[int, ...]) -> Operation:
    element = tensor_type(x).element
    return pd.sum(x, axis=axes, dtype=None if element.is_float else element)


REDUCTIONS: Final[dict[str, Reduce]] = {
    "add": _sum,
    "multiply": lambda x, axes: pd.prod(x, axis=axes),
    "maximum": lambda x, axes: pd.max(x, axis=axes),
    "minimum": lambda x, axes: pd.min(x, axis=axes),
}
"""Reductions of numbers over axes."""


def reduced_truths(node: StableHloNode, x: Value, kind: str, axes: tuple[int, ...]) -> Value | None:
    """Whether all or any of truth values hold, or None for another combination."""
    build = {"and": pd.min, "minimum": pd.min, "multiply": pd.min, "or": pd.max, "maximum": pd.max, "add": pd.max}
    found = build.get(kind)
    return None if found is None else node.cast(found(node.cast(x, f32), axis=axes).out, i1)


IDENTITIES: Final[dict[str, float]] = {"add": 0.0, "multiply": 1.0}


def is_identity(node: StableHloNode, first: Value, kind: str) -> bool:
    """Whether combining with a first value changes nothing."""
    known = node.known(first)
    if known is None:
        return False
    element = tensor_type(first).element
    number = float(known)
    if element is i1:
        return bool(number) == (kind in ("and", "minimum", "multiply"))
    if kind in IDENTITIES:
        return number == IDENTITIES[kind]
    low, high = (-float("inf"), float("inf")) if element.is_float else element.format.integer_range
    if kind == "maximum":
        return int(known) == low if not element.is_float else number == low
    if kind == "minimum":
        return int(known) == high if not element.is_float else number == high
    return False
