"""Element formats that the chip's engines compute in."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.lowering.context import LoweringError
from tx8ir.core import Operation
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import BinaryOp, UnaryOp

VECTOR_OPS = (
    BinaryOp, UnaryOp, tx8be.SelectOp, tx8be.ReduceOp, tx8be.PoolOp, tx8be.SoftmaxOp, tx8be.LayerNormOp,
)  # fmt: skip
"""Ops of the vector unit, which computes in floating point."""
ENGINE_FORMATS = (*tx8.FLOATS, "i8")
"""Formats of the neural engine's operands."""


def check_formats(op: Operation) -> None:
    """Raise `LoweringError` when a backend op has operands or results in a format that no engine computes in.

    Moves (reshape, slice, gather, …) take any format.
    """
    accepted: Sequence[str]
    values = (*op.operands, *op.results)
    if isinstance(op, VECTOR_OPS):
        accepted = tx8.FLOATS
    elif isinstance(op, tx8be.CastOp):
        accepted = tx8.NUMERIC
    elif isinstance(op, tx8be.GemmOp | tx8be.ConvOp):
        accepted, values = ENGINE_FORMATS, op.operands[:2]  # the engine adds and writes integers of i8 in i32
    else:
        return
    for value in values:
        if tx8be.is_none(value):
            continue
        name = tx8be.ranked(value, "operand").element.format.name
        if name not in accepted:
            what = "converts between" if isinstance(op, tx8be.CastOp) else "computes in"
            raise LoweringError(f"{op.name} {what} {', '.join(accepted)}, not {name}")
