"""What the searches of one compilation have found, so that equal groups are searched once."""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from tx8ir.backend.graph import CompileError, region_tiles
from tx8ir.backend.nest.body import NestBody, fold_relayouts, refusal
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.search import find_plan
from tx8ir.backend.schedule.problem import problem_key
from tx8ir.core import Program
from tx8ir.dialects import tx8, tx8be

__all__ = ["Solution", "Solutions", "Tried"]


@attrs.frozen
class Tried:
    """A choice that was priced, in words, its price in cycles, and whether it is the one that was taken."""

    description: str
    cycles: int
    is_chosen: bool


@attrs.frozen
class Solution:
    """The cheapest choice for a group, its price in cycles, how many were priced to find it, and the cheapest of these,
    a bounded number.
    """

    choice: Choice
    cycles: int
    priced: int
    tried: tuple[Tried, ...] = ()


class Solutions:
    """The solutions of groups. A pass asks its `analyses` for it.

    It depends on the program's target alone, so every pass that keeps the target may preserve it.
    """

    def __init__(self, program: Program) -> None:
        self.target = tx8.target_of(program)
        self._known: dict[Hashable, Solution | str] = {}

    def of(self, group: tx8be.GroupOp) -> Solution | None:
        """The solution of a group, which stays as it is; None where it has none."""
        found = self._of(group)
        return found if isinstance(found, Solution) else None

    def required(self, group: tx8be.GroupOp) -> Solution:
        """The solution of a group. Raises `CompileError` with the reason where it has none."""
        found = self._of(group)
        if isinstance(found, Solution):
            return found
        raise CompileError(found, op=group)

    def _of(self, group: tx8be.GroupOp) -> Solution | str:
        key = (problem_key(group), region_tiles(group, self.target))
        if key not in self._known:
            self._known[key] = self._search(group)
        return self._known[key]

    def _search(self, group: tx8be.GroupOp) -> Solution | str:
        why = refusal(group)
        if why is not None:
            return f"the group is not compiled: {why}"
        copy = group.clone()
        assert isinstance(copy, tx8be.GroupOp)
        fold_relayouts(copy, "search")
        try:
            body = NestBody.of(copy, self.target)
            found = find_plan(body)
        except CompileError as error:
            return error.message
        finally:
            copy.erase(by="search")
        chosen = found.plan.nest.choice
        others = [(cycles, choice) for cycles, choice in found.tried if choice != chosen]
        priced = sorted([(found.cycles, chosen), *others], key=lambda one: one[0])
        tried = tuple(Tried(choice.describe(body.space), cycles, choice == chosen) for cycles, choice in priced)
        return Solution(chosen, found.cycles, found.priced, tried)

    def known(self, problem: Hashable, group: tx8be.GroupOp) -> Solution | None:
        """The solution of a group that had this `problem_key` before it got its schedule, if it was asked for.

        Nothing is searched.
        """
        found = self._known.get((problem, region_tiles(group, self.target)))
        return found if isinstance(found, Solution) else None
