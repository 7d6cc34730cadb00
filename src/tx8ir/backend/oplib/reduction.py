"""Kernels of Reduce and Pool: one vector unit instruction each, on channel-blocked tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tx8ir.backend.graph import shape_of
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OpLib, OpQuery
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.precision import settle, widen
from tx8ir.backend.oplib.streams import Streamed
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import ReduceFunction
from tx8ir.target.formats import F32
from tx8ir.target.layout import MemLayout

__all__ = ["PoolLib", "ReduceLib", "ReduceStream", "combine"]


@OpLib.implement(tx8be.ReduceOp)
class ReduceLib(KernelModel[tx8be.ReduceOp]):
    """The instruction sees rank 4 as NHWC, lower ranks with leading extents of 1."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.CT)

    def emit(self, kernel: OpKernel) -> None:
        axis = tx8be.reduce_axes(len(shape_of(self.op.x)))[self.op.axes]
        kernel.reduce(self.op.function.value, axis, kernel.operand(0), kernel.result)


@Streamed.implement(tx8be.ReduceOp)
class ReduceStream(Model[tx8be.ReduceOp], Streamed):
    """A sum in fp32, or the largest or smallest number so far."""

    __slots__ = ()

    @property
    def _adds(self) -> bool:
        return self.op.function in (ReduceFunction.SUM, ReduceFunction.AVG)

    def state(self, result: SpmTensor) -> tuple[SpmTensor, ...]:
        return (result.with_format(F32) if self._adds else result,)

    def emit_phase(self, kernel: OpKernel, phase: str, state: Sequence[SpmTensor]) -> None:
        (total,) = state
        if phase != "finish":
            self._take(kernel, total, begins=phase == "first")
        if phase in ("last", "finish"):
            if self.op.function is ReduceFunction.AVG:
                shape = shape_of(self.op.x)
                for count, at in kernel.each_run(total):
                    kernel.binary_vs("div", at, math.prod(shape[axis] for axis in self.op.axes), at, count, F32)
            settle(kernel, total, kernel.result)

    def merge(self, kernel: OpKernel, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
        combine(kernel, "add" if self._adds else self.op.function.value, state, others)

    def _take(self, kernel: OpKernel, total: SpmTensor, *, begins: bool) -> None:
        """Begin the state with a part, or add one to it."""
        x = kernel.operand(0)
        axis = tx8be.reduce_axes(len(x.shape))[self.op.axes]
        if self._adds and x.format != F32:
            if _sum_by_product(kernel, axis, x, total, begins=begins):
                return
            x = widen(kernel, x)
        part = total if begins else kernel.temporary(total)
        kernel.reduce("sum" if self._adds else self.op.function.value, axis, x, part)
        if not begins:
            combine(kernel, "add" if self._adds else self.op.function.value, (total,), ((part,),))


def combine(kernel: OpKernel, function: str, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
    """`state` becomes `function` of itself and of all `others`, tensor by tensor."""
    for other in others:
        for own, part in zip(state, other, strict=True):
            for count, a, b in kernel.each_run(own, part):
                kernel.binary_vv(function, a, b, a, count, own.format)


def _sum_by_product(kernel: OpKernel, axis: str, x: SpmTensor, total: SpmTensor, *, begins: bool) -> bool:
    """The sum of numbers of 16 bits as a product with ones, which the neural engine adds up in fp32.

    The vector unit would round each part to 16 bits, or read one spread to 32. False where `axis` is none of a matrix.
    """
    _, h, w, channels = x.nhwc
    psum = None if begins else total
    if axis == "C":
        ones = kernel.temporary(SpmTensor(x.format, (1, channels), MemLayout.Cx))
        kernel.fill(ones, 1.0)
        kernel.gemm(x, ones, total, m=h * w, k=channels, n=1, transpose_rhs=True, psum=psum)
    elif axis == "HW" or (axis == "W" and h == 1) or (axis == "H" and w == 1):
        ones = kernel.temporary(SpmTensor(x.format, (1, h * w), MemLayout.Cx))
        kernel.fill(ones, 1.0)
        kernel.gemm(ones, x, total, m=1, k=h * w, n=channels, psum=psum)
    else:
        return False
    return True


@OpLib.implement(tx8be.PoolOp)
class PoolLib(KernelModel[tx8be.PoolOp]):
    """One pool instruction; the slice's own pads."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.CT)

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
