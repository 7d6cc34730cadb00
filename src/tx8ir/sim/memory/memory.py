"""The memories: the scratch-pads of all tiles in one array, and DDR as declared segments.

An operand of an instruction is placed once (`Memory.place`): its addresses are checked, and it is found where it lies
for all tiles together. Placed operands are read and written for all tiles in one NumPy call: through a strided view
when the addresses of consecutive tiles are equally far apart, otherwise through a vectorised gather of byte windows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Access, MemorySpace
from tx8ir.sim.errors import Fault, bytes_text
from tx8ir.target.chip import Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import element_mask, pack, tensor_view, unpack

from .buffer_pool import Scratch
from .rows import Array, RowStarts, Walk, shape_of
from .stores import ByteStore, Part, make_part, rows_of

_WORDS = (8, 4, 2)
_LONG_RUN = 4096  # bytes from which on copying tile by tile pays


@attrs.define(eq=False)
class Placed:
    """An access of an instruction, checked and found in memory. With one part, the part covers all tiles."""

    access: Access
    tiles: tuple[int, ...]
    parts: tuple[Part, ...]
    extent: int
    """Bytes from the first to after the last byte on a tile."""
    shift: int = 0
    """Bytes by which loops have moved it from the addresses of `access`."""

    def moved(self, shift: int) -> Placed:
        """The same access `shift` bytes further; its bytes are taken to lie in the same stores."""
        parts = tuple([part.shifted(shift) for part in self.parts])
        return Placed(self.access, self.tiles, parts, self.extent, self.shift + shift)

    @property
    def is_writable(self) -> bool:
        """Whether some instruction may write where it lies."""
        return all(part.store.is_writable for part in self.parts)

    def address(self, position: int) -> int:
        """The address of the first byte on the tile at `position`."""
        addresses = self.access.addresses
        return addresses[position if len(addresses) > 1 else 0] + self.shift

    def interval(self, position: int) -> tuple[int, int]:
        """First byte and end of its bytes on the tile at `position`."""
        address = self.address(position)
        return address, address + self.extent


class Memory:
    """SPM of all tiles and DDR.

    Args:
        target: the chip: number of tiles, size and reserved ranges of SPM.
        segments: the declared segments of DDR.
        checks: whether reads of bytes that were never written are found.
    """

    def __init__(self, target: Target, segments: Sequence[ByteStore], *, checks: bool = True) -> None:
        self.target = target
        self.checks = checks
        self.spm = ByteStore("SPM", 0, target.tiles * target.spm_bytes, "spm", copies=target.tiles)
        self.segments = sorted(segments, key=lambda s: s.address)
        self._starts = [s.address for s in self.segments]
        self._parts: dict[tuple[tuple[int, ...], int, Walk, tuple[int, ...]], Part] = {}
        """What was placed in SPM, by addresses, run, walk and tiles."""
        self._tile_rows: dict[tuple[int, ...], RowStarts] = {}
        """By tiles: where their scratch-pads begin."""
        self.scratch = Scratch()
        """Arrays for what steps compute on the way."""

    def clear(self) -> None:
        """Forget all that was written, in SPM and in DDR; constants stay."""
        for store in (self.spm, *self.segments):
            store.clear()

    # -- placing --------------------------------------------------------------------------------------------------

    def place(self, access: Access, tiles: tuple[int, ...]) -> Placed:
        """Find an access in memory. Raises Fault when bytes are out of range, reserved, or in no writable segment."""
        extent = access.extent
        if access.space is MemorySpace.SPM:
            # Scratch-pads are small and programs long: what was found once, with its views and flags, is found again.
            key = access.addresses, access.nbytes, access.walk, tiles
            part = self._parts.get(key)
            if part is None:
                part = self._parts[key] = self._place_spm(access, extent, tiles)
            parts = (part,)
        else:
            parts = self._place_ddr(access, extent, tiles)
        return _soiled(Placed(access, tiles, parts, extent))

    def move(self, placed: Placed, shift: int) -> Placed:
        """A placed access where loops have moved it: `shift` bytes from where it was placed.

        Raises Fault as `place`.
        """
        access, extent = placed.access, placed.extent
        if access.space is MemorySpace.SPM:
            first, end = self.target.spm_allocatable
            inside = first <= min(access.addresses) + shift and max(access.addresses) + shift + extent <= end
        else:
            inside = all(
                part.offsets is None
                and min(part.start, part.start + (part.count - 1) * part.step) + shift >= 0
                and max(part.start, part.start + (part.count - 1) * part.step) + shift + extent <= part.store.size
                for part in placed.parts
            )
        if inside:
            return _soiled(placed.moved(shift))
        # Outside of where it was: an error, or another segment.
        moved = attrs.evolve(access, addresses=tuple([a + shift for a in access.addresses]))
        return self.place(moved, placed.tiles)

    def _place_spm(self, access: Access, extent: int, tiles: tuple[int, ...]) -> Part:
        first, end = self.target.spm_allocatable
        addresses = access.addresses
        for position, address in enumerate(addresses):
            if address < first or address + extent > end:
                raise Fault(
                    f"{bytes_text(access, tiles[position], address, address + extent)} is outside of the usable range "
                    f"[{first:#x}, {end:#x})",
                    tile=tiles[position],
                    addresses=(address, address + extent),
                )
        size = self.target.spm_bytes
        if len(addresses) == 1:
            rows = self._tile_rows.get(tiles)
            if rows is None:
                rows = self._tile_rows[tiles] = rows_of([tile * size for tile in tiles])
            return make_part(rows.moved(addresses[0]), self.spm, access, _ALL)
        offsets = [tile * size + address for tile, address in zip(tiles, addresses, strict=True)]
        return make_part(rows_of(offsets), self.spm, access, _ALL)

    def _place_ddr(self, access: Access, extent: int, tiles: tuple[int, ...]) -> tuple[Part, ...]:
        addresses = access.addresses
        if len(addresses) == 1 and len(tiles) > 1:
            addresses = addresses * len(tiles)
        low, high = min(addresses), max(addresses)
        common = self.segment_at(low, high - low + extent)
        if common is not None and (common.is_writable or not access.writes):
            return (make_part(rows_of([address - common.address for address in addresses]), common, access, _ALL),)
        found = [self.segment_at(address, extent) for address in addresses]
        for position, (store, address) in enumerate(zip(found, addresses, strict=True)):
            if store is None or (access.writes and not store.is_writable):
                what = bytes_text(access, tiles[position], address, address + extent)
                why = (
                    "is not inside a declared segment"
                    if store is None
                    else f'is in segment "{store.name}" of kind {store.kind}, which instructions cannot write'
                )
                raise Fault(f"{what} {why}", tile=tiles[position], addresses=(address, address + extent))
        stores = dict.fromkeys(store for store in found if store is not None)
        parts: list[Part] = []
        for store in stores:
            positions = [i for i, s in enumerate(found) if s is store]
            rows = rows_of([addresses[i] - store.address for i in positions])
            parts.append(make_part(rows, store, access, np.array(positions)))
        return tuple(parts)

    def segment_at(self, address: int, size: int) -> ByteStore | None:
        """The DDR segment that holds all of the bytes [address, address + size), or None."""
        i = bisect_right(self._starts, address) - 1
        if i < 0:
            return None
        store = self.segments[i]
        return store if address + size <= store.address + store.size else None

    # -- reading and writing --------------------------------------------------------------------------------------

    def load(self, placed: Placed, format: Format) -> Array:
        """The elements [tiles, *iterations, run elements] of an operand: a view where the addresses allow it."""
        return self._array(placed, format.dtype)

    def load_bits(self, placed: Placed, format: Format) -> Array:
        """The elements of an operand, as `load`, but as unsigned integers of the same width."""
        return self._array(placed, _WORD_TYPES[format.bytes])

    def store(self, placed: Placed, values: Any) -> None:
        """Write elements that broadcast to [tiles, *iterations, run elements]; their type says their size."""
        for part in placed.parts:
            chosen = values if len(placed.parts) == 1 or np.ndim(values) == 0 else values[part.positions]
            part.save(chosen, values.dtype)

    def destination(self, placed: Placed, dtype: np.dtype[Any]) -> Array | None:
        """The memory of a destination as a view like that of `load`, or None where its tiles need a scatter."""
        part, *others = placed.parts
        return None if others else part.view(dtype)

    def copy(self, src: Placed, dst: Placed) -> None:
        """Copy bytes. Both walks have the same loops around the same runs, or one side is a single dense run."""
        a, b = src.parts[0], dst.parts[0]
        one_store = len(src.parts) == len(dst.parts) == 1
        scattered = a.offsets is not None or b.offsets is not None
        nbytes = src.access.nbytes
        if one_store and scattered and nbytes >= _LONG_RUN and not (src.access.walk or dst.access.walk):
            source, destination = a.store.data, b.store.data
            for start, to in zip(a.starts().tolist(), b.starts().tolist(), strict=True):
                destination[to : to + nbytes] = source[start : start + nbytes]
            return
        word = _word(math.gcd(nbytes, dst.access.nbytes))
        values = self._array(src, word)
        out = b.view(word) if len(dst.parts) == 1 and not dst.access.walk else None
        if out is None:
            self.store(dst, values.reshape(shape_of(dst.access.walk, dst.access.nbytes, len(dst.tiles), word)))
        else:
            # The dense side is cut into the runs of the other: one copy, and no array in between.
            out.reshape(values.shape)[...] = values

    def load_tensor(self, placed: Placed) -> Array:
        """A channel-blocked operand as a new array [tiles, *shape] of its format."""
        tensor = placed.access.aligned
        assert tensor is not None
        return unpack(self._array(placed, _BYTE), tensor.shape, tensor.format, tensor.layout)

    def look_at_tensor(self, placed: Placed, slot: str) -> Array:
        """A channel-blocked operand as `load_tensor` gives it, to be read and soon dropped.

        It is a view of the memory where there is one, else it lies in the scratch array `slot`.
        """
        tensor = placed.access.aligned
        assert tensor is not None
        data = self._array(placed, _BYTE)
        view = tensor_view(data, tensor.shape, tensor.format, tensor.layout)
        if view is not None:
            return view
        out = self.scratch.take(slot, (len(data), *tensor.shape), tensor.format.dtype)
        return unpack(data, tensor.shape, tensor.format, tensor.layout, out=out)

    def store_tensor(self, placed: Placed, values: Array) -> None:
        """Write an array [tiles, *shape] of the operand's format as a channel-blocked tensor, padding lanes as zero."""
        tensor = placed.access.aligned
        assert tensor is not None
        (part,) = placed.parts
        out = part.load(_BYTE)
        pack(values, tensor.format, tensor.layout, leading=1, out=out)
        if part.offsets is not None:
            part.save(out, _BYTE)

    def load_rows(self, placed: Placed, rows: NDArray[np.int64]) -> Array:
        """RowStarts of a table in DDR, as bytes [tiles, count, row bytes]; `rows` [tiles, count] are valid row numbers.

        Raises Fault when a row has bytes that were never written.
        """
        access = placed.access
        ((_, stride),) = access.walk
        result = np.empty((*rows.shape, access.nbytes), np.uint8)
        for part in placed.parts:
            wanted = rows[part.positions]
            offsets = part.starts()[:, None] + wanted * stride
            result[part.positions] = _row_windows(part.store.data, access.nbytes)[offsets]
            if self.checks and part.store.written is not None:
                flags = part.store.written.bytes(0, part.store.size)
                written = _row_windows(flags, access.nbytes)[offsets]
                if not written.all():
                    position, i, byte = (int(v) for v in np.unravel_index(int(written.argmin()), written.shape))
                    address = part.store.address + int(offsets[position, i]) + byte
                    position = int(np.arange(len(placed.tiles))[part.positions][position])
                    raise _unwritten(placed, position, address)
        return result

    def store_rows(self, placed: Placed, rows: NDArray[np.int64], values: NDArray[np.uint8]) -> None:
        """Write bytes [tiles, count, row bytes] to rows of a table in DDR; the last of equal `rows` stays.

        `rows` [tiles, count] are valid row numbers. What is written is marked so.
        """
        access = placed.access
        ((_, stride),) = access.walk
        for part in placed.parts:
            offsets = part.starts()[:, None] + rows[part.positions] * stride
            _row_windows(part.store.data, access.nbytes)[offsets] = values[part.positions]
            if part.store.written is not None:
                part.store.written.use_all(offsets, access.nbytes)
                _row_windows(part.store.written.flags, access.nbytes)[offsets] = True

    def _array(self, placed: Placed, dtype: np.dtype[Any]) -> Array:
        if len(placed.parts) == 1:
            return placed.parts[0].load(dtype)
        access = placed.access
        result = np.empty(shape_of(access.walk, access.nbytes, len(placed.tiles), dtype), dtype)
        for part in placed.parts:
            result[part.positions] = part.load(dtype)
        return result

    # -- written bytes --------------------------------------------------------------------------------------------

    def check_written(self, placed: Placed) -> None:
        """Check that the bytes of a source were written. Raises Fault at the first that was not.

        Of a channel-blocked tensor only the elements count, not padding lanes and gaps.
        """
        access = placed.access
        for part in placed.parts:
            span = part.span
            if span is None or span.is_written():
                continue
            written = span.bytes()
            if access.aligned is not None:
                tensor = access.aligned
                written = written | ~element_mask(tensor.shape, tensor.format, tensor.layout)
                if written.all():
                    continue
            index = np.unravel_index(int(written.argmin()), written.shape)
            position = int(np.arange(len(placed.tiles))[part.positions][index[0]])
            address = placed.address(position) + int(index[-1])
            address += sum(int(i) * stride for i, (_, stride) in zip(index[1:-1], access.walk, strict=True))
            raise _unwritten(placed, position, address)

    def mark_written(self, placed: Placed) -> None:
        """Flag the bytes of a destination as written, the gaps between the batches of a channel-blocked tensor too."""
        for part in placed.parts:
            if part.span is not None:
                part.span.mark()

    def mark_where(self, placed: Placed, where: NDArray[np.bool_], format: Format) -> None:
        """Flag the elements [tiles, count] of a dense destination as written where `where` is true."""
        (part,) = placed.parts
        if part.span is not None:
            part.span.mark_where(where, format.bytes)


_BYTE: np.dtype[Any] = np.dtype(np.uint8)
_ALL = slice(None)
_WORD_TYPES: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def _soiled(placed: Placed) -> Placed:
    """A placed access; if it is a destination, its stores know that they may be written there."""
    access = placed.access
    if access.writes:
        for part in placed.parts:
            store = part.store
            if access.space is MemorySpace.SPM:
                for address in access.addresses:
                    store.mark_dirty(address + placed.shift, placed.extent)
            elif part.offsets is None and part.count > 1 and abs(part.step) <= placed.extent:
                low = min(part.start, part.start + (part.count - 1) * part.step)
                store.mark_dirty(low, placed.extent + abs(part.step) * (part.count - 1))
            else:
                for start in part.starts().tolist():
                    store.mark_dirty(start, placed.extent)
    return placed


def _word(nbytes: int) -> np.dtype[Any]:
    """The widest unsigned type that divides a run into whole words."""
    for size in _WORDS:
        if nbytes % size == 0:
            return _WORD_TYPES[size]
    return _BYTE


def _row_windows(buffer: Array, nbytes: int) -> Array:
    """All runs of `nbytes` bytes of a store, by offset."""
    return np.ndarray((buffer.size - nbytes + 1, nbytes), np.uint8, buffer, 0, (1, 1))  # pyright: ignore[reportArgumentType]  # any buffer will do


def _unwritten(placed: Placed, position: int, address: int) -> Fault:
    tile = placed.tiles[position]
    low, high = placed.interval(position)
    return Fault(
        f"{bytes_text(placed.access, tile, low, high)} is read, but byte {address:#x} was never written",
        tile=tile,
        addresses=(low, high),
    )
