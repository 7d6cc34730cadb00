"""`Strategy`: a choice of cuts of a group's iteration space, over the mesh in space and over loops in time."""

from __future__ import annotations

import math
from collections import Counter

import attrs

from tx8ir.backend.axes.cuts import part_counts
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.maps import CutError

__all__ = ["Cut", "Strategy", "check"]


@attrs.frozen
class Cut:
    """An axis of the group (by position) cut into `parts`."""

    axis: int
    parts: int


@attrs.frozen
class Strategy:
    """Parts of axes in space and in time.

    Attributes:
        x: cuts over the mesh's x coordinate, the first one slowest; their parts are columns of tiles used.
        y: the same over y. An axis cut over both is cut into the product, x slowest.
        time: the loops, outermost first, over parts of what a tile has of an axis.
    """

    x: tuple[Cut, ...] = ()
    y: tuple[Cut, ...] = ()
    time: tuple[Cut, ...] = ()

    def spatial_parts(self, axis: int) -> int:
        """Parts of an axis over all tiles."""
        return math.prod(cut.parts for cut in (*self.x, *self.y) if cut.axis == axis)

    def loop(self, axis: int) -> int | None:
        """The depth of the loop over an axis, 0 the outermost; None without one."""
        return next((depth for depth, cut in enumerate(self.time) if cut.axis == axis), None)

    @property
    def columns(self) -> int:
        """Tiles used along x."""
        return math.prod(cut.parts for cut in self.x)

    @property
    def rows(self) -> int:
        """Tiles used along y."""
        return math.prod(cut.parts for cut in self.y)


def check(space: GroupSpace, strategy: Strategy, mesh: tuple[int, int]) -> None:
    """Raise `CutError` unless the strategy's spatial cuts are legal and fit a mesh of (x, y) tiles, and no axis has
    two loops. Cuts in time are checked where their loops are made (`tiles.loops`).
    """
    if strategy.columns > mesh[0] or strategy.rows > mesh[1]:
        raise CutError(
            f"{strategy.columns} by {strategy.rows} tiles are more than the {mesh[0]} by {mesh[1]} there are"
        )
    for cuts in (strategy.x, strategy.y, strategy.time):
        twice = [axis for axis, count in Counter(cut.axis for cut in cuts).items() if count > 1]
        if twice:
            raise CutError(f"{space.axes[twice[0]]!r} is cut twice in one place")
    for number in {cut.axis for cut in (*strategy.x, *strategy.y)}:
        parts, axis = strategy.spatial_parts(number), space.axes[number]
        if parts not in part_counts(axis):
            raise CutError(f"{axis!r} cannot be cut into {parts} parts; legal numbers are {part_counts(axis)}")
