"""Rows that are written, frames, stacks and pieces, and what a new axis does to the alignment of others."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, count, f32, ints, on_values, operations, ranked
from tx8ir.core import Builder, DenseAttr, Program, Value
from tx8ir.dialects import builtin, pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import is_vtensor

AREA = Area("shapes", round=3)


@AREA.mutant(
    citation="openvinotoolkit/openvino#37490: Fix per-channel axis mapping in MoveEltwiseUpThroughDataMov",
    mistake="an operand that broadcasts is aligned at the last axis, which is another one now",
    witness=lambda: case(lambda x, y: pd.unsqueeze(pd.add(x, y), axis=(-1,)), x=count(2, 2), y=count(2, 1, start=10)),
    control=lambda: case(lambda x, y: pd.unsqueeze(pd.add(x, y), axis=(0,)), x=count(2, 2), y=count(2, 1, start=10)),
)
def unsqueeze_before_arithmetic(program: Program) -> None:
    """Gives operands a new axis before they are computed with; those that broadcast need none."""
    for op in operations(program, pd.UnsqueezeOp):
        inner = op.x.defining_op
        if (
            not isinstance(inner, pd.AddOp | pd.SubtractOp | pd.MultiplyOp)
            or not on_values(inner)
            or inner.x.type is not inner.out.type
        ):
            continue
        with Builder.before(op):
            left = pd.unsqueeze(inner.x, axis=op.axis).out
            same = inner.y.type is inner.out.type
            right = pd.unsqueeze(inner.y, axis=op.axis).out if same else inner.y
            computed = compatible(type(inner), left, right, op.out)
        if computed is not None:
            op.replace_with(computed)


def compatible(kind: Any, left: Value, right: Value, like: Value) -> Value | None:
    """The operation on both where they broadcast to the type of another value."""
    a, b = ranked(left).shape, ranked(right).shape
    if len(b) > len(a) or any(n not in (1, m) for m, n in zip(reversed(a), reversed(b), strict=False)):
        return None
    return kind(left, right).out if left.type is like.type else None


def numbers(value: Value) -> Any:
    """The numbers of a `builtin.constant`, as an array; else None."""
    op = value.defining_op
    found = op.attributes["value"] if isinstance(op, builtin.ConstantOp) else None
    return found.value if isinstance(found, DenseAttr) else None


@AREA.mutant(
    citation="diku-dk/futhark#1793: Mis-simplification (of a scatter that writes everything)",
    mistake="the rows are written in the order of the indices, which may be any permutation",
    witness=lambda: case(
        lambda x, u: pd.scatter(x, constant(ints("int64", 1, 0)), u), x=count(2, 2), u=count(2, 2, start=7)
    ),
    control=lambda: case(
        lambda x, u: pd.scatter(x, constant(ints("int64", 0, 1)), u), x=count(2, 2), u=count(2, 2, start=7)
    ),
)
@attrs.frozen
class ScatterOverEverything(Pass):
    """A scatter that writes every row of a tensor gives the rows."""

    name: ClassVar[str] = "scatter-over-everything"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ScatterOp):
            index = numbers(op.index)
            if index is None or not on_values(op) or op.reduce != "assign" or op.updates.type is not op.out.type:
                continue
            if np.array_equal(np.unique(index), np.arange(ranked(op.x).shape[0])):
                op.replace_with(op.updates)
                self.count("scatters")


@pattern(pd.SliceOp, pd.PadOp)
def slice_and_pad(op: Any, rewriter: Rewriter) -> bool:
    """A slice and a frame of the same widths undo each other"""
    inner = op.operands[0].defining_op
    cut, padded = (op, inner) if isinstance(op, pd.SliceOp) else (inner, op)
    if not isinstance(cut, pd.SliceOp) or not isinstance(padded, pd.PadOp) or cut.decrease_axis or not on_values(inner):
        return False
    if inner.operands[0].type is not op.out.type or not ranked(op.out).is_static or min(cut.starts, default=0) < 0:
        return False
    starts = dict(zip((axis % ranked(op.out).rank for axis in cut.axes), cut.starts, strict=True))
    if any(starts.get(axis, 0) != before for axis, before in enumerate(padded.paddings[::2])):
        return False
    rewriter.replace(op, inner.operands[0])
    return True


AREA.rules(
    "slice-and-pad",
    slice_and_pad,
    citation="Xilinx/llvm-aie#1046: Add canonicalization for Pad(Slice(X)) only with ub.poison value in TOSA",
    mistake="what is cut off first is not in the frame that is put on later",
    witness=lambda: case(
        lambda x: pd.pad(pd.slice(x, axes=(0,), starts=(1,), ends=(3,)), paddings=(1, 0)), x=f32(1, 2, 3)
    ),
    control=lambda: case(
        lambda x: pd.slice(pd.pad(x, paddings=(1, 0)), axes=(0,), starts=(1,), ends=(4,)), x=f32(1, 2, 3)
    ),
)

x, index, first, second = (Var(name, is_vtensor) for name in ("x", "index", "first", "second"))

AREA.rules(
    "merge-scatters",
    Rule(
        "written-over",
        Node(pd.ScatterOp, Node(pd.ScatterOp, x, index, first), index, second, name="outer"),
        Make(pd.ScatterOp, x, index, second, reduce=lambda m: m.ops["outer"].reduce),
    ),
    citation="EnzymeAD/Enzyme-JAX#2198: feat: more scatter simplifications",
    mistake="rows that are added are not written over what was there",
    witness=lambda: case(
        lambda x, i, u, v: pd.scatter(pd.scatter(x, i, u), i, v, reduce="add"),
        x=count(3, 2), i=ints("int64", 1), u=count(1, 2, start=7), v=count(1, 2),
    ),
    control=lambda: case(
        lambda x, i, u, v: pd.scatter(pd.scatter(x, i, u), i, v),
        x=count(3, 2), i=ints("int64", 1), u=count(1, 2, start=7), v=count(1, 2),
    ),
)  # fmt: skip


@pattern(pd.ConcatOp)
def stack_by_reshape(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """Joins values along the axis that they were given a new one at, and reshapes once"""
    made = [value.defining_op for value in op.x]
    if not ranked(op.out).is_static or not on_values(op) or not all(isinstance(each, pd.UnsqueezeOp) for each in made):
        return False
    if any(each.axis != (op.axis,) or each.x.type is not made[0].x.type for each in made):
        return False
    rank = ranked(made[0].x).rank
    if not -rank <= op.axis < rank:
        return False
    joined = rewriter.insert(pd.concat([each.x for each in made], axis=op.axis))
    rewriter.replace(op, rewriter.insert(pd.reshape(joined, shape=ranked(op.out).shape)))
    return True


AREA.rules(
    "stack-by-reshape",
    stack_by_reshape,
    citation="pytorch/pytorch#196943: [Inductor] Accept negative-dim twins in the cat/split-with-sizes patterns",
    mistake="an axis that is counted from the end is another one without the new axis",
    witness=lambda: case(
        lambda x, y: pd.concat([pd.unsqueeze(x, axis=(-1,)), pd.unsqueeze(y, axis=(-1,))], axis=-1),
        x=count(2), y=count(2, start=7),
    ),
    control=lambda: case(
        lambda x, y: pd.concat([pd.unsqueeze(x, axis=(0,)), pd.unsqueeze(y, axis=(0,))], axis=0),
        x=count(2), y=count(2, start=7),
    ),
)  # fmt: skip


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: attributes of a special meaning, read as numbers)",
    mistake="adds up extents of which one is -1, for what is left over",
    witness=lambda: case(lambda x: pd.split(x, sections=(1, -1, 1)).results, x=count(4)),
    control=lambda: case(lambda x: pd.split(x, sections=(1, 2, 1)).results, x=count(4)),
)
def split_to_slices(program: Program) -> None:
    """Slices instead of pieces."""
    for op in operations(program, pd.SplitOp):
        axis = op.axis % ranked(op.x).rank
        if not ranked(op.x).is_static or len(op.results) < 2:
            continue
        for place, piece in enumerate(op.results):
            start = max(sum(op.sections[:place]), 0)
            with Builder.before(op):
                cut = pd.slice(op.x, axes=(axis,), starts=(start,), ends=(start + ranked(piece).shape[axis],))
            if cut.out.type is piece.type:
                piece.replace_all_uses_with(cut.out)
