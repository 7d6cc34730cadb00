"""Widening to fp32 and narrowing back, for kernels that compute 16-bit data in fp32 and round once."""

from __future__ import annotations

from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.moves import Walk
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.target.formats import F32
from tx8ir.target.rounding import Rounding

__all__ = ["convert_tensor", "narrow", "settle", "take_low_bytes", "widen"]


def _stretches(a: SpmTensor, b: SpmTensor) -> list[tuple[int, int, int]]:
    """``(elements, offset in a, offset in b)``: runs of `a`, or batches when the batch gaps of the two differ."""
    if len(a.runs) == len(b.runs) == 1:
        return [(a.runs[0][1], 0, 0)]
    return [(a.batch_elements, n * a.batch_bytes, n * b.batch_bytes) for n in range(a.batches)]


def convert_tensor(kernel: OpKernel, src: SpmTensor, dst: SpmTensor) -> None:
    """Converts `src` to the format of `dst`, a tensor of the same shape and layout.

    To nearest-even, but toward zero from a floating format to an integer one.

    The convert instruction keeps the wider format's spacing, so narrow elements are spread before it or packed after
    it (machine.md §4).
    """
    narrow_bytes, wide_bytes = sorted((src.format.bytes, dst.format.bytes))
    spread = src.format.bytes < dst.format.bytes
    truncates = src.format.is_float and dst.format.is_integer
    rounding = Rounding.TOWARD_ZERO if truncates else Rounding.NEAREST_EVEN
    for count, src_offset, dst_offset in _stretches(src, dst):
        at, to = src.address + src_offset, dst.address + dst_offset
        if src.format.bytes == dst.format.bytes:
            kernel.convert(at, to, count, src.format, dst.format, rounding)
        elif spread:
            kernel.tdma([Walk(0, 0, ((count, narrow_bytes, wide_bytes),), narrow_bytes)], at, to)
            kernel.convert(to, to, count, src.format, dst.format, rounding)
        else:
            buffer = kernel.take(count * wide_bytes)
            kernel.convert(at, buffer, count, src.format, dst.format, rounding)
            kernel.tdma([Walk(0, 0, ((count, wide_bytes, narrow_bytes),), narrow_bytes)], buffer, to)


def take_low_bytes(kernel: OpKernel, src: SpmTensor, dst: SpmTensor) -> None:
    """Writes the integers of `src` modulo a power of two to `dst`, a tensor of the same shape and layout."""
    wide, narrow_bytes = src.format.bytes, dst.format.bytes
    for count, src_offset, dst_offset in _stretches(src, dst):
        walk = Walk(0, 0, ((count, wide, narrow_bytes),), narrow_bytes)
        kernel.tdma([walk], src.address + src_offset, dst.address + dst_offset, format=dst.format)


def widen(kernel: OpKernel, src: SpmTensor) -> SpmTensor:
    """`src` in fp32: itself when it is, else a temporary."""
    if src.format == F32:
        return src
    wide = kernel.temporary(src.with_format(F32))
    convert_tensor(kernel, src, wide)
    return wide


def narrow(kernel: OpKernel, src: SpmTensor, dst: SpmTensor) -> None:
    """Writes the fp32 tensor `src` to `dst`, rounding once; `src` is overwritten on the way."""
    for count, src_offset, dst_offset in _stretches(src, dst):
        at, to = src.address + src_offset, dst.address + dst_offset
        kernel.convert(at, at, count, src.format, dst.format)
        size, spacing = dst.format.bytes, src.format.bytes
        kernel.tdma([Walk(0, 0, ((count, spacing, size),), size)], at, to)


def settle(kernel: OpKernel, src: SpmTensor, dst: SpmTensor) -> None:
    """Writes `src`, a tensor of the same format or in fp32, to `dst`; one in fp32 is overwritten on the way."""
    if src.format == dst.format:
        kernel.copy(src, dst)
    else:
        narrow(kernel, src, dst)
