"""Cross-tile races: tiles that touch the same DDR bytes, at least one writing, with no barrier between them.

Between tiles only barriers order anything, whatever the lockstep execution happened to do. Every access to DDR is
remembered until barriers order it before everything that may follow; a new access is compared with those, by bounding
intervals first and, where those meet, byte by byte. A gather counts as a read of its whole table.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Access

from .errors import Fault
from .memory import Part, Placed

_NOBODY, _SEVERAL = -1, -2


@attrs.define(eq=False)
class SharedBytes:
    """The part of an access that lies in one DDR segment; what of it stays the same in every run."""

    access: Access
    part: Part
    tiles: NDArray[np.intp]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Bounding intervals per tile of `tiles`, in bytes of the segment."""
    bounds: tuple[int, int]
    """The bounding interval of all tiles."""


@attrs.define(eq=False)
class _Record:
    """Shared bytes that instruction `index` touched in an epoch."""

    shared: SharedBytes
    index: int
    epoch: int


def shared_bytes(placed: Placed) -> tuple[SharedBytes, ...]:
    """What a race detector needs to know of an access to DDR. Raises Fault when its own tiles race with each other."""
    found: list[SharedBytes] = []
    for part in placed.parts:
        tiles = np.array(placed.tiles, np.intp)[part.positions]
        low = part.start + part.step * np.arange(part.count) if part.offsets is None else part.offsets
        high = low + placed.extent
        bounds = (int(low.min()), int(high.max()))
        shared = SharedBytes(placed.access, part, tiles, low, high, bounds)
        if placed.access.writes and not _disjoint_tiles(shared):
            everybody = np.ones(len(tiles), np.bool_)
            _compare(shared, np.arange(len(tiles)), shared, everybody, None)
        found.append(shared)
    return tuple(found)


def _disjoint_tiles(shared: SharedBytes) -> bool:
    """Whether it shows without looking at bytes that tiles touch different ones."""
    part, access = shared.part, shared.access
    if part.offsets is None:  # the tiles are one more loop of the walk
        return not attrs.evolve(access, walk=(*access.walk, (part.count, abs(part.step)))).overlaps_itself
    order = np.argsort(shared.low)
    return bool((shared.high[order][:-1] <= shared.low[order][1:]).all())


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
        if len(tiles) == len(self._ordered):
            self._ordered[:] = self._epoch
            self._records.clear()
            return
        members = list(tiles)
        known = self._ordered[members].max(axis=0)
        known[members] = self._epoch
        self._ordered[members] = known
        itself = np.eye(len(self._ordered), dtype=np.bool_)
        settled = np.where(itself, self._epoch, self._ordered).min(axis=0)
        self._records = [r for r in self._records if (settled[r.shared.tiles] <= r.epoch).any()]

    def access(self, shared: SharedBytes, index: int) -> None:
        """Compare what instruction `index` touches with what was touched before, and remember it.

        Raises Fault when they race.
        """
        writes, store, (low, high) = shared.access.writes, shared.part.store, shared.bounds
        for earlier in self._records:
            other = earlier.shared
            if (
                other.part.store is store
                and (writes or other.access.writes)
                and low < other.bounds[1]
                and other.bounds[0] < high
            ):
                self._check_pair(shared, earlier)
        self._records.append(_Record(shared, index, self._epoch))

    def _check_pair(self, shared: SharedBytes, earlier: _Record) -> None:
        before = earlier.shared
        other = shared.tiles[:, None] != before.tiles
        unordered = self._ordered[shared.tiles[:, None], before.tiles] <= earlier.epoch
        meet = (shared.low[:, None] < before.high) & (before.low < shared.high[:, None])
        if not (meet & unordered & other).any():
            return
        # One map of owners serves all tiles that see the same tiles of the earlier instruction as unordered.
        rivals = unordered | ~other
        for pattern in np.unique(rivals, axis=0):
            _compare(shared, np.flatnonzero((rivals == pattern).all(axis=1)), before, pattern, earlier.index)


def _compare(
    shared: SharedBytes,
    positions: NDArray[np.intp],
    before: SharedBytes,
    rivals: NDArray[np.bool_],
    index: int | None,
) -> None:
    """Compare tiles at `positions` of one access to those of the other that `rivals` selects, byte for byte.

    `index` is the instruction of the other one, None when both are the same. Raises Fault where they meet.
    """
    low = min(shared.bounds[0], before.bounds[0])
    owners = np.full(max(shared.bounds[1], before.bounds[1]) - low, _NOBODY, np.int8)
    for position in np.flatnonzero(rivals):
        view = _walk(owners, int(before.low[position]) - low, before.access)
        view[...] = np.where(view == _NOBODY, before.tiles[position], _SEVERAL)
    for position in positions:
        tile = int(shared.tiles[position])
        view = _walk(owners, int(shared.low[position]) - low, shared.access)
        contested = (view != _NOBODY) & (view != tile)
        if contested.any():
            place = np.unravel_index(int(contested.argmax()), contested.shape)
            offset = int(place[-1]) + sum(
                int(i) * stride for i, (_, stride) in zip(place[:-1], shared.access.walk, strict=True)
            )
            address = shared.part.store.address + int(shared.low[position]) + offset
            raise _race(shared.access, before.access, index, tile, int(view[place]), address)


def _walk(buffer: NDArray[np.int8], offset: int, access: Access) -> NDArray[np.int8]:
    """The bytes [*iterations, run] that an access touches from `offset` on, as a view."""
    shape = (*[n for n, _ in access.walk], access.nbytes)
    strides = (*[s for _, s in access.walk], 1)
    return np.ndarray(shape, np.int8, buffer, offset, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _race(access: Access, before: Access, index: int | None, tile: int, owner: int, address: int) -> Fault:
    verb = "writes" if access.writes else "reads"
    if index is None:
        other = "another tile writes in the same instruction"
    else:
        who = "several tiles" if owner == _SEVERAL else f"tile {owner}"
        other = f"{who} {'wrote' if before.writes else 'read'} in instruction {index}, with no barrier between them"
    return Fault(
        f"race: tile {tile} {verb} DDR byte {address:#x}, which {other}",
        tile=tile,
        addresses=(address, address + 1),
    )
