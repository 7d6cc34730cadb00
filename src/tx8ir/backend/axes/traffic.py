"""Bytes that a strategy loads and stores, in closed form (see `totals`).

Padding lanes and batch rounding of the slices are counted, as their layouts have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.axes.demand import needs
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.passes import passes
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.axes.tiles import loops
from tx8ir.backend.axes.totals import different_boxes, direct_chains, visits
from tx8ir.backend.axes.volume import value_bytes
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value

__all__ = ["moved_bytes", "stored_bytes"]


def moved_bytes(
    space: GroupSpace, strategy: Strategy, value: Value, *, multicast: tuple[bool, bool] = (False, False)
) -> int:
    """Bytes that all tiles load of a value, in all steps.

    Args:
        space: the group's.
        strategy: legal cuts of it.
        value: one of `space.loads`, or any other value that the strategy loads instead of keeping.
        multicast: along x and along y, that tiles which hold the same slice load it once.

    A halo is counted in each slice that holds it. What is read in several passes over loops in time (see `passes`) is
    loaded in each of them.
    """

    def held(part: Box) -> Sequence[int]:
        box = needs(space, part).held.get(value)
        return (0,) * len(depends) if box is None else box.extent

    depends = space.value_dependence[value]
    chains = direct_chains(space.dimensions[value], space.value_direct[value])
    all_loops = loops(space, strategy)
    boxes = different_boxes(space, strategy, all_loops, depends, chains, held)
    total = sum(value_bytes(value, extent) * count for extent, count in boxes if all(extent))
    total *= visits(space, strategy, all_loops, space.depends_on(value), multicast)
    return total * passes(space, {loop.axis for loop in all_loops if loop.trips > 1}).reads[value]


def stored_bytes(space: GroupSpace, strategy: Strategy, value: Value) -> int:
    """Bytes of a stored value that leave the tiles: each element once, when the loops it does not have are finished.

    Tiles that differ in axes the value does not have hold the same (or, of a reduced axis, merged) result, and one of
    them stores it.
    """
    chains = space.dimensions[value]  # all there: a stored value has axes of the group
    depends = tuple(frozenset(() if chain is None else chain.axes) for chain in chains)
    boxes = different_boxes(space, strategy, loops(space, strategy), depends, chains)
    return sum(value_bytes(value, extent) * count for extent, count in boxes if all(extent))
