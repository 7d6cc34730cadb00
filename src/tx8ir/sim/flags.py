"""Which arithmetic first gave a NaN, an infinity, or overflowed, on each tile: what the CSR flags say, with places."""

from __future__ import annotations

from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Location
from tx8ir.dialects.tx8 import Access, ElementwiseOp, Instruction, NeuralOp, PoolOp, ReduceOp
from tx8ir.target.formats import F32, Format

from .memory import Memory, Placed

Mask: TypeAlias = NDArray[np.bool_]

_EXPONENT = {"f32": 0x7F800000, "tf32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}
_MANTISSA = {"f32": 0x7FFFFF, "tf32": 0x7FE000, "bf16": 0x7F, "f16": 0x3FF}
_POLES = frozenset({"recip", "rsqrt", "div", "log2", "ln"})
"""Functions that give an infinity for a zero, which is no overflow."""


@attrs.frozen
class FlagRow:
    """The first instruction that raised a flag on a tile.

    flag: "nan", "infinity" (the result holds one) or "overflow" (it holds an infinity, though no operand does; an
        operand that the result overwrites is not looked at, and then only "infinity" is raised).
    """

    flag: str
    tile: int
    index: int
    instruction: str
    operand: str
    addresses: tuple[int, int]
    source: str | None
    location: Location


class Flags:
    """Collects the flags of a run."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], FlagRow] = {}

    def rows(self) -> tuple[FlagRow, ...]:
        """The flags, in the order in which they were raised."""
        return tuple(self._found.values())

    def look(self, memory: Memory, op: Instruction, index: int, placed: tuple[Placed, ...]) -> None:
        """Look at the result of an instruction that has just been executed."""
        if not isinstance(op, (ElementwiseOp, NeuralOp, ReduceOp, PoolOp)):
            return
        result = placed[-1]
        format = _format_of(op, result.access)
        if format is None:
            return
        nan, infinite = _special(memory, result, format)
        if nan is None or infinite is None:
            return
        may_overflow = infinite.any() and getattr(op, "function", "") not in _POLES
        for i in np.flatnonzero(nan | infinite).tolist():
            if nan[i]:
                self._raise("nan", op, index, result, i)
            if infinite[i]:
                self._raise("infinity", op, index, result, i)
                if may_overflow and all(_is_finite(memory, op, p, result, i) for p in placed[:-1]):
                    self._raise("overflow", op, index, result, i)

    def _raise(self, flag: str, op: Instruction, index: int, result: Placed, i: int) -> None:
        tile = result.tiles[i]
        if (flag, tile) not in self._found:
            self._found[flag, tile] = FlagRow(
                flag, tile, index, op.name, result.access.operand, result.interval(i), op.source, op.location
            )


def _format_of(op: Instruction, access: Access) -> Format | None:
    """The floating-point format of an operand, or None for another one."""
    if access.aligned is not None:
        format = access.aligned.format
    elif isinstance(op, NeuralOp):
        format = Format.named(op.bias_format) if op.bias_format is not None else None
    else:
        name: str | None = getattr(op, "format", None)
        format = Format.named(name) if name is not None else None
    return format if format is not None and format.name in _EXPONENT else None


def _special(memory: Memory, placed: Placed, format: Format) -> tuple[Mask | None, Mask | None]:
    """Per tile: whether the bytes hold a NaN, and whether an infinity; None, None when all is finite."""
    if format is F32 and np.isfinite(np.add.reduce(memory.load(placed, format), axis=None)):
        return None, None  # the usual case, in one pass; a sum that overflows is looked at again
    exponent = _EXPONENT[format.name]
    bits = memory.load_bits(placed, format).reshape(len(placed.tiles), -1)
    special = (bits & exponent) == exponent
    if not special.any():
        return None, None
    nan = special & ((bits & _MANTISSA[format.name]) != 0)
    return nan.any(axis=1), (special & ~nan).any(axis=1)


def _is_finite(memory: Memory, op: Instruction, operand: Placed, result: Placed, i: int) -> bool:
    """Whether an operand that the result has not overwritten holds only finite numbers on the i-th tile."""
    low, high = operand.interval(i)
    first, end = result.interval(i)
    if low < end and first < high:
        return False
    format = _format_of(op, operand.access)
    if format is None:
        return True
    _, infinite = _special(memory, operand, format)
    return infinite is None or not infinite[i]
