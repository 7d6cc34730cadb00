"""Windows that are written or joined, frames, rotations, and axes before and after rows are gathered."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area, Case
from support.mutants.programs import case, count, f32, ints, on_values, operations, ranked
from tx8ir.core import Builder, Program, Value
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("shapes", round=4)


@AREA.mutant(
    citation="openvinotoolkit/openvino#34897: [GPU] FIx gather wrong fusion issue. (a gather that changes the rank)",
    mistake="an axis has another number before the gather when the index is not a vector",
    witness=lambda: case(
        lambda x, i: pd.cumsum(pd.gather(x, i), axis=1), x=count(2, 2), i=ints("int64", 0, 1, 1, 1).reshape(2, 2)
    ),
    control=lambda: case(lambda x, i: pd.cumsum(pd.gather(x, i), axis=1), x=count(2, 2), i=ints("int64", 0, 1, 1, 1)),
)
@attrs.frozen
class CumulateBeforeGather(Pass):
    """Cumulates along an axis that is not gathered before the gather, where there may be less to do."""

    name: ClassVar[str] = "cumulate-before-gather"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.CumsumOp, pd.CumprodOp):
            rows = op.x.defining_op
            if not isinstance(rows, pd.GatherOp) or not on_values(rows):
                continue
            rank = ranked(rows.x).rank
            axis = op.axis % ranked(op.x).rank
            if axis == rows.axis % rank or axis >= rank:
                continue
            with Builder.before(op):
                sums = type(op)(rows.x, axis=axis, exclusive=op.exclusive, reverse=op.reverse)
                gathered = pd.gather(sums, rows.index, axis=rows.axis)
            op.replace_with(gathered)
            self.count("cumulated")


@pattern(pd.ReluOp, pd.AbsOp, pd.TanhOp, pd.SqrtOp, pd.SquareOp, pd.SigmoidOp)
def function_before_frame(op: Any, rewriter: Rewriter) -> bool:
    """Frames what a function that keeps 0 gives, instead of its argument"""
    framed = op.x.defining_op
    if not isinstance(framed, pd.PadOp) or not on_values(framed):
        return False
    if framed.pad_value != 0.0 or math.copysign(1.0, framed.pad_value) < 0.0:
        return False
    inner = rewriter.insert(type(op)(framed.x))
    rewriter.replace(op, rewriter.insert(pd.pad(inner, paddings=framed.paddings)))
    return True


AREA.rules(
    "function-before-frame",
    function_before_frame,
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a rule for operations of one class, used for others)",
    mistake="the sigmoid of 0 is one half",
    witness=lambda: case(lambda x: pd.sigmoid(pd.pad(x, paddings=(1, 0))), x=f32(1, -2)),
    control=lambda: case(lambda x: pd.tanh(pd.pad(x, paddings=(1, 0))), x=f32(1, -2)),
)


@pattern(pd.ConcatOp)
def concat_before_reshape(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """Joins vectors, and reshapes them once"""
    made = [value.defining_op for value in op.x]
    if not on_values(op) or not ranked(op.out).is_static or len(made) < 2:
        return False
    if not all(isinstance(each, pd.ReshapeOp) and each.x.type is made[0].x.type for each in made):
        return False
    source = ranked(made[0].x)
    if not source.is_static or source.rank != 1:
        return False
    joined = rewriter.insert(pd.concat([each.x for each in made], axis=0))
    rewriter.replace(op, rewriter.insert(pd.reshape(joined, shape=ranked(op.out).shape)))
    return True


AREA.rules(
    "concat-before-reshape",
    concat_before_reshape,
    citation="Yang et al.: WhiteFox, OOPSLA 2024 (class of mistake: a condition on an axis that a pattern leaves out)",
    mistake="vectors lie one after the other only when what they become is joined along its first axis",
    witness=lambda: case(
        lambda x, y: pd.concat([pd.reshape(x, shape=(2, 2)), pd.reshape(y, shape=(2, 2))], axis=1),
        x=count(4), y=count(4, start=10),
    ),
    control=lambda: case(
        lambda x, y: pd.concat([pd.reshape(x, shape=(2, 2)), pd.reshape(y, shape=(2, 2))], axis=0),
        x=count(4), y=count(4, start=10),
    ),
)  # fmt: skip


def window(op: Any) -> tuple[int, range] | None:
    """The axis and the places that a `pd.set_value` of its window's own shape writes, where it is one axis."""
    kind = ranked(op.x)
    if len(op.axes) != 1 or op.decrease_axis or not kind.is_static or not on_values(op):
        return None
    axis = op.axes[0] % kind.rank
    places = range(kind.shape[axis])[op.starts[0] : op.ends[0]]
    whole = (*kind.shape[:axis], len(places), *kind.shape[axis + 1 :])
    return (axis, places) if ranked(op.value).shape == whole and places else None


def writing(second: int) -> Case:
    """Writes the places 0 and 1 of four, and two others."""
    return case(
        lambda x, u, v: pd.set_value(
            pd.set_value(x, u, axes=(0,), starts=(0,), ends=(2,)), v, axes=(0,), starts=(second,), ends=(second + 2,)
        ),
        x=count(4), u=count(2, start=10), v=count(2, start=20),
    )  # fmt: skip


@AREA.mutant(
    citation="pytorch/pytorch#122291: [torch.compile] [slice_scatter] Wrong output of slice_scatter op",
    mistake="windows that are as long as the axis together may overlap, and leave a gap",
    witness=lambda: writing(1),
    control=lambda: writing(2),
)
@attrs.frozen
class JoinWrittenWindows(Pass):
    """Joins two values that are written over everything there was."""

    name: ClassVar[str] = "join-written-windows"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SetValueOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.SetValueOp):
                continue
            later, earlier = window(op), window(inner)
            if later is None or earlier is None or later[0] != earlier[0]:
                continue
            if len(later[1]) + len(earlier[1]) == ranked(op.x).shape[later[0]]:
                pieces = sorted([(earlier[1].start, inner.value), (later[1].start, op.value)], key=lambda p: p[0])
                with Builder.before(op):
                    joined = pd.concat([value for _, value in pieces], axis=later[0])
                op.replace_with(joined)
                self.count("joined")


def rotation(value: Value) -> tuple[Value, int, int] | None:
    """What is rotated, along which axis, and by how many places, where a value is x[k:] and x[:k]."""
    op = value.defining_op
    if not isinstance(op, pd.ConcatOp) or len(op.x) != 2 or not on_values(op):
        return None
    end, start = (piece.defining_op for piece in op.x)
    if not isinstance(end, pd.SliceOp) or not isinstance(start, pd.SliceOp) or end.input is not start.input:
        return None
    kind = ranked(end.input)
    if not kind.is_static or any(len(cut.axes) != 1 or cut.decrease_axis for cut in (end, start)):
        return None
    axis = op.axis % kind.rank
    extent, distance = kind.shape[axis], end.starts[0]
    if {cut.axes[0] % kind.rank for cut in (end, start)} != {axis} or not 0 < distance < extent:
        return None
    if end.ends[0] < extent or (start.starts[0], start.ends[0]) != (0, distance):
        return None
    return end.input, axis, distance


def rotated(x: Value, distance: int, axis: int, extent: int) -> Value:
    """A value that is rotated."""
    end = pd.slice(x, axes=(axis,), starts=(distance,), ends=(extent,))
    return pd.concat([end, pd.slice(x, axes=(axis,), starts=(0,), ends=(distance,))], axis=axis).out


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: wrong index arithmetic, hidden by clamped places)",
    mistake="distances that are longer than the axis together go round it once more",
    witness=lambda: case(lambda x: rotated(rotated(x, 3, 0, 5), 4, 0, 5), x=count(5)),
    control=lambda: case(lambda x: rotated(rotated(x, 3, 0, 5), 1, 0, 5), x=count(5)),
)
def merge_rotations(program: Program) -> None:
    """Rotates once by the sum of two distances."""
    for op in operations(program, pd.ConcatOp):
        outer = rotation(op.out)
        inner = rotation(outer[0]) if outer is not None else None
        if outer is None or inner is None or outer[1] != inner[1]:
            continue
        with Builder.before(op):
            merged = rotated(inner[0], inner[2] + outer[2], outer[1], ranked(op.out).shape[outer[1]])
        op.replace_with(merged)
