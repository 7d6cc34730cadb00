"""`Grad` of more operations that work element by element, and of those that choose or place elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import DenseAttr, Grad, Model, Value
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import (
    AbsOp,
    AddOp,
    CastOp,
    ConcatOp,
    CosOp,
    ElementwisePowOp,
    EmbeddingOp,
    EqualOp,
    ErfOp,
    ExpandOp,
    ExpOp,
    FillOp,
    FloorOp,
    GatherOp,
    GeluOp,
    GreaterEqualOp,
    GreaterThanOp,
    LeakyReluOp,
    LogOp,
    MatmulOp,
    MaximumOp,
    MaxOp,
    MinimumOp,
    MinOp,
    PowOp,
    ReciprocalOp,
    ReshapeOp,
    RsqrtOp,
    ScaleOp,
    SetValueOp,
    SgdOp,
    SigmoidOp,
    SinOp,
    SliceOp,
    SoftplusOp,
    SquareOp,
    TanhOp,
    TransposeOp,
    WhereOp,
)
from tx8ir.dialects.pd.shape import sliced_shape

from .base import BinaryGrad, Cotangents, UnaryGrad, full, only, ranked, read, summed_to, times, zeros


def _scaled(x: Value, scale: float, bias: float = 0.0) -> Value:
    return ScaleOp(x, scale=scale, bias=bias).out


@Grad.implement(LeakyReluOp)
class LeakyReluGrad(UnaryGrad):
    """g where x >= 0, negative_slope g elsewhere."""

    def part(self, g: Value) -> Value:
        x = self.x
        return WhereOp(GreaterEqualOp(x, full(g, 0.0)), g, _scaled(g, self.op.negative_slope)).out


@Grad.implement(GeluOp)
class GeluGrad(UnaryGrad):
    """g (Phi(x) + x phi(x)) with the normal distribution and its density; for the tanh form its own derivative."""

    def part(self, g: Value) -> Value:
        x = self.x
        square = SquareOp(x).out
        if self.op.approximate:
            root = math.sqrt(2 / math.pi)
            inner = _scaled(times(x, _scaled(square, 0.044715, 1.0)), root)
            tanh = TanhOp(inner).out
            slope = times(_scaled(SquareOp(tanh).out, -1.0, 1.0), _scaled(square, 3 * 0.044715 * root, root))
            return times(g, _scaled(AddOp(_scaled(tanh, 1.0, 1.0), times(x, slope)).out, 0.5))
        below = _scaled(ErfOp(_scaled(x, math.sqrt(0.5))).out, 0.5, 0.5)
        density = _scaled(ExpOp(_scaled(square, -0.5)).out, 1 / math.sqrt(2 * math.pi))
        return times(g, AddOp(below, times(x, density)).out)


@Grad.implement(SoftplusOp)
class SoftplusGrad(UnaryGrad):
    """g sigmoid(beta x), and g where beta x > threshold."""

    def part(self, g: Value) -> Value:
        inner = _scaled(self.x, self.op.beta)
        return WhereOp(GreaterThanOp(inner, full(g, self.op.threshold)), g, times(g, SigmoidOp(inner).out)).out


@Grad.implement(ErfOp)
class ErfGrad(UnaryGrad):
    """g 2 / sqrt(pi) exp(-x^2)."""

    def part(self, g: Value) -> Value:
        return times(g, _scaled(ExpOp(_scaled(SquareOp(self.x).out, -1.0)).out, 2 / math.sqrt(math.pi)))


@Grad.implement(RsqrtOp)
class RsqrtGrad(UnaryGrad):
    """-g out^3 / 2."""

    def part(self, g: Value) -> Value:
        out = self.out
        return times(_scaled(g, -0.5), times(out, SquareOp(out).out))


@Grad.implement(ReciprocalOp)
class ReciprocalGrad(UnaryGrad):
    """-g out^2."""

    def part(self, g: Value) -> Value:
        return times(_scaled(g, -1.0), SquareOp(self.out).out)


@Grad.implement(SinOp)
class SinGrad(UnaryGrad):
    """g cos x."""

    def part(self, g: Value) -> Value:
        return times(g, CosOp(self.x).out)


@Grad.implement(CosOp)
class CosGrad(UnaryGrad):
    """-g sin x."""

    def part(self, g: Value) -> Value:
        return times(_scaled(g, -1.0), SinOp(self.x).out)


@Grad.implement(FloorOp, FillOp)
class ConstantGrad(UnaryGrad):
    """Zeros: constant but for its steps."""

    def part(self, g: Value) -> Value:
        return zeros(g)


@Grad.implement(AbsOp)
class AbsGrad(UnaryGrad):
    """g where x > 0, -g where x < 0, 0 at 0."""

    def part(self, g: Value) -> Value:
        x, zero = self.x, full(g, 0.0)
        negative = WhereOp(GreaterThanOp(zero, x), _scaled(g, -1.0), zero)
        return WhereOp(GreaterThanOp(x, zero), g, negative).out


@Grad.implement(PowOp)
class PowGrad(UnaryGrad):
    """g y x^(y - 1); zeros for the exponent 0."""

    def part(self, g: Value) -> Value:
        y: float = self.op.y
        return times(_scaled(g, y), PowOp(self.x, y=y - 1.0).out) if y else zeros(g)


@Grad.implement(ElementwisePowOp)
class ElementwisePowGrad(BinaryGrad):
    """g y x^(y - 1), g x^y log x."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        by_x = times(times(g, y), ElementwisePowOp(x, _scaled(y, 1.0, -1.0)).out)
        return by_x, times(times(g, ElementwisePowOp(x, y).out), LogOp(x).out)


class ExtremeGrad(BinaryGrad):
    """The operand that is chosen has g, the other 0; of equal ones the second."""

    def first_is_chosen(self, x: Value, y: Value) -> Value:
        """Where the first operand is chosen."""
        raise NotImplementedError  # subclasses define it

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        chosen, zero = self.first_is_chosen(x, y), full(g, 0.0)
        return WhereOp(chosen, g, zero).out, WhereOp(chosen, zero, g).out


@Grad.implement(MaximumOp)
class MaximumGrad(ExtremeGrad):
    """g where x > y, else 0; g where x <= y, else 0 (Paddle's choice)."""

    def first_is_chosen(self, x: Value, y: Value) -> Value:
        return GreaterThanOp(x, y).out


@Grad.implement(MinimumOp)
class MinimumGrad(ExtremeGrad):
    """g where x < y, else 0; g where x >= y, else 0 (Paddle's choice)."""

    def first_is_chosen(self, x: Value, y: Value) -> Value:
        return GreaterThanOp(y, x).out


@Grad.implement(WhereOp)
class WhereGrad(Model[WhereOp], Grad):
    """None for the condition; g where it holds, else 0; g where it does not, else 0."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        condition, zero = read(op.condition), full(g, 0.0)
        by_x, by_y = WhereOp(condition, g, zero).out, WhereOp(condition, zero, g).out
        return None, summed_to(by_x, ranked(op.x).shape), summed_to(by_y, ranked(op.y).shape)


@Grad.implement(MaxOp, MinOp)
class ExtremumGrad(UnaryGrad):
    """g for each element that is the extremum, else 0 (Paddle's choice: equal ones have g each)."""

    def part(self, g: Value) -> Value:
        op: MaxOp | MinOp = self.op
        shape = ranked(op.x).shape
        kept = tuple(1 if i in op.axes else extent for i, extent in enumerate(shape))
        out, wide = (ReshapeOp(v, shape=kept).out for v in (self.out, g))
        return WhereOp(EqualOp(self.x, out), ExpandOp(wide, shape=shape), full(g, 0.0)).out


@Grad.implement(ConcatOp)
class ConcatGrad(Model[ConcatOp], Grad):
    """The piece of g that comes from each operand."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        axis = op.axis % ranked(g).rank
        pieces: list[Value] = []
        start = 0
        for value in op.x:
            end = start + ranked(value).shape[axis]
            pieces.append(SliceOp(g, axes=(axis,), starts=(start,), ends=(end,)).out)
            start = end
        return pieces


@Grad.implement(SetValueOp)
class SetValueGrad(Model[SetValueOp], Grad):
    """g with zeros in the window; the window of g."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        x, value = ranked(op.x), ranked(op.value)
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
        rate, shape = read(op.learning_rate), ranked(op.learning_rate).shape
        by_rate = _scaled(summed_to(times(g, read(op.grad)), (1,) * ranked(g).rank), -1.0)
        return g, ReshapeOp(by_rate, shape=shape).out, _scaled(times(rate, g), -1.0)


def _rows_added(index: Value, rows: Value, count: int, ignored: int = -1) -> Value:
    """[count, ...]: for each i the sum of the rows whose index is i, but not for index `ignored`.

    A product with the matrix of truth values index[j] == i: O(len(index) * count * size of a row).
    """
    shape, element = ranked(rows).shape, ranked(rows).element
    numbers = np.arange(count)
    numbers[numbers == ignored] = -1
    column = builtin.constant(value=DenseAttr(numbers.astype(ranked(index).element.dtype)[:, None])).out
    chosen = CastOp(EqualOp(column, ReshapeOp(index, shape=(1, -1))), dtype=element).out
    flat = ReshapeOp(rows, shape=(shape[0], math.prod(shape[1:]))).out
    return ReshapeOp(MatmulOp(chosen, flat), shape=(count, *shape[1:])).out


@Grad.implement(EmbeddingOp)
class EmbeddingGrad(Model[EmbeddingOp], Grad):
    """None for the indices; for each row of the table the sum of g where it was looked up, 0 for `padding_idx`."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        count, width = ranked(op.weight).shape
        rows = ReshapeOp(g, shape=(math.prod(ranked(op.x).shape), width)).out
        return None, _rows_added(read(op.x), rows, count, op.padding_idx)


@Grad.implement(GatherOp)
class GatherGrad(Model[GatherOp], Grad):
    """For each slice of x the sum of g where it was taken; None for the index."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        x, index = ranked(op.x), ranked(op.index)
        axis = op.axis % x.rank
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        rows = ReshapeOp(g, shape=(*before, math.prod(index.shape), *after)).out
        front = (axis, *range(axis), *range(axis + 1, x.rank))
        added = _rows_added(read(op.index), TransposeOp(rows, perm=front).out, x.shape[axis])
        return TransposeOp(added, perm=inverse_of(front)).out, None


def inverse_of(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that takes `perm` back."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))
