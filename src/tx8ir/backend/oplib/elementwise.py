"""Kernels of the vector unit's elementwise ops: unary, binary with vector, scalar or unit, relations, select.

A cast of an integer to a narrower one moves its low bytes; to a wider one it goes through fp32.
"""

from __future__ import annotations

from tx8ir.backend.graph import format_of
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OpLib, OpQuery
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.moves import identity
from tx8ir.backend.oplib.precision import convert_tensor, take_low_bytes
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Operation
from tx8ir.dialects import tx8be
from tx8ir.target.formats import F32

__all__ = ["binary_unit", "CastLib"]


def binary_unit(kernel: OpKernel, function: str, src: SpmTensor, unit: SpmTensor, dst: SpmTensor) -> None:
    """``dst = function(src, unit)`` with a rank-1 `unit` over the last axis of `src`.

    A dense tensor is one VuV over its elements. A blocked one takes, per batch, a VuV_loop over the channel blocks
    (a plain VuV when there is one) and one more VuV for the C0 tail.
    """
    bytes_ = src.format.bytes
    if not src.blocked:
        count = src.batches * src.hw * src.channels
        _vuv(kernel, function, src.address, unit.address, dst.address, count, src.channels, src)
        return
    unit = _unit_lanes(kernel, unit, src.lanes)
    block = src.format.block
    blocks, tail = divmod(src.lanes, block)
    for n in range(src.batches):
        offset = n * src.batch_bytes
        at = (src.address + offset, unit.address, dst.address + offset)
        if blocks == 1:
            _vuv(kernel, function, *at, src.hw * block, block, src)
        elif blocks > 1:
            kernel.add(
                "binary_vuv_loop",
                function=function,
                src=at[0],
                unit=at[1],
                dst=at[2],
                count=src.hw * block,
                unit_count=block,
                full_count=src.hw * block * blocks,
                full_unit_count=block * blocks,
                format=src.format.name,
            )
        if tail:
            skip = src.hw * block * blocks * bytes_
            unit_at = at[1] + blocks * block * bytes_
            _vuv(kernel, function, at[0] + skip, unit_at, at[2] + skip, src.hw * tail, tail, src)


def _vuv(
    kernel: OpKernel, function: str, src: int, unit: int, dst: int, count: int, unit_count: int, like: SpmTensor
) -> None:
    fields = {"function": function, "src": src, "unit": unit, "dst": dst, "count": count, "unit_count": unit_count}
    kernel.add("binary_vuv", **fields, format=like.format.name)


def _unit_lanes(kernel: OpKernel, unit: SpmTensor, lanes: int) -> SpmTensor:
    """`unit` with all the lanes that a blocked operand has: a dense one is copied into a zeroed temporary."""
    if unit.lanes == lanes:
        return unit
    wide = SpmTensor(unit.format, (lanes,), unit.layout)
    wide = wide.at(kernel.take(wide.size_bytes))
    kernel.fill(wide)
    kernel.move(unit, wide, identity(unit.shape))
    return wide


class _ElementwiseLib(KernelModel[Operation]):
    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.BOTH, rank_layout(self.op), engine=MainEngine.CT)


@OpLib.implement(tx8be.UnaryOp)
class UnaryLib(_ElementwiseLib):
    """One vector instruction per stretch without gap."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        op = self.op
        assert isinstance(op, tx8be.UnaryOp)
        for count, src, dst in kernel.each_run(kernel.operand(0), kernel.result):
            kernel.unary(op.function.name, src, dst, count, kernel.result.format, op.parameter)


@OpLib.implement(tx8be.BinaryOp)
class BinaryLib(_ElementwiseLib):
    """VV, VS or VuV by the form of the right operand; relations give 1.0/0.0."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        assert isinstance(self.op, tx8be.BinaryOp)
        function = tx8be.function_of(type(self.op))
        lhs, rhs, out = kernel.operand(0), kernel.optional(1), kernel.result
        if rhs is None:
            assert self.op.scalar is not None
            for count, src, dst in kernel.each_run(lhs, out):
                kernel.binary_vs(function, src, self.op.scalar, dst, count, out.format)
        elif len(rhs.shape) == len(lhs.shape):
            for count, a, b, dst in kernel.each_run(lhs, rhs, out):
                kernel.binary_vv(function, a, b, dst, count, out.format)
        else:
            binary_unit(kernel, function, lhs, rhs, out)


@OpLib.implement(tx8be.SelectOp)
class SelectLib(_ElementwiseLib):
    """The second choice is written everywhere, the first over it where the mask is not zero."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.BOTH, rank_layout(self.op), engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        op = self.op
        assert isinstance(op, tx8be.SelectOp)
        cond, a, b, out = kernel.operand(0), kernel.optional(1), kernel.optional(2), kernel.result
        if b is None:
            assert op.b_scalar is not None
            kernel.fill(out, op.b_scalar)
        else:
            kernel.copy(b, out)
        if a is None:
            assert op.a_scalar is not None
            a = kernel.temporary(out)
            kernel.fill(a, op.a_scalar)
        for count, src, mask, dst in kernel.each_run(a, cond, out):
            kernel.maskmove(src, mask, dst, count, out.format)


@OpLib.implement(tx8be.CastOp)
class CastLib(KernelModel[tx8be.CastOp]):
    """Any layout, but dense only between formats whose channel blocks differ (1-byte formats)."""

    __slots__ = ()

    def query(self) -> OpQuery:
        source, target = format_of(self.op.x), format_of(self.op.y)
        packed = source.is_packed or target.is_packed
        mode = AlignMode.NALIGN if packed or source.block != target.block else AlignMode.BOTH
        return OpQuery(mode, rank_layout(self.op), engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        source, target = kernel.operand(0), kernel.result
        if source.format == target.format:
            kernel.copy(source, target)
        elif source.format.is_float or target.format.is_float:
            convert_tensor(kernel, source, target)
        elif target.format.bits < source.format.bits:
            take_low_bytes(kernel, source, target)
        else:  # hardware converts no integer to another: by way of fp32, which has all that the narrower one has
            wide = kernel.temporary(source.with_format(F32))
            convert_tensor(kernel, source, wide)
            convert_tensor(kernel, wide, target)
