"""What the searches of one compilation have found, so that equal groups are searched once."""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from tx8ir.backend.graph import region_tiles
from tx8ir.backend.nest.body import NestBody, fold_relayouts
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.search import find_plan
from tx8ir.backend.search.problem import problem_key
from tx8ir.core import Program
from tx8ir.dialects import tx8, tx8be

__all__ = ["Solution", "Solutions"]


@attrs.frozen
class Solution:
    """The cheapest choice for a group, its price in cycles, and how many were priced to find it."""

    choice: Choice
    cycles: int
    priced: int


class Solutions:
    """The solutions of covered groups. A pass asks its `analyses` for it.

    It depends on the program's target alone, so every pass that keeps the target may preserve it.
    """

    def __init__(self, program: Program) -> None:
        self.target = tx8.target_of(program)
        self._known: dict[Hashable, Solution | None] = {}

    def of(self, group: tx8be.GroupOp) -> Solution | None:
        """The solution of a covered group, which stays as it is; None where it has none."""
        key = (problem_key(group), region_tiles(group, self.target))
        if key not in self._known:
            copy = group.clone()
            assert isinstance(copy, tx8be.GroupOp)
            fold_relayouts(copy, "search")
            found = find_plan(NestBody.of(copy, self.target))
            copy.erase(by="search")
            self._known[key] = None if found is None else Solution(found.plan.nest.choice, found.cycles, found.priced)
        return self._known[key]
