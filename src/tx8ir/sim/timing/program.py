"""What the clock needs of a program: its instructions with their costs, cut into stretches that end at barriers.

Time does not depend on data. Tiles that meet the same instructions, at the same cost and with the same conflicts, keep
step with each other; within a stretch such tiles form one class, of which the clock follows one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation
from tx8ir.dialects.tx8 import (
    BarrierOp,
    DteArmOp,
    DteSendOp,
    DteWaitOp,
    Follow,
    Instruction,
    LoopOp,
    MemorySpace,
    SegmentOp,
)
from tx8ir.target.chip import Engine, Target

Intervals: TypeAlias = list[NDArray[np.int64]]
Ranges: TypeAlias = Sequence[tuple[int, int]]

_MOST_PAIRS = 1 << 18  # of DDR accesses that are compared to find out whether tiles are alike


@attrs.frozen(eq=False)
class ByteInterval:
    """The bytes of one access: the bounding interval on each tile of the instruction, in the first trip."""

    writes: bool
    lows: tuple[int, ...]
    """One for all tiles or one per tile."""
    extent: int
    in_ddr: bool
    is_shared: bool
    """In DDR that some instruction may write."""
    terms: tuple[Follow, ...]
    """How the interval moves with the trips of the loops around."""

    def low(self, position: int, trips: tuple[int, ...]) -> int:
        """The first byte on the tile at `position`; `trips` are those of the loops around, outermost first."""
        low = self.lows[position if len(self.lows) > 1 else 0]
        for term in self.terms:
            low += term.offset(trips[-1 - term.level])
        return low


@attrs.frozen(eq=False)
class Item:
    """An instruction as the clock sees it. `times` is how often its loops run it."""

    index: int
    op: Instruction
    engine: Engine | None
    tiles: tuple[int, ...]
    position: dict[int, int]
    cycles: tuple[int, ...]
    """Cycles on its engine, one for all tiles or one per tile; of a transfer with DDR only the start-up."""
    ddr_bytes: int
    """Bytes per tile that take a share of DDR's bandwidth."""
    spans: tuple[ByteInterval, ...]
    times: int
    is_shared: bool
    """Whether it touches DDR that some instruction may write."""

    def cycles_on(self, tile: int) -> int:
        """Cycles on one tile."""
        return self.cycles[self.position[tile] if len(self.cycles) > 1 else 0]


@attrs.frozen(eq=False)
class Loop:
    """A loop around nodes."""

    count: int
    tiles: frozenset[int]
    body: tuple[TimedNode, ...]


TimedNode: TypeAlias = Item | Loop


def decode(ops: Sequence[Operation], target: Target) -> tuple[TimedNode, ...]:
    """The nodes of a program's declarations, instructions and loops."""
    constant = [
        (op.address, op.address + op.size) for op in ops if isinstance(op, SegmentOp) and op.kind in ("const", "input")
    ]
    return _decode(ops, target, constant, [0], 1)


def _decode(
    ops: Sequence[Operation], target: Target, constant: Ranges, index: list[int], times: int
) -> tuple[TimedNode, ...]:
    nodes: list[TimedNode] = []
    for op in ops:
        if isinstance(op, LoopOp):
            body = _decode(list(op.body.block), target, constant, index, times * op.count)
            nodes.append(Loop(op.count, frozenset(op.tiles), body))
        elif isinstance(op, Instruction):
            nodes.append(_item(op, target, constant, index[0], times))
            index[0] += 1
    return tuple(nodes)


def _item(op: Instruction, target: Target, constant: Ranges, index: int, times: int) -> Item:
    tiles, engine, terms = op.tiles, op.engine, op.terms
    accesses = op.effects()
    spans = tuple(
        ByteInterval(
            access.writes,
            access.addresses,
            access.extent,
            access.space is MemorySpace.DDR,
            access.space is MemorySpace.DDR
            and not any(low <= access.addresses[0] and access.addresses[0] < high for low, high in constant),
            tuple(term for term in terms if term.field == access.operand),
        )
        for access in accesses
    )
    work = op.work(target, accesses)
    cycles = (work.cycles,) if isinstance(work.cycles, int) else tuple(int(n) for n in work.cycles)
    if len(set(cycles)) == 1:
        cycles = cycles[:1]
    position = {tile: i for i, tile in enumerate(tiles)}
    is_shared = any(span.is_shared for span in spans)
    return Item(index, op, engine, tiles, position, cycles, work.ddr_bytes, spans, times, is_shared)


def items(nodes: Sequence[TimedNode]) -> Iterator[Item]:
    """All instructions, each once."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from items(node.body)
        else:
            yield node


def unrolled(
    nodes: Sequence[TimedNode], tile: int, trips: tuple[int, ...] = ()
) -> Iterator[tuple[Item, tuple[int, ...]]]:
    """The instructions that a tile meets, in order, with the trips of the loops around them."""
    for node in nodes:
        if isinstance(node, Item):
            if tile in node.position:
                yield node, trips
        elif tile in node.tiles:
            for trip in range(node.count):
                yield from unrolled(node.body, tile, (*trips, trip))


def stretches(nodes: Sequence[TimedNode], tiles: int) -> Iterator[list[TimedNode]]:
    """Cut a program after each barrier of all tiles: what is in different stretches never overlaps in time."""
    current: list[TimedNode] = []
    for node in nodes:
        current.append(node)
        if isinstance(node, Item) and isinstance(node.op, BarrierOp) and len(node.tiles) == tiles:
            yield current
            current = []
    if current:
        yield current


def classes(stretch: Sequence[TimedNode], tiles: int) -> list[tuple[int, ...]]:
    """Groups of tiles that keep step with each other in a stretch; the first of each stands for all."""
    found = list(items(stretch))
    if any(isinstance(item.op, (DteArmOp, DteSendOp, DteWaitOp)) for item in found):
        return [(tile,) for tile in range(tiles)]  # messages tie each tile to particular others
    rows: Intervals = []
    for item in found:
        index = np.array(item.tiles)
        if len(item.tiles) < tiles:
            rows.append(_spread(index, np.ones(len(index), np.int64), tiles))
        if len(item.cycles) > 1:
            rows.append(_spread(index, np.array(item.cycles), tiles))
        rows += [_spread(index, np.array(s.lows), tiles) for s in item.spans if len(s.lows) > 1 and not s.in_ddr]
    rows += _ddr_rows(found, tiles)
    if not rows:
        return [tuple(range(tiles))]
    keys = np.ascontiguousarray(np.stack(rows, axis=1))
    groups: dict[bytes, list[int]] = {}
    for tile in range(tiles):
        groups.setdefault(keys[tile].tobytes(), []).append(tile)
    return [tuple(group) for group in groups.values()]


def _spread(index: NDArray[np.int64], values: NDArray[np.int64], tiles: int) -> NDArray[np.int64]:
    row = np.full(tiles, -1, np.int64)
    row[index] = values
    return row


def _ddr_rows(found: Sequence[Item], tiles: int) -> Intervals:
    """The DDR addresses, if they matter: they do not where no tile touches again what it wrote in the stretch."""
    spans = [(item, span) for item in found for span in item.spans if span.is_shared]
    lows = [_spread(np.array(item.tiles), np.array(span.lows), tiles) for item, span in spans]
    if not any(span.writes for _, span in spans):
        return []
    looped = any(span.writes and item.times > 1 for item, span in spans)
    writers = [i for i, (_, span) in enumerate(spans) if span.writes]
    if not looped and len(writers) * len(spans) <= _MOST_PAIRS:
        low = np.stack(lows)
        high = np.where(low >= 0, low + np.array([[span.extent] for _, span in spans]), -1)
        meet = (low[writers][:, None] < high) & (low < high[writers][:, None])
        meet[np.arange(len(writers)), writers] = False
        if not meet.any():
            return []
    return lows
