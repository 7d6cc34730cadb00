"""Maps from the axes of an iteration space to one dimension of an operand or result.

A tensor's indexing map is a tuple of these, one per dimension, as the results of the affine map in a linalg op. Each is
monotone in every axis, so that a box of the iteration space reads one interval of the dimension:

    Along      i, the mixed radix number of several axes (merged by a reshape), or no axis at all (a fixed dimension)
    Window     o * stride + k * dilation - before, outside of the tensor is padding
    Shifted    i + offset, what is outside of the tensor is not read
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from tx8ir.backend.oplib.boxes import Box

__all__ = ["FIXED", "Along", "CutError", "DimensionMap", "Interval", "Shifted", "Window", "along"]


class CutError(ValueError):
    """A cut that the axes of an op, or of a group, do not allow."""


@attrs.frozen
class Interval:
    """Positions `start <= index < stop` of a dimension, with the padding positions read before and after them."""

    start: int
    stop: int
    before: int = 0
    after: int = 0

    @property
    def extent(self) -> int:
        return self.stop - self.start

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both; an empty one holds nothing."""
        if self.extent <= 0:
            return other
        if other.extent <= 0:
            return self
        return Interval(min(self.start, other.start), max(self.stop, other.stop))


@attrs.frozen
class Along:
    """The dimension is the mixed radix number of `axes`, outermost first, over `inner` positions that are never cut.

    One axis and `inner` 1: the identity. No axis: a dimension that is always read whole, such as the extent 1 that a
    reduction leaves. A box of the axes is one interval only where all axes inside the outermost one with more than one
    position are whole; other boxes are strided and refused.
    """

    axes: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    inner: int = 1

    @property
    def extent(self) -> int:
        """Positions of the dimension."""
        return math.prod(self.extents) * self.inner

    @property
    def is_identity(self) -> bool:
        return len(self.axes) == 1 and self.inner == 1

    @property
    def strides(self) -> tuple[int, ...]:
        """Positions of the dimension from one position of each axis to the next."""
        return tuple(math.prod(self.extents[i + 1 :]) * self.inner for i in range(len(self.axes)))

    def read(self, part: Box) -> Interval:
        """The interval that a box of the iteration space stands for. Raises `CutError` when it is strided."""
        first, last, is_open = 0, self.inner - 1, False
        for axis, extent, stride in zip(self.axes, self.extents, self.strides, strict=True):
            start, size = part.axis(axis)
            if size <= 0:
                return Interval(0, 0)
            if is_open and size != extent:
                raise CutError(f"{size} of {extent} positions inside several of an outer axis are not one interval")
            is_open = is_open or size > 1
            first += start * stride
            last += (start + size - 1) * stride
        return Interval(first, last + 1)

    def cover(self, interval: Interval) -> dict[int, Interval]:
        """The smallest interval of each axis such that their box stands for at least `interval`."""
        if interval.extent <= 0:
            return {axis: Interval(0, 0) for axis in self.axes}
        low, high = interval.start, interval.stop - 1
        ranges: dict[int, Interval] = {}
        same = True
        for axis, extent, stride in zip(self.axes, self.extents, self.strides, strict=True):
            if not same:
                ranges[axis] = Interval(0, extent)
                continue
            a, b = low // stride % extent, high // stride % extent
            ranges[axis] = Interval(a, b + 1)
            same = a == b
        return ranges

    def text(self, names: Sequence[str]) -> str:
        factors = [names[axis] for axis in self.axes] + ([str(self.inner)] if self.inner != 1 or not self.axes else [])
        return "·".join(factors)


@attrs.frozen
class Window:
    """Position `o * stride + k * dilation - before` of a dimension of `extent` positions: a sliding window.

    `o` counts the windows and `k` the positions of one. What falls outside of the tensor is padding.
    """

    output: int
    kernel: int
    stride: int
    dilation: int
    before: int
    extent: int

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.output, self.kernel)

    def read(self, part: Box) -> Interval:
        """The positions that the windows of a box read, and how far they reach into the padding on either side."""
        (o, outputs), (k, taps) = part.axis(self.output), part.axis(self.kernel)
        if outputs <= 0 or taps <= 0:
            return Interval(0, 0)
        low = o * self.stride + k * self.dilation - self.before
        high = (o + outputs - 1) * self.stride + (k + taps - 1) * self.dilation - self.before + 1
        start, stop = max(0, min(low, self.extent)), max(0, min(high, self.extent))
        before = min(high, 0) - min(low, 0)
        return Interval(start, stop, before, max(high, self.extent) - max(low, self.extent))

    def text(self, names: Sequence[str]) -> str:
        scaled = [
            names[axis] if factor == 1 else f"{factor}{names[axis]}"
            for axis, factor in ((self.output, self.stride), (self.kernel, self.dilation))
        ]
        return "+".join(scaled) + (f"-{self.before}" if self.before else "")


@attrs.frozen
class Shifted:
    """Position `i + offset` of a dimension of `extent` positions; positions outside of it are not read.

    A slice has its start as offset, a piece of a concatenation minus its place, an operand that is padded minus the
    padding before it.
    """

    axis: int
    offset: int
    extent: int

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,)

    def read(self, part: Box) -> Interval:
        """The positions of a box that exist."""
        first, size = part.axis(self.axis)
        start = max(0, min(first + self.offset, self.extent))
        return Interval(start, max(start, min(first + size + self.offset, self.extent)))

    def text(self, names: Sequence[str]) -> str:
        return names[self.axis] + (f"{self.offset:+d}" if self.offset else "")


DimensionMap: TypeAlias = Along | Window | Shifted
"""How one dimension of an operand follows from the axes."""

FIXED = Along()
"""A dimension of extent 1 that no axis goes through."""


def along(axis: int, extent: int) -> Along:
    """The identity: the dimension is the axis."""
    return Along((axis,), (extent,))
