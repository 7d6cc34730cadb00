"""What the searches of one compilation have found, so that equal groups are searched once."""

from __future__ import annotations

import math
from collections.abc import Hashable

import attrs

from tx8ir.backend.graph import CompileError, region_tiles, storage_op
from tx8ir.backend.nest.body import NestBody, fold_relayouts, refusal
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.problem import problem_key
from tx8ir.backend.nest.search import Found, Search
from tx8ir.core import Program, Value
from tx8ir.core.ir.builder import detached
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
        self._begun: dict[Hashable, tuple[tx8be.GroupOp, Search]] = {}
        self._above: dict[Hashable, float] = {}
        """Groups of which only this is known: they take that many cycles or more."""

    def estimate(self, group: tx8be.GroupOp) -> float:
        """About the least cycles that a group takes, without a search; infinite where it has no ordinary strategy."""
        key = self._key(group)
        known = self._known.get(key)
        if known is not None:
            return known.cycles if isinstance(known, Solution) else math.inf
        if refusal(group) is not None:
            return math.inf
        try:
            return self._search(key, group).estimate
        except CompileError:
            return math.inf

    def below(self, group: tx8be.GroupOp, limit: float) -> float:
        """The cycles of a group; infinite where it takes `limit` or more, or has no ordinary strategy."""
        key = self._key(group)
        known = self._known.get(key)
        if known is None and refusal(group) is None and self._above.get(key, 0.0) < limit:
            try:
                search = self._search(key, group)
                found = search.below(limit)
            except CompileError:
                return math.inf
            if found is None:
                self._above[key] = limit
            else:
                known = self._known[key] = _solution(search, found)
                self._forget(key)
        return known.cycles if isinstance(known, Solution) else math.inf

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

    def _key(self, group: tx8be.GroupOp) -> Hashable:
        return problem_key(group), region_tiles(group, self.target)

    def _of(self, group: tx8be.GroupOp) -> Solution | str:
        key = self._key(group)
        if key not in self._known:
            why = refusal(group)
            if why is not None:
                self._known[key] = f"the group is not compiled: {why}"
                return self._known[key]
            try:
                search = self._search(key, group)
                self._known[key] = _solution(search, search.required())
            except CompileError as error:
                self._known[key] = error.message
            self._forget(key)
        return self._known[key]

    def _search(self, key: Hashable, group: tx8be.GroupOp) -> Search:
        """The search for a group that `refusal` has nothing against, as far as it has come."""
        if key not in self._begun:
            copy = _copy(group)
            fold_relayouts(copy, "search")
            self._begun[key] = copy, Search(NestBody.of(copy, self.target))
        return self._begun[key][1]

    def _forget(self, key: Hashable) -> None:
        if key in self._begun:
            self._begun.pop(key)[0].erase(by="search")

    def known(self, problem: Hashable, group: tx8be.GroupOp) -> Solution | None:
        """The solution of a group that had this `problem_key` before it got its schedule, if it was asked for.

        Nothing is searched.
        """
        found = self._known.get((problem, region_tiles(group, self.target)))
        return found if isinstance(found, Solution) else None


def _copy(group: tx8be.GroupOp) -> tx8be.GroupOp:
    """A detached copy that reads stand-ins of the same layouts: nobody sees a reader that is not in the program."""
    with detached():
        given: dict[Value, Value] = {
            value: tx8be.LoadConstOp(
                parameter="", id=-1, y=value.type, layout_str=(op := storage_op(value)).layout_str, dev_info=op.dev_info
            ).y
            for value in group.inputs
        }
    copy = group.clone(given)
    assert isinstance(copy, tx8be.GroupOp)
    return copy


def _solution(search: Search, found: Found) -> Solution:
    chosen, space = found.plan.nest.choice, search.space
    others = [(cycles, choice) for cycles, choice in found.tried if choice != chosen]
    priced = sorted([(found.cycles, chosen), *others], key=lambda one: one[0])
    tried = tuple(Tried(choice.describe(space), cycles, choice == chosen) for cycles, choice in priced)
    return Solution(chosen, found.cycles, found.priced, tried)
