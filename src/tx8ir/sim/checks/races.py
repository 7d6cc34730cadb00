"""Cross-tile races: tiles that touch the same DDR bytes, at least one writing, with no barrier between them.

Between tiles only barriers and messages order anything, whatever the execution happened to do. Every access to DDR is
remembered until they order it before everything that may follow; a new access is compared with those, by bounding
intervals first and, where those meet, byte by byte. Of a gather or a scatter it is the rows that its indices name.

A run without barriers would remember ever more, so old records are folded into a time per byte and tile (`_Shadow`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Access
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Placed
from tx8ir.sim.memory.stores import ByteStore, Part

ScalarT = TypeVar("ScalarT", bound=np.integer[Any])

_NOBODY, _SEVERAL = -1, -2
_RECORD_LIMIT = 24
_PAIRS_AT_ONCE = 1 << 20


@attrs.define(eq=False)
class SharedBytes:
    """The part of an access that lies in one DDR segment; what of it stays the same in every run."""

    access: Access
    part: Part
    tiles: NDArray[np.intp]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Bounding intervals per entry of `tiles`, in bytes of the segment; a tile has one, or one for each row."""
    bounds: tuple[int, int]
    """The bounding interval of all."""
    of_rows: bool = False
    """Whether a tile may have several entries, which lie one after the other."""
    _outer: SharedBytes | None = None

    def some(self, which: slice | NDArray[np.bool_]) -> SharedBytes:
        """A part of the entries."""
        low, high = self.low[which], self.high[which]
        return SharedBytes(self.access, self.part, self.tiles[which], low, high, self.bounds, self.of_rows)

    def by_tile(self) -> SharedBytes:
        """One entry for each tile, the bounding interval of all of its entries."""
        if not self.of_rows:
            return self
        if self._outer is None:  # every later instruction asks
            first = np.flatnonzero(np.diff(self.tiles, prepend=-1))
            low, high = np.minimum.reduceat(self.low, first), np.maximum.reduceat(self.high, first)
            self._outer = SharedBytes(self.access, self.part, self.tiles[first], low, high, self.bounds)
        return self._outer

    def moved(self, shift: int) -> SharedBytes:
        """The same bytes `shift` bytes further in the segment."""
        low, high = self.bounds
        return SharedBytes(
            self.access, self.part, self.tiles, self.low + shift, self.high + shift, (low + shift, high + shift)
        )


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
        low = part.starts()
        high = low + placed.extent
        bounds = (int(low.min()), int(high.max()))
        shared = SharedBytes(placed.access, part, tiles, low, high, bounds)
        if placed.access.writes and not _disjoint_tiles(shared):
            everybody = np.ones(len(tiles), np.bool_)
            _compare(shared, np.arange(len(tiles)), shared, everybody, None)
        found.append(shared)
    return tuple(found)


def shared_rows(placed: Placed, rows: NDArray[np.int64]) -> tuple[SharedBytes, ...]:
    """As `shared_bytes`, of rows [tiles, count] of a table: each tile touches those that `rows` names.

    Raises Fault when two tiles write the same one.
    """
    found: list[SharedBytes] = []
    access = attrs.evolve(placed.access, walk=())
    ((_, stride),) = placed.access.walk
    for part in placed.parts:
        position, number = _distinct(rows[part.positions])
        tiles = np.array(placed.tiles, np.intp)[part.positions][position]
        low = part.starts()[position] + number * stride
        ascending = np.sort(low, kind="stable")  # of one tile they ascend already, which this sort makes use of
        bounds = (int(ascending[0]), int(ascending[-1]) + access.nbytes)
        shared = SharedBytes(access, part, tiles, low, low + access.nbytes, bounds, of_rows=True)
        if access.writes and (np.diff(ascending) < access.nbytes).any():
            _compare(shared, np.arange(len(tiles)), shared, np.ones(len(tiles), np.bool_), None)
        found.append(shared)
    return tuple(found)


def _distinct(rows: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The numbers [tiles, count] of each tile, every one once and ascending: whose, and which."""
    if (rows[:, 1:] > rows[:, :-1]).all():
        return np.repeat(np.arange(len(rows)), rows.shape[1]), rows.ravel()
    span = int(rows.max()) + 1
    position, number = np.divmod(np.unique(np.arange(len(rows))[:, None] * span + rows), span)
    return position, number


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
        self._shadows: dict[int, tuple[_Shadow, _Shadow]] = {}

    def barrier(self, tiles: tuple[int, ...]) -> None:
        """Order what `tiles` did, and what was ordered before that, before whatever they do next."""
        self._epoch += 1
        if len(tiles) == len(self._ordered):
            self._ordered[:] = self._epoch
            self._records.clear()
            self._shadows.clear()
            return
        members = list(tiles)
        known = self._ordered[members].max(axis=0)
        known[members] = self._epoch
        self._ordered[members] = known
        self._forget_settled()

    def publish(self, tiles: Sequence[int]) -> NDArray[np.int64]:
        """What comes before a message of each tile: all that it did, and what was ordered before that."""
        known = self._ordered[list(tiles)]
        known[np.arange(len(tiles)), tiles] = np.arange(self._epoch + 1, self._epoch + len(tiles) + 1)
        self._epoch += len(tiles)
        return known

    def receive(self, tile: int, known: NDArray[np.int64]) -> None:
        """Order what `publish` gave before whatever `tile` does next."""
        np.maximum(self._ordered[tile], known, out=self._ordered[tile])

    def is_ordered(self, tile: int, sender: int, known: NDArray[np.int64]) -> bool:
        """Whether what `sender` had done when it published `known` comes before whatever `tile` does next."""
        return bool(self._ordered[tile, sender] >= known[sender])

    def _forget_settled(self) -> None:
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
        for shadow in self._shadows.get(store.address, ()):
            if writes or shadow.writes:
                shadow.check(shared, self._ordered)
        self._records.append(_Record(shared, index, self._epoch))
        if len(self._records) > _RECORD_LIMIT:
            self._forget_settled()
            self._fold(len(self._records) - _RECORD_LIMIT // 2)

    def _fold(self, count: int) -> None:
        """Move the oldest records into shadows."""
        for record in self._records[: max(count, 0)]:
            shared = record.shared
            store = shared.part.store
            if store.address not in self._shadows:
                self._shadows[store.address] = (_Shadow(store, writes=True), _Shadow(store, writes=False))
            writers, readers = self._shadows[store.address]
            (writers if shared.access.writes else readers).add(shared, record.epoch)
        del self._records[: max(count, 0)]

    def _check_pair(self, shared: SharedBytes, earlier: _Record) -> None:
        before = earlier.shared
        mine, theirs = shared.by_tile(), before.by_tile()
        if mine is shared and theirs is before:
            self._check_some(shared, earlier)
            return
        # RowStarts of a gather may be many: those of tiles that may meet only, and a part of the pairs at a time.
        meet = self._may_meet(mine, theirs, earlier.epoch)
        for i in np.flatnonzero(meet.any(axis=1)):
            here = shared.some(shared.tiles == mine.tiles[i])
            there = _Record(before.some(np.isin(before.tiles, theirs.tiles[meet[i]])), earlier.index, earlier.epoch)
            step = max(1, _PAIRS_AT_ONCE // len(there.shared.tiles))
            for start in range(0, len(here.tiles), step):
                self._check_some(here.some(slice(start, start + step)), there)

    def _may_meet(self, shared: SharedBytes, before: SharedBytes, epoch: int) -> NDArray[np.bool_]:
        """Which entries of the two belong to different tiles, have no order between them, and overlap."""
        meet = (shared.low[:, None] < before.high) & (before.low < shared.high[:, None])
        meet &= shared.tiles[:, None] != before.tiles
        if meet.any():
            meet &= self._ordered[shared.tiles[:, None], before.tiles] <= epoch
        return meet

    def _check_some(self, shared: SharedBytes, earlier: _Record) -> None:
        before = earlier.shared
        if not self._may_meet(shared, before, earlier.epoch).any():
            return
        other = shared.tiles[:, None] != before.tiles
        unordered = self._ordered[shared.tiles[:, None], before.tiles] <= earlier.epoch
        # One map of owners serves all tiles that see the same tiles of the earlier instruction as unordered.
        rivals = unordered | ~other
        for pattern in np.unique(rivals, axis=0):
            _compare(shared, np.flatnonzero((rivals == pattern).all(axis=1)), before, pattern, earlier.index)


class _Shadow:
    """When each tile last wrote (or read) each byte of a segment; its memory is that of the segment, whatever runs."""

    def __init__(self, store: ByteStore, *, writes: bool) -> None:
        self.writes = writes
        self._store = store
        self._times: dict[int, NDArray[np.int64]] = {}
        """By tile: 1 + the epoch of the last access, 0 where there was none."""
        self._bounds: dict[int, tuple[int, int]] = {}

    def add(self, shared: SharedBytes, epoch: int) -> None:
        """Take over an access."""
        outer = shared.by_tile()
        for tile, low, high in zip(outer.tiles.tolist(), outer.low.tolist(), outer.high.tolist(), strict=True):
            if tile not in self._times:
                self._times[tile] = np.zeros(self._store.size, np.int64)
            first, end = self._bounds.get(tile, (low, high))
            self._bounds[tile] = (min(first, low), max(end, high))
            if shared.of_rows:
                _runs(self._times[tile], shared.access.nbytes)[shared.low[shared.tiles == tile]] = epoch + 1
            else:
                _walk(self._times[tile], low, shared.access)[...] = epoch + 1

    def check(self, shared: SharedBytes, ordered: NDArray[np.int64]) -> None:
        """Raise Fault when a tile touches bytes that another one touched last without an order between them."""
        outer = shared.by_tile()
        if outer is not shared:
            others = np.array(list(self._bounds), np.intp)
            first, end = np.array(list(self._bounds.values()), np.int64).reshape(-1, 2).T
            near = (outer.low[:, None] < end) & (first < outer.high[:, None]) & (outer.tiles[:, None] != others)
            if not near.any():
                return
            shared = shared.some(np.isin(shared.tiles, outer.tiles[near.any(axis=1)]))
        for tile, low, high in zip(shared.tiles.tolist(), shared.low.tolist(), shared.high.tolist(), strict=True):
            for other, times in self._times.items():
                first, end = self._bounds[other]
                if other == tile or low >= end or first >= high:
                    continue
                late = _walk(times, low, shared.access) > ordered[tile, other]
                if late.any():
                    place = np.unravel_index(int(late.argmax()), late.shape)
                    address = shared.part.store.address + low + _offset(shared.access, place)
                    verb = "writes" if shared.access.writes else "reads"
                    raise Fault(
                        f"race: tile {tile} {verb} DDR byte {address:#x}, which tile {other} "
                        f"{'wrote' if self.writes else 'read'} before, with no barrier or message between them",
                        tile=tile,
                        addresses=(address, address + 1),
                    )


def _offset(access: Access, place: tuple[np.intp, ...]) -> int:
    """The offset of the byte at an index [*iterations, run] of a walk."""
    return int(place[-1]) + sum(int(i) * stride for i, (_, stride) in zip(place[:-1], access.walk, strict=True))


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
            address = shared.part.store.address + int(shared.low[position]) + _offset(shared.access, place)
            raise _race(shared.access, before.access, index, tile, int(view[place]), address)


def _runs(buffer: NDArray[ScalarT], nbytes: int) -> NDArray[ScalarT]:
    """The `nbytes` entries from every offset on, as a view [offsets, nbytes]."""
    shape = (len(buffer) - nbytes + 1, nbytes)
    return np.ndarray(shape, buffer.dtype, buffer, 0, (buffer.itemsize,) * 2)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _walk(buffer: NDArray[ScalarT], offset: int, access: Access) -> NDArray[ScalarT]:
    """The bytes [*iterations, run] that an access touches from `offset` on, as a view; an entry of `buffer` is one."""
    size = buffer.itemsize
    shape = (*[n for n, _ in access.walk], access.nbytes)
    strides = (*[s * size for _, s in access.walk], size)
    return np.ndarray(shape, buffer.dtype, buffer, offset * size, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _race(access: Access, before: Access, index: int | None, tile: int, owner: int, address: int) -> Fault:
    verb = "writes" if access.writes else "reads"
    if index is None:
        other = "another tile writes in the same instruction"
    else:
        who = "several tiles" if owner == _SEVERAL else f"tile {owner}"
        did = "wrote" if before.writes else "read"
        other = f"{who} {did} in instruction {index}, with no barrier or message between them"
    return Fault(
        f"race: tile {tile} {verb} DDR byte {address:#x}, which {other}",
        tile=tile,
        addresses=(address, address + 1),
    )
