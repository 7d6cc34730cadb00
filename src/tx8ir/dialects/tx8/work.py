"""What one instruction costs a tile, as the instruction itself says it."""

from __future__ import annotations

import math
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target import cost
from tx8ir.target.chip import Target

from .access import Access

Cycles = int | NDArray[np.int64]
"""One number for all tiles of an instruction, or an array with one per tile."""


@attrs.frozen(eq=False)
class Work:
    """What an instruction asks of its engine, and of the bandwidth of DDR that all tiles share."""

    cycles: Cycles = 0
    """Cycles on the engine, without those in which bytes pass to or from DDR."""
    ddr_bytes: int = 0
    """Bytes of one tile that pass to or from DDR."""

    def cycles_on(self, target: Target) -> Cycles:
        """Cycles on the engine in all, when every tile moves as many bytes at the same time."""
        if not self.ddr_bytes:
            return self.cycles
        return self.cycles + math.ceil(cost.ddr_stream(target, self.ddr_bytes))


DMA_FORMULA: Final = (
    "{dma_startup_cycles} + bytes / (share of {ddr_bytes_per_cycle:g} B/cycle) "
    "+ {ddr_bank_cycles} if it starts inside a DDR bank"
)
"""What `dma_work` computes; see `Instruction.cost_formula`."""


def dma_work(accesses: tuple[Access, ...], target: Target) -> Work:
    """The work of an RDMA or WDMA transfer. Where in DDR it starts makes tiles differ."""
    sides = {access.operand: access for access in accesses}
    moved, addresses = sides["spm"].total_bytes, sides["ddr"].addresses
    return Work(cost.dma_startup(target, addresses[0] if len(addresses) == 1 else np.array(addresses)), moved)


TDMA_FORMULA: Final = "{tdma_segment_cycles} per contiguous run + bytes / {tdma_bytes_per_cycle}"
"""What `cost.tdma` computes; see `Instruction.cost_formula`."""


def runs(access: Access) -> int:
    """Contiguous runs of a walk."""
    return math.prod(iterations for iterations, _ in access.walk)
