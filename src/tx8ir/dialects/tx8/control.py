"""Control: loops, whose addresses follow the trips, and what orders tiles with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tx8ir.core import NoTerminator, Op, Operation, RecursiveEffects, Region, VerifyError, attribute, region

from .instruction import Follow, Instruction, chip_of, verify_tiles


class BarrierOp(Instruction, name="tx8.barrier"):
    """Every tile of `tiles` waits until all of them have come here and have finished all earlier instructions."""

    cost_formula: ClassVar[str] = "{barrier_cycles} from the last arrival"


class LoopOp(Op, name="tx8.loop", traits=(NoTerminator, RecursiveEffects)):
    """The tiles of `tiles` run the body `count` times. A body holds instructions and loops, for some of those tiles.

    Addresses of the body that change from trip to trip say so in the instruction's `follows`; see `Follow`.
    """

    count: int = attribute(doc="trips, at least 1")
    tiles: tuple[int, ...] = attribute(doc="ids of the tiles that run it, distinct")
    body: Region = region(doc="one block without arguments")

    def verify_op(self) -> None:
        """Check count, tiles and body. Raises VerifyError."""
        verify_tiles(self, self.tiles, chip_of(self))
        if self.count < 1:
            raise VerifyError(f"count is {self.count}; expected at least 1", self)
        if len(self.body.blocks) != 1 or self.body.block.args:
            raise VerifyError("the body of a loop is one block without arguments", self)
        tiles = set(self.tiles)
        for op in self.body.block:
            if not isinstance(op, (Instruction, LoopOp)):
                raise VerifyError(f"{op.name} is neither an instruction nor a loop of tx8", op)
            if not tiles.issuperset(op.tiles):
                missing = sorted(set(op.tiles) - tiles)
                raise VerifyError(f"tile {missing[0]} runs {op.name}, but not the loop around it", op)


def instructions_of(ops: Iterator[Operation]) -> Iterator[Instruction]:
    """The instructions among `ops` and in the loops among them, in the order of the text."""
    for op in ops:
        if isinstance(op, Instruction):
            yield op
        elif isinstance(op, LoopOp):
            yield from instructions_of(iter(op.body.block))


ATTRIBUTES = (Follow,)
