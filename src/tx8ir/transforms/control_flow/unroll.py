"""`unroll`: loops that run a known number of times are written out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

import attrs

from tx8ir.analysis.trip_count import trip_count
from tx8ir.core import Block, IntAttr, Location, Operation, Program, ScalarType, Value, detached
from tx8ir.core.attrs.builtin_types import integer_range
from tx8ir.dialects import arith, scf
from tx8ir.dialects.arith.constants import make_constant
from tx8ir.dialects.scf import yield_of
from tx8ir.dialects.scf.loops import known_integer
from tx8ir.passes import OperationPass, option, register_pass
from tx8ir.rewriting.provenance import derived_location

__all__ = ["Unroll"]

_FACTOR = "unrolled"
"""The attribute of a loop that has been unrolled by a factor, with that factor: it is not unrolled again."""


@register_pass
@attrs.frozen
class Unroll(OperationPass):
    """Writes out the rounds of loops that count from a constant, by a constant, to a constant.

    That are `scf.for`, and `scf.while` as is said below.

    A loop of at most `max_trips` rounds gives way to them, one after the other, and to what its `before` region does
    when it decides to end. Any other loop whose number of rounds is known runs `factor` rounds at a time: those that
    are left over come first, before the loop, and each run of its `after` region does that many, without asking
    in between. A loop is left alone when it would have more than `max_ops` operations then, with all inside; inner
    loops come first.

    The condition must be known to hold so often and then no more: it compares a carried integer that starts as a
    constant, and to which every round adds (or from which it subtracts) the same constant, with another; a number that
    would wrap is not a count. Constants are put in place of such numbers by `sccp`, not here.

    Assumes: nothing. Guarantees: operations with effects run as often and in the same order as before. A loop that was
    unrolled by a factor says so in the attribute `unrolled`, and is not unrolled again; a second run finds something
    only where the written out first round of an outer loop lets an inner one start from a constant.
    Cost: O(operations + max_ops · loops). Statistics: `unrolled` (loops that went), `partial` (loops that do several
    rounds at once), `rounds` (written out), `too_large` (loops that stay for their size).

    As in MLIR's `scf-for-loop-unroll` and LLVM's `loop-unroll`; the rounds left over come first here, because the
    condition of an `scf.while` need not be changed then.
    """

    name: ClassVar[str] = "unroll"

    max_trips: int = option(
        8, "a loop of at most so many rounds is written out as a whole", validator=attrs.validators.ge(0)
    )
    factor: int = option(
        1, "how many rounds another loop does at once; 1 leaves it as it is", validator=attrs.validators.ge(1)
    )
    max_ops: int = option(
        1000, "a loop that would become more operations than this stays", validator=attrs.validators.ge(0)
    )

    def run_on(self, root: Operation, program: Program) -> None:
        with detached():
            unrolling = _Unrolling(self)
            outer_first = [op for op in root.walk() if op.regions and op is not root]
            for op in reversed(outer_first):
                if isinstance(op, (scf.WhileOp, scf.ForOp)):
                    unrolling.unroll(op)
                else:
                    unrolling.measure(op)


def _number(value: Value) -> int:
    """The number of a bound or step that is known, as the count of rounds says."""
    return cast(int, known_integer(value))


class _Unrolling:
    """Unrolls loops, those inside one another from the inside, and knows how large they have become."""

    def __init__(self, by: Unroll) -> None:
        self.by = by
        self._sizes: dict[Operation, int] = {}  # of operations with regions, with all inside
        self._places: dict[int, tuple[Location, Location]] = {}  # of what is copied: its location, that of the copies

    def measure(self, op: Operation) -> int:
        """Count an operation with regions, and all inside. Those directly inside have been counted."""
        inside = (inner for region in op.regions for block in region.blocks for inner in block)
        size = self._sizes[op] = 1 + sum(self._sizes.get(inner, 1) for inner in inside)
        return size

    def unroll(self, loop: scf.WhileOp | scf.ForOp) -> None:
        """Unroll a loop as far as the options say."""
        by, size = self.by, self.measure(loop)
        trips = None if _FACTOR in loop.attributes else trip_count(loop)
        if trips is None:
            return
        whole = trips <= by.max_trips
        if not whole and (not 1 < by.factor <= trips or not self._can_count(loop)):
            return
        first = trips if whole else trips % by.factor
        if (first + 1) * size + (0 if whole else by.factor * size) > by.max_ops:
            by.count("too_large")
            return
        carried: Sequence[Value] = loop.inits
        for number in range(first):
            carried = self._round(loop, carried, loop, number)
        by.count("rounds", first)
        if whole:
            last = carried if isinstance(loop, scf.ForOp) else self._copy(loop.before.block, carried, loop)[1:]
            loop.replace_with(last, by.name)
            by.count("unrolled")
            return
        if isinstance(loop, scf.ForOp):
            self._widen_counted(loop, first, carried)
        else:
            loop.set_operands(carried)
            self._widen(loop)
        loop.set_attribute(_FACTOR, by.factor)
        self.measure(loop)
        by.count("partial")

    def _can_count(self, loop: scf.WhileOp | scf.ForOp) -> bool:
        """Whether the type of the counter has the step of several rounds."""
        return isinstance(loop, scf.WhileOp) or (
            _number(loop.step) * self.by.factor <= integer_range(loop.lower.type)[1]
        )

    def _widen(self, loop: scf.WhileOp) -> None:
        """Let each run of the `after` region do several rounds."""
        end = yield_of(loop)
        first = list(loop.after.block)[:-1]
        carried: Sequence[Value] = end.values
        for _ in range(self.by.factor - 1):
            passed = self._copy(loop.before.block, carried, end)[1:]
            mapping: dict[Value, Value] = dict(zip(loop.after.block.args, passed, strict=True))
            self._clone(first, mapping, end)
            carried = [mapping.get(value, value) for value in end.values]
        end.set_operands(carried)

    def _widen_counted(self, loop: scf.ForOp, first: int, carried: Sequence[Value]) -> None:
        """Let an `scf.for` start after its first rounds, and each run of its body do several."""
        block, step = loop.body.block, _number(loop.step)
        end = cast(Operation, block.terminator)
        ops, yielded = list(block)[:-1], end.operands
        following: Sequence[Value] = yielded
        for index in range(1, self.by.factor):
            at = arith.AddIOp(block.args[0], self._constant(index * step, loop))
            block.insert_before(at, end)
            mapping: dict[Value, Value] = dict(zip(block.args, (at.out, *following), strict=True))
            self._clone(ops, mapping, end)
            following = [mapping.get(value, value) for value in yielded]
        end.set_operands(following)
        lower = self._constant(_number(loop.lower) + first * step, loop)
        loop.set_operands([lower, loop.upper, self._constant(step * self.by.factor, loop), *carried])

    def _constant(self, number: int, loop: scf.ForOp) -> Value:
        """A number of the type that a loop counts in, made before it."""
        made = make_constant(IntAttr(number, cast(ScalarType, loop.lower.type)))
        made.location = self._place(loop.location)
        cast(Block, loop.parent).insert_before(made, loop)
        return made.out

    def _round(
        self, loop: scf.WhileOp | scf.ForOp, carried: Sequence[Value], place: Operation, number: int
    ) -> Sequence[Value]:
        """Write a round before `place`, the one of that number from 0 on; what it yields."""
        if isinstance(loop, scf.ForOp):
            at = self._constant(_number(loop.lower) + number * _number(loop.step), loop)
            return self._copy(loop.body.block, [at, *carried], place)
        passed = self._copy(loop.before.block, carried, place)[1:]
        return self._copy(loop.after.block, passed, place)

    def _copy(self, block: Block, given: Sequence[Value], place: Operation) -> Sequence[Value]:
        """Copy the operations of a block before `place`; what its terminator would have."""
        mapping: dict[Value, Value] = dict(zip(block.args, given, strict=True))
        end = cast(Operation, block.terminator)
        self._clone((op for op in block if op is not end), mapping, place)
        return [mapping.get(value, value) for value in end.operands]

    def _clone(self, ops: Iterable[Operation], mapping: dict[Value, Value], place: Operation) -> None:
        block = place.parent
        assert block is not None  # a loop of a program, or the end of one
        for op in ops:
            copy: Operation = op.clone(mapping)
            if copy.regions:
                self._sizes[copy] = self._sizes[op]
            for inner in copy.walk():
                inner.location = self._place(inner.location)
            block.insert_before(copy, place)

    def _place(self, location: Location) -> Location:
        """The location of a copy, one object for all copies of an operation."""
        if id(location) not in self._places:  # the location is kept, so that no other gets its id
            self._places[id(location)] = location, derived_location([location], self.by.name)
        return self._places[id(location)][1]
