"""`InferLayout` of the backend ops: how the name of a logical layout passes through an op.

`forward` and `backward` answer None where the op cannot say (reshape, broadcast, gather): propagation stops there.
A CNN layout ("NHWC") names every axis; `Tensor`/`NTensor` only says whether dim 0 is 1, so it is read off the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.graph import logical_layout
from tx8ir.backend.oplib.interface import InferLayout
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp

PLAIN = ("Tensor", "NTensor")


def fit_layout(layout: str, shape: Sequence[int]) -> str | None:
    """`layout` for a value of this shape: plain layouts follow dim 0, a CNN layout needs one letter per axis."""
    if layout in PLAIN:
        return logical_layout(shape)
    return layout if len(layout) == len(shape) else None


@InferLayout.implement(
    tx8be.BinaryOp, tx8be.UnaryOp, tx8be.SelectOp, tx8be.CastOp, tx8be.SoftmaxOp, tx8be.LayerNormOp, tx8be.ReduceOp,
    tx8be.PoolOp, tx8be.SliceOp, tx8be.ConcatenateOp, tx8be.ChannelNormOp, tx8be.InputOp, tx8be.LoadVarOp,
    tx8be.StoreVarOp,
)  # fmt: skip
class SameLayout(Model[BackendOp], InferLayout):
    """The result has the layout of the operands of its rank, and they its."""

    def forward(self, operands: Sequence[str | None]) -> str | None:
        shape = tx8be.ranked(self.op.results[0], "result").shape
        for value, layout in zip(self.op.operands, operands, strict=True):
            if layout is not None and not tx8be.is_none(value) and tx8be.ranked(value, "operand").rank == len(shape):
                return fit_layout(layout, shape)
        return None

    def backward(self, result: str) -> tuple[str | None, ...]:
        return tuple(
            None if tx8be.is_none(v) else fit_layout(result, tx8be.ranked(v, "operand").shape) for v in self.op.operands
        )


@InferLayout.implement(tx8be.TransposeOp)
class TransposeLayout(Model[tx8be.TransposeOp], InferLayout):
    """The letters of a CNN layout move with the axes."""

    def forward(self, operands: Sequence[str | None]) -> str | None:
        return self._permute(operands[0], self.op.perm, tx8be.ranked(self.op.y, "result").shape)

    def backward(self, result: str) -> tuple[str | None, ...]:
        inverse = [0] * len(self.op.perm)
        for i, axis in enumerate(self.op.perm):
            inverse[axis] = i
        return (self._permute(result, inverse, tx8be.ranked(self.op.x, "operand").shape),)

    def _permute(self, layout: str | None, perm: Sequence[int], shape: Sequence[int]) -> str | None:
        if layout is None or layout in PLAIN:
            return layout if layout is None else logical_layout(shape)
        return "".join(layout[axis] for axis in perm) if len(layout) == len(perm) else None
