"""Executors of the copies."""

from __future__ import annotations

import numpy as np

from tx8ir.dialects.tx8 import RdmaGatherOp, RdmaOp, TdmaOp, WdmaOp
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory import Placed
from tx8ir.target.formats import Format

from .registry import Machine, Step, executes


@executes(RdmaOp)
@executes(WdmaOp)
@executes(TdmaOp)
def decode_copy(op: RdmaOp | WdmaOp | TdmaOp) -> Step:
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
        wanted = memory.load(index, index_format)
        outside = (wanted < 0) | (wanted >= rows)
        if outside.any():
            position, i = (int(v) for v in np.unravel_index(int(outside.argmax()), outside.shape))
            raise Fault(
                f"index {i} of tile {index.tiles[position]} is {wanted[position, i]}; the table has rows 0..{rows - 1}",
                tile=index.tiles[position],
                addresses=index.access.interval(position),
            )
        gathered = memory.load_rows(table, wanted.astype(np.int64))
        memory.store(dst, gathered.reshape(len(gathered), -1))

    return step
