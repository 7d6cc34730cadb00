"""Cross-tile races: tiles that touch the same DDR bytes, at least one writing, with no barrier between them.

Between tiles only barriers order anything, whatever the lockstep execution happened to do. Every access to DDR is
remembered until barriers order it before everything that may follow; a new access is compared with those, by bounding
intervals first and, where those meet, byte by byte.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Access

from .errors import Fault
from .memory import Part, Placed

_NOBODY, _SEVERAL = -1, -2


@attrs.frozen(eq=False)
class _Record:
    """The part of an access that lies in one segment."""

    index: int
    """Of the instruction."""
    access: Access
    part: Part
    tiles: NDArray[np.intp]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Bounding intervals per tile of `tiles`, in bytes of the segment."""
    bounds: tuple[int, int]
    """The bounding interval of all tiles."""
    epoch: int


class RaceDetector:
    """Finds unordered conflicts between tiles in DDR.

    The epoch advances at every barrier, and `_ordered[t, u]` is the epoch before which everything that tile u did comes
    before whatever tile t does next.
    """

    def __init__(self, tiles: int) -> None:
        self._epoch = 0
        self._ordered = np.zeros((tiles, tiles), np.int64)
        self._records: list[_Record] = []

    def barrier(self, tiles: tuple[int, ...]) -> None:
        """Order what `tiles` did, and what was ordered before that, before whatever they do next."""
        self._epoch += 1
        members = list(tiles)
        known = self._ordered[members].max(axis=0)
        known[members] = self._epoch
        self._ordered[members] = known
        itself = np.eye(len(self._ordered), dtype=np.bool_)
        settled = np.where(itself, self._epoch, self._ordered).min(axis=0)
        self._records = [r for r in self._records if (settled[r.tiles] <= r.epoch).any()]

    def access(self, placed: Placed, index: int) -> None:
        """Compare an access of instruction `index` with those before it, and remember it.

        Raises Fault when it races with one, or its own tiles with each other.
        """
        for part in placed.parts:
            record = self._record(placed, part, index)
            if placed.access.writes:
                self._check_itself(record)
            for earlier in self._records:
                if (
                    earlier.part.store is part.store
                    and (placed.access.writes or earlier.access.writes)
                    and record.bounds[0] < earlier.bounds[1]
                    and earlier.bounds[0] < record.bounds[1]
                ):
                    self._check_pair(record, earlier)
            self._records.append(record)

    def _record(self, placed: Placed, part: Part, index: int) -> _Record:
        tiles = np.array(placed.tiles, np.intp)[part.positions]
        low = part.start + part.step * np.arange(part.count) if part.offsets is None else part.offsets
        high = low + placed.access.extent
        bounds = (int(low.min()), int(high.max()))
        return _Record(index, placed.access, part, tiles, low, high, bounds, self._epoch)

    def _check_itself(self, record: _Record) -> None:
        order = np.argsort(record.low)
        if (record.high[order][:-1] <= record.low[order][1:]).all():
            return
        everybody = np.ones(len(record.tiles), np.bool_)
        self._compare(record, np.arange(len(record.tiles)), record, everybody)

    def _check_pair(self, record: _Record, earlier: _Record) -> None:
        other = record.tiles[:, None] != earlier.tiles
        unordered = self._ordered[record.tiles[:, None], earlier.tiles] <= earlier.epoch
        meet = (record.low[:, None] < earlier.high) & (earlier.low < record.high[:, None])
        if not (meet & unordered & other).any():
            return
        # One map of owners serves all tiles that see the same tiles of the earlier instruction as unordered.
        rivals = unordered | ~other
        for pattern in np.unique(rivals, axis=0):
            self._compare(record, np.flatnonzero((rivals == pattern).all(axis=1)), earlier, pattern)

    def _compare(
        self, record: _Record, positions: NDArray[np.intp], earlier: _Record, rivals: NDArray[np.bool_]
    ) -> None:
        """Compare the tiles at `positions` of one access to those of the other that `rivals` selects, byte for byte."""
        low = min(record.bounds[0], earlier.bounds[0])
        owners = np.full(max(record.bounds[1], earlier.bounds[1]) - low, _NOBODY, np.int8)
        for position in np.flatnonzero(rivals):
            view = _walk(owners, int(earlier.low[position]) - low, earlier.access)
            view[...] = np.where(view == _NOBODY, earlier.tiles[position], _SEVERAL)
        for position in positions:
            tile = int(record.tiles[position])
            view = _walk(owners, int(record.low[position]) - low, record.access)
            contested = (view != _NOBODY) & (view != tile)
            if contested.any():
                place = np.unravel_index(int(contested.argmax()), contested.shape)
                offset = int(place[-1]) + sum(
                    int(i) * stride for i, (_, stride) in zip(place[:-1], record.access.walk, strict=True)
                )
                address = record.part.store.address + int(record.low[position]) + offset
                raise _race(record, earlier, tile, int(view[place]), address)


def _walk(buffer: NDArray[np.int8], offset: int, access: Access) -> NDArray[np.int8]:
    """The bytes [*iterations, run] that an access touches from `offset` on, as a view."""
    shape = (*[n for n, _ in access.walk], access.nbytes)
    strides = (*[s for _, s in access.walk], 1)
    return np.ndarray(shape, np.int8, buffer, offset, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _race(record: _Record, earlier: _Record, tile: int, owner: int, address: int) -> Fault:
    verb = "writes" if record.access.writes else "reads"
    if earlier is record:
        other = "another tile writes in the same instruction"
    else:
        who = "several tiles" if owner == _SEVERAL else f"tile {owner}"
        did = "wrote" if earlier.access.writes else "read"
        other = f"{who} {did} in instruction {earlier.index}, with no barrier between them"
    return Fault(
        f"race: tile {tile} {verb} DDR byte {address:#x}, which {other}",
        tile=tile,
        addresses=(address, address + 1),
    )
