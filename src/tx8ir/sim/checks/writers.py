"""The latest writes of a run, for messages: who put what lies somewhere there."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import attrs

from tx8ir.dialects.tx8 import MemorySpace, PortOp
from tx8ir.sim.memory.memory import Placed

from .layout_plan import LayoutPlan

_KEPT = 1024


@attrs.frozen
class _Message:
    """A message: offsets in the memory of all tiles."""

    source: int
    destination: int
    nbytes: int


class WriteLog:
    """The latest writes.

    Args:
        spm_bytes: of one tile.
        ports: declare what lies in DDR from the start.
    """

    def __init__(self, spm_bytes: int, ports: Sequence[PortOp]) -> None:
        self._spm_bytes = spm_bytes
        self._ports = ports
        self._latest: deque[LayoutPlan | _Message] = deque(maxlen=_KEPT)

    def clear(self) -> None:
        """Forget all but what ports declare."""
        self._latest.clear()

    def wrote(self, plan: LayoutPlan) -> None:
        """An instruction has been executed where its plan is bound to."""
        self._latest.append(plan)

    def delivered(self, source: int, destination: int, nbytes: int) -> None:
        """A message has landed."""
        self._latest.append(_Message(source, destination, nbytes))

    def who(self, tile: int | None, low: int, high: int) -> str:
        """Who made what lies in [low, high) of a tile, or of DDR; whole copies are followed to where they come from."""
        size = self._spm_bytes
        for entry in reversed(self._latest):
            if isinstance(entry, _Message):
                first = entry.destination % size
                if tile == entry.destination // size and first < high and low < first + entry.nbytes:
                    tile, away = entry.source // size, entry.source % size - first
                    low, high = low + away, high + away
                continue
            position = _written_on(entry.placed, tile, low, high)
            if position is None:
                continue
            if not entry.copies or entry.copies[0].walk.levels or entry.adjust is not None:
                return f"instruction {entry.index} ({entry.op.name}) wrote"
            source, target = entry.placed
            away = source.address(position) - target.address(position)
            low, high = low + away, high + away
            tile = source.tiles[position] if source.access.space is MemorySpace.SPM else None
        if tile is None:
            for op in self._ports:
                if op.address < high and low < op.address + op.size_bytes:
                    return f'{op.name.removeprefix("tx8.")} "{op.port_name}" holds'
        return "an earlier instruction wrote"


def _written_on(placed: tuple[Placed, ...], tile: int | None, low: int, high: int) -> int | None:
    """The position of the tile on which one of the accesses wrote some of [low, high)."""
    for p in placed:
        if not p.access.writes or (p.access.space is MemorySpace.SPM) is (tile is None):
            continue
        for position, mine in enumerate(p.tiles):
            if tile is not None and mine != tile:
                continue
            first, end = p.interval(position)
            if first < high and low < end:
                return position
    return None
