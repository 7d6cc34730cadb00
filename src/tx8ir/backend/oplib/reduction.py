"""Kernels of Reduce and Pool: one vector unit instruction each, on channel-blocked tensors."""

from __future__ import annotations

from tx8ir.backend.graph import shape_of
from tx8ir.backend.oplib.boxes import Box, window_box
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OperandSlices, OpLib, OpQuery, Sharding
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, last_axis_granule, rank_layout
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.target.chip import Target

__all__ = ["PoolCuts", "PoolLib", "ReduceCuts", "ReduceLib", "window_granules"]


@OpLib.implement(tx8be.ReduceOp)
class ReduceLib(KernelModel[tx8be.ReduceOp]):
    """The instruction sees rank 4 as NHWC, lower ranks with leading extents of 1."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), need_preset=True, engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        axis = tx8be.reduce_axes(len(shape_of(self.op.x)))[self.op.axes]
        kernel.reduce(self.op.function.value, axis, kernel.operand(0), kernel.result)


@Sharding.implement(tx8be.ReduceOp)
class ReduceCuts(Model[tx8be.ReduceOp]):
    """The reduced axes are never cut."""

    __slots__ = ()

    def cut_alignment(self, target: Target) -> tuple[int | None, ...]:
        rank = len(shape_of(self.op.y))
        last = last_axis_granule(self.op.results[0], target)
        return tuple(None if a in self.op.axes else last if a == rank - 1 else 1 for a in range(rank))

    def operand_slices(self, out: Box) -> OperandSlices:
        box = out
        shape = shape_of(self.op.x)
        for axis in self.op.axes:
            box = box.replace(axis, 0, shape[axis])
        return OperandSlices((box,))


@OpLib.implement(tx8be.PoolOp)
class PoolLib(KernelModel[tx8be.PoolOp]):
    """One pool instruction; the slice's own pads."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), need_preset=True, engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        src, dst = kernel.operand(0), kernel.result
        kernel.add(
            "pool",
            function=self.op.function.value,
            src=src.address,
            dst=dst.address,
            shape=src.nhwc,
            kernel=self.op.kernel,
            strides=self.op.strides,
            pads=kernel.slice.pads,
            format=src.format.name,
        )


def window_granules(reach: tuple[int, int], pads: tuple[int, ...], channel: int | None) -> tuple[int | None, ...]:
    """Cuts of a sliding-window op's NHWC result; an axis with a window wholly inside padding is not cut."""
    cut = [1 if max(pads[2 * i : 2 * i + 2]) < reach[i] else None for i in range(2)]
    return (1, *cut, channel)


@Sharding.implement(tx8be.PoolOp)
class PoolCuts(Model[tx8be.PoolOp]):
    """Any axis; the operand's window grows by the kernel and is clipped to the feature."""

    __slots__ = ()

    def cut_alignment(self, target: Target) -> tuple[int | None, ...]:
        kh, kw = self.op.kernel
        return window_granules((kh, kw), self.op.pads, last_axis_granule(self.op.results[0], target))

    def operand_slices(self, out: Box) -> OperandSlices:
        box, pads = window_box(
            out,
            shape_of(self.op.y),
            shape_of(self.op.x),
            kernel=self.op.kernel,
            strides=self.op.strides,
            pads=self.op.pads,
        )
        return OperandSlices((box,), pads)
