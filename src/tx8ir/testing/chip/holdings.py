"""`Holdings`: which slices of the graph's values the memories hold, kept up to date as instructions are executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.graph import shape_of
from tx8ir.backend.memory.ddr_storage import address_of, stored_bytes
from tx8ir.core import Value
from tx8ir.dialects import tx8
from tx8ir.sim import Execution
from tx8ir.testing.chip.made import GroupProgram, MadeSlice

__all__ = ["Holdings", "Stored"]

Interval: TypeAlias = tuple[int, int]


@attrs.define(eq=False)
class Stored:
    """A result of a group in DDR: which of its elements are there, and the stores that wrote them."""

    value: Value
    held: NDArray[np.bool_]
    interval: Interval
    missing: int
    """Elements that are not there yet."""
    slices: list[MadeSlice] = attrs.field(factory=list[MadeSlice])

    def add(self, made: MadeSlice) -> None:
        """Take the elements of a slice for stored."""
        part = self.held[made.part]
        self.missing -= part.size - int(part.sum())
        part[...] = True
        self.slices.append(made)


class Holdings:
    """What the memories hold of the values of a graph.

    A slice is held from the moment at which all instructions that make it were executed on its tile, until one writes
    any byte of it (between the first and the last byte that it writes).

    Args:
        instructions: of the program.
        program_of: what an instruction's group is; None of one that belongs to no group, as a barrier.

    Attributes:
        spm: the slices in the scratch-pad of each tile.
        ddr: results of groups.
        latest: what the latest execution completed.
    """

    def __init__(
        self, instructions: Sequence[tx8.Instruction], program_of: Callable[[int], GroupProgram | None]
    ) -> None:
        self.spm: dict[int, list[MadeSlice]] = {}
        self.ddr: dict[Value, Stored] = {}
        self.latest: tuple[MadeSlice, ...] = ()
        self._instructions, self._program_of = instructions, program_of
        self._written: dict[int, tuple[tx8.Access, ...]] = {}

    def executed(self, execution: Execution) -> None:
        """Take note of an execution. Raises `IrError` when the instructions of its group are not those of the graph."""
        self._forget_what_is_written(execution)
        program = self._program_of(execution.index)
        made = () if program is None else program.made(execution.index, execution.tiles, execution.trips)
        self.latest = tuple(made)
        for one in self.latest:
            if one.address is not None:
                self.spm.setdefault(one.tile, []).append(one)
            else:
                self._stored(one.value).add(one)

    def _stored(self, value: Value) -> Stored:
        if value not in self.ddr:
            held, start = np.zeros(shape_of(value), np.bool_), address_of(value)
            self.ddr[value] = Stored(value, held, (start, start + stored_bytes(value)), held.size)
        return self.ddr[value]

    def _forget_what_is_written(self, execution: Execution) -> None:
        index, op = execution.index, execution.op
        if index not in self._written:
            self._written[index] = tuple(access for access in op.effects() if access.writes)
        for access in self._written[index]:
            shift = sum(
                term.offset(execution.trips[-1 - term.level]) for term in op.terms if term.field == access.operand
            )
            for tile in execution.tiles:
                start = access.addresses[op.tiles.index(tile) if len(access.addresses) > 1 else 0] + shift
                written = start, start + access.extent
                if access.space is tx8.MemorySpace.SPM:
                    self.spm[tile] = [one for one in self.spm.get(tile, ()) if not _meet(_bytes_of(one), written)]
                else:
                    self._forget_in_ddr(written, op)

    def _forget_in_ddr(self, written: Interval, op: tx8.Instruction) -> None:
        """Results of other groups end where they are written; a group stores its own one piece by piece."""
        origin = op.origin
        for value, stored in list(self.ddr.items()):
            is_own = origin is not None and origin.group == stored.slices[0].group
            if not is_own and _meet(stored.interval, written):
                del self.ddr[value]


def _bytes_of(made: MadeSlice) -> Interval:
    assert made.address is not None
    return made.address, made.address + made.size


def _meet(a: Interval, b: Interval) -> bool:
    return a[0] < b[1] and b[0] < a[1]
