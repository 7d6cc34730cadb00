"""Axes of the matrix product: b, m and n parallel, k reduced into an fp32 or int32 sum."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.combination import Array, State, Sum, accumulator
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.maps import FIXED, Along, along
from tx8ir.backend.axes.pieces import compute, element_of, piece
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.backend.axes.spaces import identity, optional_shape, shape_of
from tx8ir.core import Model, ScalarType
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation
from tx8ir.dialects.tx8be.neural import apply_activation, saturate

__all__ = ["GemmAxes", "neural_finish", "neural_step"]

EPILOGUE = (2, 3)
"""Operands of `Gemm` and `Conv` that are added when the sum is complete: bias and psum."""


@Axes.implement(tx8be.GemmOp)
class GemmAxes(Model[tx8be.GemmOp], Axes):
    """`out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]`."""

    __slots__ = ()

    def declare(self) -> Declaration:
        op = self.op
        out, lhs, rhs = shape_of(op.out), shape_of(op.lhs), shape_of(op.rhs)
        k = lhs[-2] if op.transL else lhs[-1]
        batched = [Axis("b", out[0])] if len(out) == 3 else []
        axes = (*batched, Axis("m", out[-2]), Axis("n", out[-1]), Axis("k", k, AxisKind.REDUCED))
        m, n, contracted = range(len(batched), len(batched) + 3)

        def matrix(shape: tuple[int, ...], rows: int, columns: int, *, transposed: bool) -> tuple[Along, ...]:
            inner = identity(axes, (columns, rows) if transposed else (rows, columns))
            if len(shape) == 2:
                return inner
            return (along(0, out[0]) if shape[0] == out[0] else FIXED, *inner)

        result = identity(axes, range(len(out)))
        operands = (
            matrix(lhs, m, contracted, transposed=op.transL),
            matrix(rhs, contracted, n, transposed=op.transR),
            None if optional_shape(op.bias) is None else identity(axes, (n,)),
            None if optional_shape(op.psum) is None else result,
        )
        return Declaration(axes, operands, (result,), Sum(accumulator(element_of(op.lhs).format)))

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        return neural_step(self.op, slices, operands, {})

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        return neural_finish(self.op, state, operands)


def neural_step(
    op: tx8be.GemmOp | tx8be.ConvOp, slices: OpSlices, operands: Sequence[Array | None], attributes: dict[str, object]
) -> State:
    """The psum of a part: the op without bias, psum and activation, its result in the accumulator's format."""
    wide = ScalarType(accumulator(element_of(op.operands[0]).format))
    part = piece(op, slices, {**attributes, "activation": Activation.NONE}, without=EPILOGUE, element=wide)
    return (compute(part, operands),)


def neural_finish(op: tx8be.GemmOp | tx8be.ConvOp, state: State, operands: Sequence[Array | None]) -> Array:
    """The epilogue after the last merge: psum, bias and activation; integers saturate."""
    (out,) = state
    for number in reversed(EPILOGUE):
        addend = operands[number]
        if addend is not None:
            out = out + addend
    out = apply_activation(out, op.activation)
    return out if element_of(op.out).is_float else saturate(out, tx8be.ranked(op.out, "result"))
