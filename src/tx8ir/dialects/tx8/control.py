"""Control: what orders tiles with each other."""

from __future__ import annotations

from .instruction import Instruction


class BarrierOp(Instruction, name="tx8.barrier"):
    """Every tile of `tiles` waits until all of them have come here and have finished all earlier instructions."""


OPS = (BarrierOp,)
