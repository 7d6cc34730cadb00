"""Executors of the copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import DteStoreOp, RdmaGatherOp, RdmaOp, TdmaOp, WdmaOp, WdmaScatterOp
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory import Memory, Placed
from tx8ir.target.formats import UI8, Format

from .registry import Machine, Step, executes


@executes(RdmaOp)
@executes(WdmaOp)
@executes(TdmaOp)
@executes(DteStoreOp)
def decode_copy(op: RdmaOp | WdmaOp | TdmaOp | DteStoreOp) -> Step:
    """Copy the runs of the source walk to the runs of the destination walk, in the order of the loops."""
    return _copy


def _copy(machine: Machine, placed: tuple[Placed, ...]) -> None:
    src, dst = placed
    machine.memory.copy(src, dst)


@executes(RdmaGatherOp)
def decode_rdma_gather(op: RdmaGatherOp) -> Step:
    """Copy the rows that the indices name."""
    index_format, rows = Format.named(op.index_format), op.rows

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        table, index, dst = placed
        gathered = memory.load_rows(table, _load_indices(memory, index, index_format, rows))
        memory.store(dst, gathered.reshape(len(gathered), -1))

    return step


@executes(WdmaScatterOp)
def decode_wdma_scatter(op: WdmaScatterOp) -> Step:
    """Copy rows to where the indices say."""
    index_format, rows, row_bytes = Format.named(op.index_format), op.rows, op.row_bytes

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, index, table = placed
        wanted = _load_indices(memory, index, index_format, rows)
        memory.store_rows(table, wanted, memory.load(src, UI8).reshape(*wanted.shape, row_bytes))

    return step


def _load_indices(memory: Memory, index: Placed, format: Format, rows: int) -> NDArray[np.int64]:
    """Row numbers [tiles, count]. Raises Fault at the first that the table does not have."""
    wanted = memory.load(index, format)
    outside = (wanted < 0) | (wanted >= rows)
    if outside.any():
        position, i = (int(v) for v in np.unravel_index(int(outside.argmax()), outside.shape))
        raise Fault(
            f"index {i} of tile {index.tiles[position]} is {wanted[position, i]}; the table has rows 0..{rows - 1}",
            tile=index.tiles[position],
            addresses=index.interval(position),
        )
    return wanted.astype(np.int64)
