"""Bytes moved and work done by a strategy, in closed form.

A slice of a value is a box whose sides follow from the axes of the group, so that the sum over all tiles and steps is
taken side by side: the extents of each side are counted over the parts of its own axes, and the counts multiply. A
load stands in the innermost loop that changes its slice: loops inside of that one keep what is there, and loops
outside of it that do not change the slice load all of it again.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence

from tx8ir.backend.axes.demand import needs
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.passes import read_passes
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.axes.tiles import Loop, loops, spatial_ranges
from tx8ir.backend.axes.volume import value_bytes
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value

__all__ = ["moved_bytes", "repeating_loops", "stored_bytes"]


def repeating_loops(all_loops: Sequence[Loop], depends: Collection[int]) -> tuple[int, ...]:
    """The depths of the loops that move (or compute) every slice again: those that do not change it, outside of one
    that does. What one buffer per value gives; a strategy that keeps more moves less.
    """
    changing = [depth for depth, loop in enumerate(all_loops) if loop.axis in depends and loop.trips > 1]
    inside = changing[-1] if changing else 0
    return tuple(depth for depth in range(inside) if all_loops[depth].axis not in depends)


def moved_bytes(
    space: GroupSpace, strategy: Strategy, value: Value, *, multicast: tuple[bool, bool] = (False, False)
) -> int:
    """Bytes that all tiles load of a value, in all steps.

    Args:
        space: the group's.
        strategy: legal cuts of it.
        value: one of `space.loads`, or any other value that the strategy loads instead of keeping.
        multicast: along x and along y, that tiles which hold the same slice load it once.

    A halo is counted in each slice that holds it; padding lanes and batch rounding of the slices are counted. What is
    read in several passes over loops in time (see `passes`) is loaded in each of them.
    """
    depends = space.depends_on(value)
    all_loops = loops(space, strategy)
    total = _slice_bytes(space, strategy, value, all_loops)
    repeating = {all_loops[depth].axis: all_loops[depth] for depth in repeating_loops(all_loops, depends)}
    for axis in {c.axis for c in (*strategy.x, *strategy.y)} | set(repeating):
        if axis not in depends:
            total *= _visits(space, strategy, axis, repeating.get(axis), multicast)
    return total * read_passes(space, {loop.axis for loop in all_loops if loop.trips > 1})[value]


def stored_bytes(space: GroupSpace, strategy: Strategy, value: Value) -> int:
    """Bytes of a stored value that leave the tiles: each element once, when the loops it does not have are finished.

    Tiles that differ in axes the value does not have hold the same (or, of a reduced axis, merged) result, and one of
    them stores it. Padding lanes and batch rounding of the slices are counted.
    """
    return _slice_bytes(space, strategy, value, loops(space, strategy), held=False)


def _visits(space: GroupSpace, strategy: Strategy, axis: int, loop: Loop | None, multicast: tuple[bool, bool]) -> int:
    """How often tiles that differ in an axis load the same slice: once each, or in each trip of a loop over the axis.

    A multicast brings it to all tiles of a row or column as often as the busiest of them needs it.
    """
    trips = [
        1 if loop is None else sum(loop.part(start, extent, trip)[1] > 0 for trip in range(loop.trips))
        for start, extent in spatial_ranges(space, strategy, axis)
    ]
    along_y = math.prod(c.parts for c in strategy.y if c.axis == axis)
    columns = [trips[i : i + along_y] for i in range(0, len(trips), along_y)]
    if multicast[0]:
        columns = [list(map(max, *columns))] if len(columns) > 1 else columns
    return sum(max(column) if multicast[1] else sum(column) for column in columns)


def _slice_bytes(
    space: GroupSpace, strategy: Strategy, value: Value, all_loops: Sequence[Loop], *, held: bool = True
) -> int:
    """Bytes of all different slices of a value: one for each combination of parts of the axes it depends on."""
    if held:
        depends = space.value_dependence[value]
    else:
        chains = space.dimensions[value]
        depends = tuple(frozenset(() if chain is None else chain.axes) for chain in chains)
    sides: list[Counter[tuple[tuple[int, int], ...]]] = []
    for dimensions in _together(depends):
        axes = sorted({axis for d in dimensions for axis in depends[d]})
        sides.append(_extents(space, strategy, value, all_loops, dimensions, axes, held=held))
    total = 0
    for chosen in itertools.product(*(side.items() for side in sides)):
        extent = dict(pair for extents, _ in chosen for pair in extents)
        shape = tuple(extent[d] for d in range(len(depends)))
        if all(shape):
            total += value_bytes(value, shape) * math.prod(count for _, count in chosen)
    return total


def _extents(
    space: GroupSpace,
    strategy: Strategy,
    value: Value,
    all_loops: Sequence[Loop],
    dimensions: Sequence[int],
    axes: Sequence[int],
    *,
    held: bool,
) -> Counter[tuple[tuple[int, int], ...]]:
    """How often the sides `dimensions` of the slices have which extents, over all parts of `axes`."""
    counts: Counter[tuple[tuple[int, int], ...]] = Counter()
    for chosen in itertools.product(*(_parts(space, strategy, all_loops, axis) for axis in axes)):
        part = space.whole
        for axis, (start, extent) in zip(axes, chosen, strict=True):
            part = part.replace(axis, start, extent)
        counts[_sides(space, value, part, dimensions, held=held)] += 1
    return counts


def _sides(
    space: GroupSpace, value: Value, part: Box, dimensions: Sequence[int], *, held: bool
) -> tuple[tuple[int, int], ...]:
    """`(dimension, extent)` of sides of the slice of a part."""
    chains, direct = space.dimensions[value], space.value_direct[value]
    if not held or all(direct[d] for d in dimensions):
        return tuple((d, chain.read(part).extent) for d in dimensions if (chain := chains[d]) is not None)
    box = needs(space, part).held.get(value)
    return tuple((d, 0 if box is None else box.extent[d]) for d in dimensions)


def _parts(space: GroupSpace, strategy: Strategy, all_loops: Sequence[Loop], axis: int) -> list[tuple[int, int]]:
    """All parts of an axis in space and time, without the empty ones."""
    ranges = spatial_ranges(space, strategy, axis)
    loop = next((loop for loop in all_loops if loop.axis == axis), None)
    if loop is None:
        return list(ranges)
    parts = (loop.part(start, extent, trip) for start, extent in ranges for trip in range(loop.trips))
    return [(start, extent) for start, extent in parts if extent > 0]


def _together(depends: Sequence[frozenset[int]]) -> list[list[int]]:
    """Dimensions in groups that share axes; those of different groups vary independently of each other."""
    groups: list[tuple[set[int], list[int]]] = []
    for dimension, axes in enumerate(depends):
        touched = [g for g in groups if g[0] & axes]
        groups = [g for g in groups if not g[0] & axes]
        merged = set(axes).union(*(g[0] for g in touched))
        groups.append((merged, [d for g in touched for d in g[1]] + [dimension]))
    return [sorted(dimensions) for _, dimensions in groups]
