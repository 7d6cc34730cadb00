"""The exception registers of all tiles: which results were NaN, infinite, or have overflowed.

Results are looked at only in programs that read the register (`tx8.csr_read`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    BilinearOp,
    ConvertOp,
    ElementwiseOp,
    ElemMaskOp,
    ExceptionFlag,
    Instruction,
    NeuralOp,
    PoolOp,
    ReduceOp,
)
from tx8ir.target.formats import Format

from .memory import Memory, Placed

Flags = NDArray[np.uint32]

_COMPUTING = (ElementwiseOp, ReduceOp, PoolOp, ConvertOp, NeuralOp, BilinearOp, ElemMaskOp)
"""Instructions that make floating-point numbers; a move of a NaN raises nothing."""


class ExceptionRegisters:
    """Flags by tile of the chip: those that a tile can read, and those that its next barrier makes readable."""

    def __init__(self, tiles: int) -> None:
        self.readable: Flags = np.zeros(tiles, np.uint32)
        self._raised: Flags = np.zeros(tiles, np.uint32)

    def finite_operands(self, op: Instruction, memory: Memory, placed: Sequence[Placed]) -> NDArray[np.bool_] | None:
        """For each tile whether all floating operands are finite; None for an instruction that raises nothing."""
        if not isinstance(op, _COMPUTING):
            return None
        finite = np.ones(len(placed[0].tiles), np.bool_)
        for values in _floats(op, memory, placed, writes=False):
            finite &= np.isfinite(values).all(axis=1)
        return finite

    def note(self, op: Instruction, memory: Memory, placed: Sequence[Placed], finite: NDArray[np.bool_] | None) -> None:
        """Raise the flags of an executed instruction; `finite` is what `finite_operands` gave before it."""
        if finite is None:
            return
        tiles = list(placed[0].tiles)
        for values in _floats(op, memory, placed, writes=True):
            nan, infinite = np.isnan(values).any(axis=1), np.isinf(values).any(axis=1)
            self._raised[tiles] |= (
                nan * np.uint32(ExceptionFlag.NAN)
                | infinite * np.uint32(ExceptionFlag.INFINITY)
                | (infinite & finite) * np.uint32(ExceptionFlag.OVERFLOW)
            )

    def barrier(self, tiles: Sequence[int]) -> None:
        """Make readable what the tiles have raised."""
        index = list(tiles)
        self.readable[index] |= self._raised[index]
        self._raised[index] = 0


def _floats(op: Instruction, memory: Memory, placed: Sequence[Placed], *, writes: bool) -> Iterator[NDArray[Any]]:
    """The floating-point operands or results of an instruction, [tiles, elements] in fp32."""
    for p in placed:
        if p.access.writes is not writes:
            continue
        format = _format(op, p)
        if format is not None and format.is_float:
            values = memory.load_tensor(p) if p.access.aligned is not None else memory.load(p, format)
            yield values.astype(np.float32).reshape(len(values), -1)


def _format(op: Instruction, placed: Placed) -> Format | None:
    """The format of an operand; None for packed bits."""
    access = placed.access
    if access.aligned is not None:
        return access.aligned.format
    if access.writes and getattr(op, "packed", False):
        return None
    prefix = f"{access.operand}_" if isinstance(op, (ConvertOp, NeuralOp)) else ""
    return Format.named(getattr(op, f"{prefix}format"))
