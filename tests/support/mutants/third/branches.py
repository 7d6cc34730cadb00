"""Branches that are merged, nested or skipped, and what holds inside them."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area, Case
from support.mutants.programs import NAN, bools, case, constant, f32, is_inside, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Block, Builder, Program, Value
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("branches", round=3)
CHANGING = ("func.call", "builtin.set_parameter", "builtin.set_combine_parameter")
"""What may write storage that it is not given."""
INVERSE: dict[type[Any], type[Any]] = {
    pd.LessThanOp: pd.GreaterEqualOp,
    pd.GreaterEqualOp: pd.LessThanOp,
    pd.GreaterThanOp: pd.LessEqualOp,
    pd.LessEqualOp: pd.GreaterThanOp,
}


def comparing(number: float) -> Case:
    """If x < y 1, else 2 where x >= y, and 3."""
    return case(
        lambda x, y: scf.IfOp.build(
            pd.less_than(x, y),
            lambda: [constant([1])],
            lambda: [pd.where(pd.greater_equal(x, y), constant([2]), constant([3]))],
        ).results,
        x=f32(number), y=f32(2),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#161090: [InstSimplify] Simplify fcmp implied by dominating fcmp",
    mistake="where x is not less than y it need not be greater or equal: one of them may be NaN",
    special_value=True,
    witness=lambda: comparing(NAN),
    control=lambda: comparing(5),
)
@attrs.frozen
class ImpliedComparison(Pass):
    """Where a comparison is false its inverse is true."""

    name: ClassVar[str] = "implied-comparison"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            test = op.condition.defining_op
            if type(test) not in INVERSE or not on_values(test) or not len(op.else_region):
                continue
            for inner in [i for each in op.else_region.block for i in each.walk() if type(i) is INVERSE[type(test)]]:
                if inner.operands == test.operands and inner.has_uses:
                    with Builder.before(inner):
                        true = constant(np.ones(ranked(inner.result).shape, np.bool_))
                    inner.replace_with(true)
                    self.count("comparisons")


def nested(outer_writes: bool) -> Case:
    """If c and d: fill u; if c alone, perhaps t."""

    def body(t: Value, u: Value, c: Value, d: Value) -> Any:
        def then() -> list[Value]:
            if outer_writes:
                pd.fill_(t, value=7.0)
            scf.IfOp.build(d, lambda: [pd.fill_(u, value=9.0)][1:])
            return []

        scf.IfOp.build(c, then)
        return c

    return case(body, storage=["t", "u"], t=f32(1, 2), u=f32(3, 4), c=bools(1), d=bools(0))


@AREA.mutant(
    citation="Consensys/corset#97: Fix `ifs::raise_ifs` #87",
    mistake="what else the outer branch does is then done under both conditions",
    witness=lambda: nested(outer_writes=True),
    control=lambda: nested(outer_writes=False),
)
def merge_nested_branches(program: Program) -> None:
    """If (c) { if (d) … } -> if (c and d) …"""
    for inner in operations(program, scf.IfOp):
        outer = inner.parent_op
        if not isinstance(outer, scf.IfOp) or inner.results or outer.results:
            continue
        if any(len(branch.else_region) for branch in (inner, outer)) or is_inside(inner.condition, outer):
            continue
        if inner.condition.type is not outer.condition.type:
            continue
        with Builder.before(outer):
            both = pd.logical_and(outer.condition, inner.condition)
        for op in list(inner.then_region.block)[:-1]:
            op.move_before(inner)
        inner.erase()
        outer.set_operands([both])


def is_same(a: Value, b: Value) -> bool:
    """Whether two values are computed in the same way."""
    if a is b:
        return True
    one, other = a.defining_op, b.defining_op
    if one is None or other is None or type(one) is not type(other) or one.attributes != other.attributes:
        return False
    if one.regions or isinstance(one, InplaceOp) or len(one.results) != 1:
        return False
    if not one.operands:
        return isinstance(one, builtin.ConstantOp | pd.FullOp)
    return len(one.operands) == len(other.operands) and all(map(is_same, one.operands, other.operands))


def guarded(first: bool) -> Case:
    """If what t holds is positive fill t, or not; if it is then fill u."""

    def positive(t: Value) -> Value:
        return pd.greater_than(builtin.to_vtensor(t), constant([0])).out

    def body(t: Value, u: Value, x: Value) -> Any:
        scf.IfOp.build(positive(t), lambda: [pd.fill_(t if first else u, value=-1.0)][1:])
        scf.IfOp.build(positive(t), lambda: [pd.assign_(u, x)][1:])
        return x

    return case(body, storage=["t", "u"], t=f32(1), u=f32(3), x=f32(5))


@AREA.mutant(
    citation="tile-ai/tilelang#2538: `MergeIfStmt` merges same-condition `if`s that the first body invalidates",
    mistake="the first branch may write what the second condition reads",
    witness=lambda: guarded(first=True),
    control=lambda: guarded(first=False),
)
@attrs.frozen
class MergeEqualConditions(Pass):
    """Makes one branch of two in a row that ask the same."""

    name: ClassVar[str] = "merge-equal-conditions"

    def run(self, program: Program) -> None:
        for second in operations(program, scf.IfOp):
            first, between = second.prev_op, []
            while first is not None and not isinstance(first, scf.IfOp):
                between.append(first)
                first = first.prev_op
            if first is None or any(isinstance(op, InplaceOp) or op.name in CHANGING for op in between):
                continue
            if first.results or second.results or len(first.else_region) or len(second.else_region):
                continue
            inside = {op for each in second.then_region.block for op in each.walk()}
            if any(user in inside for op in between for r in op.results for user in r.users):
                continue
            if any(op.regions for op in between):
                continue
            if is_same(first.condition, second.condition):
                end = first.then_region.block.terminator
                for op in list(second.then_region.block)[:-1]:
                    op.move_before(end)
                second.erase()
                self.count("branches")


@AREA.mutant(
    citation="0xMiden/compiler#440: Implement SCF canonicalization to elide redundant yields from regions",
    mistake="two results that are one value in the first branch may be two in the other one",
    witness=lambda: case(
        lambda c, x, y: scf.IfOp.build(c, lambda: [x, x], lambda: [x, y]).results, c=bools(0), x=f32(1, 2), y=f32(3, 4)
    ),
    control=lambda: case(
        lambda c, x, y: scf.IfOp.build(c, lambda: [x, x], lambda: [y, y]).results, c=bools(0), x=f32(1, 2), y=f32(3, 4)
    ),
)
def merge_equal_results(program: Program) -> None:
    """Uses the first of several results that are the same."""
    for op in operations(program, scf.IfOp):
        given = op.then_region.block.terminator.operands
        for index, result in enumerate(op.results):
            earlier = given.index(given[index])
            if earlier < index and result.has_uses:
                result.replace_all_uses_with(op.results[earlier])


def threading(writes: bool) -> Case:
    """Two edges to a block that branches on its argument, of which one brings a constant."""

    def body(t: Value, c: Value, d: Value, x: Value) -> None:
        region = x.parent_block.parent
        first, second, there, yes, no = Block(), Block(), Block([d.type]), Block(), Block()
        for block in (first, second, there, yes, no):
            region.append(block)
        cf.CondBranchOp(c, [], [], true_dest=first, false_dest=second)
        with Builder.at_end(first):
            cf.BranchOp([constant(bools(1))], dest=there)
        with Builder.at_end(second):
            cf.BranchOp([d], dest=there)
        with Builder.at_end(there):
            if writes:
                pd.fill_(t, value=9.0)
            cf.CondBranchOp(there.args[0], [], [], true_dest=yes, false_dest=no)
        with Builder.at_end(yes):
            func.ReturnOp([pd.relu(x).out])
        with Builder.at_end(no):
            func.ReturnOp([pd.abs(x).out])

    return case(body, storage=["t"], t=f32(1, 2), c=bools(1), d=bools(0), x=f32(-1, 2))


@AREA.mutant(
    citation="dotnet/runtime#56979: JIT performs invalid jump threading",
    mistake="what the block does before it branches is skipped",
    witness=lambda: threading(writes=True),
    control=lambda: threading(writes=False),
)
def thread_constant_conditions(program: Program) -> None:
    """Goes on where a block would branch to with the constant that it is given."""
    for edge in operations(program, cf.BranchOp):
        block = edge.dest
        branch = block.terminator
        if not isinstance(branch, cf.CondBranchOp) or branch.condition not in block.args:
            continue
        if any(user.parent is not block for op in block for r in op.results for user in r.users):
            continue
        mapping = dict(zip(block.args, edge.dest_operands, strict=True))
        truth = splat_value(mapping[branch.condition])
        carried = branch.true_operands if truth else branch.false_operands
        outside = any(user.parent is not block for argument in block.args for user in argument.users)
        if truth is None or outside or any(v.parent_block is block and v not in mapping for v in carried):
            continue
        with Builder.before(edge):
            cf.BranchOp([mapping.get(v, v) for v in carried], dest=branch.true_dest if truth else branch.false_dest)
        edge.erase()
