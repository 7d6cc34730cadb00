"""Exceptions of arithmetic: which instruction first gave a NaN, an infinity, or overflowed, on each tile.

The same flags are what a program reads from its exception register (`tx8.csr_read`). A result is looked at in two
passes that stay in the cache: numbers that are not finite are those whose bits, as integers, are the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Location
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
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.support.screen import fitting_repr
from tx8ir.support.table import Table
from tx8ir.target.formats import Format
from tx8ir.target.layout import element_mask

from .layouts import LayoutShadow

Mask: TypeAlias = NDArray[np.bool_]

_COMPUTING = (ElementwiseOp, ReduceOp, PoolOp, ConvertOp, NeuralOp, BilinearOp, ElemMaskOp)
"""Instructions that make floating-point numbers; a move of a NaN raises nothing."""
_EXPONENT = {"f32": 0x7F800000, "tf32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}
_MANTISSA = {"f32": 0x7FFFFF, "tf32": 0x7FE000, "bf16": 0x7F, "f16": 0x3FF}
_POLES = frozenset({"recip", "rsqrt", "div", "log2", "ln"})
"""Functions that give an infinity for a zero, which is not an overflow."""


@attrs.frozen
class FlagRow:
    """The first instruction that raised a flag on a tile.

    flag: "nan", "infinity" (the result holds one) or "overflow" (it holds one, though no operand on the tile is
        infinite or a NaN; division by zero and its like excepted).
    index, instruction, source, location: the instruction.
    operand, addresses: the result, its first byte and end.
    """

    __repr__ = fitting_repr

    flag: str
    tile: int
    index: int
    instruction: str
    operand: str
    addresses: tuple[int, int]
    source: str | None
    location: Location

    def __str__(self) -> str:
        origin = f' from "{self.source}"' if self.source is not None else ""
        low, high = self.addresses
        return (
            f"{self.flag} on tile {self.tile}: instruction {self.index} ({self.instruction}{origin}), "
            f"operand {self.operand}, SPM [{low:#x}, {high:#x}) at {self.location}"
        )


def flags_table(rows: Sequence[FlagRow]) -> Table:
    """The first instruction that raised each flag, and on how many tiles something raised it."""
    first: dict[str, FlagRow] = {}
    for row in rows:
        first.setdefault(row.flag, row)
    return Table(
        "results that are not finite: the first of each kind",
        ("flag", "tiles", "first tile", "instruction", "source", "from"),
        tuple(
            (
                flag,
                str(sum(other.flag == flag for other in rows)),
                str(row.tile),
                f"{row.index} {row.instruction}",
                row.source or "",
                row.location.name or str(row.location),
            )
            for flag, row in first.items()
        ),
    )


@attrs.frozen
class ExceptionPlan:
    """What has to be looked at of a decoded instruction: floating operands by their number among the accesses."""

    sources: tuple[tuple[int, Format], ...]
    results: tuple[tuple[int, Format], ...]
    may_overflow: bool
    overwritten: tuple[bool, ...] | None
    """Of each source whether a result lies over it; None where loops move them, and it has to be looked at."""

    def overwrites(self, source: int, placed: Sequence[Placed]) -> bool:
        """Whether a result lies over the source at a position of `sources`."""
        if self.overwritten is not None:
            return self.overwritten[source]
        return any(_overlap(placed[self.sources[source][0]], placed[j]) for j, _ in self.results)


def exception_plan(op: Instruction, placed: Sequence[Placed]) -> ExceptionPlan | None:
    """The plan of an instruction; None for one that raises nothing."""
    if not isinstance(op, _COMPUTING):
        return None
    found: tuple[list[tuple[int, Format]], list[tuple[int, Format]]] = ([], [])
    for i, p in enumerate(placed):
        format = _format(op, p)
        if format is not None and format.name in _EXPONENT:
            found[p.access.writes].append((i, format))
    sources, results = found
    if not results:
        return None
    overwritten: tuple[bool, ...] | None = None
    if not op.terms:
        overwritten = tuple([any(_overlap(placed[i], placed[j]) for j, _ in results) for i, _ in sources])
    return ExceptionPlan(tuple(sources), tuple(results), getattr(op, "function", "") not in _POLES, overwritten)


class Exceptions:
    """The flags of a run.

    Args:
        tiles: of the chip.
        memory: the memories.
        layouts: what is known of channel-blocked tensors, whose padding lanes raise nothing; None: all elements count.
    """

    def __init__(self, tiles: int, memory: Memory, layouts: LayoutShadow | None) -> None:
        self.readable: NDArray[np.uint32] = np.zeros(tiles, np.uint32)
        """The exception register of each tile."""
        self._raised = np.zeros(tiles, np.uint32)
        self._memory = memory
        self._layouts = layouts
        self._rows: dict[tuple[ExceptionFlag, int], FlagRow] = {}

    def rows(self) -> tuple[FlagRow, ...]:
        """The first instruction of each flag and tile, in the order in which they were raised."""
        return tuple(self._rows.values())

    def barrier(self, tiles: Sequence[int]) -> None:
        """Make readable what the tiles have raised."""
        index = list(tiles)
        self.readable[index] |= self._raised[index]
        self._raised[index] = 0

    def before(self, plan: ExceptionPlan, placed: Sequence[Placed]) -> Mask | None:
        """For each tile whether the operands that the result will overwrite are finite; None if all are."""
        finite: Mask | None = None
        for n, (i, format) in enumerate(plan.sources):
            source = placed[i]
            if plan.overwrites(n, placed) and not _all_finite(self._memory, source, format):
                good: Mask = np.logical_not(self._special(source, format).any(axis=1))
                finite = good if finite is None else np.logical_and(finite, good)
        return finite

    def after(
        self, plan: ExceptionPlan, op: Instruction, index: int, placed: Sequence[Placed], finite: Mask | None
    ) -> None:
        """Raise the flags of an executed instruction; `finite` is what `before` gave."""
        for i, format in plan.results:
            if not _all_finite(self._memory, placed[i], format):
                self._note(plan, op, index, placed, i, finite)

    # -- what is not finite -----------------------------------------------------------------------------------------

    def _note(
        self, plan: ExceptionPlan, op: Instruction, index: int, placed: Sequence[Placed], i: int, finite: Mask | None
    ) -> None:
        result, format = placed[i], dict(plan.results)[i]
        special = self._special(result, format)
        if not special.any():
            return
        bits = self._bits(result, format)
        mantissa = (bits & _MANTISSA[format.name]) != 0
        nan, infinite = (special & mantissa).any(axis=1), (special & ~mantissa).any(axis=1)
        overflow = infinite & plan.may_overflow
        if finite is not None:
            overflow &= finite
        for n, (j, source_format) in enumerate(plan.sources):
            source = placed[j]
            kept = not plan.overwrites(n, placed)
            if overflow.any() and kept and not _all_finite(self._memory, source, source_format):
                overflow &= ~self._special(source, source_format).any(axis=1)
        for flag, tiles in (
            (ExceptionFlag.NAN, nan),
            (ExceptionFlag.INFINITY, infinite),
            (ExceptionFlag.OVERFLOW, overflow),
        ):
            for position in np.flatnonzero(tiles).tolist():
                tile = result.tiles[position]
                self._raised[tile] |= flag
                if (flag, tile) not in self._rows:
                    self._rows[flag, tile] = FlagRow(
                        str(flag.name).lower(), tile, index, op.name, result.access.operand, result.interval(position),
                        op.source, op.location,
                    )  # fmt: skip

    def _bits(self, placed: Placed, format: Format) -> NDArray[np.unsignedinteger]:
        return self._memory.load_bits(placed, format).reshape(len(placed.tiles), -1)

    def _special(self, placed: Placed, format: Format) -> Mask:
        """[tiles, elements]: NaN and infinities, but none of padding lanes and gaps where these are known."""
        exponent = _EXPONENT[format.name]
        special = (self._bits(placed, format) & exponent) == exponent
        tensor = placed.access.aligned
        if tensor is not None:
            special &= element_mask(tensor.shape, tensor.format, tensor.layout)[:: format.bytes]
        elif self._layouts is not None and not placed.access.walk and special.any():
            special &= self._layouts.elements(placed)[:: format.bytes]
        return special


def _all_finite(memory: Memory, placed: Placed, format: Format) -> bool:
    """Whether all bytes of an operand, padding included, are finite numbers."""
    bits, exponent = memory.load_bits(placed, format), _EXPONENT[format.name]
    signed = bits.view(np.int32 if format.bytes == 4 else np.int16)
    largest = np.maximum.reduce
    return bool(
        largest(signed, axis=None) < exponent and largest(bits, axis=None) < (1 << (format.bits - 1)) + exponent
    )


def _overlap(a: Placed, b: Placed) -> bool:
    """Whether two accesses to scratch-pads share bytes on some tile."""
    alike = len(a.access.addresses) == len(b.access.addresses) == 1
    for position in range(1 if alike else len(a.tiles)):
        (low, high), (first, end) = a.interval(position), b.interval(position)
        if low < end and first < high:
            return True
    return False


def _format(op: Instruction, placed: Placed) -> Format | None:
    """The format of an operand; None for packed bits."""
    access = placed.access
    if access.aligned is not None:
        return access.aligned.format
    if access.writes and getattr(op, "packed", False):
        return None
    prefix = f"{access.operand}_" if isinstance(op, (ConvertOp, NeuralOp)) else ""
    return Format.named(getattr(op, f"{prefix}format"))
