"""Boxes: axis-aligned pieces of a tensor, the currency of sharding (space) and splitting (time)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

__all__ = ["Box", "ceil_div"]


def ceil_div(a: int, b: int) -> int:
    """The least integer not below ``a / b`` (``b > 0``)."""
    return -(-a // b)


@attrs.frozen
class Box:
    """The elements ``start[i] <= index[i] < start[i] + extent[i]`` of a tensor."""

    start: tuple[int, ...]
    extent: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        if len(self.start) != len(self.extent):
            raise ValueError(f"a box needs one extent per start, got start {self.start} and extent {self.extent}")

    @staticmethod
    def whole(shape: Sequence[int]) -> Box:
        """The box that is all of a tensor of `shape`."""
        return Box((0,) * len(shape), tuple(shape))

    @property
    def rank(self) -> int:
        return len(self.start)

    @property
    def stop(self) -> tuple[int, ...]:
        """The first index after the box, per axis."""
        return tuple(s + e for s, e in zip(self.start, self.extent, strict=True))

    @property
    def empty(self) -> bool:
        return any(e <= 0 for e in self.extent)

    def axis(self, axis: int) -> tuple[int, int]:
        """``(start, extent)`` of one axis."""
        return self.start[axis], self.extent[axis]

    @property
    def channels(self) -> tuple[int, int]:
        """``(start, extent)`` of the last axis; a scalar is one channel."""
        return (self.start[-1], self.extent[-1]) if self.start else (0, 1)

    def replace(self, axis: int, start: int, extent: int) -> Box:
        """This box with another range on `axis` (negative axes count from the end)."""
        axis %= self.rank
        starts, extents = list(self.start), list(self.extent)
        starts[axis], extents[axis] = start, extent
        return Box(tuple(starts), tuple(extents))

    def take(self, axes: Sequence[int]) -> Box:
        """The box of the named axes, in that order (a transpose, or a projection)."""
        return Box(tuple(self.start[a] for a in axes), tuple(self.extent[a] for a in axes))

    def index(self) -> tuple[slice, ...]:
        """The NumPy basic index that selects the box."""
        return tuple(slice(s, s + e) for s, e in zip(self.start, self.extent, strict=True))
