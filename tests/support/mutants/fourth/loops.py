"""Loops that are split, bounded in another way or replaced by a power, and values that nothing seems to need."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.first.loops import count_to, counted
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, constant, f32, is_inside, on_values, operations, ranked
from support.mutants.third.storage import is_direct
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Operation, Program, Value
from tx8ir.core import f32 as single
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("loops", round=4)
OTHER_EFFECTS = ("func.call", "builtin.set_parameter", "builtin.set_combine_parameter", "builtin.get_parameter")
"""What may read or write storage that it is not given."""
read = builtin.to_vtensor


def turns(loop: Any, most: int = 64) -> int | None:
    """How often the body of a counting loop runs, if not too often."""
    found = counted(loop)
    if found is None or ranked(loop.operands[0]).element is not single:
        return None
    number, bound, step = map(np.float32, found)
    for done in range(most):
        if not number < bound:
            return done
        number += step
    return None


def in_main(program: Program) -> Iterator[Any]:
    """The loops of `main`, whose arguments are storages of their own."""
    return (loop for loop in operations(program, scf.WhileOp) if program.main in loop.ancestors())


def filling(before: bool) -> Case:
    """While i < 2: a += v; fill t; where v is what t holds when the condition is computed, or x."""

    def going(i: Value, a: Value, x: Value, t: Value) -> Any:
        return pd.less_than(i, constant([2])), [i, a, read(t) if before else x]

    def turn(t: Value, i: Value, a: Value, v: Value) -> list[Any]:
        pd.fill_(t, value=9.0)
        return [pd.add(i, constant([1])), pd.add(a, v)]

    return case(
        lambda t, x: scf.WhileOp.build(
            [constant([0]), x], lambda i, a: going(i, a, x, t), lambda i, a, v: turn(t, i, a, v)
        ).results[1],
        storage=["t"], t=f32(1, 2), x=f32(10, 20),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#195606: Revert [LICM] Remove unnecessary check during store hoisting",
    mistake="looks for reads before it in the body, and not where the condition is computed, which comes first",
    witness=lambda: filling(before=True),
    control=lambda: filling(before=False),
)
@attrs.frozen
class HoistFills(Pass):
    """Fills storage once, before a loop that runs, where each turn fills it before anything there reads it."""

    name: ClassVar[str] = "hoist-fills"

    def run(self, program: Program) -> None:
        for loop in in_main(program):
            for op in [op for op in loop.after.block if isinstance(op, pd.Fill_Op)]:
                storage = op.operands[0]
                inside = [user for user in storage.users if loop in user.ancestors() and user is not op]
                reads = all(isinstance(user, builtin.ToVTensorOp) for user in inside)
                if not turns(loop) or is_inside(storage, loop) or not reads or not all(map(is_direct, storage.users)):
                    continue
                if all(op.is_before(user) for user in inside if user.parent is loop.after.block):
                    op.move_before(loop)
                    self.count("fills")


def growing(in_branch: bool) -> Case:
    """While i < 3: k += 1, and in a branch x, or k, is added to t."""

    def turn(t: Value, c: Value, x: Value, k: Value) -> list[Any]:
        scf.IfOp.build(c, lambda: [pd.add_(t, k if in_branch else x)][1:])
        return [pd.add(k, constant([1]))]

    return case(
        lambda t, c, x: [
            count_to(constant([3]), constant([0]), x, body=lambda k: turn(t, c, x, k)), x
        ][1:],
        storage=["t"], t=f32(1, 2), c=bools(1), x=f32(10, 20),
    )  # fmt: skip


@AREA.mutant(
    citation="triton-lang/triton#2714: [BACKEND] Fix bug in ForOpDeadArgElimination.",
    mistake="looks for uses in the block of the loop, and not in the branches there",
    witness=lambda: growing(in_branch=True),
    control=lambda: growing(in_branch=False),
)
@attrs.frozen
class FreezeUnusedValues(Pass):
    """Does not compute the next value of what a loop carries for nothing else."""

    name: ClassVar[str] = "freeze-unused-values"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            going, end = loop.before.block.terminator, loop.after.block.terminator
            for place, following in enumerate(end.operands):
                if place >= len(loop.results) or loop.results[place].has_uses:
                    continue
                first, carried = loop.before.block.args[place], loop.after.block.args[place]
                only_passed = going.operands[place + 1] is first and list(first.users) == [going]
                update = following.defining_op
                if not only_passed or update is None or update.regions or list(following.users) != [end]:
                    continue
                users = [user for user in carried.users if user.parent is loop.after.block]
                if update.parent is loop.after.block and users and all(user is update for user in users):
                    end.set_operand(place, carried)
                    self.count("values")


def sources(op: Operation, loop: Any) -> set[Value]:
    """The storages that an operation in a loop reads, itself or by what it is computed of in a turn."""
    found, work, seen = set[Value](), [op], set[Operation]()
    while work:
        at = work.pop()
        if at in seen or loop not in at.ancestors():
            continue
        seen.add(at)
        if isinstance(at, builtin.ToVTensorOp | InplaceOp):
            found.add(at.operands[0])
        work += [v.defining_op for v in at.operands if v.defining_op is not None]
    return found


def two_writes(reads: bool) -> Case:
    """While i < 3: t += what u holds, or x; u += x."""

    def turn(t: Value, u: Value, x: Value) -> list[Any]:
        pd.add_(t, read(u) if reads else x)
        pd.add_(u, x)
        return []

    return case(
        lambda t, u, x: [count_to(constant([3]), constant([0]), body=lambda: turn(t, u, x)), x][1:],
        storage=["t", "u"], t=f32(1, 2), u=f32(3, 4), x=f32(10, 20),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#38626: [LoopDistribute] wrong code with -enable-loop-distribute",
    mistake="the first statement may read what the second one wrote in the turn before",
    witness=lambda: two_writes(reads=True),
    control=lambda: two_writes(reads=False),
)
@attrs.frozen
class SplitLoops(Pass):
    """Makes two loops of one that writes two storages."""

    name: ClassVar[str] = "split-loops"

    def run(self, program: Program) -> None:
        for loop in list(in_main(program)):
            body = list(loop.after.block)
            places = [i for i, op in enumerate(body) if isinstance(op, InplaceOp)]
            inside = [*loop.before.block, *body]
            if len(places) != 2 or turns(loop) is None or any(op.regions or op.name in OTHER_EFFECTS for op in inside):
                continue
            first, second = (body[i] for i in places)
            storages = [op.operands[0] for op in (first, second)]
            if storages[0] is storages[1] or not all(is_direct(user) for s in storages for user in s.users):
                continue
            ends: list[Any] = [loop.before.block.terminator, loop.after.block.terminator]
            if any(sources(end, loop) for end in ends) or storages[0] in sources(second, loop):
                continue
            copy = loop.clone({})
            loop.parent.insert_before(copy, loop)
            copied = list(copy.after.block)
            copied[places[1]].erase()
            first.erase()
            self.count("loops")


def multiplying(factor: float, start: float) -> Case:
    """While i < 5: x *= factor."""
    return case(
        lambda x: count_to(
            constant([5]), constant([0]), x, body=lambda a: [pd.scale(a, scale=factor)]
        ).results[1],
        x=f32(start, 2 * start),
    )  # fmt: skip


@AREA.mutant(
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: overflow of what is combined first)",
    mistake="the power of the factor may overflow where the products do not",
    special_value=True,
    witness=lambda: multiplying(2.0**40, 2.0**-120),
    control=lambda: multiplying(2.0**4, 2.0**-120),
)
def closed_form_of_product(program: Program) -> None:
    """Multiplies once with the power of a factor instead of with the factor in each turn, where nothing is rounded."""
    for loop in operations(program, scf.WhileOp):
        number, given = turns(loop), loop.after.block.terminator.operands
        for place in range(1, min(len(loop.results), len(given))):
            update, first = given[place].defining_op, loop.before.block.args[place]
            if number is None or not isinstance(update, pd.ScaleOp) or update.bias != 0.0 or not on_values(update):
                continue
            passed = loop.before.block.terminator.operands[place + 1] is first
            if not passed or update.x is not loop.after.block.args[place] or ranked(first).element is not single:
                continue
            if not 1 <= update.scale < 2.0**100 or math.frexp(update.scale)[0] != 0.5:
                continue
            with np.errstate(all="ignore"), Builder.before(loop):
                power = np.float32(update.scale) ** number
                closed = pd.scale(loop.operands[place], scale=float(power))
            loop.results[place].replace_all_uses_with(closed.out)


def bounded(step: float) -> Case:
    """While i <= 2: x += 1; i += step; from 0."""
    return case(
        lambda x: scf.WhileOp.build(
            [constant([0]), x],
            lambda i, a: (pd.less_equal(i, constant([2])), [i, a]),
            lambda i, a: [pd.add(i, constant([step])), pd.add(a, constant([1]))],
        ).results[1],
        x=f32(1, 2),
    )


@AREA.mutant(
    citation="Livinskii, Babokin, Regehr: YARPGen, OOPSLA 2020 (class of mistake: bounds of loops)",
    mistake="there are numbers between a bound and the next whole number",
    witness=lambda: bounded(0.5),
    control=lambda: bounded(1.0),
)
def exclusive_bound(program: Program) -> None:
    """Asks for numbers below n + 1 instead of n at most in the condition of a loop, for a whole n."""
    for loop in operations(program, scf.WhileOp):
        end: Any = loop.before.block.terminator
        test: Any = end.operands[0].defining_op
        if not isinstance(test, pd.LessEqualOp) or test.x is not loop.before.block.args[0] or not on_values(test):
            continue
        bound, kind = splat_value(test.y), ranked(test.y)
        if bound is None or not abs(bound) < 2**7 or bound != int(bound) or kind.element.dtype.itemsize < 4:
            continue
        with Builder.before(test):
            next_one = pd.full(shape=kind.shape, value=float(bound + 1), dtype=kind.element)
            strict = pd.less_than(test.x, next_one)
        end.set_operand(0, strict.out)
