"""`NestProgram`: what the instructions of a scheduled group make, slot by slot and trip by trip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from tx8ir.backend.nest.buffers import turn_of
from tx8ir.backend.nest.code import NestCode, Place, SlotCode
from tx8ir.core import Block, Builder, Operation, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.testing.chip.made import Counter, Instructions, MadeSlice, Position

__all__ = ["NestProgram"]

_PARTS = ("first", "next", "last")
"""The phases of a `compute` on a part of a sum; after the last one the result is there."""


@attrs.frozen(eq=False)
class _Slot:
    """A slot of the schedule and its instructions.

    `path` has the positions of the step and of the repeats around it, outermost first, each in its block.
    """

    op: Operation
    value: Value
    place: Place
    path: tuple[int, ...]
    numbers: tuple[int, ...]
    last: Mapping[int, int]

    @property
    def makes(self) -> bool:
        """Whether a slice of a value is complete when its instructions were executed."""
        slot = self.place.slot
        return slot.role in ("load", "wait", "store") or (slot.role == "compute" and slot.phase not in _PARTS[:-1])


class NestProgram:
    """The instructions of a group with a schedule; see `GroupProgram`.

    Args:
        group: as `allocate-ddr` leaves it.
        program: all instructions.
        numbers: which of them are of this group.

    Raises `IrError` when they are not as many as the schedule gives.
    """

    def __init__(self, group: tx8be.GroupOp, program: Sequence[tx8.Instruction], numbers: Sequence[int]) -> None:
        self.group = group
        code = NestCode(group)
        self._scheduled, self._nest, self._body = code.scheduled, code.nest, code.body
        self.values = self._body.values
        self._tiles = {number: tile for tile, number in code.tiles.items()}
        with Builder.at_end(Block()):
            code.emit_constants()
            early = len(code.slots)
            code.emit()
        paths = dict(_paths(list(code.scheduled.schedule.body.block), ()))
        own = Instructions(group, program, numbers)
        self._slots: dict[int, _Slot] = {}
        for i, made in enumerate(code.slots):
            slot = _slot(made, (-1,) if i < early else paths[made.place.step], own)
            self._slots.update(dict.fromkeys(slot.numbers, slot))
        own.end()

    def position(self, index: int, trips: tuple[int, ...]) -> Position:
        slot = self._slots[index]
        turns = [part for pair in zip(slot.path, trips, strict=False) for part in pair]
        order = (*turns, slot.path[-1])
        found = slot.place.slot
        return Position(
            self.group.group_id, slot.op, found.role, found.phase, self._iteration(slot, trips), tuple(order)
        )

    def made(self, index: int, tiles: Sequence[int], trips: tuple[int, ...]) -> Iterator[MadeSlice]:
        slot = self._slots[index]
        if not slot.makes:
            return
        counters = slot.place.counters(trips)
        value, is_stored = slot.value, isinstance(slot.op, tx8be.StoreVarOp)
        inside = slot.op.operands[0] if isinstance(slot.op, tx8be.StoreVarOp) else value
        for tile in tiles:
            if slot.last[tile] == index:
                box = self._nest.slices(self._tiles[tile], counters).held[inside]
                if box.empty:
                    continue
                yield MadeSlice(
                    self._result(value) if is_stored else value,
                    slot.op,
                    tile,
                    box,
                    None if is_stored else self._address(slot, trips),
                    self._body.in_spm(inside, box.extent).size_bytes,
                    self.group.group_id,
                    self._iteration(slot, trips),
                    slot.numbers,
                )

    def _iteration(self, slot: _Slot, trips: tuple[int, ...]) -> tuple[Counter, ...]:
        axes, counters = self._body.space.axes, slot.place.counters(trips)
        return tuple(
            Counter(axes[level.axis].name if level.axis >= 0 else "pass", counter, level.trips)
            for level, counter in list(zip(self._nest.levels, counters, strict=True))[: self._depth(slot)]
        )

    def _depth(self, slot: _Slot) -> int:
        """The loops that change what a slot does; in those inside of them it does nothing but once."""
        moved = slot.op.operands[0] if isinstance(slot.op, tx8be.StoreVarOp) else slot.value
        depth = self._scheduled.depths[self._body.number[moved]]
        if slot.place.slot.phase in _PARTS:
            combined = self._nest.combined(self._body.space.ops.index(slot.op))
            depth = max([depth, *(level + 1 for level in combined)])
        return depth

    def _address(self, slot: _Slot, trips: tuple[int, ...]) -> int:
        """Where the slice of a value lies: in which of its buffers."""
        number, entry = self._body.number[slot.value], slot.place.slot
        first, spacing = self._scheduled.spm.values[number]
        around = [level.trips for level in self._nest.levels[: self._scheduled.depths[number]]]
        turn = turn_of(around, tuple(zip(entry.over, entry.at, strict=True))).at(trips)
        return first + spacing * (turn % self._scheduled.counts[number])

    def _result(self, stored: Value) -> Value:
        """The result of the group that a store of its body gives."""
        terminator = self.group.body.block.terminator
        assert isinstance(terminator, tx8be.ReturnOp)
        return self.group.outs[list(terminator.xs).index(stored)]


def _slot(made: SlotCode, path: tuple[int, ...], own: Instructions) -> _Slot:
    op = made.value.defining_op
    assert op is not None
    return _Slot(op, made.value, made.place, path, *own.take(made.instructions))


def _paths(ops: Sequence[Operation], around: tuple[int, ...]) -> Iterator[tuple[Operation, tuple[int, ...]]]:
    """The steps among `ops` and in their repeats, and where they stand."""
    for number, op in enumerate(ops):
        if isinstance(op, tx8be.RepeatOp):
            yield from _paths(list(op.body.block), (*around, number))
        else:
            yield op, (*around, number)
