"""What is known of the parts of a condition, what both branches write, and blocks that are merged into others."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, call, case, constant, define, f32, is_inside, on_values, operations, ranked
from support.mutants.second.branches import edges
from support.mutants.third.storage import is_direct
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Block, Builder, Program, TensorType, Value
from tx8ir.core import f32 as single
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("branches", round=4)
read = builtin.to_vtensor


def deciding(inside_then: bool) -> Case:
    """If c and d: 2 or, where d, 1; else 3 or, where d, 1. Asks again in one of the branches."""

    def chosen(d: Value, number: float, asks: bool) -> list[Any]:
        return [pd.where(d, constant([1]), constant([number])) if asks else constant([number])]

    return case(
        lambda c, d: scf.IfOp.build(
            pd.logical_and(c, d), lambda: chosen(d, 2, inside_then), lambda: chosen(d, 3, not inside_then)
        ).results,
        c=bools(inside_then), d=bools(1),
    )  # fmt: skip


@AREA.mutant(
    citation="Yang, Chen, Eide, Regehr: Csmith, PLDI 2011 (class of mistake: what a false condition implies)",
    mistake="of two conditions that do not both hold one may hold",
    witness=lambda: deciding(inside_then=False),
    control=lambda: deciding(inside_then=True),
)
@attrs.frozen
class KnownParts(Pass):
    """Where both of two conditions hold each of them holds; where they do not, neither does."""

    name: ClassVar[str] = "known-parts"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            test = op.condition.defining_op
            if not isinstance(test, pd.LogicalAndOp) or not on_values(test):
                continue
            for region, truth in zip(op.regions, (True, False), strict=True):
                inner = {i for each in (region.block if len(region) else ()) for i in each.walk()}
                for part in dict.fromkeys(test.operands):
                    if part.type is not op.condition.type or not any(user in inner for user in part.users):
                        continue
                    with Builder.before(region.block.first_op):
                        known = constant(np.full(ranked(part).shape, truth, np.bool_))
                    part.replace_uses_if(known, lambda use, inner=inner: use.owner in inner)
                    self.count("conditions")


def falling(conditional: bool) -> Case:
    """A branch, or a conditional one, to a block that fills t."""

    def body(t: Value, c: Value, x: Value) -> None:
        region = x.parent_block.parent
        there, aside = Block(), Block()
        region.append(there)
        if conditional:
            region.append(aside)
            cf.CondBranchOp(c, [], [], true_dest=there, false_dest=aside)
            with Builder.at_end(aside):
                func.ReturnOp([pd.abs(x).out])
        else:
            cf.BranchOp([], dest=there)
        with Builder.at_end(there):
            pd.fill_(t, value=9.0)
            func.ReturnOp([pd.relu(x).out])

    return case(body, storage=["t"], t=f32(1, 2), c=bools(0), x=f32(-1, 2))


@AREA.mutant(
    citation="llvm/llvm-project#96878: [X86,SimplifyCFG] Support hoisting load/store with conditional (Part I)",
    mistake="asks whether the block is entered from one place, and not whether that place leads nowhere else",
    witness=lambda: falling(conditional=True),
    control=lambda: falling(conditional=False),
)
def merge_into_predecessor(program: Program) -> None:
    """Does what a block does at the end of the only block that leads there."""
    for end in operations(program, cf.BranchOp, cf.CondBranchOp):
        for block in dict.fromkeys(end.successors):
            if len(edges(block)) == 1 and not block.args and block is not end.parent:
                for op in list(block)[:-1]:
                    op.move_before(end)


def filling(reads: bool) -> Case:
    """Fills t in both branches; the first one gives what t holds then, or before."""

    def then(t: Value) -> list[Any]:
        old = read(t)
        pd.fill_(t, value=9.0)
        return [read(t) if reads else old]

    def otherwise(t: Value, x: Value) -> list[Any]:
        pd.fill_(t, value=9.0)
        return [x]

    return case(
        lambda t, c, x: scf.IfOp.build(c, lambda: then(t), lambda: otherwise(t, x)).results,
        storage=["t"], t=f32(1, 2), c=bools(1), x=f32(3, 4),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#108812: [X86,SimplifyCFG] Support hoisting load/store with conditional (Part II)",
    mistake="after the last write of a branch there may be a read",
    witness=lambda: filling(reads=True),
    control=lambda: filling(reads=False),
)
@attrs.frozen
class SinkCommonWrites(Pass):
    """Fills storage after a branch where both sides fill it last."""

    name: ClassVar[str] = "sink-common-writes"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            if not len(op.else_region) or any(i.regions or i.name == "func.call" for r in op.regions for i in r.block):
                continue
            last = [next((i for i in reversed(list(r.block)) if isinstance(i, InplaceOp)), None) for r in op.regions]
            if not all(isinstance(write, pd.Fill_Op) for write in last):
                continue
            a, b = last
            if a.operands != b.operands or a.attributes != b.attributes or is_inside(a.operands[0], op):
                continue
            if all(is_direct(user) for user in a.operands[0].users):
                a.move_after(op)
                b.erase()
                self.count("writes")


def guarded(number: float) -> Case:
    """If x >= 0: relu(x); else x."""
    return case(
        lambda x: scf.IfOp.build(
            pd.greater_equal(x, constant([0])), lambda: [pd.relu(x)], lambda: [x]
        ).results,
        x=f32(number),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#217505: [InstCombine] Wrong fold of `fabs` with `nsz`",
    mistake="-0 is not less than 0, and is none of what relu gives",
    special_value=True,
    witness=lambda: guarded(-0.0),
    control=lambda: guarded(2.0),
)
@attrs.frozen
class DropGuardedRelu(Pass):
    """Where x is 0 at least, relu(x) is x."""

    name: ClassVar[str] = "drop-guarded-relu"

    def run(self, program: Program) -> None:
        for op in operations(program, scf.IfOp):
            test = op.condition.defining_op
            if not isinstance(test, pd.GreaterEqualOp) or not on_values(test) or splat_value(test.y) != 0:
                continue
            for inner in [i for each in op.then_region.block for i in each.walk() if isinstance(i, pd.ReluOp)]:
                if inner.x is test.x:
                    inner.replace_with(test.x)
                    self.count("relus")


def calling(effect: bool) -> Case:
    """Gives x from both branches, one of which calls a function that writes t, or none."""
    kind = TensorType((2,), single)

    def functions() -> None:
        define("clear", lambda t: [pd.fill_(t, value=0.0)][1:] if effect else [read(t)][1:], kind)

    return case(
        lambda t, c, x: scf.IfOp.build(
            c, lambda: [call("clear", t, out=[]), x][1:], lambda: [x]
        ).results,
        functions=functions, storage=["t"], t=f32(1, 2), c=bools(1), x=f32(3, 4),
    )  # fmt: skip


@AREA.mutant(
    citation="Wang et al.: MLIRSmith: Random Program Generation for Fuzzing MLIR Compiler Infrastructure, ASE 2023",
    mistake="looks for writes in both branches, and not in the functions that they call",
    witness=lambda: calling(effect=True),
    control=lambda: calling(effect=False),
)
def drop_idle_choices(program: Program) -> None:
    """A branch that gives the same on both sides, and writes nothing, is what it gives."""
    for op in operations(program, scf.IfOp):
        if not op.results:
            continue
        given = [region.block.terminator.operands for region in op.regions]
        inner = [i for region in op.regions for each in region.block for i in each.walk()]
        writes = (InplaceOp, builtin.SetParameterOp, builtin.SetCombineParameterOp, pd.FetchOp)
        if given[0] != given[1] or any(is_inside(v, op) for v in given[0]):
            continue
        if not any(isinstance(i, writes) for i in inner):
            op.replace_with(given[0])
