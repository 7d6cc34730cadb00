"""The memory of what the search found."""

from __future__ import annotations

from collections.abc import Hashable

from tx8ir.backend.oplib.costs import InstructionCosts
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.problem import problem_key
from tx8ir.backend.search.estimate import Candidate
from tx8ir.backend.search.search import find_tilings
from tx8ir.core import Program
from tx8ir.dialects import tx8

__all__ = ["KEPT", "SearchMemory"]

KEPT = 16
"""Candidates of a group that are remembered besides the best, for who wants to see what the search tried."""


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
