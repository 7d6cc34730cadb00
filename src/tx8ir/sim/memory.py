"""The memories: the scratch-pads of all tiles in one array, DDR as declared segments; each knows its written bytes.

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
from tx8ir.target.chip import Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import element_mask, pack, unpack

from .errors import Fault, bytes_text

Array = NDArray[Any]

_WORDS = (8, 4, 2)
_LONG_RUN = 64  # bytes
_PAGE = 256  # bytes
_LONG_EXTENT = 4096  # bytes: from here on looking at pages tile by tile pays


class ByteStore:
    """Consecutive bytes and, unless all of them count as written, a flag for each that says so.

    A flag per page of 256 bytes says that all of its bytes are known to be written. It spares looking at the flags of
    bytes where the same memory is used again and again; it may lag behind them.
    """

    __slots__ = ("address", "data", "full", "kind", "name", "size", "written")

    def __init__(self, name: str, address: int, size: int, kind: str, data: NDArray[np.uint8] | None = None) -> None:
        self.name = name
        self.address = address
        self.size = size
        self.kind = kind
        # np.zeros takes fresh pages from the system, so bytes that nobody touches cost nothing.
        self.data: NDArray[np.uint8] = np.zeros(size, np.uint8) if data is None else data
        self.written: NDArray[np.bool_] | None = np.zeros(size, np.bool_) if data is None else None
        self.full: NDArray[np.bool_] = np.zeros(size // _PAGE + 1, np.bool_)

    def clear(self) -> None:
        """Forget all that was written."""
        if self.written is not None:
            self.data = np.zeros(self.size, np.uint8)
            self.written = np.zeros(self.size, np.bool_)
            self.full[:] = False

    @property
    def is_writable(self) -> bool:
        """Whether instructions may write it."""
        return self.kind not in ("const", "input")


@attrs.define(eq=False)
class Part:
    """Where an access lies in one store, for some of the tiles.

    Either tile i is at `start + i * step`, or, when `offsets` is set, at `offsets[i]`; all in bytes of the store.
    """

    store: ByteStore
    start: int
    step: int
    offsets: NDArray[np.int64] | None
    count: int
    """Tiles."""
    positions: slice | NDArray[np.intp]
    """Which of the instruction's tiles these are."""


@attrs.define(eq=False)
class Placed:
    """An access of an instruction, checked and found in memory. With one part, the part covers all tiles."""

    access: Access
    tiles: tuple[int, ...]
    parts: tuple[Part, ...]
    extent: int
    """Bytes from the first to behind the last byte on a tile."""
    shift: int = 0
    """Bytes by which loops have moved it from the addresses of `access`."""

    def moved(self, shift: int) -> Placed:
        """The same access `shift` bytes further; its bytes are taken to lie in the same stores."""
        parts = tuple(
            [
                Part(p.store, p.start + shift, p.step, None if p.offsets is None else p.offsets + shift, p.count,
                     p.positions)
                for p in self.parts
            ]
        )  # fmt: skip
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
        self.spm = ByteStore("SPM", 0, target.tiles * target.spm_bytes, "spm")
        self.segments = sorted(segments, key=lambda s: s.address)
        self._starts = [s.address for s in self.segments]

    def clear(self) -> None:
        """Forget all that was written, in SPM and in DDR; constants stay."""
        for store in (self.spm, *self.segments):
            store.clear()

    # -- placing --------------------------------------------------------------------------------------------------

    def place(self, access: Access, tiles: tuple[int, ...]) -> Placed:
        """Find an access in memory. Raises Fault when bytes are out of range, reserved, or in no writable segment."""
        extent = access.extent
        if access.space is MemorySpace.SPM:
            return Placed(access, tiles, (self._place_spm(access, extent, tiles),), extent)
        return Placed(access, tiles, self._place_ddr(access, extent, tiles), extent)

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
            offsets = [tile * size + addresses[0] for tile in tiles]
        else:
            offsets = [tile * size + address for tile, address in zip(tiles, addresses, strict=True)]
        return _part(self.spm, offsets, slice(None))

    def _place_ddr(self, access: Access, extent: int, tiles: tuple[int, ...]) -> tuple[Part, ...]:
        addresses = access.addresses
        if len(addresses) == 1 and len(tiles) > 1:
            addresses = addresses * len(tiles)
        low, high = min(addresses), max(addresses)
        common = self.segment_at(low, high - low + extent)
        if common is not None and (common.is_writable or not access.writes):
            return (_part(common, [address - common.address for address in addresses], slice(None)),)
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
            parts.append(_part(store, [addresses[i] - store.address for i in positions], np.array(positions)))
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
        access = placed.access
        dtype = values.dtype
        for part in placed.parts:
            chosen = values if len(placed.parts) == 1 or np.ndim(values) == 0 else values[part.positions]
            if part.offsets is None:
                _view(part, part.store.data, access, dtype)[...] = chosen
            else:
                _windows(part, part.store.data, access, dtype)[part.offsets] = chosen

    def destination(self, placed: Placed, format: Format) -> Array | None:
        """The memory of a destination as a view like that of `load`, or None where its tiles need a scatter."""
        part, *others = placed.parts
        if part.offsets is not None or others:
            return None
        return _view(part, part.store.data, placed.access, format.dtype)

    def copy(self, src: Placed, dst: Placed) -> None:
        """Copy bytes. Both walks have the same loops around the same runs, or one side is a single dense run."""
        if len(src.parts) == len(dst.parts) == 1 and src.access.nbytes == dst.access.nbytes >= _LONG_EXTENT:
            a, b = src.parts[0], dst.parts[0]
            if (a.offsets is not None or b.offsets is not None) and not (src.access.walk or dst.access.walk):
                nbytes, source, destination = src.access.nbytes, a.store.data, b.store.data
                for start, to in zip(_starts(a), _starts(b), strict=True):
                    destination[to : to + nbytes] = source[start : start + nbytes]
                return
        word = _word(math.gcd(src.access.nbytes, dst.access.nbytes))
        values = self._array(src, word)
        shape = _shape(dst.access, len(dst.tiles), word)
        part, *others = dst.parts
        if dst.access.walk or part.offsets is not None or others:
            self.store(dst, values.reshape(shape))
        else:
            # The dense side is cut into the runs of the other: one copy, and no array in between.
            _view(part, part.store.data, dst.access, word).reshape(values.shape)[...] = values

    def load_tensor(self, placed: Placed) -> Array:
        """A channel-blocked operand as a new array [tiles, *shape] of its format."""
        tensor = placed.access.aligned
        assert tensor is not None
        return unpack(self._array(placed, _BYTE), tensor.shape, tensor.format, tensor.layout)

    def store_tensor(self, placed: Placed, values: Array) -> None:
        """Write an array [tiles, *shape] of the operand's format as a channel-blocked tensor, padding lanes as zero."""
        tensor = placed.access.aligned
        assert tensor is not None
        (part,) = placed.parts
        if part.offsets is None:
            out = _view(part, part.store.data, placed.access, _BYTE)
            pack(values, tensor.format, tensor.layout, leading=1, out=out)
        else:
            windows = _windows(part, part.store.data, placed.access, _BYTE)
            out = windows[part.offsets]
            pack(values, tensor.format, tensor.layout, leading=1, out=out)
            windows[part.offsets] = out

    def load_rows(self, placed: Placed, rows: NDArray[np.int64]) -> Array:
        """Rows of a table in DDR, as bytes [tiles, count, row bytes]; `rows` [tiles, count] are valid row numbers.

        Raises Fault when a row has bytes that were never written.
        """
        access = placed.access
        ((_, stride),) = access.walk
        result = np.empty((*rows.shape, access.nbytes), np.uint8)
        for part in placed.parts:
            wanted = rows[part.positions]
            base = part.start + part.step * np.arange(part.count) if part.offsets is None else part.offsets
            offsets = base[:, None] + wanted * stride
            result[part.positions] = _row_windows(part.store.data, access.nbytes)[offsets]
            if self.checks and part.store.written is not None:
                written = _row_windows(part.store.written, access.nbytes)[offsets]
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
            base = part.start + part.step * np.arange(part.count) if part.offsets is None else part.offsets
            offsets = base[:, None] + rows[part.positions] * stride
            _row_windows(part.store.data, access.nbytes)[offsets] = values[part.positions]
            if part.store.written is not None:
                _row_windows(part.store.written, access.nbytes)[offsets] = True

    def _array(self, placed: Placed, dtype: np.dtype[Any]) -> Array:
        access, parts = placed.access, placed.parts
        if len(parts) == 1:
            part = parts[0]
            if part.offsets is None:
                return _view(part, part.store.data, access, dtype)
            return _windows(part, part.store.data, access, dtype)[part.offsets]
        result = np.empty(_shape(access, len(placed.tiles), dtype), dtype)
        for part in parts:
            if part.offsets is None:
                result[part.positions] = _view(part, part.store.data, access, dtype)
            else:
                result[part.positions] = _windows(part, part.store.data, access, dtype)[part.offsets]
        return result

    # -- written bytes --------------------------------------------------------------------------------------------

    def check_written(self, placed: Placed) -> None:
        """Check that the bytes of a source were written. Raises Fault at the first that was not.

        Of a channel-blocked tensor only the elements count, not padding lanes and gaps.
        """
        access = placed.access
        for part in placed.parts:
            if part.store.written is None or _is_full(part, placed.extent):
                continue
            word = _flag_word(access.nbytes)
            flags = self._flags(part, access, word)
            if flags.all() if word is _FLAG else (flags == _ALL_WRITTEN[word.itemsize]).all():
                if not access.walk:
                    _set_full(part, access.nbytes)
                continue
            written = self._flags(part, access, _FLAG).copy()
            if access.aligned is not None:
                tensor = access.aligned
                written |= ~element_mask(tensor.shape, tensor.format, tensor.layout)
                if written.all():
                    continue
            index = np.unravel_index(int(written.argmin()), written.shape)
            position = int(np.arange(len(placed.tiles))[part.positions][index[0]])
            address = placed.address(position) + int(index[-1])
            address += sum(int(i) * stride for i, (_, stride) in zip(index[1:-1], access.walk, strict=True))
            raise _unwritten(placed, position, address)

    def mark_written(self, placed: Placed) -> None:
        """Flag the bytes of a destination as written, the gaps between the batches of a channel-blocked tensor too."""
        access = placed.access
        word = _flag_word(access.nbytes)
        for part in placed.parts:
            flags = part.store.written
            if flags is None or _is_full(part, placed.extent):
                continue
            if part.offsets is None:
                _view(part, flags, access, word)[...] = _ALL_WRITTEN[word.itemsize]
            else:
                _windows(part, flags, access, word)[part.offsets] = _ALL_WRITTEN[word.itemsize]
            if not access.walk:
                _set_full(part, access.nbytes)

    def mark_where(self, placed: Placed, where: NDArray[np.bool_], format: Format) -> None:
        """Flag the elements [tiles, count] of a dense destination as written where `where` is true."""
        (part,) = placed.parts
        flags = part.store.written
        if flags is None or _is_full(part, placed.extent):
            return
        word = np.dtype(f"u{format.bytes}")
        full = _ALL_WRITTEN[format.bytes]
        if part.offsets is None:
            np.copyto(_view(part, flags, placed.access, word), full, where=where)
        else:
            windows = _windows(part, flags, placed.access, word)
            windows[part.offsets] = np.where(where, full, windows[part.offsets])

    @staticmethod
    def _flags(part: Part, access: Access, dtype: np.dtype[Any]) -> Array:
        assert part.store.written is not None
        if part.offsets is None:
            return _view(part, part.store.written, access, dtype)
        return _windows(part, part.store.written, access, dtype)[part.offsets]


_BYTE: np.dtype[Any] = np.dtype(np.uint8)
_FLAG: np.dtype[Any] = np.dtype(np.bool_)
_WORD_TYPES: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
_ALL_WRITTEN: dict[int, Any] = {n: np.frombuffer(b"\x01" * n, dtype)[0] for n, dtype in _WORD_TYPES.items()}


def _word(nbytes: int) -> np.dtype[Any]:
    """The widest unsigned type that divides a run into whole words."""
    for size in _WORDS:
        if nbytes % size == 0:
            return _WORD_TYPES[size]
    return _BYTE


def _flag_word(nbytes: int) -> np.dtype[Any]:
    """How to look at the flags of runs: as words where runs are short, else one by one, which NumPy is quick at."""
    return _word(nbytes) if nbytes < _LONG_RUN and nbytes % 2 == 0 else _FLAG


def _part(store: ByteStore, offsets: list[int], positions: slice | NDArray[np.intp]) -> Part:
    """Describe the offsets of the tiles by start and step where they are equally far apart."""
    count = len(offsets)
    start = offsets[0]
    step = offsets[1] - start if count > 1 else 0
    if count < 3 or offsets == list(range(start, start + count * step, step) if step else [start] * count):
        return Part(store, start, step, None, count, positions)
    return Part(store, start, 0, np.array(offsets, np.int64), count, positions)


def _pages(part: Part, low: int, high: int) -> NDArray[np.bool_] | None:
    """The flags [tiles, pages] where all tiles lie alike within their pages; `low` and `high` are those of tile 0."""
    if part.offsets is not None or part.step % _PAGE:
        return None
    strides = (part.step // _PAGE, 1)
    return np.ndarray((part.count, high - low), np.bool_, part.store.full, low, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _starts(part: Part) -> list[int]:
    if part.offsets is not None:
        return part.offsets.tolist()
    return [part.start + i * part.step for i in range(part.count)]


def _is_full(part: Part, extent: int) -> bool:
    """Whether the pages say that all bytes from the first to the last of an access are written."""
    pages = _pages(part, part.start // _PAGE, -(-(part.start + extent) // _PAGE))
    if pages is not None:
        return bool(pages.all())
    full = part.store.full
    return extent >= _LONG_EXTENT and all(
        full[start // _PAGE : -(-(start + extent) // _PAGE)].all() for start in _starts(part)
    )


def _set_full(part: Part, nbytes: int) -> None:
    """Note the pages that lie inside of a run that is written."""
    low, high = -(-part.start // _PAGE), (part.start + nbytes) // _PAGE
    pages = _pages(part, low, max(low, high))
    if pages is not None:
        pages[...] = True
    elif nbytes >= _LONG_EXTENT:
        for start in _starts(part):
            part.store.full[-(-start // _PAGE) : (start + nbytes) // _PAGE] = True


def _shape(access: Access, tiles: int, dtype: np.dtype[Any]) -> tuple[int, ...]:
    return (tiles, *[n for n, _ in access.walk], access.nbytes // dtype.itemsize)


def _view(part: Part, buffer: Array, access: Access, dtype: np.dtype[Any]) -> Array:
    """The bytes of an access as a strided view [tiles, *iterations, run] of a store."""
    size = dtype.itemsize
    strides = (part.step, *[s for _, s in access.walk], size)
    return np.ndarray(_shape(access, part.count, dtype), dtype, buffer, part.start, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def _windows(part: Part, buffer: Array, access: Access, dtype: np.dtype[Any]) -> Array:
    """All walks of the access's form in a store, by the offset of their first byte: index with the offsets of tiles."""
    shape = (part.store.size - access.extent + 1, *_shape(access, 1, dtype)[1:])
    strides = (1, *[s for _, s in access.walk], dtype.itemsize)
    return np.ndarray(shape, dtype, buffer, 0, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


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
