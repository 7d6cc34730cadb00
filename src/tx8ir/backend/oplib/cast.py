"""Kernel of Cast: one conversion, with the spreading or packing that the convert instruction's spacing asks for.

An integer becomes a narrower one by moving its low bytes, and a wider one through fp32.
"""

from __future__ import annotations

from tx8ir.backend.oplib.facts import format_of
from tx8ir.backend.oplib.interface import AlignMode, Engine, OpLib, OpQuery
from tx8ir.backend.oplib.kernel import Kernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.precision import convert_tensor, take_low_bytes
from tx8ir.dialects import tx8be
from tx8ir.target.formats import F32

__all__ = ["CastLib"]


@OpLib.implement(tx8be.CastOp)
class CastLib(KernelModel[tx8be.CastOp]):
    """Any layout, but dense only between formats whose channel blocks differ (1-byte formats)."""

    __slots__ = ()

    def query(self) -> OpQuery:
        source, target = format_of(self.op.x), format_of(self.op.y)
        packed = source.is_packed or target.is_packed
        mode = AlignMode.NALIGN if packed or source.block != target.block else AlignMode.BOTH
        return OpQuery(mode, rank_layout(self.op), engine=Engine.CT)

    def emit(self, kernel: Kernel) -> None:
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
