"""Equal walks over a buffer, one for each tile: where they begin, and how they are read and written together.

Tiles whose walks begin equally far apart are one strided view of the buffer. Others are read and written by indexing
the view of all such walks, whatever byte they begin at, with the bytes that the tiles begin at.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Walk: TypeAlias = tuple[tuple[int, int], ...]
"""(iterations, stride) of each loop around the runs, outermost first."""


@attrs.define(eq=False)
class RowStarts:
    """Where the walks of tiles begin: tile i at `start + i * step`, or, when `offsets` is set, at `offsets[i]`.

    In bytes of the buffer; the buffer may also have an entry per page of bytes, then in pages.
    """

    start: int
    step: int
    offsets: NDArray[np.int64] | None
    count: int
    """Tiles."""

    def starts(self) -> NDArray[np.int64]:
        """Where each tile begins."""
        return self.start + self.step * np.arange(self.count) if self.offsets is None else self.offsets

    def is_aligned(self, unit: int) -> bool:
        """Whether all tiles begin at the same place within a multiple of `unit`."""
        if self.offsets is None:
            return not self.step % unit
        return not ((self.offsets - self.start) % unit).any()

    def moved(self, shift: int) -> RowStarts:
        """The same `shift` bytes further."""
        return RowStarts(
            self.start + shift, self.step, self.offsets if self.offsets is None else self.offsets + shift, self.count
        )

    def scaled(self, first: int, unit: int) -> RowStarts:
        """RowStarts in units of `unit` bytes of which that of tile 0 begins at `first`; they are aligned to `unit`."""
        offsets = None if self.offsets is None else (self.offsets - self.start) // unit + first
        return RowStarts(first, self.step // unit, offsets, self.count)


def shape_of(walk: Walk, run: int, count: int, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """[tiles, *iterations, elements of a run] of runs of `run` bytes."""
    return (count, *[n for n, _ in walk], run // dtype.itemsize)


def view(buffer: Array, rows: RowStarts, walk: Walk, run: int, dtype: np.dtype[Any]) -> Array:
    """The walks of rows that are equally far apart, as a view [tiles, *iterations, elements of a run]."""
    strides = (rows.step, *[s for _, s in walk], dtype.itemsize)
    return np.ndarray(shape_of(walk, run, rows.count, dtype), dtype, buffer, rows.start, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def windows(buffer: Array, walk: Walk, run: int, dtype: np.dtype[Any]) -> Array:
    """All walks of a form in a buffer of bytes, by their first byte: index with the offsets of tiles."""
    extent = run + sum([(n - 1) * stride for n, stride in walk])
    shape = (len(buffer) - extent + 1, *shape_of(walk, run, 1, dtype)[1:])
    strides = (1, *[s for _, s in walk], dtype.itemsize)
    return np.ndarray(shape, dtype, buffer, 0, strides)  # pyright: ignore[reportArgumentType]  # any buffer will do


def read(buffer: Array, rows: RowStarts, walk: Walk, run: int, dtype: np.dtype[Any]) -> Array:
    """The elements [tiles, *iterations, elements of a run]: a view where the rows allow it."""
    if rows.offsets is None:
        return view(buffer, rows, walk, run, dtype)
    return windows(buffer, walk, run, dtype)[rows.offsets]


def write(buffer: Array, rows: RowStarts, walk: Walk, run: int, values: Any, dtype: np.dtype[Any]) -> None:
    """Write elements that broadcast to [tiles, *iterations, elements of a run]."""
    if rows.offsets is None:
        view(buffer, rows, walk, run, dtype)[...] = values
    else:
        windows(buffer, walk, run, dtype)[rows.offsets] = values
