"""What the search sees of a group, and the memory of what it found for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.search.estimate import Candidate
from tx8ir.backend.search.search import find_tiling
from tx8ir.core import BlockArgument, Operation, Value
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp

__all__ = ["best_tiling", "problem_key"]

_NOT_PART_OF_THE_PROBLEM = frozenset({"dev_info", "tile_parallel", "chip_parallel", "layout_str", "name", "id"})
"""Attributes in which groups may differ and still have the same best tiling."""

_REMEMBERED = 4096
"""Problems whose solution is kept, the latest ones."""
_solutions: OrderedDict[Hashable, Candidate] = OrderedDict()


def best_tiling(body: GroupBody, tiles: int, *, given: tuple[int, ...] | None = None) -> Candidate:
    """`find_tiling`, which depends on `problem_key`, target and tiles alone, so that equal questions are answered once.

    Raises:
        CompileError: as `find_tiling`.
    """
    key = (problem_key(body.group), body.target, tiles, given)
    found = _solutions.get(key)
    if found is None:
        found = _solutions[key] = find_tiling(body, tiles, given=given)
    _solutions.move_to_end(key)
    while len(_solutions) > _REMEMBERED:
        _solutions.popitem(last=False)
    return found


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
        rows.append((op.name, operands, kept, layout, tuple(r.type for r in op.results), _preset(op)))
    return tuple(rows)


def _reference(value: Value, numbers: dict[Value, object]) -> Hashable:
    if isinstance(value, BlockArgument):
        return "argument", value.index, value.type
    return "value", numbers[value]


def _preset(op: Operation) -> tuple[int, ...] | None:
    parallel = op.tile_parallel if isinstance(op, BackendOp) else None
    return parallel.shape_spatial_sharding if parallel is not None and parallel.sharding_is_given else None
