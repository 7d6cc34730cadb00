"""The part of a group's space that a tile has, and the part of that which one step of its loops has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from tx8ir.backend.axes.axis import Axis
from tx8ir.backend.axes.cuts import cut
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.maps import CutError
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.oplib.boxes import Box

__all__ = ["Loop", "digits", "loops", "spatial_ranges", "step_part", "steps", "tile_part"]


@attrs.frozen
class Loop:
    """A loop over parts of an axis: `trips` steps of `size` positions, the last one of a tile shorter or empty.

    Attributes:
        joints: where parts of an axis with boundaries end, which differ in size; empty for any other axis.
    """

    axis: int
    trips: int
    size: int
    joints: tuple[int, ...] = ()

    def part(self, start: int, extent: int, trip: int) -> tuple[int, int]:
        """What a tile with these positions of the axis does in one trip; an empty part where it has none left."""
        if self.joints:
            ends = (start, *(j for j in self.joints if start < j < start + extent), start + extent)
            return (ends[trip], ends[trip + 1] - ends[trip]) if trip < len(ends) - 1 else (start + extent, 0)
        low = min(trip * self.size, extent)
        return start + low, min(self.size, extent - low)


def spatial_ranges(space: GroupSpace, strategy: Strategy, axis: int) -> tuple[tuple[int, int], ...]:
    """`(start, extent)` of each spatial part of an axis."""
    return cut(space.axes[axis], strategy.spatial_parts(axis))


def tile_part(space: GroupSpace, strategy: Strategy, x: int, y: int) -> Box | None:
    """What tile (x, y) has of the space; None for a tile that is not used.

    Raises:
        CutError: a spatial cut is not legal.
    """
    if x >= strategy.columns or y >= strategy.rows:
        return None
    part = space.whole
    for axis in dict.fromkeys(c.axis for c in (*strategy.x, *strategy.y)):
        number = 0
        for cuts, coordinate in ((strategy.x, x), (strategy.y, y)):
            numbers = digits(coordinate, [c.parts for c in cuts])
            for c, digit in zip(cuts, numbers, strict=True):
                if c.axis == axis:
                    number = number * c.parts + digit
        part = part.replace(axis, *spatial_ranges(space, strategy, axis)[number])
    return part


def loops(space: GroupSpace, strategy: Strategy) -> tuple[Loop, ...]:
    """The loops of a strategy, outermost first: the same trips for all tiles, by the largest.

    Raises:
        CutError: the parts of an axis are more than its largest tile can be cut into without an empty one.
    """
    found: list[Loop] = []
    for c in strategy.time:
        axis, ranges = space.axes[c.axis], spatial_ranges(space, strategy, c.axis)
        largest = max(extent for _, extent in ranges)
        if axis.boundaries is not None:
            parts = [cut(_piece(axis, *r), min(c.parts, _pieces(axis, *r))) for r in ranges]
            if max(map(len, parts)) != c.parts:
                raise CutError(f"{axis!r} cannot be cut into {c.parts} parts on a tile")
            joints = [start + offset for (start, _), own in zip(ranges, parts, strict=True) for offset, _ in own[1:]]
            size = max(extent for own in parts for _, extent in own)
            found.append(Loop(c.axis, c.parts, size, (*joints, axis.extent)))
            continue
        parts = cut(attrs.evolve(axis, extent=largest), c.parts)
        found.append(Loop(c.axis, c.parts, parts[0][1]))
    return tuple(found)


def steps(loops: Sequence[Loop]) -> Iterator[tuple[int, ...]]:
    """The counters of all steps in the order in which they run, one per loop, outermost first."""
    return itertools.product(*(range(loop.trips) for loop in loops))


def step_part(tile: Box, loops: Sequence[Loop], counters: Sequence[int]) -> Box | None:
    """What a tile does in one step; None where its share of an axis has ended."""
    part = tile
    for loop, trip in zip(loops, counters, strict=True):
        start, extent = loop.part(*tile.axis(loop.axis), trip)
        if extent <= 0 and tile.extent[loop.axis] > 0:
            return None
        part = part.replace(loop.axis, start, extent)
    return part


def digits(number: int, radices: Sequence[int]) -> list[int]:
    """A number in mixed radix, the first digit slowest."""
    found: list[int] = []
    for radix in reversed(radices):
        number, digit = divmod(number, radix)
        found.append(digit)
    return found[::-1]


def _pieces(axis: Axis, start: int, extent: int) -> int:
    return 1 + sum(start < b < start + extent and b % axis.alignment == 0 for b in axis.boundaries or ())


def _piece(axis: Axis, start: int, extent: int) -> Axis:
    """The part of an axis with boundaries, as an axis of its own."""
    inside = tuple(b - start for b in axis.boundaries or () if start < b < start + extent and b % axis.alignment == 0)
    return attrs.evolve(axis, extent=extent, boundaries=inside, alignment=1)
