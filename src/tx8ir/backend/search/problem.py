"""What the search sees of a group, and the memory of what it found for it."""

from __future__ import annotations

from collections.abc import Hashable

from tx8ir.backend.oplib.costs import InstructionCosts
from tx8ir.backend.schedule.annotations import read_given_sharding
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.search.estimate import Candidate
from tx8ir.backend.search.search import find_tilings
from tx8ir.core import BlockArgument, Program, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import BackendOp

__all__ = ["KEPT", "SearchMemory", "problem_key"]

KEPT = 16
"""Candidates of a group that are remembered besides the best, for who wants to see what the search tried."""

_NOT_PART_OF_THE_PROBLEM = frozenset({"dev_info", "tile_parallel", "chip_parallel", "layout_str", "name", "id"})
"""Attributes in which groups may differ and still have the same best tiling."""


class SearchMemory:
    """What the searches of one compilation have found: prices of instructions and tilings of groups.

    A pass asks its `analyses` for it. It depends on the program's target alone, so every pass that keeps the target
    may preserve it.
    """

    def __init__(self, program: Program) -> None:
        self.costs = InstructionCosts(tx8.target_of(program))
        self._found: dict[Hashable, tuple[tuple[Candidate, ...], int]] = {}

    def best_tiling(self, body: GroupBody, tiles: int, *, given: tuple[int, ...] | None = None) -> Candidate:
        """The first of `find_tilings`, which `problem_key` and tiles alone decide: equal questions are answered once.

        Raises:
            CompileError: as `find_tilings`.
        """
        key = (problem_key(body.group), tiles, given)
        if key not in self._found:
            found = find_tilings(body, tiles, self.costs, given=given)
            self._found[key] = tuple(found[:KEPT]), len(found)
        return self._found[key][0][0]

    def tried(
        self, problem: Hashable, tiles: int, *, given: tuple[int, ...] | None = None
    ) -> tuple[tuple[Candidate, ...], int]:
        """What `best_tiling` was asked for groups with this `problem_key`: the cheapest candidates, at most `KEPT`, and
        how many were priced. Nothing is searched.
        """
        return self._found.get((problem, tiles, given), ((), 0))


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
        rows.append((op.name, operands, kept, layout, tuple(r.type for r in op.results), read_given_sharding(op)))
    return tuple(rows)


def _reference(value: Value, numbers: dict[Value, object]) -> Hashable:
    if isinstance(value, BlockArgument):
        return "argument", value.index, value.type
    return "value", numbers[value]
