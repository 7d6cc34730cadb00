"""Branches that give the same, that share an end, and what is known where they lead."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, constant, f32, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Block, Branch, Builder, Operation, Program, Value
from tx8ir.dialects import cf, func, pd, scf
from tx8ir.passes import Pass

AREA = Area("branches", round=2)


def choosing(first: float, second: float) -> Case:
    """If c the first number, else the second."""
    return case(
        lambda c: scf.IfOp.build(c, lambda: [constant([first])], lambda: [constant([second])]).results, c=bools(0)
    )


@AREA.mutant(
    citation="react/react#37660: [compiler] Preserve signed zero in phi fold and codegen",
    mistake="-0 and +0 compare equal",
    special_value=True,
    witness=lambda: choosing(0.0, -0.0),
    control=lambda: choosing(2.0, 2.0),
)
@attrs.frozen
class FoldEqualResults(Pass):
    """What both branches give as the same number is this number."""

    name: ClassVar[str] = "fold-equal-results"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            for index, result in enumerate(op.results):
                numbers = [splat_value(region.block.terminator.operands[index]) for region in op.regions]
                kind = result.type
                if numbers[0] is None or numbers[0] != numbers[1] or not result.has_uses:
                    continue
                if ranked(result).element.is_float:
                    with Builder.before(op):
                        known = pd.full(shape=kind.shape, value=numbers[0], dtype=kind.element)
                    result.replace_all_uses_with(known.out)
                    self.count("results")


def leading(shared: bool) -> Case:
    """A branch to a block that selects by the condition; the other side may lead there, too."""

    def body(c: Value, x: Value) -> None:
        region = x.parent_block.parent
        there, aside = Block([x.type]), Block()
        region.append(aside)
        region.append(there)
        cf.CondBranchOp(c, [x], [], true_dest=there, false_dest=aside)
        with Builder.at_end(aside):
            other = pd.scale(x, scale=3.0)
            if shared:
                cf.BranchOp([other], dest=there)
            else:
                func.ReturnOp([other.out])
        with Builder.at_end(there):
            func.ReturnOp([pd.where(c, there.args[0], pd.scale(there.args[0], bias=100.0)).out])

    return case(body, c=bools(0), x=f32(1, 2))


@AREA.mutant(
    citation="dotnet/runtimelab#527: Check for basic block boundary (a branch that is the target of another branch)",
    mistake="other edges may lead to the block, too",
    witness=lambda: leading(shared=True),
    control=lambda: leading(shared=False),
)
def known_condition_in_block(program: Program) -> None:
    """In the block that a branch goes to when its condition holds, it holds."""
    for op in operations(program, cf.CondBranchOp):
        inside = [i for i in op.true_dest if op.condition in i.operands]
        if op.true_dest is op.false_dest or not inside:
            continue
        with Builder.before(op.true_dest.first_op):
            true = constant(np.ones(ranked(op.condition).shape, np.bool_))
        for user in inside:
            user.set_operands([true if v is op.condition else v for v in user.operands])


@AREA.mutant(
    citation="llvm/llvm-project#128171: [SimplifyCFG] Introduce a heuristic code sinker to fold phi expressions",
    mistake="selects the first operand; the second is that of one branch",
    witness=lambda: case(
        lambda c, x, y: scf.IfOp.build(c, lambda: [pd.subtract(x, y)], lambda: [pd.subtract(y, x)]).results,
        c=bools(0), x=f32(1, 2), y=f32(5, 9),
    ),
    control=lambda: case(
        lambda c, x, y: scf.IfOp.build(c, lambda: [pd.subtract(x, y)], lambda: [pd.subtract(y, y)]).results,
        c=bools(0), x=f32(1, 2), y=f32(5, 9),
    ),
)  # fmt: skip
@attrs.frozen
class SinkCommonOperation(Pass):
    """Does an operation that both branches end with once, after them."""

    name: ClassVar[str] = "sink-common-operation"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            if len(op.results) != 1 or not len(op.else_region):
                continue
            a, b = (region.block.first_op for region in op.regions)
            if not isinstance(a, pd.ElementwiseBinaryOp) or type(a) is not type(b):
                continue
            if any(len(r.block) != 2 or r.block.terminator.operands[0] is not r.block.first_op.out for r in op.regions):
                continue
            if a.x.type is not b.x.type or a.y.type is not b.y.type:
                continue
            first, second = a.x, b.x
            with Builder.before(op):
                chosen = scf.IfOp.build(op.condition, lambda v=first: [v], lambda v=second: [v])
                sunk = type(a)(chosen.results[0], a.y)
            op.replace_with(sunk)
            self.count("sunk")


def arriving(first: bool, second: bool) -> Case:
    """Two edges to a block, with a constant or with x."""

    def body(c: Value, x: Value) -> None:
        end = Block([x.type])
        x.parent_block.parent.append(end)
        number = constant([7, 7])
        cf.CondBranchOp(
            c, [number if first else x], [number if second else x], true_dest=end, false_dest=end
        )  # fmt: skip
        with Builder.at_end(end):
            func.ReturnOp([pd.scale(end.args[0], scale=2.0).out])

    return case(body, c=bools(0), x=f32(1, 2))


def edges(block: Block) -> list[tuple[Value, ...]]:
    """What the edges to a block carry, in the order of the program."""
    found: list[tuple[Value, ...]] = []
    for other in block.parent or ():
        end: Operation | None = other.terminator
        branch: Any = end.interface(Branch) if end is not None else None
        if end is not None and branch is not None:
            found += [branch.successor_operands(i) for i, to in enumerate(end.successors) if to is block]
    return found


@AREA.mutant(
    citation="aprell/compiler-potpourri#17: Sparse conditional constant propagation is led astray",
    mistake="what the first edge brings is not what the others bring",
    witness=lambda: arriving(first=True, second=False),
    control=lambda: arriving(first=True, second=True),
)
def constants_through_edges(program: Program) -> None:
    """An argument of a block to which a constant is passed is this constant."""
    for function in operations(program, func.FuncOp):
        for block in list(function.body)[1:]:
            for carried in edges(block)[:1]:
                for argument, value in zip(block.args, carried, strict=True):
                    number = splat_value(value)
                    if number is None or not argument.has_uses or block.first_op is None:
                        continue
                    kind = ranked(argument)
                    with Builder.before(block.first_op):
                        known = pd.full(shape=kind.shape, value=float(number), dtype=kind.element)
                    argument.replace_all_uses_with(known.out)


@AREA.mutant(
    citation="llvm/circt#1895: [Calyx] Add enhancements to common tail elimination for `IfOp`. (empty regions)",
    mistake="looks into the first branch; the other one may have effects",
    witness=lambda: case(
        lambda t, c: [scf.IfOp.build(c, list, lambda: [pd.fill_(t, value=9.0)][1:]), c][1:],
        storage=["t"], t=f32(1, 2), c=bools(0),
    ),
    control=lambda: case(
        lambda c, x: [scf.IfOp.build(c, list, lambda: [pd.relu(x)][1:]), x][1:], c=bools(0), x=f32(1, 2)
    ),
)  # fmt: skip
@attrs.frozen
class DropEmptyBranches(Pass):
    """Drops a branch without results that does nothing."""

    name: ClassVar[str] = "drop-empty-branches"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            if not op.results and len(op.then_region.block) == 1:
                op.erase()
                self.count("branches")
