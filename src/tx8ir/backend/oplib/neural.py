"""Kernels of the neural engine: Gemm and Conv, with bias and activation as post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tx8ir.backend.graph import CompileError
from tx8ir.backend.oplib.elementwise import binary_unit
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OpLib, OpQuery
from tx8ir.backend.oplib.kernel import OpKernel, addends
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.moves import AxisMap
from tx8ir.backend.oplib.precision import settle, widen
from tx8ir.backend.oplib.reduction import combine
from tx8ir.backend.oplib.streams import Streamed
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation
from tx8ir.target.formats import F32

__all__ = ["ConvLib", "ConvStream", "GemmLib", "GemmStream"]

OpT = TypeVar("OpT", tx8be.GemmOp, tx8be.ConvOp)


@OpLib.implement(tx8be.GemmOp)
class GemmLib(KernelModel[tx8be.GemmOp]):
    """One gemm instruction over the slice's batches."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.NE)

    def emit(self, kernel: OpKernel) -> None:
        _gemm(self.op, kernel, kernel.result, kernel.optional(3), last=True)


def _gemm(op: tx8be.GemmOp, kernel: OpKernel, out: SpmTensor, psum: SpmTensor | None, *, last: bool) -> None:
    lhs = kernel.operand(0)
    kernel.gemm(
        lhs,
        kernel.operand(1),
        out,
        m=out.shape[-2],
        k=lhs.shape[-2 if op.transL else -1],
        n=out.shape[-1],
        transpose_lhs=op.transL,
        transpose_rhs=op.transR,
        bias=kernel.optional(2) if last else None,
        psum=psum,
        activation=op.activation.value if last else "none",
    )


class _ProductStream(Model[OpT], Streamed):
    """The sum of products in fp32; the op's own psum is where it begins."""

    __slots__ = ()

    def state(self, result: SpmTensor) -> tuple[SpmTensor, ...]:
        return (result.with_format(F32),)

    def emit_phase(self, kernel: OpKernel, phase: str, state: Sequence[SpmTensor]) -> None:
        if phase == "finish":
            self._finish(kernel, state[0])
            return
        psum = kernel.optional(3) if phase == "first" else state[0]
        last = phase == "last"
        self.multiply(kernel, kernel.result if last else state[0], psum, last=last)

    def merge(self, kernel: OpKernel, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
        combine(kernel, "add", state, others)

    def _finish(self, kernel: OpKernel, total: SpmTensor) -> None:
        """Bias and activation of a sum that is complete, by the vector unit."""
        bias = kernel.optional(2)
        if bias is not None:
            binary_unit(kernel, "add", total, widen(kernel, bias), total)
        if self.op.activation is Activation.RELU:
            for count, at in kernel.each_run(total):
                kernel.unary("relu", at, at, count, F32)
        settle(kernel, total, kernel.result)

    def multiply(self, kernel: OpKernel, out: SpmTensor, psum: SpmTensor | None, *, last: bool) -> None:
        """Append the instruction of one part; the `last` one adds the bias and applies the activation."""
        raise NotImplementedError  # each kind of product has its own


@Streamed.implement(tx8be.GemmOp)
class GemmStream(_ProductStream[tx8be.GemmOp]):
    """The sum over K."""

    __slots__ = ()

    def multiply(self, kernel: OpKernel, out: SpmTensor, psum: SpmTensor | None, *, last: bool) -> None:
        _gemm(self.op, kernel, out, psum, last=last)


@OpLib.implement(tx8be.ConvOp)
class ConvLib(KernelModel[tx8be.ConvOp]):
    """One conv instruction; the slice's own pads."""

    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.NE)

    def emit(self, kernel: OpKernel) -> None:
        _conv(self.op, kernel, kernel.result, kernel.optional(3), last=True)


def _conv(op: tx8be.ConvOp, kernel: OpKernel, out: SpmTensor, psum: SpmTensor | None, *, last: bool) -> None:
    src, weight = kernel.operand(0), kernel.operand(1)
    if op.groups > 1:
        weight = _depthwise_weight(kernel, weight, src.channels)
    kernel.add(
        "conv",
        src=src.address,
        weight=weight.address,
        out=out.address,
        shape=src.nhwc,
        out_channels=out.channels,
        kernel=weight.shape[:2],
        strides=op.strides,
        pads=kernel.slice.pads,
        dilations=op.dilations,
        depthwise=op.groups > 1,
        in_format=src.format.name,
        out_format=out.format.name,
        **addends(psum=psum, bias=kernel.optional(2) if last else None),
        activation=op.activation.value if last else "none",
    )


@Streamed.implement(tx8be.ConvOp)
class ConvStream(_ProductStream[tx8be.ConvOp]):
    """The sum over input channels and window."""

    __slots__ = ()

    def multiply(self, kernel: OpKernel, out: SpmTensor, psum: SpmTensor | None, *, last: bool) -> None:
        _conv(self.op, kernel, out, psum, last=last)


def _depthwise_weight(kernel: OpKernel, weight: SpmTensor, channels: int) -> SpmTensor:
    """The weight of a depthwise convolution as the engine reads it: [KH, KW, 1, C] from [KH, KW, C, 1]."""
    kh, kw, out_channels, _ = weight.shape
    if out_channels != channels:
        raise CompileError(f"a depthwise Conv of {channels} channels gives as many, not {out_channels}")
    turned = kernel.temporary(SpmTensor(weight.format, (kh, kw, 1, channels), weight.layout))
    kernel.clear_padding(turned)
    kernel.move(weight, turned, [AxisMap(kh, 0), AxisMap(kw, 1), AxisMap(1, 3), AxisMap(channels, 2)])
    return turned
