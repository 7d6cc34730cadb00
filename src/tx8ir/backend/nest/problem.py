"""What a search sees of a group: `problem_key`, and the cuts that somebody asked for."""

from __future__ import annotations

from collections.abc import Hashable

from tx8ir.core import BlockArgument, Operation, Value
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp

__all__ = ["given_sharding", "problem_key"]

_NOT_PART_OF_THE_PROBLEM = frozenset({"dev_info", "tile_parallel", "chip_parallel", "layout_str", "name", "id"})
"""Attributes in which groups may differ and still have the same best strategy."""


def problem_key(group: tx8be.GroupOp) -> Hashable:
    """Equal for groups that the search cannot tell apart: same ops, attributes, types and layouts."""
    numbers: dict[Value, object] = {}
    rows: list[Hashable] = []
    for op in group.body.block:
        operands = tuple(_reference(value, numbers) for value in op.operands)
        for i, result in enumerate(op.results):
            numbers[result] = (len(rows), i)
        kept = tuple((k, v) for k, v in sorted(op.attributes.items()) if k not in _NOT_PART_OF_THE_PROBLEM)
        info = op.dev_info if isinstance(op, BackendOp) else None
        layout = None if info is None else info.mem_layout
        rows.append((op.name, operands, kept, layout, tuple(r.type for r in op.results), given_sharding(op)))
    return tuple(rows)


def _reference(value: Value, numbers: dict[Value, object]) -> Hashable:
    if isinstance(value, BlockArgument):
        return "argument", value.index, value.type
    return "value", numbers[value]


def given_sharding(op: Operation) -> tuple[int, ...] | None:
    """The sharding that a user set on an op before the search, parts per axis; None when there is none."""
    parallel = op.tile_parallel if isinstance(op, BackendOp) else None
    return parallel.shape_spatial_sharding if parallel is not None and parallel.sharding_is_given else None
