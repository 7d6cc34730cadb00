"""The instructions of one group: load, compute, store, for every time step and class of equal tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from tx8ir.backend.graph import CompileError, format_of, mem_layout_of, region_tiles, shape_of
from tx8ir.backend.memory.ddr_storage import address_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.emission import Stream, emit_streams
from tx8ir.backend.oplib.kernel import InstructionDraft
from tx8ir.backend.schedule.annotations import read_scratch, read_spm_addresses, read_tiling
from tx8ir.backend.schedule.body import GroupBody, GroupSlice, LoadOp
from tx8ir.backend.schedule.steps import GroupSteps, step_buffer
from tx8ir.backend.schedule.transfer import Transfer, Transfers, load_instructions, store_instructions
from tx8ir.core import Operation, Value
from tx8ir.dialects import tx8, tx8be

__all__ = ["GroupCode", "Phase"]


@attrs.frozen
class _TileClass:
    """Tiles that run the same instructions in one time step, and what each of them computes."""

    tiles: tuple[int, ...]
    slices: tuple[GroupSlice, ...]

    @property
    def first(self) -> GroupSlice:
        return self.slices[0]

    def boxes(self, position: int) -> list[Box]:
        """The box of one value on every tile."""
        return [box for s in self.slices if (box := s.boxes[position]) is not None]


@attrs.frozen
class Phase:
    """What was built for one op of a group's body in one time step: a load, a compute op or the store."""

    step: int
    op: Operation
    instructions: int
    """How many."""


class GroupCode:
    """The instructions of one group, built at the current insertion point.

    `emit_constants` comes first and `emit` after it; what they give is the number of instructions.

    Raises:
        CompileError: a load's or the store's layout is not that of the value in DDR (an error of an earlier pass), or
            an attribute of an earlier pass is missing.
    """

    def __init__(self, group: tx8be.GroupOp, transfers: Transfers | None = None) -> None:
        self.group = group
        self.target = target = tx8.target_of(group)
        self.body = body = GroupBody.of(group, target, transfers)
        tiling, _ = read_tiling(body)
        self.tile_ids = region_tiles(group, target)
        self.steps = GroupSteps.make(body, tiling, len(self.tile_ids))
        self.kept = self.steps.kept()
        self.addresses = [read_spm_addresses(value) for value in body.values]
        self.load_addresses = [_load_address(load) for load in body.loads]
        self.store_address = address_of(group.outs[0])
        self._latest: tuple[tuple[int, ...] | None, list[_TileClass]] = (None, [])

    def emit_constants(self) -> int:
        """The loads of constants in the first time step. They depend on no other group."""
        return sum(phase.instructions for phase in self.constant_phases())

    def emit(self) -> int:
        """Everything else: loads, compute ops and store of every time step."""
        return sum(phase.instructions for phase in self.phases())

    def constant_phases(self) -> Iterator[Phase]:
        """As `emit_constants`, one load after the other."""
        return self._loads(0, next(iter(self.steps.indices())), tx8be.LoadConstOp)

    def phases(self) -> Iterator[Phase]:
        """As `emit`, one op of a time step after the other."""
        for number, index in enumerate(self.steps.indices()):
            yield from self._loads(number, index, tx8be.LoadVarOp)
            if number:
                yield from self._loads(number, index, tx8be.LoadConstOp)
            classes = self._classes(index)
            placed = self._placed(number)
            for k, op in enumerate(self.body.compute):
                yield Phase(number, op, self._phase(classes, op, partial(self._compute, k, placed)))
            yield Phase(number, self.body.store, self._phase(classes, self.body.store, partial(self._store, placed)))

    def _placed(self, number: int) -> list[int]:
        """The SPM address of every value in a time step."""
        return [step_buffer(number, addresses) for addresses in self.addresses]

    def _loads(self, number: int, index: tuple[int, ...], kind: type[LoadOp]) -> Iterator[Phase]:
        """The loads of one kind in a time step."""
        placed = self._placed(number)
        classes = self._classes(index)
        for i, load in enumerate(self.body.loads):
            if isinstance(load, kind) and (number == 0 or i not in self.kept):
                yield Phase(number, load, self._phase(classes, load, partial(self._load, i, placed[i])))

    def _classes(self, index: tuple[int, ...]) -> list[_TileClass]:
        """Partition of the tiles with work in a step: equal forms of slices, equal structure of loads and store."""
        if self._latest[0] == index:
            return self._latest[1]
        found: dict[object, list[tuple[int, GroupSlice]]] = {}
        for position, tile in enumerate(self.tile_ids):
            group_slice = self.steps.of(position, index)
            if group_slice is not None:
                key = (group_slice.form, self._transfers(group_slice))
                found.setdefault(key, []).append((tile, group_slice))
        classes = [_TileClass(tuple(t for t, _ in rows), tuple(s for _, s in rows)) for rows in found.values()]
        self._latest = (index, classes)
        return classes

    def _transfers(self, group_slice: GroupSlice) -> tuple[object, ...]:
        """The structure of the DMA of every value that is moved."""
        moved = {*range(len(self.body.loads)), self.body.index[self.body.stored]}
        structures: list[object] = []
        for position in sorted(moved):
            box = group_slice.boxes[position]
            if box is not None:
                structures.append(self.body.transfer(position, box).structure)
        return tuple(structures)

    def _phase(
        self,
        classes: Sequence[_TileClass],
        op: Operation,
        instructions: Callable[[_TileClass], Sequence[InstructionDraft]],
    ) -> int:
        streams = [Stream(c.tiles, instructions(c)) for c in classes]
        source = tx8.Source(self.group.group_id, op.name.removeprefix("tx8be."), op.location.name or None)
        return emit_streams(streams, source, op.location)

    def _load(self, position: int, address: int, tiles: _TileClass) -> list[InstructionDraft]:
        transfers = self._moved(position, tiles)
        if not transfers:
            return []
        part = self.body.slice_tensor(position, tiles.first, address)
        return load_instructions(transfers, part, self.load_addresses[position], self.target)

    def _moved(self, position: int, tiles: _TileClass) -> list[Transfer]:
        """The transfer of one value on every tile."""
        return [self.body.transfer(position, box) for box in tiles.boxes(position)]

    def _compute(self, number: int, placed: Sequence[int], tiles: _TileClass) -> list[InstructionDraft]:
        body = self.body
        if tiles.first.boxes[len(body.loads) + number] is None:
            return []
        op = body.compute[number]
        tables: dict[int, tuple[int, ...]] = {}
        for i, value in enumerate(op.operands):
            boxes = [box for s in tiles.slices if (box := s.needs[number][i]) is not None]
            if value not in body.index and boxes:
                tables[i] = _table_addresses(value, boxes)
        scratch = read_scratch(op)
        kernel = body.kernel(number, tiles.first, addresses=placed, tables=tables, scratch=scratch.address)
        if kernel.temp_bytes > scratch.size:
            raise CompileError(
                f"{op.name} takes {kernel.temp_bytes} bytes of temporaries, more than were allocated", op=op
            )
        return kernel.instructions

    def _store(self, placed: Sequence[int], tiles: _TileClass) -> list[InstructionDraft]:
        position = self.body.index[self.body.stored]
        part = self.body.slice_tensor(position, tiles.first, placed[position])
        _check_layout(self.body.store.y, self.body.stored, self.body.store)
        return store_instructions(self._moved(position, tiles), part, self.store_address, self.target)


def _load_address(load: LoadOp) -> int:
    """The DDR address a load reads from."""
    if isinstance(load, tx8be.LoadConstOp):
        return address_of(load.y)
    _check_layout(load.y, load.x, load)
    return address_of(load.x)


def _check_layout(inner: Value, outer: Value, op: Operation) -> None:
    a, b = mem_layout_of(inner), mem_layout_of(outer)
    if a != b:
        raise CompileError(f"{op.name} moves a value that lies in {b} as if it lay in {a}", op=op)


def _table_addresses(value: Value, boxes: Sequence[Box]) -> tuple[int, ...]:
    """Where the boxes of an operand that stays in DDR begin. Raises `CompileError` unless the operand is dense."""
    layout = mem_layout_of(value)
    if layout.is_blocked:
        raise CompileError(f"an operand that is read in place must be dense, not {layout}", op=value.defining_op)
    base, size = address_of(value), format_of(value).bytes
    addresses: list[int] = []
    for box in boxes:
        element = 0
        for start, extent in zip(box.start, shape_of(value), strict=True):
            element = element * extent + start
        addresses.append(base + element * size)
    return tuple(addresses)
