"""Stretches of memory, and where the accesses of instructions lie in them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Access

from .initialized import FlagSpan, WrittenBytes
from .rows import Array, RowStarts, read, view, windows, write

_CHUNK = 4096  # bytes that are cleared together


class ByteStore:
    """Consecutive bytes and, unless all of them count as written, which of them were.

    The arrays stay the same from run to run; `clear` sets bytes to zero that instructions may have written.

    Args:
        name: of the segment, or "SPM".
        address: of its first byte.
        size: bytes.
        kind: of the segment; "const" and "input" are not written by instructions.
        data: its content, all of which counts as written; zeros of which nothing does if it is left out.
        copies: how often what has an address is there: SPM once for each tile. They lie one after the other.
    """

    __slots__ = ("_chunks", "_dirty", "address", "copies", "data", "kind", "name", "size", "written")

    def __init__(
        self,
        name: str,
        address: int,
        size: int,
        kind: str,
        data: NDArray[np.uint8] | None = None,
        *,
        copies: int = 1,
    ) -> None:
        self.name = name
        self.address = address
        self.size = size
        self.kind = kind
        self.copies = copies
        # np.zeros takes fresh pages from the system, so bytes that nobody touches cost nothing.
        self.data: NDArray[np.uint8] = np.zeros(size, np.uint8) if data is None else data
        self.written: WrittenBytes | None = WrittenBytes(size) if data is None else None
        self._dirty = bytearray(size // copies // _CHUNK + 1)
        """Of each chunk of one copy, whether instructions may have written it, in any copy."""
        self._chunks: list[tuple[int, int]] | None = None
        """Those that they may have, as ranges of bytes."""

    def clear(self) -> None:
        """Forget all that was written."""
        if self.written is None:
            return
        self.written.clear()
        if self._chunks is None:
            flags = np.frombuffer(self._dirty, np.int8)
            ends = np.flatnonzero(np.diff(flags, prepend=0, append=0)) * _CHUNK
            self._chunks = [(low, high) for low, high in ends.reshape(-1, 2).tolist()]
        copies = self.data.reshape(self.copies, -1)
        for low, high in self._chunks:
            copies[:, low:high] = 0

    def mark_dirty(self, low: int, extent: int) -> None:
        """Note that instructions may write `extent` bytes from the byte `low` of some copy on."""
        first, end = low // _CHUNK, (low + extent - 1) // _CHUNK + 1
        if self._dirty.count(1, first, end) < end - first:
            self._dirty[first:end] = b"\x01" * (end - first)
            self._chunks = None

    @property
    def is_writable(self) -> bool:
        """Whether instructions may write it."""
        return self.kind not in ("const", "input")


@attrs.define(eq=False)
class Part(RowStarts):
    """Where an access lies in one store, for some of the tiles."""

    store: ByteStore
    access: Access
    positions: slice | NDArray[np.intp]
    """Which of the instruction's tiles these are."""
    _views: dict[np.dtype[Any], Array] = attrs.field(factory=dict[np.dtype[Any], Array], init=False)
    _span: FlagSpan | None = attrs.field(default=None, init=False)

    @property
    def span(self) -> FlagSpan | None:
        """Its written bytes; None where all count as written."""
        if self._span is None and self.store.written is not None:
            rows = RowStarts(
                self.start, self.step, self.offsets, self.count
            )  # not itself: a circle would keep both alive
            self._span = FlagSpan(self.store.written, rows, self.access.walk, self.access.nbytes)
        return self._span

    def view(self, dtype: np.dtype[Any]) -> Array | None:
        """Its elements [tiles, *iterations, elements of a run] in the store; None unless rows are equally far apart."""
        if self.offsets is not None:
            return None
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = view(self.store.data, self, self.access.walk, self.access.nbytes, dtype)
        return found

    def load(self, dtype: np.dtype[Any]) -> Array:
        """Its elements [tiles, *iterations, elements of a run]: a view if it has one."""
        found = self.view(dtype)
        return read(self.store.data, self, self.access.walk, self.access.nbytes, dtype) if found is None else found

    def save(self, values: Any, dtype: np.dtype[Any]) -> None:
        """Write elements that broadcast to those of `load`."""
        found = self.view(dtype)
        if found is None:
            write(self.store.data, self, self.access.walk, self.access.nbytes, values, dtype)
        else:
            found[...] = values

    def shifted(self, shift: int) -> Part:
        """The same `shift` bytes further in the store."""
        return make_part(self.moved(shift), self.store, self.access, self.positions)

    def windows(self, buffer: Array, dtype: np.dtype[Any]) -> Array:
        """All walks like its own in a buffer as large as the store, by their first byte."""
        return windows(buffer, self.access.walk, self.access.nbytes, dtype)


def rows_of(offsets: list[int]) -> RowStarts:
    """RowStarts that begin at these offsets: by start and step where they are equally far apart."""
    count = len(offsets)
    start = offsets[0]
    step = offsets[1] - start if count > 1 else 0
    if count < 3 or offsets == list(range(start, start + count * step, step) if step else [start] * count):
        return RowStarts(start, step, None, count)
    return RowStarts(start, 0, np.array(offsets, np.int64), count)


def make_part(rows: RowStarts, store: ByteStore, access: Access, positions: slice | NDArray[np.intp]) -> Part:
    """The part of an access whose tiles begin at `rows` in a store."""
    return Part(rows.start, rows.step, rows.offsets, rows.count, store, access, positions)
