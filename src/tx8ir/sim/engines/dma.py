"""Executors of the copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import DteStoreOp, RdmaGatherOp, RdmaOp, RowCopyOp, TdmaOp, WdmaOp, WdmaScatterOp
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.formats import UI8, Format

from .registry import Machine, Semantics, executes


@executes(RdmaOp)
@executes(WdmaOp)
@executes(TdmaOp)
@executes(DteStoreOp)
def decode_copy(op: RdmaOp | WdmaOp | TdmaOp | DteStoreOp) -> Semantics:
    """Copy the runs of the source walk to the runs of the destination walk, in the order of the loops."""
    return _copy


def _copy(machine: Machine, placed: tuple[Placed, ...]) -> None:
    src, dst = placed
    machine.memory.copy(src, dst)


@executes(RdmaGatherOp)
def decode_rdma_gather(op: RdmaGatherOp) -> Semantics:
    """Copy the rows that the indices name."""

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        table, index, dst = placed
        gathered = memory.load_rows(table, row_numbers(op, memory, index))
        memory.store(dst, gathered.reshape(len(gathered), -1))

    return step


@executes(WdmaScatterOp)
def decode_wdma_scatter(op: WdmaScatterOp) -> Semantics:
    """Copy rows to where the indices say."""
    row_bytes = op.row_bytes

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, index, table = placed
        wanted = row_numbers(op, memory, index)
        memory.store_rows(table, wanted, memory.load(src, UI8).reshape(*wanted.shape, row_bytes))

    return step


def row_numbers(op: RowCopyOp, memory: Memory, index: Placed) -> NDArray[np.int64]:
    """The rows [tiles, count] that an instruction names. Raises Fault at the first that the table does not have."""
    wanted = memory.load(index, Format.named(op.index_format))
    outside = (wanted < 0) | (wanted >= op.rows)
    if outside.any():
        position, i = (int(v) for v in np.unravel_index(int(outside.argmax()), outside.shape))
        raise Fault(
            f"index {i} of tile {index.tiles[position]} is {wanted[position, i]}; the table has rows 0..{op.rows - 1}",
            tile=index.tiles[position],
            addresses=index.interval(position),
        )
    return wanted.astype(np.int64)
