"""`Grad` of the operations that a network of dense layers needs to be trained.

Formulas are those of reverse-mode differentiation (Griewank, Walther: Evaluating Derivatives, 2008, chapter 3): for
out = f(x) and a scalar L, the gradient of L by x from g, its gradient by out.
"""

from __future__ import annotations

from tx8ir.core import Grad, IrError, Model, ScalarType, Value, ViewLike
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import (
    AddOp,
    AssignOp,
    CastOp,
    CrossEntropyWithSoftmaxGradOp,
    CrossEntropyWithSoftmaxOp,
    DivideOp,
    ExpandOp,
    ExpOp,
    FlattenOp,
    GreaterThanOp,
    LogOp,
    MatmulOp,
    MeanOp,
    MultiplyOp,
    PadOp,
    ReductionOp,
    ReluOp,
    ReshapeOp,
    ScaleOp,
    SigmoidOp,
    SliceOp,
    SoftmaxOp,
    SplitOp,
    SqrtOp,
    SquareOp,
    SqueezeOp,
    SubtractOp,
    SumOp,
    TanhOp,
    TransposeOp,
    UnsqueezeOp,
    WhereOp,
)

from .base import BinaryGrad, Cotangents, UnaryGrad, full, only, ranked, read, summed_to, times, zeros


@Grad.implement(AddOp)
class AddGrad(BinaryGrad):
    """g, g."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return g, g


@Grad.implement(SubtractOp)
class SubtractGrad(BinaryGrad):
    """g, -g."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return g, ScaleOp(g, scale=-1.0).out


@Grad.implement(MultiplyOp)
class MultiplyGrad(BinaryGrad):
    """g y, g x."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return times(g, y), times(g, x)


@Grad.implement(DivideOp)
class DivideGrad(BinaryGrad):
    """g / y, -(g / y) (x / y)."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        by_x = DivideOp(g, y).out
        return by_x, ScaleOp(times(by_x, DivideOp(x, y).out), scale=-1.0).out


@Grad.implement(AssignOp, builtin.ToTensorOp, builtin.ToVTensorOp)
class CopyGrad(UnaryGrad):
    """g."""

    def part(self, g: Value) -> Value:
        return g


@Grad.implement(ReluOp)
class ReluGrad(UnaryGrad):
    """g where out > 0, else 0."""

    def part(self, g: Value) -> Value:
        zero = full(g, 0.0)
        return WhereOp(GreaterThanOp(self.out, zero), g, zero).out


@Grad.implement(TanhOp)
class TanhGrad(UnaryGrad):
    """g (1 - out^2)."""

    def part(self, g: Value) -> Value:
        return times(g, ScaleOp(SquareOp(self.out), scale=-1.0, bias=1.0).out)


@Grad.implement(SigmoidOp)
class SigmoidGrad(UnaryGrad):
    """g out (1 - out)."""

    def part(self, g: Value) -> Value:
        out = self.out
        return times(times(g, out), ScaleOp(out, scale=-1.0, bias=1.0).out)


@Grad.implement(ExpOp)
class ExpGrad(UnaryGrad):
    """g out."""

    def part(self, g: Value) -> Value:
        return times(g, self.out)


@Grad.implement(LogOp)
class LogGrad(UnaryGrad):
    """g / x."""

    def part(self, g: Value) -> Value:
        return DivideOp(g, self.x).out


@Grad.implement(SqrtOp)
class SqrtGrad(UnaryGrad):
    """g / (2 out)."""

    def part(self, g: Value) -> Value:
        return DivideOp(ScaleOp(g, scale=0.5), self.out).out


@Grad.implement(SquareOp)
class SquareGrad(UnaryGrad):
    """2 g x."""

    def part(self, g: Value) -> Value:
        return times(ScaleOp(g, scale=2.0).out, self.x)


@Grad.implement(ScaleOp)
class ScaleGrad(UnaryGrad):
    """scale g, wherever the bias is added."""

    def part(self, g: Value) -> Value:
        return ScaleOp(g, scale=self.op.scale).out


@Grad.implement(CastOp)
class CastGrad(Model[CastOp], Grad):
    """g in the format of x; no gradient flows between other than floating-point formats."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        g, element = only(self.op, cotangents), ranked(self.op.x).element
        return (CastOp(g, dtype=element).out if element.is_float and ranked(g).element.is_float else None,)


@Grad.implement(ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp, TransposeOp)
class MoveGrad(UnaryGrad):
    """g, moved back."""

    def part(self, g: Value) -> Value:
        view: ViewLike = self.op
        return view.inverse(self.op.operands[0], 0, g)


@Grad.implement(SliceOp, SplitOp)
class PieceGrad(Model["SliceOp | SplitOp"], Grad):
    """Zeros, with the gradients of the pieces where these come from."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        total = zeros(self.op.operands[0])
        for index, g in enumerate(cotangents):
            if g is not None:
                total = self.op.inverse(total, index, g)
        return (total,)


@Grad.implement(ExpandOp)
class ExpandGrad(UnaryGrad):
    """The sum of g over the copies of each element."""

    def part(self, g: Value) -> Value:
        return summed_to(g, ranked(self.op.operands[0]).shape)


@Grad.implement(PadOp)
class PadGrad(UnaryGrad):
    """g inside the frame."""

    def part(self, g: Value) -> Value:
        pad: PadOp = self.op
        extents = ranked(pad.x).shape
        starts = tuple(low for low, _ in pad.frame)
        ends = tuple(low + extent for low, extent in zip(starts, extents, strict=True))
        return SliceOp(g, axes=tuple(range(len(extents))), starts=starts, ends=ends).out


@Grad.implement(SumOp, MeanOp)
class SumGrad(UnaryGrad):
    """g for each element that was summed; for the mean divided by their number."""

    def part(self, g: Value) -> Value:
        op: ReductionOp = self.op
        shape = ranked(op.x).shape
        axes = op.axes
        kept = tuple(1 if i in axes else extent for i, extent in enumerate(shape))
        element: ScalarType = ranked(op.x).element
        if ranked(g).element is not element:
            g = CastOp(g, dtype=element).out
        g = ExpandOp(ReshapeOp(g, shape=kept), shape=shape).out
        count = 1
        for axis in axes:
            count *= shape[axis]
        return ScaleOp(g, scale=1.0 / count).out if isinstance(op, MeanOp) else g


@Grad.implement(MatmulOp)
class MatmulGrad(Model[MatmulOp], Grad):
    """For out = x y: g y^T and x^T g, with the transpositions of the operands, summed where batches broadcast."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        x, y, tx, ty = read(op.x), read(op.y), op.transpose_x, op.transpose_y
        if min(ranked(x).rank, ranked(y).rank) < 2:
            raise IrError(f"{op.name} has no gradient for vectors; reshape them to matrices", op)
        by_x = MatmulOp(y, g, transpose_x=ty, transpose_y=True) if tx else MatmulOp(g, y, transpose_y=not ty)
        by_y = MatmulOp(g, x, transpose_x=True, transpose_y=tx) if ty else MatmulOp(x, g, transpose_x=not tx)
        return summed_to(by_x.out, ranked(x).shape), summed_to(by_y.out, ranked(y).shape)


def _softmax_grad(out: Value, g: Value, axis: int) -> Value:
    """Out (g - sum of g out along the axis)."""
    return times(out, SubtractOp(g, SumOp(times(g, out), axis=(axis,), keepdim=True)).out)


@Grad.implement(SoftmaxOp)
class SoftmaxGrad(UnaryGrad):
    """out (g - sum of g out along the axis)."""

    def part(self, g: Value) -> Value:
        return _softmax_grad(self.out, g, self.op.axis)


@Grad.implement(CrossEntropyWithSoftmaxOp)
class CrossEntropyGrad(Model[CrossEntropyWithSoftmaxOp], Grad):
    """(softmax - label) g of the loss, plus what flows through the softmax. None for labels."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op = self.op
        of_softmax, of_loss = cotangents
        softmax, total = read(op.softmax), None
        if of_loss is not None:
            total = CrossEntropyWithSoftmaxGradOp(
                read(op.label), softmax, of_loss,
                soft_label=op.soft_label, ignore_index=op.ignore_index, axis=op.axis,
            ).out  # fmt: skip
        if of_softmax is not None:
            through = _softmax_grad(softmax, of_softmax, op.axis)
            total = through if total is None else AddOp(total, through).out
        return total, None
