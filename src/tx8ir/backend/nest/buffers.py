"""Which of its buffers a value is in: they take turns from one iteration of its loops to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import attrs

from tx8ir.backend.nest.choice import Nest

__all__ = ["Buffering", "Turn", "depths_of", "fitting_count", "turn_of"]


@attrs.frozen
class Turn:
    """The number of an iteration: `first` plus, for each repeat around, its counter times a factor."""

    first: int
    factors: tuple[tuple[int, int], ...]
    """(repeat, factor)."""

    def at(self, counters: Sequence[int]) -> int:
        """The number in an iteration of the repeats."""
        return self.first + sum(counters[repeat] * factor for repeat, factor in self.factors)


def fitting_count(trips: Sequence[int], wanted: int) -> int:
    """The largest number of buffers, at most `wanted`, that go round evenly in the inner loops of a value.

    So that an address follows one counter, modulo that number.
    """
    for count in range(wanted, 1, -1):
        inner = [math.prod(trips[i + 1 :]) for i in range(len(trips) - 1) if trips[i] > 1]
        if all(factor % count == 0 for factor in inner):
            return count
    return 1


def depths_of(nest: Nest) -> tuple[int, ...]:
    """How many loops change each value of the body: 1 + the innermost over an axis that it follows from."""
    space = nest.body.space
    found: list[int] = []
    for value in nest.body.values:
        axes: frozenset[int] = space.depends_on(value) if value in space.value_dependence else frozenset()
        found.append(max((i + 1 for i, level in enumerate(nest.levels) if level.axis in axes), default=0))
    return tuple(found)


@attrs.frozen(slots=False, eq=False)
class Buffering:
    """The loops around each value of a nest, and its number of buffers."""

    nest: Nest

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many loops stand around each of `body.values`."""
        return depths_of(self.nest)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The buffers of each of `body.values`."""
        body, choice = self.nest.body, self.nest.choice
        stored = {store.x for store in body.stores}
        trips = [level.trips for level in self.nest.levels]
        found: list[int] = []
        for number, value in enumerate(body.values):
            wanted = choice.load_buffers if number < len(body.loads) else choice.store_buffers if value in stored else 1
            own = trips[: self.depths[number]]
            found.append(fitting_count(own, min(wanted, math.prod(own))))
        return tuple(found)

    def turn(self, number: int, at: Sequence[tuple[int, int]]) -> Turn:
        """Which iteration of the loops of a value an iteration `at` of all loops is in."""
        return turn_of([level.trips for level in self.nest.levels[: self.depths[number]]], at)


def turn_of(trips: Sequence[int], at: Sequence[tuple[int, int]]) -> Turn:
    """The number of an iteration of loops of these trips, whose counters are `at` (see `pipeline.Slot`)."""
    first, factors = 0, dict[int, int]()
    for level in range(len(trips)):
        factor = math.prod(trips[level + 1 :])
        repeat, start = at[level]
        first += start * factor
        if repeat >= 0:
            factors[repeat] = factors.get(repeat, 0) + factor
    return Turn(first, tuple(factors.items()))
