"""`Grad` of the operations that a network of dense layers needs to be trained.

Formulas are those of reverse-mode differentiation (Griewank, Walther: Evaluating Derivatives, 2008, chapter 3): for
out = f(x) and a scalar L, the gradient of L by x from g, its gradient by out.
"""

from __future__ import annotations

from tx8ir.core import Grad, IrError, Model, ScalarType, Value, ViewLike
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import (
    AddOp,
    CastOp,
    CrossEntropyWithSoftmaxGradOp,
    CrossEntropyWithSoftmaxOp,
    ExpandOp,
    FlattenOp,
    MatmulOp,
    MeanOp,
    PadOp,
    ReductionOp,
    ReshapeOp,
    ScaleOp,
    SliceOp,
    SoftmaxOp,
    SplitOp,
    SqueezeOp,
    SubtractOp,
    SumOp,
    TransposeOp,
    UnsqueezeOp,
)
from tx8ir.dialects.pd.gradients import static_tensor, times, zeros

from .base import Cotangents, UnaryGrad, only, read, summed_to


@Grad.implement(builtin.ToTensorOp, builtin.ToVTensorOp)
class CopyGrad(UnaryGrad):
    """g."""

    def part(self, g: Value) -> Value:
        return g


@Grad.implement(CastOp)
class CastGrad(Model[CastOp], Grad):
    """g in the format of x; no gradient flows between other than floating-point formats."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        g, element = only(self.op, cotangents), static_tensor(self.op.x).element
        return (CastOp(g, dtype=element).out if element.is_float and static_tensor(g).element.is_float else None,)


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
        return summed_to(g, static_tensor(self.op.operands[0]).shape)


@Grad.implement(PadOp)
class PadGrad(UnaryGrad):
    """g inside the frame."""

    def part(self, g: Value) -> Value:
        pad: PadOp = self.op
        extents = static_tensor(pad.x).shape
        starts = tuple(low for low, _ in pad.frame)
        ends = tuple(low + extent for low, extent in zip(starts, extents, strict=True))
        return SliceOp(g, axes=tuple(range(len(extents))), starts=starts, ends=ends).out


@Grad.implement(SumOp, MeanOp)
class SumGrad(UnaryGrad):
    """g for each element that was summed; for the mean divided by their number."""

    def part(self, g: Value) -> Value:
        op: ReductionOp = self.op
        shape = static_tensor(op.x).shape
        axes = op.axes
        kept = tuple(1 if i in axes else extent for i, extent in enumerate(shape))
        element: ScalarType = static_tensor(op.x).element
        if static_tensor(g).element is not element:
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
        if min(static_tensor(x).rank, static_tensor(y).rank) < 2:
            raise IrError(f"{op.name} has no gradient for vectors; reshape them to matrices", op)
        by_x = MatmulOp(y, g, transpose_x=ty, transpose_y=True) if tx else MatmulOp(g, y, transpose_y=not ty)
        by_y = MatmulOp(g, x, transpose_x=True, transpose_y=tx) if ty else MatmulOp(x, g, transpose_x=not tx)
        return summed_to(by_x.out, static_tensor(x).shape), summed_to(by_y.out, static_tensor(y).shape)


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
