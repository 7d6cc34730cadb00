"""Mutants of branches, structured and between blocks: what both sides share, what an edge carries."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, constant, f32, inline, is_inside, operations
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Block, Builder, Program, Value, VTensorType
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.passes import Pass

AREA = Area("branches", round=1)


def branches(then: Any, otherwise: Any, **more: Any) -> Case:
    """A branch on `c` over `x`."""
    return case(
        lambda c, x: scf.IfOp.build(c, lambda: [then(x)], lambda: [otherwise(x)]).results,
        c=bools(0), x=f32(1, 2), **more,
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#123375: [mlir] BlockEquivalenceData is wrong? (blocks merged that differ)",
    mistake="compares the kinds of the operations and their operands, not their attributes",
    witness=lambda: branches(lambda x: pd.scale(x, scale=2.0), lambda x: pd.scale(x, scale=3.0)),
    control=lambda: branches(lambda x: pd.relu(x), lambda x: pd.relu(x)),
)
def fold_identical_branches(program: Program) -> None:
    for op in operations(program, scf.IfOp):
        if not len(op.else_region):
            continue
        first, second = op.then_region.block, op.else_region.block
        same: dict[Value, Value] = {}
        equal = len(first) == len(second)
        for a, b in zip(first, second, strict=False):
            equal &= type(a) is type(b) and [same.get(v, v) for v in a.operands] == list(b.operands)
            equal &= not a.regions
            same.update(zip(a.results, b.results, strict=False))
        if equal:
            op.replace_with(inline(first, op, []))


@AREA.mutant(
    citation="llvm/llvm-project#111979: IR: introduce CmpInst::isEquivalence (GVN: x == 0.0 does not make x +0.0)",
    mistake="-0 equals 0 and is another number",
    special_value=True,
    witness=lambda: case(
        lambda x: scf.IfOp.build(pd.equal(x, constant([0])), lambda: [pd.reciprocal(x)], lambda: [x]).results,
        x=f32(-0.0),
    ),
    control=lambda: case(
        lambda x: scf.IfOp.build(pd.equal(x, constant([0])), lambda: [pd.reciprocal(x)], lambda: [x]).results,
        x=f32(0.0),
    ),
)
@attrs.frozen
class UseKnownEquality(Pass):
    """Inside `if x == c`, x is c."""

    name: ClassVar[str] = "use-known-equality"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            test = op.condition.defining_op
            if not isinstance(test, pd.EqualOp) or splat_value(test.y) is None or test.x.type is not test.y.type:
                continue
            inside = set(op.then_region.block)
            replaced = test.x.replace_uses_if(test.y, lambda use: use.owner in inside)  # noqa: B023  used at once
            self.count("uses", replaced)


@AREA.mutant(
    citation="swiftlang/swift#85569: LoopInvariantCodeMotion: don't reuse existing instructions in the loop pre-header",
    mistake="the read of one branch comes after a write there",
    witness=lambda: case(
        lambda t, c: scf.IfOp.build(
            c,
            lambda: [pd.fill_(t, value=9.0), builtin.to_vtensor(t)][1:],
            lambda: [builtin.to_vtensor(t)],
        ).results,
        storage=["t"], t=f32(1, 2), c=bools(1),
    ),
    control=lambda: case(
        lambda t, c: scf.IfOp.build(
            c, lambda: [builtin.to_vtensor(t)], lambda: [pd.relu(builtin.to_vtensor(t))]
        ).results,
        storage=["t"], t=f32(1, -2), c=bools(1),
    ),
)  # fmt: skip
def hoist_common_reads(program: Program) -> None:
    """A read that both branches have is done once, above."""
    for op in operations(program, scf.IfOp):
        if not len(op.else_region):
            continue
        reads = {r.x: r for r in op.then_region.block if isinstance(r, builtin.ToVTensorOp)}
        for other in [r for r in op.else_region.block if isinstance(r, builtin.ToVTensorOp)]:
            first = reads.get(other.x)
            if first is not None and not is_inside(other.x, op) and first.parent is op.then_region.block:
                first.move_before(op)
                other.replace_with(first)


def diamond(same: bool) -> Case:
    """A conditional branch to one block, with x or with y."""

    def body(c: Value, x: Value, y: Value) -> None:
        end = Block([x.type])
        x.parent_block.parent.append(end)
        cf.CondBranchOp(c, [x], [x if same else y], true_dest=end, false_dest=end)
        with Builder.at_end(end):
            func.ReturnOp([end.args[0]])

    return case(body, c=bools(0), x=f32(1, 2), y=f32(3, 4))


@AREA.mutant(
    citation="xdslproject/xdsl#3284: transformations: (cf) cf.cond_br identical successors",
    mistake="the two edges may carry different operands",
    witness=lambda: diamond(same=False),
    control=lambda: diamond(same=True),
)
def join_branches_to_one_block(program: Program) -> None:
    for op in operations(program, cf.CondBranchOp):
        if op.true_dest is op.false_dest:
            with Builder.before(op):
                cf.BranchOp(op.true_operands, dest=op.true_dest)
            op.erase()


def passing(swapped: bool) -> Case:
    """A branch to a block that only branches on, with its arguments in order or swapped."""

    def body(x: Value, y: Value) -> None:
        through, end = Block([x.type, y.type]), Block([x.type, y.type])
        region = x.parent_block.parent
        region.append(through)
        region.append(end)
        cf.BranchOp([x, y], dest=through)
        with Builder.at_end(through):
            cf.BranchOp(through.args[::-1] if swapped else through.args, dest=end)
        with Builder.at_end(end):
            func.ReturnOp([pd.subtract(*end.args)])

    return case(body, x=f32(1, 2), y=f32(3, 5))


@AREA.mutant(
    citation="llvm/llvm-project#102038: [mlir] Fix block merging (index of the arguments of the block)",
    mistake="passes on the operands in their order, as many as there are, not through the arguments in between",
    witness=lambda: passing(swapped=True),
    control=lambda: passing(swapped=False),
)
def skip_empty_blocks(program: Program) -> None:
    for op in operations(program, cf.BranchOp):
        onward = op.dest.first_op
        if isinstance(onward, cf.BranchOp) and onward.dest is not op.dest:
            given, wanted = ([v.type for v in branch.operands] for branch in (op, onward))
            if given == wanted:
                op.set_successor(0, onward.dest)


@AREA.mutant(
    citation="Lopes et al.: Alive2, PLDI 2021 (class of mistake: stores that the source does not execute)",
    mistake="a write in the branch that is not taken is executed, too",
    witness=lambda: case(
        lambda t, c, x: scf.IfOp.build(c, lambda: [pd.add_(t, x), pd.relu(x)][1:], lambda: [x]).results,
        storage=["t"],
        t=f32(1, 2),
        c=bools(0),
        x=f32(3, -4),
    ),
    control=lambda: branches(lambda x: pd.relu(x), lambda x: pd.abs(x)),
)
@attrs.frozen
class BranchToSelection(Pass):
    """Computes both of two short branches and selects."""

    name: ClassVar[str] = "branch-to-selection"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            regions = [region.block for region in op.regions if len(region)]
            if len(regions) != 2 or not op.results or any(len(block) > 4 for block in regions):
                continue
            inner = [i for block in regions for i in block]
            fits = all(type(r.type) is VTensorType and r.type.rank for r in op.results)
            if not fits or any(i.regions or i.name == "func.call" for i in inner):
                continue
            first, second = (inline(block, op, []) for block in regions)
            with Builder.before(op):
                chosen = [pd.where(op.condition, a, b) for a, b in zip(first, second, strict=True)]
            if [c.out.type for c in chosen] == [r.type for r in op.results]:
                op.replace_with(chosen)
                self.count("branches")
