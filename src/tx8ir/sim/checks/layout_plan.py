"""What the layout map does for an instruction: which accesses it looks at, and what becomes of the destinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    BinaryVuVLoopOp,
    BinaryVuVOp,
    ConvertOp,
    DteStoreOp,
    ElementwiseOp,
    ElemMaskOp,
    Instruction,
    LutOp,
    MaskGatherOp,
    MaskMoveOp,
    MemsetOp,
    RdmaOp,
    TdmaOp,
    WdmaOp,
)
from tx8ir.sim.memory.memory import Placed
from tx8ir.sim.memory.rows import RowStarts
from tx8ir.sim.memory.stores import ByteStore, Part
from tx8ir.target.formats import I1, Format
from tx8ir.target.layout import MemLayout

from .contents import UNKNOWN, Content, Order, Reading, of_tensor
from .shadow import MASK, PAGE, Run, Shadow

Adjust: TypeAlias = "Callable[[Content], Content] | None"
"""What an instruction declares of the bytes that it reads; None for nothing."""

_MOVES = (RdmaOp, WdmaOp, TdmaOp, DteStoreOp)
_LANES = (ElementwiseOp, ElemMaskOp, MaskMoveOp, ConvertOp, LutOp)
_ASIDE = ("unit", "table")
"""Operands that do not lie as the result does."""
_RUNS_KEPT = 1 << 14


@attrs.define(eq=False)
class Read:
    """A source, where it lies, and the codes that were found to be right there."""

    placed: Placed
    reading: Reading
    runs: tuple[Run, ...]
    accepted: set[int | bytes]
    code: int = -1
    """What its bytes hold in this execution, relative to where it begins; if they differ, what they have in common."""


@attrs.define(eq=False)
class Walk:
    """The runs of a copy on both sides: offsets from the first byte, and levels that are contiguous on both merged."""

    levels: tuple[tuple[int, int, int], ...]
    """(iterations, source stride, destination stride), outermost first."""
    run: int

    def offsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each run begins in the source and in the destination."""
        of, to = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for n, a, b in self.levels:
            steps = np.arange(n)
            of, to = (of[:, None] + a * steps).reshape(-1), (to[:, None] + b * steps).reshape(-1)
        return of, to


@attrs.define(eq=False)
class Copy:
    """A copy of bytes, for some of the tiles."""

    of: Shadow
    to: Shadow
    of_starts: NDArray[np.int64]
    to_starts: NDArray[np.int64]
    source: Run
    """From the first to the last byte."""
    target: Run
    """Likewise."""
    spans: tuple[NDArray[np.int64], int] | None
    """Offsets of the destination's stretches with at most small gaps, and their length; None for a single one."""
    walk: Walk


@attrs.define(eq=False)
class LayoutPlan:
    """What a decoded instruction needs of the map; bound to where it is in the first trip of its loops."""

    op: Instruction
    index: int
    adjust: Adjust
    placed: tuple[Placed, ...]
    reads: tuple[Read, ...]
    joined: tuple[Read, ...]
    """Those that must lie alike, and give the result its layout."""
    unit: tuple[Read, int, int, int] | None
    """The vector of a VuV: its read, its elements, elements of src for one pass over them, passes."""
    writes: tuple[tuple[Content | None, tuple[Run, ...], Reading], ...]
    """What a destination holds, None for what the joined reads give; where; how its elements lie."""
    copies: tuple[Copy, ...]
    touched: tuple[Run, ...]
    """All bytes that it looks at or that it changes."""
    moved: dict[tuple[tuple[int, int], ...], LayoutPlan] = attrs.field(
        factory=dict[tuple[tuple[int, int], ...], "LayoutPlan"]
    )
    """The same where loops have moved it, by how far; buffers that take turns come again."""
    result: int = 0
    """What the joined reads have given, relative to where the destination begins."""
    alike: set[tuple[int, ...]] = attrs.field(factory=set[tuple[int, ...]])
    """Codes of the joined reads that were found to lie alike."""
    executed: bool = False
    """Whether this is not the first execution here."""
    found: int = -1
    """The stamp of what it touches before this execution; -1 in the first one."""
    fixpoint: int = -2
    """Likewise when it was right and changed no code; as long as that is so, it does nothing."""

    @property
    def stamp(self) -> int:
        """New when a code of what it touches has changed."""
        return max([run.stamp for run in self.touched], default=0)

    @property
    def knows_tensors(self) -> bool:
        """Whether it has met a tensor of known extents."""
        return self.result & MASK > 0 or any(read.code != -1 and read.code & MASK for read in self.reads)


class Binder:
    """Makes plans: finds the accesses of instructions in the shadows of the stores."""

    def __init__(self, shadows: Mapping[ByteStore, Shadow]) -> None:
        self._shadows = shadows
        self._found: dict[tuple[ByteStore, int, int, int, int], Run] = {}
        """Runs of equally distant rows, which programs come back to."""

    def bind(self, op: Instruction, index: int, placed: tuple[Placed, ...]) -> LayoutPlan:
        """Which accesses of an instruction are looked at, and what becomes of its destinations."""
        lanes = isinstance(op, (*_LANES, MaskGatherOp))
        reads: list[Read] = []
        joined: list[Read] = []
        unit: tuple[Read, int, int, int] | None = None
        writes: list[tuple[Content | None, tuple[Run, ...], Reading]] = []
        for p in placed:
            access = p.access
            kept = isinstance(op, MaskMoveOp) and access.writes  # elements that are not replaced stay
            if access.format is None:
                continue
            reading = _reading(p, access.format, lanes)
            runs = self.runs(p)
            if not access.writes or kept:
                read = Read(p, reading, runs, {0})
                reads.append(read)
                if access.operand == "unit" and isinstance(op, BinaryVuVOp):
                    loops = op.full_count // op.count if isinstance(op, BinaryVuVLoopOp) else 1
                    unit = read, op.unit_count, op.count, loops
                elif lanes and access.operand not in _ASIDE:
                    joined.append(read)
            if access.writes:
                writes.append((self._result(op, p, access.format), runs, reading))
        if isinstance(op, MaskGatherOp):
            joined = []
        copies = tuple(self._copies(placed)) if isinstance(op, _MOVES) else ()
        groups = [read.runs for read in reads] + [runs for _, runs, _ in writes]
        groups += [(copy.source, copy.target) for copy in copies]
        touched = tuple(dict.fromkeys([run for group in groups for run in group]))
        return LayoutPlan(
            op, index, adjustment(op), placed, tuple(reads), tuple(joined), unit, tuple(writes), copies, touched
        )  # fmt: skip

    @staticmethod
    def _result(op: Instruction, placed: Placed, format: Format) -> Content | None:
        """What a destination holds; None for what the joined reads give."""
        tensor = placed.access.tensor
        if tensor is not None:
            return of_tensor(tensor)
        if format is I1:
            return Content(I1)
        if isinstance(op, MemsetOp):
            return Content(format) if op.value else UNKNOWN  # zero bits are zero in every format
        if isinstance(op, _LANES):
            return None
        return Content(format, None, Order.DENSE if placed.extent > 8 else Order.ANY)

    def runs(self, placed: Placed) -> tuple[Run, ...]:
        """Where an access lies, from its first to its last byte, in each of its parts."""
        return tuple([self._run(part, placed.extent) for part in placed.parts])

    def _run(self, part: Part, length: int) -> Run:
        shadow = self._shadows[part.store]
        if part.offsets is not None:
            return Run(shadow, RowStarts(part.start, part.step, part.offsets, part.count), length)
        key = part.store, part.start, part.step, part.count, length
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _RUNS_KEPT:
                self._found.clear()
            found = self._found[key] = Run(shadow, RowStarts(part.start, part.step, None, part.count), length)
        return found

    def _copies(self, placed: tuple[Placed, ...]) -> Iterator[Copy]:
        source, target = placed
        walk = _joint_walk(source, target)
        spans, length = _spans(walk)
        pairs: Iterable[tuple[Part, Part]]
        if len(source.parts) == len(target.parts) == 1:
            pairs = [(source.parts[0], target.parts[0])]
        else:
            pairs = zip(_by_tile(source), _by_tile(target), strict=True)
        for a, b in pairs:
            yield Copy(
                self._shadows[a.store], self._shadows[b.store], a.starts(), b.starts(),
                self._run(a, source.extent), self._run(b, target.extent),
                (spans, length) if len(spans) > 1 else None, walk,
            )  # fmt: skip

    # -- when it is executed ----------------------------------------------------------------------------------------


def _reading(placed: Placed, format: Format, lanes: bool) -> Reading:
    access = placed.access
    if access.tensor is not None and access.tensor.layout.is_blocked:
        return Reading(format, of_tensor(access.tensor).tensor, False, 0, 0)
    if format.is_packed:
        return Reading(format, None, True, access.nbytes, 1)
    if access.walk:  # elements at a spacing
        ((count, pitch),) = access.walk
        return Reading(format, None, lanes, count, pitch)
    return Reading(format, access.tensor, lanes, access.nbytes // format.bytes, format.bytes)


def adjustment(op: Instruction) -> Adjust:
    """What an instruction declares of the bytes that it reads."""
    if op.as_format is None and op.as_layout is None:
        return None
    format = Format.named(op.as_format) if op.as_format is not None else None
    order: Order | None = None
    if op.as_layout is not None:
        order = Order.BLOCKED if MemLayout(op.as_layout).is_blocked else Order.DENSE

    def adjust(content: Content) -> Content:
        declared = content.format if format is None else format
        if order is not None:
            return Content(declared, None, order)
        if content.tensor is None:
            return Content(declared, None, content.order)
        same = declared is not None and content.format is not None and declared.bytes == content.format.bytes
        return content.with_format(declared, content.pitch) if same else Content(declared)

    return adjust


def _joint_walk(source: Placed, target: Placed) -> Walk:
    """The loops of a copy; a side without any lies densely."""
    a, b = source.access, target.access
    run = min(a.nbytes, b.nbytes)
    counts = [n for n, _ in (a.walk or b.walk)]
    dense: list[int] = []
    step = run
    for n in reversed(counts):
        dense.insert(0, step)
        step *= n
    of = [stride for _, stride in a.walk] or dense
    to = [stride for _, stride in b.walk] or dense
    levels = [level for level in zip(counts, of, to, strict=True) if level[0] > 1]
    while levels and levels[-1][1] == levels[-1][2] == run:
        run *= levels.pop()[0]
    return Walk(tuple(levels), run)


def _spans(walk: Walk) -> tuple[NDArray[np.int64], int]:
    """Where the stretches of the destination begin, gaps of less than a page left in, and their length."""
    length = walk.run
    offsets = np.zeros(1, np.int64)
    for n, _, stride in sorted(walk.levels, key=lambda level: level[2]):
        if len(offsets) == 1 and stride - length < PAGE:
            length += (n - 1) * stride
        else:
            offsets = (np.arange(n)[:, None] * stride + offsets).reshape(-1)
    return offsets, length


def _by_tile(placed: Placed) -> list[Part]:
    """Each tile for itself, in the order of the tiles."""
    found: list[Part | None] = [None] * len(placed.tiles)
    for part in placed.parts:
        starts = part.starts().tolist()
        positions = np.arange(len(placed.tiles))[part.positions].tolist()
        for position, start in zip(positions, starts, strict=True):
            found[position] = Part(start, 0, None, 1, part.store, part.access, slice(None))
    return [part for part in found if part is not None]
