"""Which operands tiles share under a spatial cut: what one load and a multicast can bring to a row or a column."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence

from tx8ir.backend.axes.demand import needs
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.strategy import Cut, Strategy
from tx8ir.backend.axes.tiles import tile_part
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value

__all__ = ["Sharing", "sharing"]


class Sharing(enum.Enum):
    """What tiles that differ in one mesh coordinate hold of a value."""

    ALONE = "alone"
    """There is one tile along the coordinate."""
    SAME = "same"
    """The same slice: one of them may load and multicast, or each load a part and pass it on."""
    OVERLAPPING = "overlapping"
    """Slices with common elements: a halo may be exchanged instead of loaded twice."""
    DISJOINT = "disjoint"
    """Nothing in common."""


def sharing(space: GroupSpace, strategy: Strategy, value: Value) -> tuple[Sharing, Sharing]:
    """What tiles along x, and tiles along y, share of a value.

    Follows from the axes that the value depends on; neighbours are compared only where it depends on a cut one.
    """
    return (
        _along(space, strategy, value, strategy.x, [(x, 0) for x in range(strategy.columns)]),
        _along(space, strategy, value, strategy.y, [(0, y) for y in range(strategy.rows)]),
    )


def _along(
    space: GroupSpace, strategy: Strategy, value: Value, cuts: Sequence[Cut], tiles: Sequence[tuple[int, int]]
) -> Sharing:
    if len(tiles) == 1:
        return Sharing.ALONE
    depends = space.depends_on(value)
    if not any(c.axis in depends for c in cuts if c.parts > 1):
        return Sharing.SAME
    boxes = [needs(space, part).held.get(value) for t in tiles if (part := tile_part(space, strategy, *t)) is not None]
    if any(a is not None and b is not None and _meet(a, b) for a, b in itertools.pairwise(boxes)):
        return Sharing.OVERLAPPING
    return Sharing.DISJOINT


def _meet(a: Box, b: Box) -> bool:
    """Whether two boxes of a tensor have an element in common."""
    start, stop = map(max, a.start, b.start), map(min, a.stop, b.stop)
    return all(low < high for low, high in zip(start, stop, strict=True))
