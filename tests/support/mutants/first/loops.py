"""Mutants of loops: what they change, how often they run, what they end with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, f32, inline, is_inside, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, TensorType, Value
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("loops", round=1)


def count_to(bound: Any, start: Any, *others: Any, body: Any, step: float = 1.0, forward: Any = None) -> Any:
    """While start < bound: others = body(others); start += step. Its results: the counter, then the others."""

    def before(i: Value, *carried: Value) -> tuple[Any, Sequence[Any]]:
        return pd.less_than(i, bound), [i, *(forward(*carried) if forward else carried)]

    def after(i: Value, *carried: Value) -> Sequence[Any]:
        following = body(*carried)
        return [pd.add(i, constant([step])), *following]

    return scf.WhileOp.build([start, *others], before, after)


@AREA.mutant(
    citation="llvm/llvm-project#189165: [mlir][Affine] Fix LICM incorrectly hoisting stores from zero-trip-count loops",
    mistake="the loop may not run at all",
    witness=lambda: case(
        lambda t, n: count_to(n, constant([5]), body=lambda: [pd.fill_(t, value=7.0)][1:]).results[:1],
        storage=["t"], t=f32(1, 2), n=f32(3),
    ),
    control=lambda: case(
        lambda t, n: count_to(n, constant([0]), body=lambda: [pd.fill_(t, value=7.0)][1:]).results[:1],
        storage=["t"], t=f32(1, 2), n=f32(3),
    ),
)  # fmt: skip
@attrs.frozen
class HoistStores(Pass):
    """Moves a write that does the same in each turn out of its loop, when nothing else there uses the storage."""

    name: ClassVar[str] = "hoist-stores"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            for op in list(loop.after.block):
                if not isinstance(op, InplaceOp) or op.result.has_uses:
                    continue
                outside = all(not is_inside(v, loop) for v in op.operands)
                users = [user for user in op.operands[0].users if loop in user.ancestors()]
                if outside and users == [op]:
                    op.move_before(loop)
                    self.count("stores")


@AREA.mutant(
    citation="llvm/llvm-project#120302: Enable LICM for ops with only read side effects (only if all the loop reads)",
    mistake="looks for writes before the read in the loop; one after it is seen in the next turn",
    witness=lambda: case(
        lambda t: count_to(
            constant([3]), constant([0]), constant([0]),
            body=lambda a: [pd.add(a, builtin.to_vtensor(t)), pd.fill_(t, value=5.0)][:1],
        ).results[1],
        storage=["t"], t=f32(1),
    ),
    control=lambda: case(
        lambda t: count_to(
            constant([3]), constant([0]), constant([0]),
            body=lambda a: [pd.add(a, builtin.to_vtensor(t))],
        ).results[1],
        storage=["t"], t=f32(1),
    ),
)  # fmt: skip
def hoist_reads(program: Program) -> None:
    for loop in operations(program, scf.WhileOp):
        written = False
        for op in list(loop.after.block):
            written |= isinstance(op, InplaceOp) or bool(op.regions)
            if isinstance(op, builtin.ToVTensorOp) and not written and not is_inside(op.x, loop):
                op.move_before(loop)


@AREA.mutant(
    citation="llvm/llvm-project#219456: [mlir][scf] WhileMoveIfDown miscompiles duplicated scf.condition operands",
    mistake="a value that `after` gives back unchanged may have come from another argument of `before`",
    witness=lambda: case(
        lambda a, b: count_to(
            constant([1]), constant([0]), a, b, body=lambda p, q: [p, q], forward=lambda p, q: [q, p]
        ).results[1:],
        a=f32(1, 2), b=f32(3, 4),
    ),
    control=lambda: case(
        lambda a, b: count_to(
            constant([2]), constant([0]), a, b, body=lambda p, q: [p, pd.add(p, q)]
        ).results[1:],
        a=f32(1, 2), b=f32(3, 4),
    ),
)  # fmt: skip
@attrs.frozen
class UseInvariantValues(Pass):
    """Uses the first value of what a loop carries and does not change."""

    name: ClassVar[str] = "use-invariant-values"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            yielded = loop.after.block.terminator.operands
            for index, (init, given) in enumerate(zip(loop.operands, yielded, strict=True)):
                arguments = loop.after.block.args
                if index < len(arguments) and given is arguments[index] and init.type is given.type:
                    loop.before.block.args[index].replace_all_uses_with(init)
                    self.count("values")


@AREA.mutant(
    citation="llvm/llvm-project#216620: Fix RemoveDeadRegionBranchOpSuccessorInputs producing invalid scf.for (ties)",
    mistake="values that begin equal and are changed by operations of one kind are taken as equal",
    witness=lambda: case(
        lambda x: count_to(
            constant([2]), constant([0]), x, x,
            body=lambda p, q: [pd.add(p, constant([1])), pd.add(q, constant([10]))],
        ).results[1:],
        x=f32(1, 2),
    ),
    control=lambda: case(
        lambda x: count_to(
            constant([2]), constant([0]), x, x, body=lambda p, q: [pd.relu(p), pd.relu(q)]
        ).results[1:],
        x=f32(1, 2),
    ),
)  # fmt: skip
def merge_equal_carried_values(program: Program) -> None:
    for loop in operations(program, scf.WhileOp):
        before, after = loop.before.block, loop.after.block
        if list(before.terminator.operands[1:]) != list(before.args):
            continue
        for i, first in enumerate(loop.operands):
            for j in range(i + 1, len(loop.operands)):
                a, b = (after.terminator.operands[k].defining_op for k in (i, j))
                if loop.operands[j] is not first or a is None or type(a) is not type(b) or b is None:
                    continue
                if a.operands[:1] == (after.args[i],) and b.operands[:1] == (after.args[j],):
                    after.args[j].replace_all_uses_with(after.args[i])
                    loop.results[j].replace_all_uses_with(loop.results[i])


def counted(loop: Any) -> tuple[float, float, float] | None:
    """Start, bound and step of a loop whose first carried value counts, when all are constants."""
    before, after = loop.before.block, loop.after.block
    test = before.terminator.operands[0].defining_op
    following = after.terminator.operands[0].defining_op if after.terminator.operands else None
    if not isinstance(test, pd.LessThanOp) or test.x is not before.args[0] or not isinstance(following, pd.AddOp):
        return None
    if before.terminator.operands[1] is not before.args[0] or following.x is not after.args[0]:
        return None
    numbers = [splat_value(v) for v in (loop.operands[0], test.y, following.y)]
    return None if None in numbers or not numbers[2] else tuple(map(float, numbers))  # type: ignore[return-value]  # three


@AREA.mutant(
    citation="llvm/llvm-project#69028: [MLIR][SCF] Removes incorrect assertion in loop unroller (uneven step)",
    mistake="the number of turns is rounded down",
    witness=lambda: case(
        lambda x: count_to(
            constant([5]), constant([0]), x, step=2.0, body=lambda a: [pd.add(a, constant([1]))]
        ).results[1],
        x=f32(1, 2),
    ),
    control=lambda: case(
        lambda x: count_to(
            constant([6]), constant([0]), x, step=2.0, body=lambda a: [pd.add(a, constant([1]))]
        ).results[1],
        x=f32(1, 2),
    ),
)
@attrs.frozen
class UnrollCountedLoops(Pass):
    """Writes out loops of a known, small number of turns."""

    name: ClassVar[str] = "unroll-counted-loops"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            found = counted(loop)
            if found is None or not 0 <= (found[1] - found[0]) / found[2] <= 8:
                continue
            carried = list(loop.operands)
            for _ in range(int((found[1] - found[0]) // found[2])):
                carried = inline(loop.after.block, loop, inline(loop.before.block, loop, carried)[1:])
            loop.replace_with(inline(loop.before.block, loop, carried)[1:])
            self.count("unrolled")


@AREA.mutant(
    citation="llvm/llvm-project#219616: [mlir][scf] upliftWhileToForLoop reconstructs the wrong scf.while result",
    mistake="the counter ends at the bound where the step divides the range, else after it",
    witness=lambda: case(
        lambda x: count_to(constant([5]), constant([0]), x, step=2.0, body=lambda a: [pd.add(a, a)]).results,
        x=f32(1, 2),
    ),
    control=lambda: case(
        lambda x: count_to(constant([4]), constant([0]), x, step=2.0, body=lambda a: [pd.add(a, a)]).results,
        x=f32(1, 2),
    ),
)
def counter_after_loop(program: Program) -> None:
    for loop in operations(program, scf.WhileOp):
        found = counted(loop)
        if found is not None and found[0] <= found[1] and loop.results[0].has_uses:
            kind = ranked(loop.results[0])
            with Builder.after(loop):
                last = pd.full(shape=kind.shape, value=found[1], dtype=kind.element)
            loop.results[0].replace_all_uses_with(last.out)


@AREA.mutant(
    citation="iree-org/iree#24722: Assert in stream affinity analysis on `scf.while` (value N taken as result N)",
    mistake="a loop that does not run gives what `before` computes, not what it started with",
    witness=lambda: case(
        lambda x: (
            scf.WhileOp.build([x], lambda a: (constant([0], bool), [pd.add(a, a)]), lambda a: [pd.relu(a)]).results
        ),
        x=f32(1, 2),
    ),
    control=lambda: case(
        lambda x: scf.WhileOp.build([x], lambda a: (constant([0], bool), [a]), lambda a: [pd.relu(a)]).results,
        x=f32(1, 2),
    ),
)
@attrs.frozen
class DropIdleLoops(Pass):
    """A loop whose condition is false is dropped."""

    name: ClassVar[str] = "drop-idle-loops"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            never = splat_value(loop.before.block.terminator.operands[0])
            same = [v.type for v in loop.operands] == [r.type for r in loop.results]
            effects = any(isinstance(v.type, TensorType) for op in loop.walk() for v in op.operands)
            if never is not None and not never and same and not effects:
                loop.replace_with(loop.operands)
                self.count("loops")
