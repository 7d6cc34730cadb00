"""Rules on where the operands of the vector and the neural engine lie: their alignment, and what a result may cover.

Where the machine's description is silent, the strict reading is taken [D]:

- A tensor that the neural engine or the vector unit takes by its axes in a channel-blocked layout begins at 256 bytes,
  a vector at a multiple of its element's bytes.
- A result of the vector unit may take the place of an operand, but not begin elsewhere in it. The unit of a VuV and the
  table of a look-up, which are read over and over, share no byte with the result.
- A result of the neural engine shares no byte with what it reads, but may take the place of a sum of its format.
"""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.dialects.tx8 import Instruction, MemorySpace
from tx8ir.sim.errors import Fault, bytes_text
from tx8ir.sim.memory.memory import Placed
from tx8ir.target.chip import Engine
from tx8ir.target.layout import BATCH_ALIGNMENT

_REPEATED = ("unit", "table")


def check_operands(op: Instruction, placed: Sequence[Placed]) -> None:
    """Raise Fault when an operand of the vector or the neural engine lies where the machine does not take it."""
    if op.engine is not Engine.CT and op.engine is not Engine.NE:
        return
    for p in placed:
        _check_alignment(p)
    for result in placed:
        if not result.access.writes:
            continue
        for other in placed:
            if other is not result and (not other.access.writes or other.access.operand > result.access.operand):
                _check_overlap(op, other, result)


def _check_alignment(placed: Placed) -> None:
    access = placed.access
    format = access.format
    if access.space is not MemorySpace.SPM or format is None:
        return
    alignment = BATCH_ALIGNMENT if access.aligned is not None else max(format.bits // 8, 1)
    for position, address in enumerate(access.addresses):
        at = address + placed.shift
        if at % alignment:
            what = str(access.aligned) if access.aligned is not None else f"{format.name} elements"
            tile = placed.tiles[position]
            raise Fault(
                f"{bytes_text(access, tile, at, at + placed.extent)} begins at {at:#x}; {what} begin at a multiple of "
                f"{alignment} bytes",
                tile=tile,
                addresses=(at, at + placed.extent),
            )


def _check_overlap(op: Instruction, source: Placed, result: Placed) -> None:
    alike = len(source.access.addresses) == len(result.access.addresses) == 1
    for position in range(1 if alike else len(result.tiles)):
        low, high = source.interval(position)
        first, end = result.interval(position)
        if low >= end or first >= high or _may_share(op, source, result, (low, high) == (first, end), low == first):
            continue
        tile = result.tiles[position]
        raise Fault(
            f"{bytes_text(result.access, tile, first, end)} overlaps operand {source.access.operand}, [{low:#x}, "
            f"{high:#x}): {_reason(op, source)}",
            tile=tile,
            addresses=(max(low, first), min(high, end)),
        )


def _may_share(op: Instruction, source: Placed, result: Placed, same: bool, same_begin: bool) -> bool:
    if source.access.writes:
        return False
    if op.engine is Engine.NE:
        return same and source.access.operand == "psum" and source.access.format is result.access.format
    return same if source.access.operand in _REPEATED else same_begin


def _reason(op: Instruction, source: Placed) -> str:
    if source.access.writes:
        return "two results"
    if op.engine is Engine.NE:
        return "the neural engine writes before it has read all of it"
    if source.access.operand in _REPEATED:
        return "it is read again after parts of the result are written"
    return "a result of the vector unit may take an operand's place, but not begin elsewhere in it"
