"""Axes of element-wise ops, and of those that only carry a value: every axis is parallel."""

from __future__ import annotations

from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.spaces import identity, optional_shape, parallel_axes, shape_of
from tx8ir.core import Model, Operation
from tx8ir.dialects import tx8be

__all__ = ["ElementwiseAxes"]


@Axes.implement(tx8be.BinaryOp, tx8be.UnaryOp, tx8be.SelectOp, tx8be.CastOp)
@Axes.implement(tx8be.ChannelNormOp, tx8be.InputOp, tx8be.LoadVarOp, tx8be.StoreVarOp)
@Axes.implement(tx8be.ConstantOp, tx8be.LoadConstOp)
class ElementwiseAxes(Model[Operation], Axes):
    """Operands have the shape of the result, or are rank 1 over its last axis; a constant has no operand."""

    __slots__ = ()

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.results[0]))
        shapes = [optional_shape(value) for value in self.op.operands]
        operands = tuple(
            None if shape is None else identity(axes, range(len(axes) - len(shape), len(axes))) for shape in shapes
        )
        return Declaration(axes, operands, (identity(axes),))
