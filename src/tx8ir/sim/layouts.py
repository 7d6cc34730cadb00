"""Layout misuse: an instruction that goes by the axes of a tensor, on bytes that were written as another tensor.

Memory is divided into cells of 256 bytes, the alignment of tensors. For each cell the map keeps who last gave its bytes
a layout, and where that tensor began: results of instructions that go by axes (products, reductions, changes of
layout, …) and declared inputs have one. Copies of whole runs and element-wise arithmetic keep the layout of their
source; all other writes make it unknown. A source is compared with what is known of its cells; nothing is said about
unknown ones, so a correct program raises no alarm, whatever it does to bytes that the map cannot follow.

Two tensors agree on the bytes that they share if one is a part of the other (rows and channels differ by constants), or
if both run through their elements densely there, which makes one a reshape of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    BilinearOp,
    ChannelNormOp,
    ConcatOp,
    DteStoreOp,
    ElementwiseOp,
    ElemMaskOp,
    InputOp,
    Instruction,
    MemorySpace,
    MoveOp,
    NeuralOp,
    OperandTensor,
    PoolOp,
    RdmaOp,
    ReduceOp,
    TdmaOp,
    TdmaReshapeOp,
    UnpoolOp,
    WdmaOp,
)
from tx8ir.target.formats import F32, TF32, UI8, Format
from tx8ir.target.layout import BATCH_ALIGNMENT, MemLayout, element_addresses, element_mask, flatten_shape, size_bytes

from .errors import Fault, bytes_text
from .memory import ByteStore, Memory, Part, Placed

Cells: TypeAlias = NDArray[np.int64]
"""0 where nothing is known, else the number of a `_Written` and the first byte of its tensor, see `_code`."""
Rows: TypeAlias = "tuple[Cells, int | Cells]"
"""Cells [tiles, n] of an access, and where it begins on each tile (one number, or [tiles, 1])."""

CELL = BATCH_ALIGNMENT
_BITS = 40
_BIAS = 1 << (_BITS - 1)  # a part that is copied to a lower address may belong to a tensor that would begin below 0
_MASK = (1 << _BITS) - 1
_READERS = (BilinearOp, ChannelNormOp, ConcatOp, MoveOp, NeuralOp, PoolOp, ReduceOp, TdmaReshapeOp, UnpoolOp)
_COPIES = (RdmaOp, WdmaOp, TdmaOp, DteStoreOp)
_VERDICTS_KEPT = 1 << 14
_CONTENTS_KEPT = 64  # of each source
_PLANS_KEPT = 64  # of each instruction


@attrs.frozen
class _Written:
    """A tensor that something laid out in memory. Of a dense one only the format counts: any reshape is as good."""

    tensor: OperandTensor
    who: str


@attrs.frozen
class _Effect:
    """What an instruction does to the layout of a destination."""

    destination: int
    """Its number among the accesses."""
    written: int = 0
    """The number of the tensor that it holds afterwards; 0: unknown, or that of `source`."""
    source: int | None = None
    """The access whose layout it keeps, byte for byte."""
    format: Format | None = None
    """With a source: that of its elements; another one makes the layout unknown. None: any."""


@attrs.define(eq=False)
class _Read:
    """A source that has axes, and its cells."""

    placed: Placed
    tensor: OperandTensor
    rows: list[Rows]
    accepted: set[int | bytes]
    """What the cells held when they agreed: one number where it was the same in all of them."""


@attrs.define(eq=False)
class _Move:
    """Cells that take over others; the shift is from one tensor's begin to the other's."""

    of: Cells
    to: Cells
    shift: int | Cells
    head: bool
    """Whether the first cell is covered in part only; `tail` likewise."""
    tail: bool


@attrs.define(eq=False)
class _Write:
    """Cells of a destination: what they become if there is nothing to keep, and what can be kept."""

    store: ByteStore
    fills: Sequence[tuple[Cells, int | Cells]]
    moves: Sequence[_Move]
    in_place: bool
    format: Format | None


@attrs.define(eq=False)
class LayoutPlan:
    """What a decoded instruction needs of the map; bound to the cells of where it is in the first trip of its loops."""

    sources: tuple[tuple[int, OperandTensor], ...]
    effects: tuple[_Effect, ...]
    placed: tuple[Placed, ...]
    reads: tuple[_Read, ...]
    writes: tuple[_Write, ...]
    moved: dict[tuple[tuple[int, int], ...], LayoutPlan] = attrs.field(
        factory=dict[tuple[tuple[int, int], ...], "LayoutPlan"]
    )
    """The same where loops have moved it, by how far; buffers that take turns come again."""


class LayoutMap:
    """Knows which tensor the bytes of the memories belong to.

    Costs a look at one number for each 256 bytes of an operand that has axes, and for each 256 bytes of a result one is
    written. Tensors that differ are compared element by element, once for each way in which they meet.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._cells = {
            store: np.zeros(store.size // CELL + 2, np.int64)
            for store in (memory.spm, *memory.segments)
            if store.kind != "const"
        }
        self._used: set[ByteStore] = set()
        """Stores of which something is known."""
        self._written: list[_Written] = [_Written(OperandTensor((1, 1, 1, 1), F32, MemLayout.NTensor), "nobody")]
        self._numbers: dict[_Written, int] = {}
        self._verdicts: dict[tuple[OperandTensor, int, bytes], int] = {}

    @staticmethod
    def is_of_use(instructions: Iterable[Instruction]) -> bool:
        """Whether a program has instructions that go by the axes of their sources."""
        return any(isinstance(op, _READERS) for op in instructions)

    def clear(self, inputs: Iterable[InputOp]) -> None:
        """Forget everything but the declared inputs."""
        for store in self._used:
            self._cells[store][:] = 0
        self._used = {self._memory.spm}
        for op in inputs:
            store = self._memory.segment_at(op.address, op.size_bytes)
            format = op.tensor.element.format
            if store is None or format.is_packed or format is UI8:
                continue  # a segment that is not there is found when the input is written; ui8 may be any bytes
            layout = MemLayout(op.layout)
            n, hw, c = flatten_shape(op.tensor.shape, layout)
            number = self._number(OperandTensor((n, 1, hw, c), format, layout), f'input "{op.port_name}" holds')
            start = op.address - store.address
            first, end = _inner(start, start + op.size_bytes)
            self._cells[store][first:end] = _code(number, start)
            self._used.add(store)

    # -- when an instruction is decoded -----------------------------------------------------------------------------

    def plan(self, op: Instruction, index: int, placed: tuple[Placed, ...]) -> LayoutPlan:
        """Which accesses of an instruction are looked at, and what becomes of its destinations."""
        sources: list[tuple[int, OperandTensor]] = []
        effects: list[_Effect] = []
        for i, p in enumerate(placed):
            tensor = p.access.tensor
            if not p.access.writes:
                if tensor is not None:
                    sources.append((i, tensor))
            elif tensor is not None:
                number = self._number(tensor, f"instruction {index} ({op.name}) wrote")
                effects.append(_Effect(i, number))
            else:
                effects.append(_kept(op, i, placed) or _Effect(i))
        return LayoutPlan(tuple(sources), tuple(effects), placed, *self._bind(sources, effects, placed))

    def _bind(
        self, sources: Sequence[tuple[int, OperandTensor]], effects: Sequence[_Effect], placed: Sequence[Placed]
    ) -> tuple[tuple[_Read, ...], tuple[_Write, ...]]:
        reads = tuple([_Read(placed[i], tensor, self._rows(placed[i]), {0}) for i, tensor in sources])
        return reads, tuple([write for effect in effects for write in self._writes(effect, placed)])

    def _writes(self, effect: _Effect, placed: Sequence[Placed]) -> Iterator[_Write]:
        destination = placed[effect.destination]
        if effect.written:
            inner = not self._written[effect.written].tensor.layout.is_blocked
            rows = self._rows(destination, inner=inner)
            fills = [(cells, _code(effect.written, begin)) for cells, begin in rows]
            if inner:  # cells that are covered in part become unknown
                fills = [*((cells, 0) for cells, _ in self._rows(destination)), *fills]
            yield _Write(self._memory.spm, fills, [], False, None)
            return
        if destination.access.space is MemorySpace.SPM:
            fills = [(cells, 0) for cells, _ in self._rows(destination)]
            moves, in_place = [], False
            if effect.source is not None:
                moves, in_place = self._moves(placed[effect.source], destination)
            yield _Write(self._memory.spm, fills, moves, in_place, effect.format)
            return
        moves = self._moves(placed[effect.source], destination)[0] if effect.source is not None else []
        for part in destination.parts:
            starts = _starts(part)
            first, end = _outer(min(starts), max(starts) + destination.extent)
            yield _Write(part.store, [(self._cells[part.store][first:end], 0)], moves, False, effect.format)

    def _moves(self, source: Placed, destination: Placed) -> tuple[list[_Move], bool]:
        """How the cells of a source become those of a destination, and whether they are the same ones anyway."""
        before, after = self._rows(source), self._rows(destination)
        if len(source.parts) > 1 or len(destination.parts) > 1 or not before:
            return [], False
        if len(before) != len(after):
            before, after = _one_by_one(before), _one_by_one(after)
        moves: list[_Move] = []
        for (of, begin), (to, at) in zip(before, after, strict=True):
            phase = np.asarray(begin) % CELL
            if of.shape != to.shape or (phase != np.asarray(at) % CELL).any() or (phase != phase.flat[0]).any():
                return [], False
            first = int(phase.flat[0])
            moves.append(_Move(of, to, at - begin, first != 0, (first + destination.extent) % CELL != 0))
        return moves, all(m.of.__array_interface__["data"] == m.to.__array_interface__["data"] for m in moves)

    def _number(self, tensor: OperandTensor, who: str) -> int:
        written = _Written(tensor, who)
        if written not in self._numbers:
            self._numbers[written] = len(self._written)
            self._written.append(written)
        return self._numbers[written]

    # -- when it is executed ----------------------------------------------------------------------------------------

    def at(self, plan: LayoutPlan, placed: tuple[Placed, ...]) -> LayoutPlan:
        """The plan for where loops have moved the accesses."""
        if placed is plan.placed:
            return plan
        key = tuple([(p.shift, p.access.addresses[0]) for p in placed])
        found = plan.moved.get(key)
        if found is None:
            if len(plan.moved) >= _PLANS_KEPT:
                plan.moved.clear()
            reads, writes = self._bind(plan.sources, plan.effects, placed)
            found = plan.moved[key] = LayoutPlan(plan.sources, plan.effects, placed, reads, writes)
        return found

    def check(self, plan: LayoutPlan) -> None:
        """Raise Fault when a source was written as another tensor."""
        for read in plan.reads:
            position = 0
            for cells, begin in read.rows:
                first = int(cells[0, 0])
                alike = bool((cells == first).all())
                if not alike or first not in read.accepted:
                    self._check_rows(read, cells, begin, position)
                    if alike and isinstance(begin, int):
                        read.accepted.add(first)
                position += len(cells)

    def record(self, plan: LayoutPlan) -> None:
        """Take over what an instruction has written."""
        for write in plan.writes:
            if write.moves and self._keep(write):
                continue
            if write.store in self._used:
                for cells, content in write.fills:
                    cells[...] = content

    def _keep(self, write: _Write) -> bool:
        """Give a destination the layout of its source; False if that begins with unknown bytes, or other elements."""
        first = int(write.moves[0].of[0, 0])
        if not first:
            return False
        if write.format is not None and not _same_format(self._written[first >> _BITS].tensor.format, write.format):
            return False
        if not write.in_place:
            self._used.add(write.store)
            for move in write.moves:
                moved = np.where(move.of != 0, move.of + move.shift, 0)
                if move.head:
                    moved[:, 0] = 0
                if move.tail:
                    moved[:, -1] = 0
                move.to[...] = moved
        return True

    def deliver(self, source: int, destination: int, nbytes: int) -> None:
        """Take over a copy of scratch-pad bytes from one tile to another; offsets are those in the memory of all."""
        cells, size = self._cells[self._memory.spm], self._memory.target.spm_bytes
        cells[destination // CELL : -(-(destination + nbytes) // CELL)] = 0
        if (destination - source) % CELL == 0:
            first, end = _inner(destination, destination + nbytes)
            away = (destination - source) // CELL
            known = cells[first - away : end - away]
            cells[first:end] = np.where(known != 0, known + (destination % size - source % size), 0)

    def elements(self, placed: Placed, position: int) -> NDArray[np.bool_]:
        """For each byte of a run on the tile at `position`: False where it is known to be padding or a gap."""
        rows = _one_by_one(self._rows(placed))
        keep = np.ones(placed.extent, np.bool_)
        if len(rows) != len(placed.tiles):
            return keep
        cells, begin = rows[position]
        assert isinstance(begin, int)
        low = begin % CELL
        for value in map(int, np.unique(cells[cells != 0])):
            tensor, start = self._written[value >> _BITS].tensor, (value & _MASK) - _BIAS
            if not tensor.layout.is_blocked:
                continue
            owned = np.repeat(cells[0] == value, CELL)[low : low + placed.extent]
            inside = np.arange(placed.extent) + begin - start
            owned &= (inside >= 0) & (inside < _size(tensor))
            keep[owned] = element_mask(tensor.shape, tensor.format, tensor.layout)[inside[owned]]
        return keep

    # -- cells ------------------------------------------------------------------------------------------------------

    def _rows(self, placed: Placed, *, inner: bool = False) -> list[Rows]:
        """The cells of an access, tiles in the order of its parts; without those in constant segments.

        `inner` leaves out cells of which the access does not have all bytes.
        """
        rows: list[Rows] = []
        bounds, size = _inner if inner else _outer, placed.extent
        for part in placed.parts:
            store = part.store
            if store not in self._cells:
                continue
            cells = self._cells[store]
            # Addresses in SPM count from the begin of the tile's own.
            around = self._memory.target.spm_bytes if store is self._memory.spm else store.size
            if part.offsets is None and part.step % CELL == 0:
                first, end = bounds(part.start, part.start + size)
                strides = (part.step // CELL * cells.itemsize, cells.itemsize)
                view = np.ndarray(
                    (part.count, max(end - first, 0)), cells.dtype, cells, first * cells.itemsize, strides
                )  # pyright: ignore[reportArgumentType]  # any buffer will do
                begin: int | Cells = part.start % around
                if part.step % around and part.count > 1:
                    begin = (part.start + part.step * np.arange(part.count)[:, None]) % around
                rows.append((view, begin))
            else:
                for start in _starts(part):
                    first, end = bounds(start, start + size)
                    rows.append((cells[None, first : max(end, first)], start % around))
        return rows

    # -- comparing --------------------------------------------------------------------------------------------------

    def _check_rows(self, read: _Read, cells: Cells, begin: int | Cells, position: int) -> None:
        content = cells.tobytes()
        if content in read.accepted:
            return
        relative = np.where(cells != 0, cells - begin, 0)
        starts = np.broadcast_to(np.asarray(begin), (len(relative), 1))
        for i, row in enumerate(relative):
            offender = self._verdict(read.tensor, int(starts[i, 0]) % CELL, row)
            if offender:
                raise self._misuse(read, position + i, offender, row)
        if len(read.accepted) < _CONTENTS_KEPT:
            read.accepted.add(content)

    def _verdict(self, tensor: OperandTensor, phase: int, row: Cells) -> int:
        """The number of what does not agree with a tensor that begins `phase` bytes into `row`; 0 if all do."""
        uniform = bool((row == row[0]).all())
        key = (tensor, phase, row[:1].tobytes() if uniform else row.tobytes())
        if key not in self._verdicts:
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            offenders = (
                int(value) >> _BITS
                for value in np.unique(row[row != 0])
                if not self._may_be(tensor, int(value), row == value, phase)
            )
            self._verdicts[key] = next(offenders, 0)
        return self._verdicts[key]

    def _may_be(self, tensor: OperandTensor, content: int, cells: NDArray[np.bool_], phase: int) -> bool:
        written, distance = self._written[content >> _BITS].tensor, (content & _MASK) - _BIAS
        return (written == tensor and distance == 0) or _agrees(tensor, written, distance, cells, phase)

    def _misuse(self, read: _Read, position: int, offender: int, row: Cells) -> Fault:
        placed, written = read.placed, self._written[offender]
        tile = placed.tiles[position]
        low, high = placed.interval(position)
        (where,) = np.nonzero(row >> _BITS == offender)
        first = max(low, (low // CELL + int(where[0])) * CELL)
        end = min(high, (low // CELL + int(where[-1]) + 1) * CELL)
        return Fault(
            f"layout misuse: {bytes_text(placed.access, tile, low, high)} is read as {read.tensor}, but {written.who} "
            f"{written.tensor} in bytes [{first:#x}, {end:#x})",
            tile=tile,
            addresses=(first, end),
        )


def _kept(op: Instruction, i: int, placed: Sequence[Placed]) -> _Effect | None:
    """The effect on a destination that keeps the layout of the first source."""
    source, destination = placed[0].access, placed[i].access
    if source.walk or destination.walk or source.nbytes != destination.nbytes:
        return None
    if isinstance(op, _COPIES):
        return _Effect(i, source=0)
    if isinstance(op, (ElementwiseOp, ElemMaskOp)):
        return _Effect(i, source=0, format=Format.named(op.format))
    return None


def _agrees(reader: OperandTensor, written: OperandTensor, distance: int, cells: NDArray[np.bool_], phase: int) -> bool:
    """Whether both tensors agree on the bytes that they share inside of some cells.

    `distance` is from the begin of the reader to that of the other one, `phase` from the first cell to the reader.
    """
    if not (reader.layout.is_blocked or written.layout.is_blocked):
        return True
    places, width = _places(reader), reader.format.bytes
    (elements,) = np.nonzero(cells[(places + phase) // CELL])
    dense_reader = elements * width - places[elements]
    if not written.layout.is_blocked:
        return not len(elements) or (_same_format(reader.format, written.format) and _is_constant(dense_reader))
    offsets = places[elements] - distance
    inside = (offsets >= 0) & (offsets < _size(written))
    elements, offsets = elements[inside], offsets[inside]
    if not len(elements):
        return True
    if not _same_format(reader.format, written.format) or (offsets % width).any():
        return False
    others = _elements(written)[offsets // width]
    if (others < 0).any():
        return False  # padding lanes are taken for elements
    if _is_constant(dense_reader[inside]) and _is_constant(others * width - offsets):
        return True
    (row, channel), (other_row, other_channel) = (
        np.divmod(elements, reader.shape[3]),
        np.divmod(others, written.shape[3]),
    )
    return _is_constant(row - other_row) and _is_constant(channel - other_channel)


def _same_format(a: Format, b: Format) -> bool:
    """Whether elements of one format can be taken for those of the other: f32 for tf32, and any for plain words."""
    return a is b or (
        a.bytes == b.bytes and ({a, b} == {F32, TF32} or a.name.startswith("u") or b.name.startswith("u"))
    )


def _is_constant(values: Cells) -> bool:
    return bool((values == values[0]).all()) if len(values) else True


@lru_cache(maxsize=256)
def _places(tensor: OperandTensor) -> Cells:
    """The first byte of each element, from the begin of the tensor."""
    return element_addresses(tensor.shape, tensor.format, tensor.layout) * tensor.format.bytes


@lru_cache(maxsize=256)
def _elements(tensor: OperandTensor) -> Cells:
    """The element in each slot of the tensor's width, -1 in padding lanes and gaps."""
    found = np.full(_size(tensor) // tensor.format.bytes, -1, np.int64)
    found[_places(tensor) // tensor.format.bytes] = np.arange(np.prod(tensor.shape))
    return found


def _size(tensor: OperandTensor) -> int:
    return size_bytes(tensor.shape, tensor.format, tensor.layout)


def _code(written: int, begin: int | Cells) -> int | Cells:
    return (written << _BITS) + _BIAS + begin


def _inner(low: int, high: int) -> tuple[int, int]:
    """The cells that lie in [low, high)."""
    return -(-low // CELL), high // CELL


def _outer(low: int, high: int) -> tuple[int, int]:
    """The cells that share bytes with [low, high)."""
    return low // CELL, -(-high // CELL)


def _starts(part: Part) -> list[int]:
    if part.offsets is not None:
        return part.offsets.tolist()
    return [part.start + i * part.step for i in range(part.count)]


def _one_by_one(rows: Sequence[Rows]) -> list[Rows]:
    """Each tile for itself."""
    return [
        (cells[i : i + 1], int(np.broadcast_to(np.asarray(begin), (len(cells), 1))[i, 0]))
        for cells, begin in rows
        for i in range(len(cells))
    ]
