"""The program of a nest: its iterations one after the other, with loads ahead of what reads them.

All tiles run the same program. What happens in an iteration depends on where it lies in each loop alone: in the first
trip, in the last one, so near to the end that a load that is ahead belongs to the next trip of the loop outside, or
between. So each loop falls into a few stretches of trips that do the same, told by symbols: `(level, n)` is the trip
of a loop `n` ahead of the current one. Neighbouring stretches that read alike become one repeat; the rest is peeled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import attrs

from tx8ir.backend.axes.tiles import digits
from tx8ir.backend.nest.choice import Level
from tx8ir.backend.nest.stages import Place, Stage

__all__ = ["Node", "Repeat", "Slot", "Step", "pipelined"]

Counter: TypeAlias = tuple[int, int]
"""(repeat, first): the counter of that repeat around, counted from the outermost, plus `first`; -1: `first` alone."""


@attrs.frozen
class Slot:
    """A stage in an iteration: `at` has the counter of each level, also of those inside of the stage's loops (0)."""

    stage: Stage
    phase: str
    at: tuple[Counter, ...]


@attrs.frozen
class Step:
    """What is issued together."""

    slots: tuple[Slot, ...]


@attrs.frozen
class Repeat:
    """A body that runs `times` times."""

    times: int
    body: tuple[Node, ...]


Node: TypeAlias = Step | Repeat

Symbol: TypeAlias = tuple[int, int]
"""(level, offset): the current trip of a level plus an offset; level -1: the offset alone."""
Stretch: TypeAlias = tuple[int, int]


@attrs.frozen
class _Entry:
    """A slot with symbols; `ends` says of the levels where sizes differ whether it is in the last or first trip."""

    stage: Stage
    phase: str
    at: tuple[Symbol, ...]
    ends: tuple[bool, ...]


@attrs.frozen
class _Stretch:
    """Trips `start <= t < stop` of a level, which do the same."""

    start: int
    stop: int
    body: tuple[_Stretch | _Entry, ...]


@lru_cache(maxsize=1024)
def pipelined(levels: tuple[Level, ...], stages: tuple[Stage, ...]) -> tuple[Node, ...]:
    """The program of the nest of these levels and stages."""
    return _Pipeline(levels, stages).nodes()


class _Pipeline:
    def __init__(self, levels: Sequence[Level], stages: Sequence[Stage]) -> None:
        self.trips = [level.trips for level in levels]
        self.ragged = [level.ragged for level in levels]
        self.edges = [level.edges for level in levels]
        self.stages = stages
        self.depth = len(levels)
        self.stretches = [self._stretches(level) for level in range(self.depth)]

    def nodes(self) -> tuple[Node, ...]:
        found: list[Node] = []
        most = max((stage.ahead for stage in self.stages), default=0)
        for before in range(-most, 0):
            slots = [slot for stage in self.stages if stage.ahead and (slot := self._early(stage, before)) is not None]
            if slots:
                found.append(Step(tuple(slots)))
        body = self._body(0, ())
        return (*found, *_lowered(body, {}, 0))

    def _early(self, stage: Stage, before: int) -> Slot | None:
        """What a stage that is ahead does before the first iteration."""
        number, own = before + stage.ahead, self.trips[: stage.depth]
        if number < 0 or number >= math.prod(own):
            return None
        counters = digits(number, own)
        if stage.only is not None and counters[stage.only[0]] != stage.only[1]:
            return None
        filled = (*counters, *(0 for _ in self.trips[stage.depth :]))
        return Slot(stage, self._phase(stage, [(c, c + 1) for c in filled]), tuple((-1, c) for c in filled))

    def _stretches(self, level: int) -> list[Stretch]:
        """Where the trips of a level begin to do something else."""
        trips = self.trips[level]
        joints = {0, 1, trips - 1, trips}
        for stage in self.stages:
            if stage.ahead and stage.depth == level + 1:
                joints.add(trips - stage.ahead)
                if self.ragged[level]:
                    joints.add(trips - 1 - stage.ahead)
                if self.edges[level]:
                    joints.add(trips + 1 - stage.ahead)
            if stage.ahead and stage.depth > level + 1 and self.ragged[level]:
                joints.add(trips - 2)  # from there the inner loops go on to the last trip
            if stage.only is not None and stage.only[0] == level:
                joints.update(range(trips))
        return list(itertools.pairwise(sorted(joint for joint in joints if 0 <= joint <= trips)))

    def _body(self, level: int, around: tuple[Stretch, ...]) -> tuple[_Stretch | _Entry, ...]:
        if level == self.depth:
            entries = (self._entry(stage, around) for stage in self.stages)
            return tuple(entry for entry in entries if entry is not None)
        found: list[_Stretch] = []
        for start, stop in self.stretches[level]:
            body = self._body(level + 1, (*around, (start, stop)))
            if found and found[-1].body == body:
                found[-1] = _Stretch(found[-1].start, stop, body)
            else:
                found.append(_Stretch(start, stop, body))
        return tuple(found)

    def _entry(self, stage: Stage, around: Sequence[Stretch]) -> _Entry | None:
        """What a stage does in an iteration of these stretches."""
        for level in range(stage.depth, self.depth):
            start, stop = around[level]
            if stage.place is Place.BEFORE and start > 0:
                return None
            if stage.place is Place.AFTER and stop < self.trips[level]:
                return None
        at: list[Symbol] = [(-1, 0)] * self.depth
        ranges: list[Stretch] = [(0, 1)] * self.depth
        carry = stage.ahead
        for level in reversed(range(stage.depth)):
            (start, stop), trips = around[level], self.trips[level]
            offset, carry = (carry - trips, 1) if start + carry >= trips else (carry, 0)
            at[level], ranges[level] = (level, offset), (start + offset, stop + offset)
        if carry:
            return None
        if stage.only is not None:
            start, stop = ranges[stage.only[0]]
            if not start <= stage.only[1] < stop:
                return None
        ends = [ranges[i][1] == self.trips[i] for i in range(stage.depth) if self.ragged[i]]
        ends += [ranges[i][0] == 0 for i in range(stage.depth) if self.edges[i]]
        return _Entry(stage, self._phase(stage, ranges), tuple(at), tuple(ends))

    def _phase(self, stage: Stage, ranges: Sequence[Stretch]) -> str:
        if not stage.combined:
            return stage.phase
        first = all(ranges[level] == (0, 1) for level in stage.combined)
        last = all(ranges[level][0] == self.trips[level] - 1 for level in stage.combined)
        return "first" if first else "last" if last and stage.gives else "next"


def _lowered(
    body: Sequence[_Stretch | _Entry], where: dict[int, Counter], depth: int, level: int = 0
) -> tuple[Node, ...]:
    """Stretches as repeats; a single trip is no repeat. `where` has the counter of each level around."""
    found: list[Node] = []
    slots: list[Slot] = []
    for item in body:
        if isinstance(item, _Entry):
            at = tuple(
                (-1, offset) if number < 0 else (where[number][0], where[number][1] + offset)
                for number, offset in item.at
            )
            slots.append(Slot(item.stage, item.phase, at))
        elif item.stop - item.start == 1:
            found += _lowered(item.body, where | {level: (-1, item.start)}, depth, level + 1)
        else:
            inner = _lowered(item.body, where | {level: (depth, item.start)}, depth + 1, level + 1)
            found.append(Repeat(item.stop - item.start, inner))
    if slots:
        found.append(Step(tuple(slots)))
    return tuple(found)
