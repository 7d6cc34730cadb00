"""Sums over all tiles and steps of a strategy without a walk through them.

A box whose sides follow from different axes of the group is summed side by side: the extents of each side are counted
over the parts of its own axes, and the counts multiply. What is done for a box (a load, a computation) stands in the
innermost loop that changes it: loops inside of that one keep what is there, and loops outside of it that do not change
the box do all of it again.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from tx8ir.backend.axes.group import Dependence, GroupSpace
from tx8ir.backend.axes.maps import Along
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.axes.tiles import Loop, spatial_ranges
from tx8ir.backend.oplib.boxes import Box

__all__ = ["Extents", "different_boxes", "direct_chains", "repeating_loops", "visits"]

Extents: TypeAlias = tuple[tuple[int, int], ...]
"""`(side, extent)` of some sides of a box."""


def repeating_loops(all_loops: Sequence[Loop], depends: Collection[int]) -> tuple[int, ...]:
    """The depths of the loops that do everything again that depends on these axes: outside of one that changes it.

    What one buffer per value gives; a strategy that keeps more does less.
    """
    changing = [depth for depth, loop in enumerate(all_loops) if loop.axis in depends and loop.trips > 1]
    inside = changing[-1] if changing else 0
    return tuple(depth for depth in range(inside) if all_loops[depth].axis not in depends)


def direct_chains(chains: Sequence[Along | None], direct: Sequence[bool]) -> tuple[Along | None, ...]:
    """The chains of the sides that are these products of axes whatever is read of them."""
    return tuple(chain if is_direct else None for chain, is_direct in zip(chains, direct, strict=True))


def different_boxes(
    space: GroupSpace,
    strategy: Strategy,
    all_loops: Sequence[Loop],
    depends: Dependence,
    chains: Sequence[Along | None],
    extents: Callable[[Box], Sequence[int]] | None = None,
) -> Iterator[tuple[tuple[int, ...], int]]:
    """`(extent, how many)` of the boxes that there are: one for each combination of parts of the axes they depend on.

    Args:
        space: the group's.
        strategy: legal cuts of it.
        all_loops: its loops.
        depends: for each side of the box the axes that it follows from.
        chains: for each side the product of axes that it is, None where it only follows from axes.
        extents: the extents of the box for a part of the space; asked, and needed, where a side has no chain.
    """
    counted: list[Counter[Extents]] = []
    for together in _together(depends):
        axes = sorted({axis for side in together for axis in depends[side]})
        first, *others = together
        chain = chains[first]
        if chain is not None and chain.is_identity and not others:  # the parts of the axis are those of the side
            parts = Counter(extent for _, extent in _parts(space, strategy, all_loops, axes[0]))
            counted.append(Counter({((first, extent),): count for extent, count in parts.items()}))
            continue
        counts: Counter[Extents] = Counter()
        for chosen in itertools.product(*(_parts(space, strategy, all_loops, axis) for axis in axes)):
            part = space.whole
            for axis, (start, extent) in zip(axes, chosen, strict=True):
                part = part.replace(axis, start, extent)
            counts[_sides(part, together, chains, extents)] += 1
        counted.append(counts)
    for found in itertools.product(*(counts.items() for counts in counted)):
        extent = dict(pair for extents, _ in found for pair in extents)
        yield tuple(extent[side] for side in range(len(depends))), math.prod(count for _, count in found)


def _sides(
    part: Box, sides: Sequence[int], chains: Sequence[Along | None], extents: Callable[[Box], Sequence[int]] | None
) -> Extents:
    """The extents of some sides of the box of a part."""
    known = [(side, chain.read(part).extent) for side in sides if (chain := chains[side]) is not None]
    if len(known) == len(sides):
        return tuple(known)
    assert extents is not None
    found = extents(part)
    return tuple((side, found[side]) for side in sides)


def visits(
    space: GroupSpace,
    strategy: Strategy,
    all_loops: Sequence[Loop],
    depends: Collection[int],
    multicast: tuple[bool, bool] = (False, False),
) -> int:
    """How often each different box is visited: by tiles that differ in other axes, in each trip of a repeating loop.

    A multicast along x or y counts for all tiles of a row or column as often as for the busiest of them.
    """
    repeating = {all_loops[depth].axis: all_loops[depth] for depth in repeating_loops(all_loops, depends)}
    total = 1
    for axis in {cut.axis for cut in (*strategy.x, *strategy.y)} | set(repeating):
        if axis not in depends:
            total *= _visits(space, strategy, axis, repeating.get(axis), multicast)
    return total


def _visits(space: GroupSpace, strategy: Strategy, axis: int, loop: Loop | None, multicast: tuple[bool, bool]) -> int:
    """Visits by tiles that differ in one axis: once each, or in each trip that a tile has of a loop over it."""
    trips = [
        1 if loop is None else sum(loop.part(start, extent, trip)[1] > 0 for trip in range(loop.trips))
        for start, extent in spatial_ranges(space, strategy, axis)
    ]
    along_y = math.prod(cut.parts for cut in strategy.y if cut.axis == axis)
    columns = [trips[i : i + along_y] for i in range(0, len(trips), along_y)]
    if multicast[0]:
        columns = [[max(row) for row in zip(*columns, strict=True)]]
    return sum(max(column) if multicast[1] else sum(column) for column in columns)


def _parts(space: GroupSpace, strategy: Strategy, all_loops: Sequence[Loop], axis: int) -> list[tuple[int, int]]:
    """All parts of an axis in space and time, without the empty ones."""
    ranges = spatial_ranges(space, strategy, axis)
    loop = next((loop for loop in all_loops if loop.axis == axis), None)
    if loop is None:
        return list(ranges)
    parts = (loop.part(start, extent, trip) for start, extent in ranges for trip in range(loop.trips))
    return [(start, extent) for start, extent in parts if extent > 0]


def _together(depends: Dependence) -> list[list[int]]:
    """Sides in groups that share axes; those of different groups vary independently of each other."""
    groups: list[tuple[set[int], list[int]]] = []
    for side, axes in enumerate(depends):
        touched = [group for group in groups if group[0] & axes]
        groups = [group for group in groups if not group[0] & axes]
        merged = set(axes).union(*(group[0] for group in touched))
        groups.append((merged, [other for group in touched for other in group[1]] + [side]))
    return [sorted(sides) for _, sides in groups]
