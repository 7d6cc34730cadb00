"""Axes of `Reduce`: the named axes are reduced and keep extent 1 in the result."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.combination import Array, State
from tx8ir.backend.axes.convolution import extremum_or_sum, sum_for_mean
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.maps import FIXED, along
from tx8ir.backend.axes.pieces import compute, element_of, piece
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.backend.axes.spaces import identity, shape_of
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import ReduceFunction

__all__ = ["ReduceAxes"]


@Axes.implement(tx8be.ReduceOp)
class ReduceAxes(Model[tx8be.ReduceOp], Axes):
    """A sum, mean, largest or smallest over the reduced axes."""

    __slots__ = ()

    def declare(self) -> Declaration:
        op = self.op
        axes = tuple(
            Axis(f"d{i}", extent, AxisKind.REDUCED if i in op.axes else AxisKind.PARALLEL)
            for i, extent in enumerate(shape_of(op.x))
        )
        result = tuple(FIXED if axis.kind is AxisKind.REDUCED else along(i, axis.extent) for i, axis in enumerate(axes))
        return Declaration(axes, (identity(axes),), (result,), extremum_or_sum(op.function, element_of(op.x).format))

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        return (compute(piece(self.op, slices, {"function": sum_for_mean(self.op.function)}), operands),)

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        (y,) = state
        if self.op.function is not ReduceFunction.AVG:
            return y
        return y / y.dtype.type(math.prod(shape_of(self.op.x)[i] for i in self.op.axes))
