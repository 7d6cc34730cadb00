"""The clock: when each instruction starts and ends on each tile.

Every engine of a tile executes its queue in order. An instruction starts when the kernel core has issued it, its engine
is free, and every earlier instruction on the tile whose bytes conflict with its own (read after write, write after
read, write after write, in SPM or DDR) has ended. How long it takes comes from `target.cost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target

ENGINES = tuple(Engine)
_INDEX = {engine: i for i, engine in enumerate(ENGINES)}
_FIRST_LIMIT = 64  # records before the first sweep

Times = NDArray[np.int64]


@attrs.frozen(eq=False)
class Footprint:
    """The bytes of an instruction that order it with others, per tile of the chip.

    low, high: [accesses, tiles], the bounding interval of each access; empty (0, 0) on tiles that do not run it.
    writes: [accesses, 1], True for destinations.
    """

    low: Times
    high: Times
    writes: NDArray[np.bool_]

    def moved(self, shifts: Times) -> Footprint:
        """The same bytes further on, by `shifts` [accesses]."""
        shift = np.where(self.high > self.low, shifts[:, None], 0)
        return Footprint(self.low + shift, self.high + shift, self.writes)


def footprint(intervals: Sequence[tuple[bool, Any, Any]], tiles: Any, chip_tiles: int) -> Footprint:
    """Make a footprint from (writes, first bytes, ends) of each access.

    First bytes and ends are one number for all tiles or one per tile of `tiles`, an index into the chip's tiles.
    """
    low = np.zeros((len(intervals), chip_tiles), np.int64)
    high = np.zeros_like(low)
    for row, (_, first, end) in enumerate(intervals):
        low[row, tiles] = first
        high[row, tiles] = end
    return Footprint(low, high, np.array([[writes] for writes, _, _ in intervals], np.bool_).reshape(-1, 1))


class Clock:
    """Times of all tiles and engines, in cycles."""

    def __init__(self, target: Target) -> None:
        tiles = target.tiles
        self._issue_cycles = cost.issue(target)
        self._barrier_cycles = cost.barrier(target)
        self.free = np.zeros((len(ENGINES), tiles), np.int64)
        """When each engine of each tile has finished what it was given."""
        self._issued = np.zeros(tiles, np.int64)
        self.busy = np.zeros((len(ENGINES), tiles), np.int64)
        """Cycles that each engine of each tile has worked."""
        # Instructions that may not have ended: the first _count rows. One row is one access.
        self._count = 0
        self._limit = _FIRST_LIMIT
        self._low = np.zeros((_FIRST_LIMIT, tiles), np.int64)
        self._high = np.zeros_like(self._low)
        self._end = np.zeros_like(self._low)
        self._writes = np.zeros((_FIRST_LIMIT, 1), np.bool_)

    @property
    def now(self) -> int:
        """When the last instruction so far ends."""
        return int(max(self.free.max(), self._issued.max()))

    def run(self, engine: Engine, tiles: Any, cycles: Any, footprint: Footprint) -> None:
        """Execute one instruction.

        Args:
            engine: what executes it.
            tiles: index of the tiles that run it: a slice or an integer array.
            cycles: how long it takes: one number, or one per tile.
            footprint: the bytes that it reads and writes.
        """
        row = _INDEX[engine]
        start = np.maximum(self._issue(tiles), self.free[row, tiles])
        if self._count and len(footprint.low):
            start = np.maximum(start, self._conflicts(footprint)[tiles])
        end = start + cycles
        self.free[row, tiles] = end
        self.busy[row, tiles] += cycles
        self._record(footprint, tiles, end)

    def barrier(self, tiles: Any) -> None:
        """Let tiles wait for each other: their engines are free the barrier's time after the last has finished."""
        self._issue(tiles)
        together = max(int(self.free[:, tiles].max()), int(self._issued[tiles].max())) + self._barrier_cycles
        self.free[:, tiles] = together
        self._issued[tiles] = together
        if (self.free == together).all():  # all tiles were in it: nothing before it can hold back anything
            self._count = 0
        else:
            self._sweep()

    def hold(self, tiles: Any, until: Times | int) -> None:
        """Let tiles issue nothing before `until`, which is one time or one per tile."""
        self._issued[tiles] = np.maximum(self._issued[tiles], until)

    def ended(self, engine: Engine, tiles: Any) -> Times:
        """When the last instruction of an engine ends on each of the tiles."""
        return self.free[_INDEX[engine], tiles].copy()

    def _issue(self, tiles: Any) -> Times:
        self._issued[tiles] += self._issue_cycles
        return self._issued[tiles]

    def _conflicts(self, footprint: Footprint) -> Times:
        """[tiles]: when the last earlier conflicting instruction ends."""
        n = self._count
        overlap = (self._low[:n] < footprint.high[:, None]) & (footprint.low[:, None] < self._high[:n])
        overlap &= self._writes[:n] | footprint.writes[:, None]
        return np.where(overlap, self._end[:n], 0).max(axis=(0, 1))

    def _record(self, footprint: Footprint, tiles: Any, end: Times) -> None:
        accesses = len(footprint.low)
        if self._count + accesses > self._limit:
            self._sweep()
            while self._count + accesses > self._limit // 2:  # keep sweeps rare
                self._grow()
        rows = slice(self._count, self._count + accesses)
        self._low[rows], self._high[rows], self._writes[rows] = footprint.low, footprint.high, footprint.writes
        self._end[rows] = 0
        self._end[rows, tiles] = end
        self._count = rows.stop

    def _grow(self) -> None:
        self._limit *= 2
        for name in ("_low", "_high", "_end", "_writes"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def _sweep(self) -> None:
        """Forget accesses that cannot hold back anything any more.

        That is where they ended before all engines of the tile are free, and where a later write to all of their bytes
        ends no earlier: whatever conflicts with them conflicts with it too.
        """
        n = self._count
        low, high, end = self._low[:n], self._high[:n], self._end[:n]
        alive = (end > self.free.min(axis=0)) & (high > low)
        covered = (low[None] <= low[:, None]) & (high[None] >= high[:, None]) & (end[None] >= end[:, None])
        later = np.arange(n)[None, :, None] > np.arange(n)[:, None, None]
        alive &= ~(covered & later & self._writes[None, :n]).any(axis=1)
        keep = alive.any(axis=1)
        low[~alive] = 0
        high[~alive] = 0
        count = int(keep.sum())
        for array in (self._low, self._high, self._end, self._writes):
            array[:count] = array[:n][keep]
        self._count = count
