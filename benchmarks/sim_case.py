"""What a case of `sim_instructions` is, and the operands that cases share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation
from tx8ir.target.chip import TX8

Array = NDArray[Any]

ALL = tuple(range(TX8.tiles))
TILES = TX8.tiles
KIB = 1 << 10
_SPM = TX8.spm_allocatable[0]
X, Y, MASK, INDEX, WEIGHT, OUT = (_SPM + i * 160 * KIB for i in range(6))
"""Where operands lie in the scratch-pad of every tile; the result has the rest."""
CHANNELS = 64


SCRATCH = TX8.ddr_base + (1 << 30)
"""Where results lie in DDR."""


@attrs.frozen
class Case:
    """An instruction, and NumPy doing the same with arrays for all tiles."""

    name: str
    op_class: type[Operation]
    make: Callable[[], object]
    """Adds the instruction, and what it needs around it, to the current block."""
    other: Callable[[], object]
    sources: dict[int, Array] = attrs.field(factory=dict[int, Array])
    """What lies in the scratch-pads, by address: [tiles, ...]."""
    elementwise: bool = False
    """Whether it is element-wise arithmetic of one NumPy call."""


class Data:
    """Operands and results for NumPy; operands of the same content are put into the scratch-pads."""

    def __init__(self, rows: int) -> None:
        rng = np.random.default_rng(rows)
        self.rows, self.count = rows, rows * CHANNELS
        self.height = 1 << (rows.bit_length() - 1) // 2
        self.width = rows // self.height
        self.shape = (1, self.height, self.width, CHANNELS)
        self.x = rng.uniform(0.25, 4, (TILES, self.count)).astype(np.float32)
        self.y = rng.uniform(0.25, 4, (TILES, self.count)).astype(np.float32)
        self.z = np.empty_like(self.x)
        self.mask = (rng.random((TILES, self.count)) < 0.5).astype(np.float32)
        self.places = rng.integers(0, rows, (TILES, self.count), np.int32)
        self.weight = rng.standard_normal((TILES, CHANNELS, CHANNELS)).astype(np.float32)
        self.dense = {"tiles": ALL, "count": self.count}
        self.image = self.x.reshape(TILES, *self.shape[1:])
        self.result = self.z.reshape(self.image.shape)
