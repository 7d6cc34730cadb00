"""What one instruction costs on a tile: its fields put into the functions of `target.cost`."""

from __future__ import annotations

import math

from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format

from .access import Access
from .instruction import Instruction
from .neural import ConvOp, GemmOp


def instruction_cycles(op: Instruction, target: Target) -> tuple[int, ...]:
    """Cycles that `op` keeps its engine busy: one number for all of its tiles, or one per tile in their order.

    Only the start address of a DMA makes tiles differ. Control has no engine and costs 0 here (`target.cost.barrier`).
    """
    match op.engine:
        case Engine.NE:
            return (_neural_cycles(op, target),)
        case Engine.CT:
            return (cost.ct(target, max(access.total_bytes for access in op.effects())),)
        case Engine.TDMA:
            source = op.effects()[0]
            return (cost.tdma(target, source.total_bytes, _runs(source)),)
        case Engine.RDMA | Engine.WDMA:
            accesses = {access.operand: access for access in op.effects()}
            moved = accesses["spm"].total_bytes
            return tuple(cost.dma(target, moved, address) for address in accesses["ddr"].addresses)
        case None:
            return (0,)


def _neural_cycles(op: Instruction, target: Target) -> int:
    if isinstance(op, GemmOp):
        return cost.ne_gemm(target, op.m, op.k, op.n, Format.named(op.in_format), op.batch)
    if isinstance(op, ConvOp):
        n, height, width, out_channels = op.out_shape
        taps = math.prod(op.kernel)
        format = Format.named(op.in_format)
        if op.depthwise:
            return cost.ne_depthwise_conv(target, n * height * width, out_channels, taps, format)
        return cost.ne_conv(target, n * height * width, op.shape[3], out_channels, taps, format)
    raise NotImplementedError(f"{op.name} has no cost")


def _runs(access: Access) -> int:
    """Contiguous runs of a walk."""
    return math.prod(iterations for iterations, _ in access.walk)
