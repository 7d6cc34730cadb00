"""Row-wise normalisations over the last axis: Softmax and LayerNorm, computed in fp32 on channel-blocked tensors.

A scalar per row reaches its whole row as an outer product with a row of ones on the neural engine: one exact product
per element (K = 1, no accumulation), where a TDMA broadcast would copy lane by lane.
"""

from __future__ import annotations

from tx8ir.backend.graph import optional_shape, shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.elementwise import binary_unit
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OperandSlices, OpLib, OpQuery, Sharding
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.precision import narrow, widen
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Model, Operation
from tx8ir.dialects import tx8be
from tx8ir.target.chip import Target
from tx8ir.target.formats import F32
from tx8ir.target.layout import MemLayout

__all__ = ["LayerNormLib", "RowCuts", "SoftmaxLib"]


class _RowKernel:
    """The steps that Softmax and LayerNorm share, on fp32 tensors of the form of `like`."""

    def __init__(self, kernel: OpKernel, like: SpmTensor) -> None:
        self.kernel = kernel
        self.like = like
        self.ones = kernel.temporary(SpmTensor(F32, (1, like.channels), MemLayout.Cx))
        kernel.fill(self.ones, 1.0)
        self.row = kernel.temporary(like.with_channels(1))
        self.spread = kernel.temporary(like)

    def reduce(self, function: str, src: SpmTensor) -> SpmTensor:
        """One value per row of `src`."""
        self.kernel.reduce(function, "C", src, self.row)
        return self.row

    def broadcast(self, row: SpmTensor) -> SpmTensor:
        """The row scalars, repeated over the channels."""
        out = self.spread
        self.kernel.gemm(row, self.ones, out, m=out.hw, k=1, n=out.channels)
        return out

    def vv(self, function: str, lhs: SpmTensor, rhs: SpmTensor, dst: SpmTensor) -> None:
        for count, a, b, to in self.kernel.each_run(lhs, rhs, dst):
            self.kernel.binary_vv(function, a, b, to, count, F32)

    def unary(self, function: str, src: SpmTensor, dst: SpmTensor) -> None:
        for count, a, to in self.kernel.each_run(src, dst):
            self.kernel.unary(function, a, to, count, F32)


class _RowLib(KernelModel[Operation]):
    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), need_preset=True, engine=MainEngine.CT)

    def output(self, kernel: OpKernel) -> SpmTensor:
        """Where the fp32 result goes: the result itself, or a temporary that is narrowed at the end."""
        out = kernel.result
        return out if out.format == F32 else kernel.temporary(out.with_format(F32))

    def finish(self, kernel: OpKernel, wide: SpmTensor) -> None:
        if wide.format != kernel.result.format:
            narrow(kernel, wide, kernel.result)


@OpLib.implement(tx8be.SoftmaxOp)
class SoftmaxLib(_RowLib):
    """Subtract the row's maximum, exponentiate, divide by the row's sum."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        x = widen(kernel, kernel.operand(0))
        y = self.output(kernel)
        rows = _RowKernel(kernel, y)
        rows.vv("sub", x, rows.broadcast(rows.reduce("max", x)), y)
        rows.unary("exp", y, y)
        rows.vv("div", y, rows.broadcast(rows.reduce("sum", y)), y)
        self.finish(kernel, y)


@OpLib.implement(tx8be.LayerNormOp)
class LayerNormLib(_RowLib):
    """Centre the row, divide by its standard deviation, scale and shift."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        assert isinstance(self.op, tx8be.LayerNormOp)
        x = widen(kernel, kernel.operand(0))
        y = self.output(kernel)
        rows = _RowKernel(kernel, y)
        rows.vv("sub", x, rows.broadcast(rows.reduce("avg", x)), y)
        rows.unary("square", y, rows.spread)
        row = rows.reduce("avg", rows.spread)
        for count, at in kernel.each_run(row):
            kernel.binary_vs("add", at, self.op.epsilon, at, count, F32)
        rows.unary("rsqrt", row, row)
        rows.vv("mul", y, rows.broadcast(row), y)
        for index, function in ((1, "mul"), (2, "add")):
            unit = kernel.optional(index)
            if unit is not None:
                binary_unit(kernel, function, y, widen(kernel, unit), y)
        self.finish(kernel, y)


@Sharding.implement(tx8be.SoftmaxOp, tx8be.LayerNormOp)
class RowCuts(Model[Operation]):
    """Rows are independent, a row is never cut."""

    __slots__ = ()

    def cut_alignment(self, target: Target) -> tuple[int | None, ...]:
        return (*(1 for _ in shape_of(self.op.results[0])[1:]), None)

    def operand_slices(self, out: Box) -> OperandSlices:
        shapes = [optional_shape(value) for value in self.op.operands]
        units = [None if shape is None else Box.whole(shape) for shape in shapes[1:]]
        return OperandSlices((out, *units))
