"""`Stage`: what one iteration of a nest consists of, in the order in which it is issued.

A stage stands inside some of the loops, from the outermost on. One that has further loops inside of its own runs
before the first of their trips (`Place.BEFORE`) or after the last one (`Place.AFTER`): what needs a sum comes after the
loops that add it up. A load may run some iterations ahead of the ops that read it, into another buffer.

The order of an iteration: ops, then the loads that are ahead, then what follows the loops inside and the stores. So
engines have work queued while the kernel core waits in a message for a buffer to become free.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator

import attrs

from tx8ir.backend.axes import AxisKind, CutError
from tx8ir.backend.axes.residency import merged_axes
from tx8ir.backend.nest.body import CONTRACTIONS, NestBody
from tx8ir.backend.nest.buffers import Buffering
from tx8ir.backend.nest.choice import Nest
from tx8ir.core import NoneType, Value

__all__ = ["Place", "Stage", "stages_of"]


class Place(enum.Enum):
    """Where a stage stands as to the loops inside of its own."""

    INSIDE = "inside"
    """There are none."""
    BEFORE = "before"
    AFTER = "after"


@attrs.frozen
class Stage:
    """One thing that is done once in each iteration of its loops.

    Attributes:
        role: see `tx8be.SlotAttr`.
        engine: the same.
        subject: a load, an op or a store, by its number in the body.
        depth: loops around it.
        place: see `Place`.
        ahead: iterations of its loops that it is ahead of the others.
        combined: the levels whose trips it adds up; the first and the last one are other phases than those between.
        phase: a phase that does not depend on trips.
        gives: whether the last part of what it adds up gives the result; otherwise a later stage does.
        only: (level, trip) outside of which it does nothing.
        along, turn: who shares what it brings, and which of them loads it.
    """

    role: str
    engine: str
    subject: int
    depth: int
    place: Place
    ahead: int = 0
    combined: tuple[int, ...] = ()
    phase: str = ""
    gives: bool = True
    only: tuple[int, int] | None = None
    along: str = ""
    turn: int = 0


def stages_of(nest: Nest, buffering: Buffering) -> tuple[Stage, ...]:
    """The stages of a nest, in the order of one iteration.

    Raises:
        CutError: the loops have an order in which sums would have to be kept for later (a loop around the one that adds
            them up comes inside of it), or several ops read a cut axis again.
    """
    return _Stages(nest, buffering).all()


class _Stages:
    def __init__(self, nest: Nest, buffering: Buffering) -> None:
        self.nest, self.body, self.buffering = nest, nest.body, buffering
        self.depth = len(nest.levels)
        self.passing = next((i for i, level in enumerate(nest.levels) if level.axis < 0), None)
        self.complete: dict[Value, int] = {}
        """Of values that are complete after inner loops: how many loops are around that place."""

    def all(self) -> tuple[Stage, ...]:
        body, choice = self.body, self.nest.choice
        now: list[Stage] = []
        ahead: list[Stage] = []
        waits: list[Stage] = []
        for number in range(len(body.loads)):
            depth = self.buffering.depths[number]
            along = choice.along[number] if choice.along else ""
            lead = self.buffering.counts[number] - 1
            (ahead if lead else now).extend(self._load(number, depth, along, lead))
            if along:
                waits.append(Stage("wait", "dte", number, depth, self._before(depth), along=along, turn=number))
        before: list[Stage] = []
        after: list[Stage] = []
        for number in range(len(body.space.ops)):
            for stage in self._op(number):
                (after if stage.place is Place.AFTER else before).append(stage)
        return (*_armed_first(now), *waits, *before, *_armed_first(ahead), *after, *self._stores())

    def _inside(self, axes: Collection[int]) -> int:
        """How many loops stand around what follows from these axes."""
        depths = [i + 1 for i, level in enumerate(self.nest.levels) if level.axis in axes]
        return max(depths, default=0)

    def _before(self, depth: int) -> Place:
        return Place.INSIDE if depth == self.depth else Place.BEFORE

    def _load(self, number: int, depth: int, along: str, lead: int) -> Iterator[Stage]:
        place = self._before(depth)
        if along:
            yield Stage("arm", "dte", number, depth, place, lead, along=along, turn=number)
        yield Stage("load", "ld", number, depth, place, lead, along=along, turn=number)
        if along:
            yield Stage("send", "dte", number, depth, place, lead, along=along, turn=number)

    def _op(self, number: int) -> Iterator[Stage]:
        space = self.body.space
        op = space.ops[number]
        axes = frozenset(axis for found in space.op_dependence[number] for axis in found)
        depth, combined = self._inside(axes), self.nest.combined(number)
        late = [self.complete[value] for value in op.operands if value in self.complete]
        if late and not (combined and self._again(number)):
            depth = max(depth, *late)  # where the loops around add the operands up anew, it follows them each time
            if depth > min(late):
                raise CutError(f"{op.name} has loops inside of those that make its operands")
        place = Place.INSIDE if depth == self.depth else Place.AFTER if late else Place.BEFORE
        engine = engine_of(self.body, number)
        kinds = {space.declarations[number].axes[i].kind for i in space.declarations[number].combined}
        if late:
            self.complete.update(dict.fromkeys(op.results, depth))
        if AxisKind.BROADCAST_BACK in kinds:
            yield from self._again_stages(number, depth, combined, place)
            return
        if combined:
            others = [i for i, level in enumerate(self.nest.levels) if level.axis in axes and i not in combined]
            if max(others, default=-1) > min(combined):
                raise CutError(f"a loop of {op.name} that is not summed over is inside of one that is")
            self.complete.update(dict.fromkeys(op.results, min(combined)))
        only, spatial = self._last_pass(number, depth), self._spatial(number)
        if spatial:
            yield from self._merged_stages(number, depth, combined, place, only, spatial)
        else:
            yield Stage("compute", engine, number, depth, place, combined=combined, only=only)

    def _merged_stages(
        self, number: int, depth: int, combined: tuple[int, ...], place: Place, only: tuple[int, int] | None, along: str
    ) -> Iterator[Stage]:
        """The stages of an op whose sum is cut over the mesh: every tile of a line gets the sum of all."""
        op = self.body.space.ops[number]
        if isinstance(op, CONTRACTIONS) and not isinstance(op.psum.type, NoneType):
            raise CutError(f"a sum of {op.name} that begins with an operand is cut over the mesh")
        yield Stage("compute", engine_of(self.body, number), number, depth, place, combined=combined,
                    phase="" if combined else "first", gives=False, only=only)  # fmt: skip
        if combined:
            depth, place = min(combined), Place.AFTER
        if only is not None and only[0] >= depth:
            only = None
        for direction in along:
            yield Stage("merge", "dte", number, depth, place, only=only, along=direction)
        yield Stage("compute", "ct", number, depth, place, phase="finish", only=only)

    def _again_stages(self, number: int, depth: int, combined: tuple[int, ...], place: Place) -> Iterator[Stage]:
        """The stages of an op that reads a combined axis again."""
        engine, spatial = engine_of(self.body, number), self._spatial(number)
        if not combined and not spatial:
            yield Stage("compute", engine, number, depth, place)
            return
        first = last = None
        merge_depth, merge_place = depth, place
        if combined:
            passing = self.passing
            if passing is None or self.nest.levels[passing].trips != 2 or combined != (passing + 1,):
                raise CutError("an axis that is reduced and broadcast back is cut by other than the innermost loop")
            first, last = (passing, 0), (passing, 1)
            merge_depth, merge_place = passing + 1, Place.AFTER
        yield Stage("compute", engine, number, depth, place, combined=combined, phase="" if combined else "first",
                    gives=False, only=first)  # fmt: skip
        for direction in spatial:
            yield Stage("merge", "dte", number, merge_depth, merge_place, only=first, along=direction)
        yield Stage("compute", engine, number, depth, place, phase="finish", only=last)

    def _again(self, number: int) -> bool:
        kinds = (
            self.body.space.declarations[number].axes[i].kind for i in self.body.space.declarations[number].combined
        )
        return AxisKind.BROADCAST_BACK in kinds

    def _last_pass(self, number: int, depth: int) -> tuple[int, int] | None:
        """The pass in which an op runs; None for all."""
        passing = self.passing
        if passing is None or depth <= passing:
            return None
        space = self.body.space
        readers = {v for i, op in enumerate(space.ops) if self._again(i) and self.nest.combined(i) for v in op.operands}
        waiting, found = list(space.ops[number].results), False
        seen: set[Value] = set()
        while waiting:
            value = waiting.pop()
            found = found or value in readers
            seen.add(value)
            for op in space.ops:
                if value in op.operands:
                    waiting += [v for v in op.results if v not in seen]
        return None if found else (passing, self.nest.levels[passing].trips - 1)

    def _spatial(self, number: int) -> str:
        """Along which directions of the mesh an op's combined axes are cut, and nothing else."""
        axes, strategy = merged_axes(self.body.space, number), self.nest.choice.strategy
        found = ""
        for direction, cuts in (("x", strategy.x), ("y", strategy.y)):
            combined = [cut.axis in axes for cut in cuts if cut.parts > 1]
            if any(combined):
                if not all(combined):
                    raise CutError(f"direction {direction} of the mesh has parts of a sum and of something else")
                found += direction
        return found

    def _stores(self) -> Iterator[Stage]:
        for number, store in enumerate(self.body.stores):
            depth = self.buffering.depths[self.body.number[store.x]]
            place = Place.INSIDE if depth == self.depth else Place.AFTER
            passing = self.passing
            only = None if passing is None or depth <= passing else (passing, self.nest.levels[passing].trips - 1)
            yield Stage("store", "st", number, depth, place, only=only)


def engine_of(body: NestBody, number: int) -> str:
    """The engine that does most of an op's work."""
    op = body.space.ops[number]
    return "ne" if isinstance(op, CONTRACTIONS) else "ld" if body.tables(number) else "ct"


def _armed_first(stages: list[Stage]) -> list[Stage]:
    """All arms before all loads before all sends: no tile waits in a send for one that waits in another send."""
    order = {"arm": 0, "load": 1, "send": 2}
    return sorted(stages, key=lambda stage: order[stage.role])
