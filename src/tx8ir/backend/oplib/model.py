"""Bases of the `OpLib` and `Sharding` models: everything that follows from `emit` and from simple cutting rules."""

from __future__ import annotations

from typing import TypeVar

from tx8ir.backend.graph import format_of, optional_shape, shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.interface import OperandSlices, OpQuery
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.core import Model, Operation, Value
from tx8ir.target.chip import Target
from tx8ir.target.layout import aligned_channels

__all__ = ["ElementwiseSharding", "KernelModel", "last_axis_granule", "rank_layout"]

OpT = TypeVar("OpT", bound=Operation)


def rank_layout(op: Operation) -> str:
    """`OpQuery.default_layout` of an op: "Tensor" up to rank 2, "NTensor" above."""
    return "Tensor" if len(shape_of(op.results[0])) <= 2 else "NTensor"


def last_axis_granule(value: Value, target: Target) -> int:
    """Where the last axis of `value`, the result of an op, may be cut; a scalar is stored as one element of rank 1.

    At channel blocks (64 elements, 128 of a 1-byte format) when the blocked value has padding lanes, as the tile with
    the last block must write them. Otherwise at 16 elements, a full C0 tail by itself and the columns of one step of
    the neural engine: a tile then needs the weights of its own columns only.
    """
    format = format_of(value)
    if format.is_packed:
        return 1
    channels = (shape_of(value) or (1,))[-1]
    padded = aligned_channels(channels, format) != channels
    return format.block if padded else target.profile.ne_step[1]


class KernelModel(Model[OpT]):
    """An `OpLib` model whose temporaries and cycles are read off what `emit` writes."""

    __slots__ = ()

    def query(self) -> OpQuery:
        raise NotImplementedError  # each kind of op answers for itself

    def emit(self, kernel: OpKernel) -> None:
        raise NotImplementedError  # each kind of op answers for itself


class ElementwiseSharding(Model[OpT]):
    """Cuts of an op whose operands have the result's shape, or are rank-1 over its last axis."""

    __slots__ = ()

    def cut_alignment(self, target: Target) -> tuple[int | None, ...]:
        rank = len(shape_of(self.op.results[0]))
        return (1,) * (rank - 1) + (last_axis_granule(self.op.results[0], target),) * min(rank, 1)

    def operand_slices(self, out: Box) -> OperandSlices:
        boxes: list[Box | None] = []
        for value in self.op.operands:
            shape = optional_shape(value)
            if shape is None:
                boxes.append(None)
            elif len(shape) == out.rank:
                boxes.append(out)
            else:
                boxes.append(out.take([out.rank - 1]))
        return OperandSlices(tuple(boxes))
