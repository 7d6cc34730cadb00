"""The instructions of a scheduled group: `NestCode`.

A repeat becomes a loop of instructions whose addresses follow its trips. What a slot does is found for each tile in the
first trip; that other trips do the same, but for where it lies, is checked in the second and in the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, TypeVar

import attrs

from tx8ir.backend.axes import GroupSlices
from tx8ir.backend.graph import CompileError, format_of, mem_layout_of, shape_of
from tx8ir.backend.memory.ddr_storage import address_of
from tx8ir.backend.nest.buffers import Turn, turn_of
from tx8ir.backend.nest.kernels import Form, Kernels, filled, form_of, merged, recorded, state_size
from tx8ir.backend.nest.schedule import Scheduled, read_schedule
from tx8ir.backend.nest.transfer import Transfer, load_instructions, store_instructions
from tx8ir.backend.oplib.address import Address, Term
from tx8ir.backend.oplib.emission import Stream, emit_streams
from tx8ir.backend.oplib.kernel import InstructionDraft
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Builder, Operation, Value, at_location
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import SlotAttr
from tx8ir.target.chip import Target

__all__ = ["NestCode", "Place", "SlotCode"]

Tile: TypeAlias = tuple[int, int]
KeyT = TypeVar("KeyT", bound=Hashable)


@attrs.frozen
class Place:
    """A slot of a step, in the repeats around it: the trips of each, outermost first."""

    step: tx8be.StepOp
    slot: SlotAttr
    times: tuple[int, ...]

    def counters(self, trips: Sequence[int]) -> tuple[int, ...]:
        """The iteration of each loop of the strategy in a trip of the repeats."""
        pairs = zip(self.slot.at, self.slot.over, strict=True)
        return tuple(first + (trips[repeat] if repeat >= 0 else 0) for first, repeat in pairs)

    @property
    def first(self) -> tuple[int, ...]:
        """The first trip of all repeats."""
        return (0,) * len(self.times)

    def probes(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(repeat, trip, trips of all): the second and the last trip of each repeat that the slot follows."""
        for repeat in sorted({over for over in self.slot.over if over >= 0}):
            for trip in sorted({1, self.times[repeat] - 1} - {0}):
                yield repeat, trip, (*self.first[:repeat], trip, *self.first[repeat + 1 :])


@attrs.frozen(eq=False)
class SlotCode:
    """What was built for a slot of the schedule."""

    value: Value
    """The result of the op of the body that the slot names."""
    place: Place
    instructions: int
    """How many."""


class NestCode:
    """The instructions of one scheduled group, built at the current insertion point.

    `emit_constants` comes first and `emit` after it; what they give is the number of instructions. `slots` says which
    slot each of them is for, in order.

    Raises:
        CompileError: the schedule does not fit the group, or a repeat has trips that differ in more than addresses.
    """

    def __init__(self, group: tx8be.GroupOp) -> None:
        self.group = group
        self.scheduled: Scheduled = read_schedule(group)
        self.nest = self.scheduled.nest
        self.body = self.nest.body
        self.kernels = Kernels(self.body)
        self.tiles = {tile: self.body.tile_at(*tile) for tile in self.nest.parts}
        self.slots: list[SlotCode] = []

    def emit_constants(self) -> int:
        """The first loads of constants into each of their buffers. They depend on no other group."""
        early = sorted(self._early.items(), key=lambda item: item[0][1].role == "wait")
        return sum(self._slot(value, Place(step, slot, ())) for (value, slot), (step, _) in early)

    def emit(self) -> int:
        """Everything else."""
        return self._nodes(list(self.scheduled.schedule.body.block), ())

    @cached_property
    def _early(self) -> dict[tuple[Value, SlotAttr], tuple[tx8be.StepOp, Turn]]:
        """What `emit_constants` does, in order: all that stands before the repeats, messages with their waits."""
        found: dict[tuple[Value, SlotAttr], tuple[tx8be.StepOp, Turn]] = {}
        for op in self.scheduled.schedule.body.block:
            if not isinstance(op, tx8be.StepOp):
                break
            for value, slot in zip(op.ops, op.entries, strict=True):
                if isinstance(value.defining_op, tx8be.LoadConstOp):
                    number = self.body.number[value]
                    turn = self._turn(number, Place(op, slot, ()))
                    if turn.first < self.scheduled.counts[number]:
                        found[value, slot] = op, turn
        awaited = {(value, turn) for (value, slot), (_, turn) in found.items() if slot.role == "wait"}
        return {key: at for key, at in found.items() if not key[1].along or (key[0], at[1]) in awaited}

    def _nodes(self, ops: Sequence[Operation], times: tuple[int, ...]) -> int:
        made, repeats = 0, bool(times)
        for op in ops:
            if isinstance(op, tx8be.RepeatOp):
                repeats = True
                with at_location(op.location):
                    loop = tx8.LoopOp(count=op.times, tiles=tuple(sorted(self.tiles.values())))
                with Builder.at_end(loop.body.block):
                    made += self._nodes(list(op.body.block), (*times, op.times))
            elif isinstance(op, tx8be.StepOp):
                for value, slot in zip(op.ops, op.entries, strict=True):
                    if repeats or (value, slot) not in self._early:
                        made += self._slot(value, Place(op, slot, times))
        return made

    def _slot(self, value: Value, place: Place) -> int:
        op = value.defining_op
        assert op is not None
        emit: Mapping[str, Callable[[Operation, Place], list[Stream]]] = {
            "load": self._load,
            "store": self._store,
            "arm": self._arm,
            "send": self._send,
            "wait": self._wait,
            "merge": self._merge,
            "compute": self._compute,
        }
        source = tx8.Source(self.group.group_id, op.name.removeprefix("tx8be."), op.location.name or None)
        made = emit_streams(emit[place.slot.role](op, place), source, op.location, len(place.times))
        self.slots.append(SlotCode(value, place, made))
        return made

    # -- slices and addresses -------------------------------------------------------------------------------------

    def _slices(self, tile: Tile, place: Place, trips: Sequence[int]) -> GroupSlices:
        return self.nest.slices(tile, place.counters(trips))

    def _uniform(self, tile: Tile, place: Place, what: Callable[[GroupSlices], KeyT]) -> KeyT:
        """What is the same in all trips of the repeats around."""
        found = what(self._slices(tile, place, place.first))
        for repeat, trip, trips in place.probes():
            if what(self._slices(tile, place, trips)) != found:
                raise CompileError(
                    f"trip {trip} of repeat {repeat} around a {place.slot.role} has slices of other sizes than the "
                    "first one",
                    op=self.scheduled.schedule,
                )
        return found

    def _turn(self, number: int, place: Place) -> Turn:
        trips = [level.trips for level in self.nest.levels]
        at = tuple(zip(place.slot.over, place.slot.at, strict=True))
        return turn_of(trips[: self.scheduled.depths[number]], at)

    def _address(self, number: int, place: Place) -> int:
        """Where a value lies."""
        first, spacing = self.scheduled.spm.values[number]
        count = self.scheduled.counts[number]
        if count == 1:
            return first
        turn = self._turn(number, place)
        moving = [(repeat, factor % count) for repeat, factor in turn.factors if factor % count]
        if not moving:
            return first + spacing * (turn.first % count)
        (repeat, factor), *more = moving
        if more or factor != 1:
            raise CompileError(
                f"{count} buffers do not go round evenly in the loops around a {place.slot.role}",
                op=self.scheduled.schedule,
            )
        return Address(first, (Term(repeat, spacing, count, turn.first % count),))

    def _places(self, op: Operation, place: Place) -> dict[int, int]:
        values = [value for value in (*op.operands, *op.results) if value in self.body.number]
        return {self.body.number[value]: self._address(self.body.number[value], place) for value in values}

    # -- transfers ------------------------------------------------------------------------------------------------

    def _moved(self, op: Operation, value: Value, place: Place, tiles: Sequence[Tile]) -> list[list[_Moved]]:
        """The transfers of tiles, in classes that share instructions."""
        classes: dict[Hashable, list[_Moved]] = {}
        for tile in tiles:
            first = self.kernels.transfer(op, self._slices(tile, place, place.first).held[value])
            terms: dict[int, int] = {}
            for repeat, trip, trips in place.probes():
                other = self.kernels.transfer(op, self._slices(tile, place, trips).held[value])
                pairs = zip(first.walks, other.walks, strict=False)
                distances = {b.source - a.source for a, b in pairs} or {0}  # an empty slice moves nowhere
                if other.structure != first.structure or distances != {terms.setdefault(repeat, min(distances)) * trip}:
                    raise CompileError(
                        f"a {place.slot.role} moves unevenly through DDR in repeat {repeat}", op=self.scheduled.schedule
                    )
            follows = tuple(Term(repeat, stride) for repeat, stride in terms.items() if stride)
            moved = _Moved(tile, first, follows)
            classes.setdefault((first.structure, follows), []).append(moved)
        return list(classes.values())

    def _load(self, op: Operation, place: Place) -> list[Stream]:
        value = op.results[0]
        source = value if isinstance(op, tx8be.LoadConstOp) else op.operands[0]
        owners = [line[0] for line in self._lines(place.slot)]
        return self._transfers(op, value, source, place, owners, load_instructions)

    def _store(self, op: Operation, place: Place) -> list[Stream]:
        target = self.group.outs[self._returned(op)]
        return self._transfers(op, op.operands[0], target, place, self.nest.storing(op.operands[0]), store_instructions)

    def _table(self, value: Value, tile: Tile, place: Place) -> Address:
        """Where in DDR the slice of a value begins that a tile reads there."""

        def offset(trips: Sequence[int]) -> int:
            element = 0
            box = self._slices(tile, place, trips).held[value]
            for start, extent in zip(box.start, shape_of(value), strict=True):
                element = element * extent + start
            return element * format_of(value).bytes

        if mem_layout_of(value).is_blocked:
            raise CompileError("an operand that is read in place must be dense", op=self.scheduled.schedule)
        first = offset(place.first)
        terms: dict[int, int] = {}
        for repeat, trip, trips in place.probes():
            distance = offset(trips) - first
            if distance != terms.setdefault(repeat, distance) * trip:
                raise CompileError(f"a table is read unevenly in repeat {repeat}", op=self.scheduled.schedule)
        follows = tuple(Term(repeat, stride) for repeat, stride in terms.items() if stride)
        return Address(address_of(value) + first, follows)

    def _transfers(
        self,
        op: Operation,
        value: Value,
        in_ddr: Value,
        place: Place,
        tiles: Sequence[Tile],
        instructions: Callable[[Sequence[Transfer], SpmTensor, int, Target], list[InstructionDraft]],
    ) -> list[Stream]:
        """A load's or a store's instructions, between a value's slices and `in_ddr`."""
        spm = self._address(self.body.number[value], place)
        return [
            Stream(
                tuple(self.tiles[one.tile] for one in moved),
                instructions(
                    [one.transfer for one in moved],
                    self.body.in_spm(value, moved[0].transfer.box.extent).at(spm),
                    Address(address_of(in_ddr), moved[0].terms),
                    self.body.target,
                ),
            )
            for moved in self._moved(op, value, place, tiles)
        ]

    def _returned(self, op: Operation) -> int:
        terminator = self.group.body.block.last_op
        assert isinstance(terminator, tx8be.ReturnOp)
        return list(terminator.xs).index(op.results[0])

    # -- messages -------------------------------------------------------------------------------------------------

    def _lines(self, slot: SlotAttr) -> list[list[Tile]]:
        """The tiles that share what a slot moves, the one that loads it first."""
        columns, rows = self.nest.choice.strategy.columns, self.nest.choice.strategy.rows
        match slot.along:
            case "x":
                lines = [[(x, y) for x in range(columns)] for y in range(rows)]
            case "y":
                lines = [[(x, y) for y in range(rows)] for x in range(columns)]
            case "xy":
                lines = [list(self.nest.parts)]
            case _:
                return [[tile] for tile in self.nest.parts]
        return [_turned(line, number + slot.turn) for number, line in enumerate(lines)]

    def _shared(self, op: Operation, place: Place) -> Iterator[tuple[list[list[Tile]], int]]:
        """Lines of tiles, with the bytes that their first tile sends to the others."""
        value = op.results[0]
        classes: dict[int, list[list[Tile]]] = {}
        for line in self._lines(place.slot):
            extent = self._uniform(line[0], place, lambda slices: slices.held[value].extent)
            classes.setdefault(self.body.message_bytes(value, extent), []).append(line)
        yield from ((lines, nbytes) for nbytes, lines in classes.items())

    def _arm(self, op: Operation, place: Place) -> list[Stream]:
        number = self.body.number[op.results[0]]
        spm = self._address(number, place)
        return [
            self._received("dte_arm", lines, number, dst=spm, nbytes=nbytes)
            for lines, nbytes in self._shared(op, place)
        ]

    def _wait(self, op: Operation, place: Place) -> list[Stream]:
        return [self._received("dte_wait", self._lines(place.slot), self.body.number[op.results[0]])]

    def _received(self, name: str, lines: Sequence[Sequence[Tile]], channel: int, **fields: int) -> Stream:
        """An instruction of all receivers: the tiles of each line but the first, of which they get it."""
        pairs = sorted((self.tiles[tile], self.tiles[line[0]]) for line in lines for tile in line[1:])
        peers = tuple(peer for _, peer in pairs)
        return Stream(
            tuple(t for t, _ in pairs), [InstructionDraft(name, {"peers": peers, "channel": channel, **fields})]
        )

    def _send(self, op: Operation, place: Place) -> list[Stream]:
        number = self.body.number[op.results[0]]
        spm = self._address(number, place)
        streams: list[Stream] = []
        for lines, nbytes in self._shared(op, place):
            for line in lines:
                peers = tuple(self.tiles[tile] for tile in line[1:])
                fields = {"peers": peers, "pattern": "broadcast", "channel": number, "src": spm, "nbytes": nbytes}
                streams.append(Stream((self.tiles[line[0]],), [InstructionDraft("dte_send", fields)]))
        return streams

    # -- computation ----------------------------------------------------------------------------------------------

    def _compute(self, op: Operation, place: Place) -> list[Stream]:
        number = self.body.space.ops.index(op)
        places = self._places(op, place)
        state, scratch = self.scheduled.spm.states[number], self.scheduled.spm.scratch[number]
        in_ddr = {i: op.operands[i] for i in self.body.tables(number)}
        at = {name: {i: self._table(v, tile, place) for i, v in in_ddr.items()} for tile, name in self.tiles.items()}
        streams: list[Stream] = []
        for form, tiles in self._classes(number, place).items():
            tables = {i: tuple(at[name][i] for name in tiles) for i in in_ddr}
            kernel = recorded(self.body, number, place.slot.phase, form, places, state, scratch, tables)
            streams.append(Stream(tiles, kernel.instructions))
        return streams

    def _classes(self, number: int, place: Place) -> dict[Form, tuple[int, ...]]:
        """The tiles that run the same instructions for an op."""
        classes: dict[Form, list[int]] = {}
        for tile, name in self.tiles.items():
            form = self._uniform(tile, place, lambda slices: form_of(self.body, number, slices))
            if form is not None:
                classes.setdefault(form, []).append(name)
        return {form: tuple(names) for form, names in classes.items()}

    def _merge(self, op: Operation, place: Place) -> list[Stream]:
        """States go to all tiles of a line, each of which merges them: a message for each distance round it."""
        number = self.body.space.ops.index(op)
        state, scratch = self.scheduled.spm.states[number], self.scheduled.spm.scratch[number]
        lines = self._lines(place.slot)
        others = len(lines[0]) - 1
        streams: list[Stream] = []
        for form, tiles in self._classes(number, place).items():
            result = self.body.in_spm(op.results[0], form.result)
            size = state_size(op, result)
            drafts = list(filled(self.body, number, form, state).instructions)
            channel = len(self.body.values) + number
            mine = {self.tiles[tile]: (line, i) for line in lines for i, tile in enumerate(line)}
            for name, field in (("dte_arm", "dst"), ("dte_send", "src"), ("dte_wait", "")):
                for distance in range(1, others + 1):
                    step = distance if name == "dte_send" else -distance
                    peers = tuple(self.tiles[mine[t][0][(mine[t][1] + step) % (others + 1)]] for t in tiles)
                    fields: dict[str, int | tuple[int, ...]] = {"peers": peers, "channel": channel}
                    if field:
                        fields[field] = state + (distance * size if name == "dte_arm" else 0)
                        fields["nbytes"] = size
                    drafts.append(InstructionDraft(name, fields))
            drafts += merged(self.body, number, form, others, state, scratch).instructions
            streams.append(Stream(tiles, drafts))
        return streams


@attrs.frozen
class _Moved:
    """The transfer of a tile in the first trip, and how its address in DDR follows the repeats."""

    tile: Tile
    transfer: Transfer
    terms: tuple[Term, ...]


def _turned(line: list[Tile], by: int) -> list[Tile]:
    """A line of tiles with another one first: loads fall on different tiles."""
    by %= len(line)
    return line[by:] + line[:by]
