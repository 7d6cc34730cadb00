"""Axes of ops that move elements: transpose, reshape, slice, concatenate, broadcast, gather.

All axes are parallel but the rows of a gathered table. Moves differ in their operand maps alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import attrs

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.maps import FIXED, Along, DimensionMap, Shifted, along
from tx8ir.backend.axes.refinement import Factor, Refinement
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.backend.axes.spaces import identity, parallel_axes, shape_of
from tx8ir.core import Model
from tx8ir.dialects import tx8be

__all__ = ["BroadcastAxes", "ConcatenateAxes", "GatherAxes", "ReshapeAxes", "SliceAxes", "TransposeAxes"]


@Axes.implement(tx8be.TransposeOp)
class TransposeAxes(Model[tx8be.TransposeOp], Axes):
    """The operand has the axes of the result in another order."""

    __slots__ = ()

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.y))
        inverse = [self.op.perm.index(axis) for axis in range(len(axes))]
        return Declaration(axes, (identity(axes, inverse),), (identity(axes),))


@Axes.implement(tx8be.SliceOp)
class SliceAxes(Model[tx8be.SliceOp], Axes):
    """The operand is read at the result's positions plus the starts."""

    __slots__ = ()

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.y))
        source: list[DimensionMap] = []
        for i, (start, extent) in enumerate(zip(self.op.starts, shape_of(self.op.x), strict=True)):
            source.append(along(i, extent) if axes[i].extent == extent else Shifted(i, start, extent))
        return Declaration(axes, (tuple(source),), (identity(axes),))

    def attributes(self, slices: OpSlices) -> Mapping[str, Any]:
        extent = slices.results[0].extent  # the slice of the operand is what is taken of it
        return {"starts": (0,) * len(extent), "ends": extent}


@Axes.implement(tx8be.ConcatenateOp)
class ConcatenateAxes(Model[tx8be.ConcatenateOp], Axes):
    """Each operand is read at the result's positions minus its place; the joined axis is cut at the joints alone."""

    __slots__ = ()

    def declare(self) -> Declaration:
        joined = self.op.axis
        axes = list(parallel_axes(shape_of(self.op.y)))
        extents = [shape_of(x)[joined] for x in self.op.xs]
        places = [0, *itertools.accumulate(extents)]
        joints = tuple(sorted({place for place in places if 0 < place < places[-1]}))
        if len(extents) > 1:
            axes[joined] = attrs.evolve(axes[joined], boundaries=joints)
        whole = identity(axes)
        operands = tuple(
            whole if extent == places[-1] else (*whole[:joined], Shifted(joined, -place, extent), *whole[joined + 1 :])
            for place, extent in zip(places, extents, strict=False)
        )
        return Declaration(tuple(axes), operands, (whole,))


@Axes.implement(tx8be.BroadcastOp)
class BroadcastAxes(Model[tx8be.BroadcastOp], Axes):
    """The operand lacks the repeated axes: it is read at its one position there."""

    __slots__ = ()

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.y))
        shape = shape_of(self.op.x)
        missing = len(axes) - len(shape)
        source = tuple(
            along(i + missing, extent) if axes[i + missing].extent == extent else FIXED
            for i, extent in enumerate(shape)
        )
        return Declaration(axes, (source,), (identity(axes),))


@Axes.implement(tx8be.GatherOp)
class GatherAxes(Model[tx8be.GatherOp], Axes):
    """Index positions and columns are parallel; any part may read any row of the table, which may stay in DDR."""

    __slots__ = ()

    def declare(self) -> Declaration:
        (rows, columns), indices = shape_of(self.op.table), shape_of(self.op.indices)
        axes = (*parallel_axes(indices), Axis("column", columns), Axis("row", rows, AxisKind.GATHERED))
        rank = len(indices)
        operands = (identity(axes, (rank + 1, rank)), identity(axes, range(rank)))
        return Declaration(axes, operands, (identity(axes, range(rank + 1)),))


@Axes.implement(tx8be.ReshapeOp)
class ReshapeAxes(Model[tx8be.ReshapeOp], Axes):
    """The common factors of both shapes are axes, and each dimension is a product of some.

    `[6, 4] -> [3, 8]` has axes of 3, 2 and 4; `[6, 4] -> [8, 3]` one of 2 over blocks of 12, the least common
    multiple of 4 and 3, that are never cut.
    """

    __slots__ = ()

    def declare(self) -> Declaration:
        source, target = shape_of(self.op.x), shape_of(self.op.y)
        if math.prod(source) == 0:
            return Declaration((), (_fixed(source),), (_fixed(target),))
        refinement = Refinement()
        dimensions = [
            [refinement.axis(extent, side) for extent in shape] for side, shape in enumerate((source, target))
        ]
        refinement.equate(*dimensions)
        chains = [[dimension] for side in dimensions for dimension in side]
        refinement.settle(lambda: chains)
        axes: dict[Factor, Axis] = {}

        def access(side: list[Factor]) -> tuple[Along, ...]:
            maps: list[Along] = []
            for dimension in side:
                factors = refinement.chain([dimension])
                free = [factor for factor in factors if not factor.is_fixed]
                for factor in free:
                    axes.setdefault(factor, Axis(f"f{len(axes)}", factor.extent))
                numbers = [list(axes).index(factor) for factor in free]
                extents = tuple(factor.extent for factor in free)
                maps.append(Along(tuple(numbers), extents, math.prod(f.extent for f in factors if f.is_fixed)))
            return tuple(maps)

        operand, result = map(access, dimensions)
        return Declaration(tuple(axes.values()), (operand,), (result,))


def _fixed(shape: tuple[int, ...]) -> tuple[Along, ...]:
    return tuple(Along(inner=extent) for extent in shape)
