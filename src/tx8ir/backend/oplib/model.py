"""Bases of the `OpLib` and `Sharding` models: everything that follows from `emit` and from simple cutting rules."""

from __future__ import annotations

from typing import TypeVar

from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.costs import kernel_cycles
from tx8ir.backend.oplib.facts import format_of, optional_shape, shape_of
from tx8ir.backend.oplib.interface import OperandSlices, OpQuery
from tx8ir.backend.oplib.kernel import Kernel, OpSlice
from tx8ir.core import Model, Operation
from tx8ir.target.chip import TX8, Target
from tx8ir.target.layout import aligned_channels

__all__ = ["ElementwiseSharding", "KernelModel", "column_granule", "last_axis_granule", "rank_layout"]

OpT = TypeVar("OpT", bound=Operation)


def rank_layout(op: Operation) -> str:
    """`OpQuery.default_layout` of an op: "Tensor" up to rank 2, "NTensor" above."""
    return "Tensor" if len(shape_of(op.results[0])) <= 2 else "NTensor"


def last_axis_granule(op: Operation) -> int:
    """Elements of one channel block of the result: 128 for 1-byte formats, else 64."""
    format = format_of(op.results[0])
    return 1 if format.is_packed else format.block


def column_granule(op: Operation) -> int:
    """Where the output channels of a neural engine op may be cut.

    The engine takes 16 columns at a time, so each tile needs the weights of its own 16 only; with padding lanes in the
    result cuts stay at channel blocks, as the padding must be written by the tile that has the last block.
    """
    block = last_axis_granule(op)
    channels = shape_of(op.results[0])[-1]
    padded = aligned_channels(channels, format_of(op.results[0])) != channels
    return block if padded else TX8.profile.ne_step[1]


class KernelModel(Model[OpT]):
    """An `OpLib` model whose temporaries and cycles are read off what `emit` writes."""

    __slots__ = ()

    def query(self) -> OpQuery:
        raise NotImplementedError  # each kind of op answers for itself

    def emit(self, kernel: Kernel) -> None:
        raise NotImplementedError  # each kind of op answers for itself

    def trial(self, op_slice: OpSlice, target: Target = TX8) -> Kernel:
        """The kernel of `op_slice`, with its temporaries at address 0."""
        kernel = Kernel(op_slice, target=target)
        self.emit(kernel)
        return kernel

    def spm_temp_bytes(self, op_slice: OpSlice, target: Target = TX8) -> int:
        return self.trial(op_slice, target).temp_bytes

    def cycles(self, op_slice: OpSlice, target: Target = TX8) -> int:
        return kernel_cycles(self.trial(op_slice, target).instructions, target)


class ElementwiseSharding(Model[OpT]):
    """Cuts of an op whose operands have the result's shape, or are rank-1 over its last axis."""

    __slots__ = ()

    def granules(self) -> tuple[int | None, ...]:
        rank = len(shape_of(self.op.results[0]))
        return (1,) * (rank - 1) + (last_axis_granule(self.op),) * min(rank, 1)

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
