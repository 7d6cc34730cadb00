"""The work that a strategy makes of each op, in closed form (see `totals`): all of it, what is done twice included."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.demand import needs
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.passes import passes
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.axes.tiles import loops
from tx8ir.backend.axes.totals import different_boxes, direct_chains, visits
from tx8ir.backend.oplib.boxes import Box

__all__ = ["work_done"]


def work_done(space: GroupSpace, strategy: Strategy, op: int) -> int:
    """Work (see `volume.work`) of an op over all tiles and steps.

    More than the op's own where tiles compute the same, where halos overlap, where a loop outside of one that changes
    the op's part makes it compute the part again, and in further passes over an axis that is combined.
    """
    declaration = space.declarations[op]

    def ranges(part: Box) -> Sequence[int]:
        made = needs(space, part).ops[op]
        return (0,) * len(declaration.axes) if made is None else made.part.extent

    chains = direct_chains(space.chains[op], space.op_direct[op])
    all_loops, depends = loops(space, strategy), space.op_dependence[op]
    all_axes = frozenset(axis for axes in depends for axis in axes)
    counted = [axis.kind is not AxisKind.GATHERED for axis in declaration.axes]
    inner = math.prod(dimension.inner for dimension in declaration.results[0])
    total = sum(
        math.prod(n for n, is_counted in zip(extent, counted, strict=True) if is_counted) * count
        for extent, count in different_boxes(space, strategy, all_loops, depends, chains, ranges)
    )
    runs = passes(space, {loop.axis for loop in all_loops if loop.trips > 1}).runs[op]
    return total * inner * visits(space, strategy, all_loops, all_axes) * runs
