"""Which bytes of a store were written, kept by pages where that is possible.

A byte counts as written when the flag of its page (256 bytes) says so, or its own flag does. A write that covers a page
sets one flag, not 256, and looking at it costs as little. `FlagSpan` is an access found among the flags: it is made
once; marking or checking it is then a few NumPy calls for all tiles together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import RowStarts, Walk, read, view, write

Array = NDArray[Any]

PAGE = 256  # bytes
_CHUNK = 4096  # bytes of which the flags are cleared together
_LONG_RUN = 4096  # bytes from which on looking at tiles one by one pays
_FEW_PAGES = 4096
_SHORT_RUN = 64  # bytes up to which the flags of a run are looked at as words
_FLAG: np.dtype[Any] = np.dtype(np.bool_)
_WORDS = {n: np.dtype(f"u{n}") for n in (8, 4, 2)}
_SET = {n: np.frombuffer(b"\x01" * n, dtype)[0] for n, dtype in _WORDS.items()}


class WrittenBytes:
    """The flags of a store of `size` bytes, unset to begin with."""

    __slots__ = ("_used", "flags", "pages")

    def __init__(self, size: int) -> None:
        chunks = size // _CHUNK + 1
        # np.zeros takes fresh pages from the system, so flags that nobody sets cost nothing.
        self.flags: NDArray[np.bool_] = np.zeros(chunks * _CHUNK, np.bool_)
        self.pages: NDArray[np.bool_] = np.zeros(chunks * _CHUNK // PAGE, np.bool_)
        self._used: NDArray[np.bool_] = np.zeros(chunks, np.bool_)
        """The chunks in which flags of bytes may be set."""

    def clear(self) -> None:
        """Unset all flags."""
        self.pages[:] = False
        for chunk in np.flatnonzero(self._used).tolist():
            self.flags[chunk * _CHUNK : (chunk + 1) * _CHUNK] = False

    def mark(self, low: int, high: int) -> None:
        """The bytes [low, high) were written."""
        first, end = -(-low // PAGE), high // PAGE
        edges = ((low, first * PAGE), (end * PAGE, high)) if first <= end else ((low, high),)
        self.pages[first:end] = True
        for start, stop in edges:
            if start < stop:
                self.use(start, stop)
                self.flags[start:stop] = True

    def covers(self, low: int, high: int) -> bool:
        """Whether all of [low, high) was written."""
        return bool(self.pages[low // PAGE : -(-high // PAGE)].all() or self.bytes(low, high).all())

    def bytes(self, low: int, high: int) -> NDArray[np.bool_]:
        """A flag for each of [low, high): a view, good until the next write."""
        first, end = low // PAGE, -(-high // PAGE)
        self.use(low, high)
        self.flags.reshape(-1, PAGE)[first:end][self.pages[first:end]] = True
        return self.flags[low:high]

    def use(self, low: int, high: int) -> None:
        """Note that flags of the bytes [low, high) are going to be set."""
        self._used[low // _CHUNK : -(-high // _CHUNK)] = True

    def use_all(self, starts: NDArray[np.int64], extent: int) -> None:
        """Note that flags of the `extent` bytes from each of `starts` on are going to be set."""
        offsets = np.append(np.arange(0, extent, _CHUNK), extent - 1)
        self._used[(starts.reshape(-1, 1) + offsets) // _CHUNK] = True


class FlagSpan:
    """The flags of one access: runs of `run` bytes at a walk from each of `rows` on, as `Access` has them."""

    __slots__ = (
        "_bounds",
        "_edges",
        "_extent",
        "_inner",
        "_is_used",
        "_outer",
        "_rows",
        "_run",
        "_solid",
        "_walk",
        "_written",
    )

    def __init__(self, written: WrittenBytes, rows: RowStarts, walk: Walk, run: int) -> None:
        extent = run + sum([(n - 1) * stride for n, stride in walk])
        self._written, self._rows, self._walk, self._run, self._extent = written, rows, walk, run, extent
        self._is_used = False
        """Whether the flags of its bytes have been noted as used."""
        self._solid = _is_solid(walk, run)
        """Whether all bytes from the first to the last are touched."""
        self._outer: tuple[RowStarts, int] | None = None
        """The pages that each tile touches, where tiles lie alike within their pages."""
        self._inner: tuple[RowStarts, Walk, int] | None = None
        """The pages that are covered whole, by runs of whole pages."""
        self._edges: list[tuple[RowStarts, int]] = []
        """The bytes of solid rows that lie in no page of `_inner`."""
        self._bounds = (0, 0)
        """The pages from the first to the last byte of all tiles, where they do not lie alike within their pages."""
        if not rows.is_aligned(PAGE):
            starts = rows.starts()
            self._bounds = int(starts.min()) // PAGE, -(-(int(starts.max()) + extent) // PAGE)
            return
        low, high = rows.start, rows.start + extent
        first, end = -(-low // PAGE), high // PAGE
        self._outer = rows.scaled(low // PAGE, PAGE), -(-high // PAGE) - low // PAGE
        if self._solid:
            if first < end:
                self._inner = rows.scaled(first, PAGE), (), end - first
            if first <= end:
                edges = ((rows, first * PAGE - low), (rows.moved(end * PAGE - low), high - end * PAGE))
                self._edges = [edge for edge in edges if edge[1]]
            else:
                self._edges = [(rows, extent)]
        elif not (low % PAGE or run % PAGE or any(stride % PAGE for _, stride in walk)):
            self._inner = rows.scaled(first, PAGE), tuple([(n, s // PAGE) for n, s in walk]), run // PAGE

    def mark(self) -> None:
        """All of the bytes were written."""
        written = self._written
        if self._inner is not None:
            write(written.pages, *self._inner, True, _FLAG)
        if self._solid and self._outer is None:
            self._mark_unaligned()
        elif self._solid:
            for rows, length in self._edges:
                self.use()
                write(written.flags, rows, (), length, True, _FLAG)
        elif self._inner is None:
            self.use()
            word = _word(self._run)
            write(written.flags, self._rows, self._walk, self._run, _SET.get(word.itemsize, True), word)

    def _mark_unaligned(self) -> None:
        rows, extent = self._rows, self._extent
        if rows.offsets is None and rows.step == extent:  # tile after tile
            self._written.mark(rows.start, rows.start + rows.count * extent)
        elif extent < _LONG_RUN:
            self.use()
            write(self._written.flags, rows, (), extent, True, _FLAG)
        else:
            for start in rows.starts().tolist():
                self._written.mark(start, start + extent)

    def mark_where(self, where: NDArray[np.bool_], size: int) -> None:
        """Elements [tiles, count] of `size` bytes, one after the other, were written where `where` is true."""
        if self._is_covered():
            return
        self.use()
        flags = where.repeat(size, axis=1)
        flags |= read(self._written.flags, self._rows, (), flags.shape[1], _FLAG)
        write(self._written.flags, self._rows, (), flags.shape[1], flags, _FLAG)

    def is_written(self) -> bool:
        """Whether all of the bytes were."""
        if self._is_covered():
            return True
        self._settle()
        word = _word(self._run)
        flags = read(self._written.flags, self._rows, self._walk, self._run, word)
        if not (flags.all() if word is _FLAG else (flags == _SET[word.itemsize]).all()):
            return False
        if self._inner is not None:
            write(self._written.pages, *self._inner, True, _FLAG)  # quicker to see the next time
        return True

    def bytes(self) -> Array:
        """A flag for each byte [tiles, *iterations, run], good until the next write."""
        self._settle()
        return read(self._written.flags, self._rows, self._walk, self._run, _FLAG)

    def use(self) -> None:
        """Note that flags of its bytes are going to be set."""
        if not self._is_used:
            self._written.use_all(self._rows.starts(), self._extent)
            self._is_used = True

    def _is_covered(self) -> bool:
        """Whether pages and, at the edges, bytes say that all is written; it may be though they do not."""
        written = self._written
        if self._outer is None:
            first, end = self._bounds
            if end - first <= _FEW_PAGES and written.pages[first:end].all():
                return True
            if self._extent < _LONG_RUN or not self._solid:
                return bool(read(written.flags, self._rows, self._walk, self._run, _FLAG).all())
            return all(written.covers(start, start + self._extent) for start in self._rows.starts().tolist())
        rows, count = self._outer
        if read(written.pages, rows, (), count, _FLAG).all():
            return True
        if self._inner is not None and not read(written.pages, *self._inner, _FLAG).all():
            return False
        if not self._solid:
            return self._inner is not None
        return all(read(written.flags, rows, (), length, _FLAG).all() for rows, length in self._edges)

    def _settle(self) -> None:
        """Let the flags of bytes say all that those of their pages do."""
        written = self._written
        self.use()
        if self._outer is None or self._rows.offsets is not None:
            for start in self._rows.starts().tolist():
                written.bytes(start, start + self._extent)
            return
        rows, count = self._outer
        pages = view(written.pages, rows, (), count, _FLAG)
        if pages.any():
            first = RowStarts(rows.start * PAGE, rows.step * PAGE, None, rows.count)
            view(written.flags, first, ((count, PAGE),), PAGE, _FLAG)[pages] = True


def _is_solid(walk: Walk, run: int) -> bool:
    """Whether the runs of a walk leave no byte out between the first and the last."""
    reach = run
    for n, stride in sorted(walk, key=lambda level: level[1]):
        if n > 1 and stride > reach:
            return False
        reach += (n - 1) * stride
    return True


def _word(run: int) -> np.dtype[Any]:
    """How to look at the flags of runs: as words where runs are short, else one by one, which NumPy is quick at."""
    if run < _SHORT_RUN:
        for size, dtype in _WORDS.items():
            if run % size == 0:
                return dtype
    return _FLAG
