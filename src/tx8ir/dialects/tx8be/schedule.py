"""Schedules: which engine does what of a group's ops in which iteration, as ops that are read and edited.

A `schedule` stands in the body of a group, before its `Return`. Nested `repeat`s and `step`s are the program of every
tile in the order in which it issues; a step names the ops of the body that run by their results, and for each of them
in a `slot` the engine, the role and the iteration of the strategy's loops, an affine function of the counters of the
repeats around it. What is ahead of the rest, because its engine would else be idle, is in an earlier step.
"""

from __future__ import annotations

import attrs

from tx8ir.core import (
    ArrayAttr,
    Attribute,
    NoTerminator,
    Op,
    RecursiveEffects,
    Region,
    SparseStructAttr,
    VariadicOperand,
    VerifyError,
    attribute,
    region,
    struct_attr,
    variadic_operand,
)

ROLES = {
    "load": ("ld",),
    "arm": ("dte",),
    "send": ("dte",),
    "wait": ("dte",),
    "compute": ("ne", "ct", "tdma", "ld"),
    "merge": ("dte",),
    "store": ("st",),
}
"""The roles of a slot, and the engines that each may have: of a `compute`, that which does most of its work."""
DIRECTIONS = ("", "x", "y", "xy")
"""Which tiles share what a slot brings: none, those that differ in x, in y, or all."""


@struct_attr("tx8be.strategy")
@attrs.frozen
class StrategyAttr(SparseStructAttr):
    """The cuts of a group's iteration space: `"m=4"` is axis m in 4 parts.

    `x` and `y` are over the mesh, `time` over loops, outermost first; `passes` counts the runs over the loops of an
    axis that is reduced and broadcast back.
    """

    x: tuple[str, ...] = ()
    y: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    passes: int = 1


@struct_attr("tx8be.slot")
@attrs.frozen
class SlotAttr(SparseStructAttr):
    """What one engine does in a step, for the op whose result stands at the same place among the step's operands.

    `at[i] + counter of repeat over[i]` is the iteration of loop i of the strategy; `over[i]` counts the repeats around
    the step from the outermost, 0, and is -1 for none. `phase` says which part of a combined axis a `compute` has:
    "first", "next" or "last" of a sum, "finish" of what is broadcast back, or all of it. `along` says which tiles
    share what is loaded, and `turn` which of them loads it.
    """

    engine: str
    role: str
    at: tuple[int, ...] = ()
    over: tuple[int, ...] = ()
    phase: str = ""
    along: str = ""
    turn: int = 0


class StepOp(Op, name="tx8be.step"):
    """Work that is issued together, in the order of its slots; different engines overlap."""

    ops: VariadicOperand = variadic_operand(doc="a result of each op that runs")
    slots: Attribute = attribute(doc="an array of slots, one for each of `ops`")

    @property
    def entries(self) -> tuple[SlotAttr, ...]:
        """The slots. Raises `VerifyError` where the attribute holds something else."""
        found = self.slots.elements if isinstance(self.slots, ArrayAttr) else (self.slots,)
        slots: list[SlotAttr] = []
        for slot in found:
            if not isinstance(slot, SlotAttr):
                raise VerifyError(f"slots holds {slot}; expected an array of #tx8be.slot", self)
            slots.append(slot)
        return tuple(slots)

    def verify_op(self) -> None:
        """Check the slots by themselves, and that their iterations lie in the loops of the strategy."""
        slots = self.entries
        if len(slots) != len(self.ops):
            raise VerifyError(f"{len(slots)} slots for {len(self.ops)} ops; expected one for each", self)
        times: list[int] = []
        owner = self.parent_op
        while isinstance(owner, RepeatOp):
            times.insert(0, owner.times)
            owner = owner.parent_op
        if not isinstance(owner, ScheduleOp):
            raise VerifyError("a step stands in a tx8be.schedule, or in repeats of one", self)
        trips = owner.trips
        for slot in slots:
            self._verify_slot(slot, times, trips)

    def _verify_slot(self, slot: SlotAttr, times: list[int], trips: tuple[int, ...]) -> None:
        if slot.role not in ROLES:
            raise VerifyError(f'there is no role "{slot.role}"; expected one of {", ".join(ROLES)}', self)
        if slot.engine not in ROLES[slot.role]:
            expected = " or ".join(ROLES[slot.role])
            raise VerifyError(f'{slot.role} is done by {expected}, not by "{slot.engine}"', self)
        if slot.along not in DIRECTIONS:
            raise VerifyError(f'along is "{slot.along}"; expected "x", "y", "xy" or nothing', self)
        if len(slot.at) != len(trips) or len(slot.over) != len(trips):
            raise VerifyError(
                f"at {list(slot.at)} and over {list(slot.over)} are for {len(slot.at)} and {len(slot.over)} loops; "
                f"the strategy has {len(trips)}",
                self,
            )
        for loop, (first, over, count) in enumerate(zip(slot.at, slot.over, trips, strict=True)):
            if not -1 <= over < len(times):
                raise VerifyError(f"over names repeat {over}; there are {len(times)} around the step", self)
            last = first + (times[over] - 1 if over >= 0 else 0)
            if first < 0 or last >= count:
                raise VerifyError(f"{slot.role} runs in trips {first}..{last} of loop {loop}, which has {count}", self)


class RepeatOp(Op, name="tx8be.repeat", traits=(NoTerminator, RecursiveEffects)):
    """The steps and repeats of the body, `times` times."""

    times: int = attribute(doc="at least 1")
    body: Region = region(doc="one block without arguments, of steps and repeats")

    def verify_op(self) -> None:
        if self.times < 1:
            raise VerifyError(f"times is {self.times}; expected at least 1", self)
        verify_body(self, self.body)


class ScheduleOp(Op, name="tx8be.schedule", traits=(NoTerminator,)):
    """The program of a group: repeats and steps, and the strategy that they carry out."""

    strategy: StrategyAttr = attribute(default=StrategyAttr())
    body: Region = region(doc="one block without arguments, of steps and repeats")

    @property
    def trips(self) -> tuple[int, ...]:
        """The trips of the loops of the strategy, the passes innermost but for the loop that they repeat."""
        return loop_trips(self.strategy)

    def verify_op(self) -> None:
        cuts_of(self.strategy, self)
        verify_body(self, self.body)


def verify_body(op: Op, body: Region) -> None:
    """Check that a region is one block of steps and repeats."""
    if len(body.blocks) != 1 or body.block.args:
        raise VerifyError("the body is one block without arguments", op)
    for inner in body.block:
        if not isinstance(inner, (StepOp, RepeatOp)):
            raise VerifyError(f"{inner.name} is neither a step nor a repeat", op)


def cuts_of(strategy: StrategyAttr, op: Op | None = None) -> tuple[tuple[tuple[str, int], ...], ...]:
    """(axis, parts) of the cuts over x, over y and in time. Raises `VerifyError` where a text is no cut."""
    found: list[tuple[tuple[str, int], ...]] = []
    for texts in (strategy.x, strategy.y, strategy.time):
        cuts: list[tuple[str, int]] = []
        for text in texts:
            axis, _, parts = text.partition("=")
            if not axis or not parts.isdecimal() or int(parts) < 1:
                raise VerifyError(f'"{text}" is no cut; expected an axis and a number of parts, as in "m=4"', op)
            cuts.append((axis, int(parts)))
        found.append(tuple(cuts))
    return tuple(found)


def loop_trips(strategy: StrategyAttr) -> tuple[int, ...]:
    """The trips of the loops of a strategy, outermost first; the passes stand before the innermost loop."""
    trips = tuple(parts for _, parts in cuts_of(strategy)[2])
    if strategy.passes == 1:
        return trips
    return (*trips[:-1], strategy.passes, *trips[-1:])
