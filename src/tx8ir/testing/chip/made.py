"""What the instructions of a group make: slices of its values, on which tile, in which iteration of its loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, Protocol, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.graph import shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import IrError, Operation, Value
from tx8ir.dialects import tx8, tx8be

__all__ = ["Counter", "GroupProgram", "Instructions", "MadeSlice", "Position", "assembled"]

Array: TypeAlias = NDArray[Any]


@attrs.frozen
class Counter:
    """A loop around an instruction: the axis that it cuts, its current trip, from 0, and the number of trips."""

    loop: str
    trip: int
    trips: int

    def __str__(self) -> str:
        return f"{self.loop} {self.trip} of {self.trips}"


@attrs.frozen
class Position:
    """What an instruction is for.

    Attributes:
        group: the number of the group.
        op: the operation of its body; name: of its result.
        role: "load", "compute", "store", "arm", "send", "wait" or "merge", as in `tx8be.SlotAttr`.
        phase: of a `compute` on a part of a sum: "first", "next", "last" or "finish"; otherwise nothing.
        iteration: the loops of the group's strategy, outermost first, in the trip that the work belongs to: of a load
            that is ahead a later one than that of the operations next to it.
        order: compares like the order in which the iterations of the schedule are issued; equal within one.
    """

    group: int
    op: Operation
    role: str
    phase: str
    iteration: tuple[Counter, ...]
    order: tuple[int, ...]
    name: str = ""

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        part = f", {self.phase} part" if self.phase else ""
        loops = "".join(f", {counter}" for counter in self.iteration)
        return f"group {self.group}: {self.role} {self.op.name.removeprefix('tx8be.')}{name}{part}{loops}"


@attrs.frozen(eq=False)
class MadeSlice:
    """A slice of a value that a tile has just made, loaded, received or stored.

    Attributes:
        value: the value; of a store the result of the group.
        op: what made it.
        tile: on which tile.
        box: what it has of the value.
        address: where it lies in the scratch-pad of the tile; None of a store, which writes into DDR.
        size: its bytes there.
        group: the number of the group.
        iteration: see `Position`.
        instructions: the numbers of the instructions that make it, on this tile and on others.
    """

    value: Value
    op: Operation
    tile: int
    box: Box
    address: int | None
    size: int
    group: int
    iteration: tuple[Counter, ...]
    instructions: tuple[int, ...]

    @property
    def part(self) -> tuple[EllipsisType | slice, ...]:
        """The box as an index of arrays in the shape of the value; it gives views of scalars too."""
        return (..., *(slice(a, b) for a, b in zip(self.box.start, self.box.stop, strict=True)))

    @property
    def where(self) -> str:
        """The tile and the iteration, in words."""
        return ", ".join([f"tile {self.tile}", *map(str, self.iteration)])


def assembled(slices: Sequence[MadeSlice], arrays: Sequence[Array]) -> np.ma.MaskedArray[Any, Any]:
    """The value of which `slices` have the elements of `arrays`; others are masked. There is at least one slice."""
    whole: Array = np.zeros(shape_of(slices[0].value), arrays[0].dtype)
    missing = np.ones(whole.shape, np.bool_)
    for made, array in zip(slices, arrays, strict=True):
        whole[made.part] = array
        missing[made.part] = False
    return np.ma.masked_array(whole, mask=missing)


class GroupProgram(Protocol):
    """The instructions of one group, and what they make."""

    @property
    def values(self) -> Sequence[Value]:
        """The values that lie in scratch-pads."""
        ...

    def position(self, index: int, trips: tuple[int, ...]) -> Position:
        """What instruction `index` does in these trips of the program's loops around it, outermost first."""
        ...

    def made(self, index: int, tiles: Sequence[int], trips: tuple[int, ...]) -> Iterator[MadeSlice]:
        """What is complete on these tiles when they have executed instruction `index`."""
        ...


class Instructions:
    """The instructions that a machine program has of a group, taken in the order in which the group generates them."""

    def __init__(self, group: tx8be.GroupOp, program: Sequence[tx8.Instruction], numbers: Sequence[int]) -> None:
        self._group, self._program, self._numbers = group, program, numbers
        self._taken = 0

    def take(self, count: int) -> tuple[tuple[int, ...], dict[int, int]]:
        """The numbers of the next `count` instructions, and for each tile that of the last one which it executes."""
        taken = tuple(self._numbers[self._taken : self._taken + count])
        self._taken += count
        return taken, {tile: number for number in taken for tile in self._program[number].tiles}

    def end(self) -> None:
        """Raise `IrError` unless all of them, and no more, were taken."""
        if self._taken != len(self._numbers):
            raise IrError(
                f"group {self._group.group_id} has {len(self._numbers)} instructions; the graph gives {self._taken}",
                op=self._group,
            )
