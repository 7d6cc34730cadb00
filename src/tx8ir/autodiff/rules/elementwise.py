"""`Grad` of the families that work element by element, and of operations that choose or place elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import DenseAttr, Grad, Model, Value
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import (
    CastOp,
    ConcatOp,
    ElementwiseBinaryOp,
    ElementwiseUnaryOp,
    EmbeddingOp,
    EqualOp,
    ExpandOp,
    FillOp,
    GatherOp,
    MatmulOp,
    MaxOp,
    MinOp,
    ReshapeOp,
    SetValueOp,
    SgdOp,
    SliceOp,
    TransposeOp,
    WhereOp,
)
from tx8ir.dialects.pd.gradients import full, scaled, static_tensor, times, zeros
from tx8ir.dialects.pd.shape import sliced_shape

from .base import BinaryGrad, Cotangents, UnaryGrad, only, read, summed_to


@Grad.implement(ElementwiseUnaryOp)
class ElementwiseUnaryGrad(UnaryGrad):
    """What the class says."""

    def part(self, g: Value) -> Value:
        op: ElementwiseUnaryOp = self.op
        return op.gradient(self, g)


@Grad.implement(ElementwiseBinaryOp)
class ElementwiseBinaryGrad(BinaryGrad):
    """What the class says."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        op: ElementwiseBinaryOp = self.op
        return op.gradients(x, y, g)


@Grad.implement(FillOp)
class ConstantGrad(UnaryGrad):
    """Zeros: the result does not depend on what `x` holds."""

    def part(self, g: Value) -> Value:
        return zeros(g)


@Grad.implement(WhereOp)
class WhereGrad(Model[WhereOp], Grad):
    """None for the condition; g where it holds, else 0; g where it does not, else 0."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        condition, zero = read(op.condition), full(g, 0.0)
        by_x, by_y = WhereOp(condition, g, zero).out, WhereOp(condition, zero, g).out
        return None, summed_to(by_x, static_tensor(op.x).shape), summed_to(by_y, static_tensor(op.y).shape)


@Grad.implement(MaxOp, MinOp)
class ExtremumGrad(UnaryGrad):
    """g for each element that is the extremum, else 0 (Paddle's choice: equal ones have g each)."""

    def part(self, g: Value) -> Value:
        op: MaxOp | MinOp = self.op
        shape = static_tensor(op.x).shape
        kept = tuple(1 if i in op.axes else extent for i, extent in enumerate(shape))
        out, wide = (ReshapeOp(v, shape=kept).out for v in (self.out, g))
        return WhereOp(EqualOp(self.x, out), ExpandOp(wide, shape=shape), full(g, 0.0)).out


@Grad.implement(ConcatOp)
class ConcatGrad(Model[ConcatOp], Grad):
    """The piece of g that comes from each operand."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        axis = op.axis % static_tensor(g).rank
        pieces: list[Value] = []
        start = 0
        for value in op.x:
            end = start + static_tensor(value).shape[axis]
            pieces.append(SliceOp(g, axes=(axis,), starts=(start,), ends=(end,)).out)
            start = end
        return pieces


@Grad.implement(SetValueOp)
class SetValueGrad(Model[SetValueOp], Grad):
    """g with zeros in the window; the window of g."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        x, value = static_tensor(op.x), static_tensor(op.value)
        window = sliced_shape(op, x, op.axes, op.starts, op.ends, op.decrease_axis)
        kept = SetValueOp(
            g, full(g, 0.0), axes=op.axes, starts=op.starts, ends=op.ends, decrease_axis=op.decrease_axis
        ).out
        seen = SliceOp(g, axes=op.axes, starts=op.starts, ends=op.ends, decrease_axis=op.decrease_axis).out
        return kept, summed_to(ReshapeOp(seen, shape=window).out, value.shape)


@Grad.implement(SgdOp)
class SgdGrad(Model[SgdOp], Grad):
    """g, minus the sum of g grad, -learning_rate g."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        rate, shape = read(op.learning_rate), static_tensor(op.learning_rate).shape
        by_rate = scaled(summed_to(times(g, read(op.grad)), (1,) * static_tensor(g).rank), -1.0)
        return g, ReshapeOp(by_rate, shape=shape).out, scaled(times(rate, g), -1.0)


def _rows_added(index: Value, rows: Value, count: int, ignored: int = -1) -> Value:
    """[count, ...]: for each i the sum of the rows whose index is i, but not for index `ignored`.

    A product with the matrix of truth values index[j] == i: O(len(index) * count * size of a row).
    """
    shape, element = static_tensor(rows).shape, static_tensor(rows).element
    numbers = np.arange(count)
    numbers[numbers == ignored] = -1
    column = builtin.constant(value=DenseAttr(numbers.astype(static_tensor(index).element.dtype)[:, None])).out
    chosen = CastOp(EqualOp(column, ReshapeOp(index, shape=(1, -1))), dtype=element).out
    flat = ReshapeOp(rows, shape=(shape[0], math.prod(shape[1:]))).out
    return ReshapeOp(MatmulOp(chosen, flat), shape=(count, *shape[1:])).out


@Grad.implement(EmbeddingOp)
class EmbeddingGrad(Model[EmbeddingOp], Grad):
    """None for the indices; for each row of the table the sum of g where it was looked up, 0 for `padding_idx`."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        count, width = static_tensor(op.weight).shape
        rows = ReshapeOp(g, shape=(math.prod(static_tensor(op.x).shape), width)).out
        return None, _rows_added(read(op.x), rows, count, op.padding_idx)


@Grad.implement(GatherOp)
class GatherGrad(Model[GatherOp], Grad):
    """For each slice of x the sum of g where it was taken; None for the index."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        x, index = static_tensor(op.x), static_tensor(op.index)
        axis = op.axis % x.rank
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        rows = ReshapeOp(g, shape=(*before, math.prod(index.shape), *after)).out
        front = (axis, *range(axis), *range(axis + 1, x.rank))
        added = _rows_added(read(op.index), TransposeOp(rows, perm=front).out, x.shape[axis])
        return TransposeOp(added, perm=inverse_of(front)).out, None


def inverse_of(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that takes `perm` back."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))
