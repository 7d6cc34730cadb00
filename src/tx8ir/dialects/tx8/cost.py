"""What one instruction costs on a tile: its fields put into the functions of `target.cost`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format

from .access import Access
from .dte import DteSendOp, DteStoreOp
from .instruction import Instruction
from .moves import TdmaReshapeOp
from .neural import ConvOp, GemmOp


def instruction_cycles(
    op: Instruction, target: Target, accesses: tuple[Access, ...] | None = None
) -> int | NDArray[np.int64]:
    """Cycles that `op` keeps its engine busy: one number for all of its tiles, or an array with one per tile.

    Only the start address of a DMA makes tiles differ. Control has no engine and costs 0 here (`target.cost.barrier`).
    `accesses` are the instruction's effects, for a caller that has them already.
    """
    if op.engine is None:
        return 0
    if op.engine is Engine.DTE:
        # An arm only sets up a descriptor. A send passes the sender's link once per piece or receiver.
        pieces = len(op.peers) if isinstance(op, DteSendOp) and op.pattern != "unicast" else 1
        return cost.dte(target, op.nbytes * pieces) if isinstance(op, (DteSendOp, DteStoreOp)) else 0
    if op.engine is Engine.NE:
        return _neural_cycles(op, target)
    if op.engine is Engine.SCALAR:
        return target.profile.scalar_cycles
    if accesses is None:
        accesses = op.effects()
    if op.engine is Engine.CT:
        return cost.ct(target, max(access.total_bytes for access in accesses))
    if op.engine is Engine.TDMA:
        if isinstance(op, TdmaReshapeOp):
            return cost.tdma(target, max(access.total_bytes for access in accesses), op.segments)
        return cost.tdma(target, accesses[0].total_bytes, _runs(accesses[0]))
    sides = {access.operand: access for access in accesses}
    moved, addresses = sides["spm"].total_bytes, sides["ddr"].addresses
    return cost.dma(target, moved, addresses[0] if len(addresses) == 1 else np.array(addresses))


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
