"""Sliding windows over any number of spatial axes: their geometry, and what they hold cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from tx8ir.core import Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type


@attrs.frozen
class Window:
    """A sliding window over the spatial axes of [N, C, D1, …].

    Attributes:
        space: extents of the image, without padding.
        kernel, strides, dilations: per axis.
        begin, end: padding per axis.
    """

    space: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def axes(self) -> int:
        """Number of spatial axes."""
        return len(self.space)

    def reach(self, axis: int) -> int:
        """Cells from the first to the last that the window touches."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def same(self, *, upper: bool) -> Window:
        """Padded so that there are ceil(extent / stride) windows; the odd cell at the end for SAME_UPPER."""
        begin: list[int] = []
        end: list[int] = []
        for axis, (extent, stride) in enumerate(zip(self.space, self.strides, strict=True)):
            total = max((-(-extent // stride) - 1) * stride + self.reach(axis) - extent, 0)
            less, more = total // 2, total - total // 2
            begin.append(less if upper else more)
            end.append(more if upper else less)
        return attrs.evolve(self, begin=tuple(begin), end=tuple(end))

    def counts(self, *, ceil_mode: bool = False) -> tuple[int, ...]:
        """Number of windows per axis.

        `ceil_mode` adds those that hang over the end, but for one that would start after the image and its leading
        padding (ONNX, as PyTorch).
        """
        found: list[int] = []
        for axis, extent in enumerate(self.space):
            room = extent + self.begin[axis] + self.end[axis] - self.reach(axis)
            count = room // self.strides[axis] + 1
            if ceil_mode and room % self.strides[axis] and count * self.strides[axis] < extent + self.begin[axis]:
                count += 1
            found.append(count)
        return tuple(found)

    def positions(self, axis: int, count: int, cell: int) -> list[int]:
        """Where in the image (padding outside of it) cell `cell` of each of `count` windows lies, on one axis."""
        start = cell * self.dilations[axis] - self.begin[axis]
        return [start + index * self.strides[axis] for index in range(count)]

    def check(self, node: Site, counts: Sequence[int]) -> None:
        """Refuse an image with room for no window.

        Raises:
            IrError: some axis has none.
        """
        if min(counts) < 1:
            raise node.error(f"the window of {list(self.kernel)} does not fit into the image of {list(self.space)}")


def along(node: Site, x: Value, axis: int, window: Window, count: int, fill: float) -> Iterator[Value]:
    """For each cell of the window, what all `count` windows hold there, along spatial axis `axis` of `x`.

    Cells outside of the image hold `fill`.
    """
    at = axis + 2
    shape = tensor_type(x).shape
    last = window.positions(axis, count, window.kernel[axis] - 1)[-1]
    low, high = window.begin[axis], max(last + 1 - shape[at], 0)
    if low or high:
        paddings = [0] * (2 * len(shape))
        paddings[2 * at : 2 * at + 2] = low, high
        x = pd.pad(x, paddings=tuple(paddings), pad_value=fill).out
    for cell in range(window.kernel[axis]):
        places = [place + low for place in window.positions(axis, count, cell)]
        yield chosen(node, x, at, places)


def chosen(node: Site, x: Value, axis: int, places: Sequence[int]) -> Value:
    """The elements at known places of an axis: a slice where they follow each other, else a gather."""
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        if len(places) == tensor_type(x).shape[axis]:
            return x
        return pd.slice(x, axes=(axis,), starts=(first,), ends=(first + len(places),)).out
    return pd.gather(x, node.constant(np.asarray(places), i64, f"places_on_axis_{axis}"), axis=axis).out


def cells(
    node: Site, x: Value, window: Window, counts: Sequence[int], fill: float
) -> Iterator[tuple[tuple[int, ...], Value]]:
    """For each cell of the window, in row-major order, its index and what all windows hold there."""
    level: list[tuple[tuple[int, ...], Value]] = [((), x)]
    for axis, count in enumerate(counts):
        level = [
            ((*index, cell), part)
            for index, value in level
            for cell, part in enumerate(along(node, value, axis, window, count, fill))
        ]
    yield from level


def indices_of(window: Window, counts: Sequence[int], cell: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Where in the image a cell of each window lies: one array per axis, that broadcast to the windows."""
    return tuple(
        np.asarray(window.positions(axis, count, cell[axis])).reshape(
            [-1 if a == axis else 1 for a in range(len(counts))]
        )
        for axis, count in enumerate(counts)
    )
