"""Turns that are taken out of a loop, counted, or replaced by what they come to."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from support.mutants.first.loops import count_to, counted
from support.mutants.mutant import Area, Case
from support.mutants.programs import case, constant, f32, inline, ints, is_inside, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, Value
from tx8ir.dialects import builtin, pd, scf
from tx8ir.passes import Pass

AREA = Area("loops", round=2)


def adding(start: float) -> Case:
    """While i < 3: x += 1, from a start that is not known."""
    return case(
        lambda i, x: count_to(constant([3]), i, x, body=lambda a: [pd.add(a, constant([1]))]).results[1],
        i=f32(start), x=f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#223232: [mlir][scf] Loop peeling makes a dynamic zero-trip loop execute",
    mistake="the first turn is taken without asking the condition",
    witness=lambda: adding(5),
    control=lambda: adding(0),
)
@attrs.frozen
class PeelFirstTurn(Pass):
    """Writes out the first turn of a counting loop before it."""

    name: ClassVar[str] = "peel-first-turn"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            test = loop.before.block.terminator.operands[0].defining_op
            if isinstance(test, pd.LessThanOp) and test.x is loop.before.block.args[0]:
                going = inline(loop.before.block, loop, loop.operands)[1:]
                loop.set_operands(inline(loop.after.block, loop, going))
                self.count("peeled")


def accumulating(kind: Any) -> Case:
    """While i < 3, or i <= 3: x += y, of integers; from 0."""

    def before(i: Value, a: Value) -> Any:
        return kind(i, constant([3])), [i, a]

    return case(
        lambda x, y: scf.WhileOp.build(
            [constant([0]), x], before, lambda i, a: [pd.add(i, constant([1])), pd.add(a, y)]
        ).results[1],
        x=ints("int32", 1, 2), y=ints("int32", 3, 5),
    )  # fmt: skip


@AREA.mutant(
    citation="m4rs-mt/ILGPU#653: Fixed invalid adaption of loop bounds. (trip counts of `<=`)",
    mistake="takes `<=` for `<`: one turn is missing",
    witness=lambda: accumulating(pd.less_equal),
    control=lambda: accumulating(pd.less_than),
)
def closed_form_of_accumulation(program: Program) -> None:
    """An integer to which each of n turns adds y is x + n y in the end."""
    for loop in operations(program, scf.WhileOp):
        before, after = loop.before.block, loop.after.block
        test = before.terminator.operands[0].defining_op
        if not isinstance(test, pd.LessThanOp | pd.LessEqualOp) or test.x is not before.args[0]:
            continue
        following = after.terminator.operands[0].defining_op
        if list(before.terminator.operands[1:]) != list(before.args) or not isinstance(following, pd.AddOp):
            continue
        numbers = [splat_value(v) for v in (loop.operands[0], test.y, following.y)]
        if following.x is not after.args[0] or not all(n is not None and float(n).is_integer() for n in numbers):
            continue
        start, bound, step = (float(n) for n in numbers if n is not None)
        if step <= 0 or max(abs(start), abs(bound)) > 1000:
            continue
        turns = max(0, math.ceil((bound - start) / step))
        for index, (first, given) in enumerate(zip(loop.operands, after.terminator.operands, strict=True)):
            summed = given.defining_op
            if not index or not isinstance(summed, pd.AddOp) or summed.x is not after.args[index]:
                continue
            if is_inside(summed.y, loop) or summed.y.type is not first.type or ranked(first).element.is_float:
                continue
            with Builder.before(loop):
                total = pd.add(first, pd.scale(summed.y, scale=float(turns)))
            loop.results[index].replace_all_uses_with(total.out)


def stepping(bound: float, step: float) -> Case:
    """While i < bound: x += 1; i += step; from 0."""
    return case(
        lambda x: count_to(
            constant([bound]), constant([0]), x, step=step, body=lambda a: [pd.add(a, constant([1]))]
        ).results[1],
        x=f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#166496: miscompile when IndVarSimplify turns a float induction variable into an int?",
    mistake="divides the range by the step: a counter that is rounded each time may take one turn more or less",
    witness=lambda: stepping(2.4, 0.3),
    control=lambda: stepping(2.0, 0.5),
)
@attrs.frozen
class UnrollByDivision(Pass):
    """Writes out loops of a known, small number of turns."""

    name: ClassVar[str] = "unroll-by-division"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            found = counted(loop)
            if found is None or found[2] < 0 or not 0 <= (found[1] - found[0]) / found[2] <= 12:
                continue
            carried = list(loop.operands)
            for _ in range(math.ceil((found[1] - found[0]) / found[2])):
                carried = inline(loop.after.block, loop, inline(loop.before.block, loop, carried)[1:])
            loop.replace_with(inline(loop.before.block, loop, carried)[1:])
            self.count("unrolled")


def filling(reads: bool) -> Case:
    """While i < 3: fill t with 5; the condition's region may add what t holds to x."""

    def body(t: Value, x: Value) -> Any:
        def before(i: Value, a: Value) -> Any:
            seen = pd.add(a, builtin.to_vtensor(t)) if reads else a
            return pd.less_than(i, constant([3])), [i, seen]

        def after(i: Value, a: Value) -> Any:
            pd.fill_(t, value=5.0)
            return [pd.add(i, constant([1])), a]

        return scf.WhileOp.build([constant([0]), x], before, after).results[1]

    return case(body, storage=["t"], t=f32(1, 2), x=f32(10, 20))


@AREA.mutant(
    citation="swiftlang/swift#30789: Fix LICM combined load/store hoisting/sinking optimization. (stale loads)",
    mistake="looks for reads where the write is, not in the region of the condition, which runs after it again",
    witness=lambda: filling(reads=True),
    control=lambda: filling(reads=False),
)
def sink_stores(program: Program) -> None:
    """A write that does the same in each turn is done once, after a loop that runs at least once."""
    for loop in operations(program, scf.WhileOp):
        found = counted(loop)
        if found is None or not found[0] < found[1]:
            continue
        for op in list(loop.after.block):
            if not isinstance(op, pd.Fill_Op | pd.Assign_Op) or op.out.has_uses:
                continue
            others = [inner for each in loop.after.block if each is not op for inner in each.walk()]
            if any(is_inside(v, loop) for v in op.operands) or any(op.x in inner.operands for inner in others):
                continue
            op.move_after(loop)
