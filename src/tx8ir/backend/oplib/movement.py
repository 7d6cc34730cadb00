"""Kernels that move elements: channel norm, transpose, slice, concatenate, broadcast, gather; reshape is an alias."""

from __future__ import annotations

from tx8ir.backend.graph import CompileError, format_of, shape_of
from tx8ir.backend.oplib.interface import (
    ALL_OPERANDS,
    AlignMode,
    MainEngine,
    OpLib,
    OpQuery,
)
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.moves import AxisMap
from tx8ir.dialects import tx8be

__all__ = ["BroadcastLib", "ChannelNormLib", "ConcatenateLib", "GatherLib", "ReshapeLib", "SliceLib", "TransposeLib"]


@OpLib.implement(tx8be.ChannelNormOp)
class ChannelNormLib(KernelModel[tx8be.ChannelNormOp]):
    """Dense to blocked or back: one channelnorm instruction, which writes padding lanes as zero."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.CONVERT, rank_layout(self.op), engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        src, dst = kernel.operand(0), kernel.result
        blocked = dst if self.op.direction else src
        fields = {"src": src.address, "dst": dst.address}
        kernel.add("channelnorm", **fields, shape=blocked.nhwc, format=src.format.name, direction=self.op.direction)


@OpLib.implement(tx8be.TransposeOp)
class TransposeLib(KernelModel[tx8be.TransposeOp]):
    """TDMA walks from the operand's elements to the result's."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.TDMA)

    def emit(self, kernel: OpKernel) -> None:
        out = kernel.result
        kernel.clear_padding(out)
        axes = [AxisMap(extent, source) for extent, source in zip(out.shape, self.op.perm, strict=True)]
        kernel.move(kernel.operand(0), out, axes)


@OpLib.implement(tx8be.SliceOp)
class SliceLib(KernelModel[tx8be.SliceOp]):
    """The load brings the very elements of the result: no instruction when the result takes the operand's buffer."""

    __slots__ = ()

    def query(self) -> OpQuery:
        start, end = self.op.starts[-1], self.op.ends[-1]
        mode = AlignMode.NALIGN if start > 0 and end % 64 == 0 else AlignMode.ALIGN
        return OpQuery(mode, rank_layout(self.op), engine=MainEngine.TDMA)

    def emit(self, kernel: OpKernel) -> None:
        source, out = kernel.operand(0), kernel.result
        if source.address != out.address:
            kernel.copy(source, out)


@OpLib.implement(tx8be.ConcatenateOp)
class ConcatenateLib(KernelModel[tx8be.ConcatenateOp]):
    """A TDMA copy per operand."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.TDMA)

    def emit(self, kernel: OpKernel) -> None:
        out, axis = kernel.result, self.op.axis
        kernel.clear_padding(out)
        start = 0
        for index in range(len(kernel.slice.operands)):
            source = kernel.operand(index)
            shift = [start if j == axis else 0 for j in range(len(out.shape))]
            kernel.move(source, out, [AxisMap(n, j, 0, shift[j]) for j, n in enumerate(source.shape)])
            start += source.shape[axis]


@OpLib.implement(tx8be.BroadcastOp)
class BroadcastLib(KernelModel[tx8be.BroadcastOp]):
    """TDMA walks with source stride 0 on the repeated axes."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.NALIGN, rank_layout(self.op), engine=MainEngine.TDMA)

    def emit(self, kernel: OpKernel) -> None:
        source, out = kernel.operand(0), kernel.result
        kernel.clear_padding(out)
        missing = len(out.shape) - len(source.shape)
        axes: list[AxisMap] = []
        for j, extent in enumerate(out.shape):
            repeated = j < missing or source.shape[j - missing] != extent
            axes.append(AxisMap(extent, None if repeated else j - missing))
        kernel.move(source, out, axes)


@OpLib.implement(tx8be.GatherOp)
class GatherLib(KernelModel[tx8be.GatherOp]):
    """RDMA fetches the named rows straight from the table in DDR; only the indices are loaded."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.NALIGN, rank_layout(self.op), engine=MainEngine.RDMA, need_load=ALL_OPERANDS & ~1)

    def emit(self, kernel: OpKernel) -> None:
        indices, out = kernel.operand(1), kernel.result
        rows, width = shape_of(self.op.table)
        kernel.add(
            "rdma_gather",
            spm=out.address,
            ddr=kernel.slice.tables[0],
            index_spm=indices.address,
            index_format=format_of(self.op.indices).name,
            row_bytes=out.channels * out.format.bytes,
            row_stride_bytes=width * out.format.bytes,
            count=indices.num_elements,
            rows=rows,
        )


def _batch_and_channels(shape: tuple[int, ...]) -> tuple[int, int]:
    """What a blocked layout keeps apart: batch (axis 0 from rank 3 on) and channels; the rest is one run of rows."""
    return (shape[0] if len(shape) > 2 else 1), (shape[-1] if shape else 1)


@OpLib.implement(tx8be.ReshapeOp)
class ReshapeLib(KernelModel[tx8be.ReshapeOp]):
    """The same bytes in DDR under another shape: nothing is loaded, computed or stored.

    Dense in general; in either layout when batch and channels survive, as the rows between them only regroup.
    """

    __slots__ = ()

    def query(self) -> OpQuery:
        survive = _batch_and_channels(shape_of(self.op.x)) == _batch_and_channels(shape_of(self.op.y))
        mode = AlignMode.BOTH if survive else AlignMode.NALIGN
        return OpQuery(mode, rank_layout(self.op), engine=MainEngine.NONE, need_load=0, need_store=0)

    def emit(self, kernel: OpKernel) -> None:
        raise CompileError("a reshape is an alias in DDR and has no kernel", op=self.op)
