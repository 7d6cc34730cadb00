"""Views: where a tensor lies in a memory, and in which layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from tx8ir.dialects.tx8 import MemorySpace
from tx8ir.support.screen import fitting_repr
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, size_bytes

from .affine import Affine, Number
from .errors import KernelError

Index: TypeAlias = "int | Affine | slice"


@attrs.frozen
class View:
    """A tensor, or a part of one, in SPM or DDR.

    A view in a dense layout (Tensor, NTensor) can be indexed and sliced along its axes, with numbers or with trips of
    loops; a slice whose ends depend on trips must have the same length in all of them.
    """

    __repr__ = fitting_repr

    name: str
    """Of the allocation."""
    space: MemorySpace
    address: Affine
    """Of the first byte."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements; of a channel-blocked view only the shape counts."""
    format: Format
    layout: MemLayout

    @classmethod
    def whole(cls, name: str, space: MemorySpace, address: int, shape: Sequence[int], format: Format,
              layout: MemLayout) -> View:  # fmt: skip
        """A whole tensor at an address."""
        shape = tuple(shape)
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return cls(name, space, Affine(address), shape, strides, format, layout)

    @property
    def is_dense(self) -> bool:
        """Whether the layout is not channel-blocked."""
        return self.layout in (MemLayout.Tensor, MemLayout.NTensor)

    @property
    def is_contiguous(self) -> bool:
        """Whether the bytes lie one after the other: always for a blocked view, which is whole."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    @property
    def num_elements(self) -> int:
        """Elements, without padding."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in the layout, padding included."""
        return size_bytes(self.shape, self.format, self.layout)

    @property
    def physical_count(self) -> int:
        """Elements in the layout, padding included."""
        return self.nbytes // self.format.bytes

    def __getitem__(self, index: Index | tuple[Index, ...]) -> View:
        if not self.is_dense:
            raise KernelError(f"{self} is channel-blocked; only views in a dense layout can be sliced")
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > len(self.shape):
            raise KernelError(f"{self} has {len(self.shape)} axes, and is indexed with {len(indices)}")
        address = self.address
        shape: list[int] = []
        strides: list[int] = []
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            given = indices[axis] if axis < len(indices) else slice(None)
            start, length = self._part(axis, extent, given)
            address = address + start * (stride * self.format.bytes)
            if isinstance(given, slice):
                shape.append(length)
                strides.append(stride)
        return attrs.evolve(self, address=address, shape=tuple(shape), strides=tuple(strides))

    def _part(self, axis: int, extent: int, given: Index) -> tuple[Affine, int]:
        """Start and length of an index along an axis."""
        if not isinstance(given, slice):
            start, length = Affine.of(given), 1
        else:
            if given.step not in (None, 1):
                raise KernelError(f"axis {axis} of {self} is sliced with step {given.step}; expected none")
            start = Affine.of(0 if given.start is None else given.start)
            stop = Affine.of(extent if given.stop is None else given.stop)
            length = stop.distance(start)
            if length is None:
                raise KernelError(f"the slice of axis {axis} of {self} has another length in every trip")
        low, high = start.bounds
        if length < 1 or low < 0 or high > extent - length:
            if start.terms:
                reach = f"elements {low} to {high + length - 1} of axis {axis} over all trips"
                raise KernelError(f"{self} is indexed with {reach}; the axis has extent {extent}")
            raise KernelError(f"index {given} is outside of axis {axis} of {self}, which has extent {extent}")
        return start, length

    def split(self, parts: int, axis: int = 0) -> list[View]:
        """Equal consecutive parts along an axis, for example one for each tile."""
        extent = self.shape[axis]
        if extent % parts:
            raise KernelError(f"axis {axis} of {self} has extent {extent}, which {parts} parts do not divide")
        size = extent // parts
        before = (slice(None),) * axis
        return [self[(*before, slice(i * size, (i + 1) * size))] for i in range(parts)]

    def reshape(self, *shape: int) -> View:
        """The same bytes under another shape. Raises KernelError unless they lie one after the other."""
        if not (self.is_dense and self.is_contiguous) or math.prod(shape) != self.num_elements:
            raise KernelError(f"{self} cannot be seen as {list(shape)}")
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return attrs.evolve(self, shape=shape, strides=strides)

    def __str__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return f'"{self.name}" ({self.space.value} {extents} {self.format.name} {self.layout.value})'


@attrs.frozen
class Buffers:
    """Equal buffers one after the other: `buffers[i % 2]` is the buffer of the trip i of a loop."""

    __repr__ = fitting_repr

    first: View
    count: int
    spacing: int
    """Bytes from one to the next."""

    def __getitem__(self, index: Number) -> View:
        index = Affine.of(index)
        inside = (
            all(0 < term.modulo <= self.count and term.factor == 1 for term in index.terms) and len(index.terms) <= 1
            if index.terms
            else 0 <= index.constant < self.count
        )
        if not inside or (index.terms and index.constant):
            raise KernelError(
                f"{self.first} has {self.count} buffers; expected a number below, or a trip modulo {self.count}"
            )
        return attrs.evolve(self.first, address=self.first.address + index * self.spacing)


Views: TypeAlias = "View | Sequence[View]"
"""A view for all tiles, or one for each."""


def runs(view: View) -> tuple[int, list[tuple[int, int]]]:
    """Contiguous elements of a run, and (extent, stride in elements) of the loops around it, outermost first."""
    axes = merged([(extent, (stride,)) for extent, stride in zip(view.shape, view.strides, strict=True)])
    if axes and axes[-1][1] == (1,):
        return axes[-1][0], [(extent, stride) for extent, (stride,) in axes[:-1]]
    return 1, [(extent, stride) for extent, (stride,) in axes]


def merged(axes: Sequence[tuple[int, tuple[int, ...]]]) -> list[tuple[int, tuple[int, ...]]]:
    """Axes as (extent, strides in some views): without extents of 1, and neighbours joined where all strides allow."""
    result: list[tuple[int, tuple[int, ...]]] = []
    for extent, strides in axes:
        if extent == 1:
            continue
        if result:
            outer, outer_strides = result[-1]
            if all(o == s * extent for o, s in zip(outer_strides, strides, strict=True)):
                result[-1] = (outer * extent, strides)
                continue
        result.append((extent, strides))
    return result
