"""Mutants of reductions: axes, dropped axes, element types, and what may be exchanged with a reduction."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from support.mutants import programs
from support.mutants.mutant import Area
from support.mutants.programs import case, count, ints, operations, ranked
from tx8ir.core import Builder, Program, bf16, f32, i32, i64
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import element, equals

AREA = Area("reductions", round=1)


@AREA.mutant(
    citation="openvinotoolkit/openvino#37959: a Transpose that follows a keepdims=0 reduction is eliminated",
    mistake="without keepdim the axes that are left stand in the order of x",
    witness=lambda: case(lambda x: pd.max(pd.transpose(x, perm=(2, 1, 0)), axis=(0,)), x=count(2, 2, 3)),
    control=lambda: case(lambda x: pd.max(pd.transpose(x, perm=(0, 2, 1)), axis=(2,)), x=count(2, 2, 3)),
)
@attrs.frozen
class ReduceBeforeTranspose(Pass):
    """Reduces over the axes of the source where the operand of a reduction is a transpose."""

    name: ClassVar[str] = "reduce-before-transpose"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MaxOp, pd.MinOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.TransposeOp) or op.keepdim:
                continue
            rank = len(inner.perm)
            with Builder.before(op):
                early = type(op)(inner.x, axis=tuple(inner.perm[axis] % rank for axis in op.axes))
            if early.out.type is not op.out.type:
                early.erase()
                continue
            op.replace_with(early)
            self.count("reductions")


@AREA.mutant(
    citation="openxla/xla#47324: 11 IRs diverge after running HLO pass `reduction-degenerate-dim-remover`",
    mistake="the axes of the outer reduction count from those that the inner one has left",
    witness=lambda: case(lambda x: pd.max(pd.max(x, axis=(0,)), axis=(1,)), x=count(2, 3, 3)),
    control=lambda: case(lambda x: pd.max(pd.max(x, axis=(2,)), axis=(1,)), x=count(2, 3, 4)),
)
def merge_nested_reductions(program: Program) -> None:
    for op in operations(program, pd.MaxOp, pd.MinOp):
        inner = op.x.defining_op
        if type(inner) is not type(op) or inner.keepdim != op.keepdim:
            continue
        axes = sorted({*inner.axes, *op.axes})
        if len(axes) != len(inner.axes) + len(op.axes):
            continue
        with Builder.before(op):
            merged = type(op)(inner.x, axis=tuple(axes), keepdim=op.keepdim)
        if merged.out.type is op.out.type:
            op.replace_with(merged)
        else:
            merged.erase()


@AREA.mutant(
    citation="openvinotoolkit/openvino#33376: Fix ConcatReduceFusion when inputs have different shapes",
    mistake="the mean of two means is the mean where both are over as many elements",
    witness=lambda: case(
        lambda x, y: pd.mean(pd.concat([x, y], axis=0), axis=(0,)), x=count(1, 2), y=count(3, 2, start=7)
    ),
    control=lambda: case(
        lambda x, y: pd.mean(pd.concat([x, y], axis=0), axis=(0,)), x=count(3, 2), y=count(3, 2, start=7)
    ),
)
@attrs.frozen
class MeanWithoutConcat(Pass):
    """mean(concat(x, y)) -> (mean(x) + mean(y)) / 2 along the axis of the concat."""

    name: ClassVar[str] = "mean-without-concat"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MeanOp):
            joined = op.x.defining_op
            if not isinstance(joined, pd.ConcatOp) or len(joined.x) != 2:
                continue
            if op.axes != (joined.axis % ranked(op.x).rank,):
                continue
            with Builder.before(op):
                means = [pd.mean(part, axis=op.axis, keepdim=op.keepdim) for part in joined.x]
                both = pd.scale(pd.add(*means), scale=0.5)
            op.replace_with(both)
            self.count("means")


@pattern(pd.ReductionOp)
def drop_expansion(op: pd.ReductionOp, rewriter: Rewriter) -> bool:
    """A reduction over axes that an expand has made is what was expanded"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.ExpandOp) or inner.x.type is not op.out.type or not op.keepdim:
        return False
    if any(ranked(inner.x).shape[axis] != 1 for axis in op.axes):
        return False
    rewriter.replace(op, inner.x)
    return True


AREA.rules(
    "reduce-before-expand",
    drop_expansion,
    citation='onnx/optimizer#275: The pass "eliminate_nop_expand" causes output mismatch',
    mistake="a sum counts each copy",
    witness=lambda: case(lambda x: pd.sum(pd.expand(x, shape=(4, 2)), axis=(0,), keepdim=True), x=count(1, 2)),
    control=lambda: case(lambda x: pd.max(pd.expand(x, shape=(4, 2)), axis=(0,), keepdim=True), x=count(1, 2)),
)

AREA.rules(
    "widen-before-sum",
    Rule(
        "sum-cast",
        Node(pd.CastOp, Node(pd.SumOp, Var("x", element(i32)),
                             attributes={"axis": Attr("axis"), "keepdim": Attr("keepdim"), "dtype": equals(i32)}),
             attributes={"dtype": equals(i64)}),
        Make(pd.SumOp, Var("x"), axis=Attr("axis"), keepdim=Attr("keepdim"), dtype=i64),
    ),
    citation="pytorch/pytorch#191132: [Inductor] Wrap signed int arithmetic in CPU codegen",
    mistake="the sum in i32 wraps before it is widened",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.cast(pd.sum(x, axis=(0,), dtype=i32), dtype=i64), x=ints("int32", 2**31 - 1, 1)
    ),
    control=lambda: case(lambda x: pd.cast(pd.sum(x, axis=(0,), dtype=i32), dtype=i64), x=ints("int32", 2, 1)),
)  # fmt: skip


@AREA.mutant(
    citation="pytorch/pytorch#179572: [inductor] Preserve explicit low-precision FP casts during fusion",
    mistake="the sum is accumulated in bf16, whose roundings the cast before the sum avoided",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.sum(pd.cast(x, dtype=f32), axis=(0,)), x=programs.bf16(*range(1, 40), 0.5)),
    control=lambda: case(lambda x: pd.sum(pd.cast(x, dtype=f32), axis=(0,)), x=programs.bf16(1, 2, 4)),
)
def sum_before_widening(program: Program) -> None:
    for op in operations(program, pd.SumOp):
        widened = op.x.defining_op
        if isinstance(widened, pd.CastOp) and ranked(widened.x).element is bf16 and ranked(op.out).element is f32:
            with Builder.before(op):
                narrow = pd.sum(widened.x, axis=op.axis, keepdim=op.keepdim)
                total = pd.cast(narrow, dtype=f32)
            op.replace_with(total)


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: bugs with empty tensors (extents of 0))",
    mistake="divides by at least 1: the mean of nothing is NaN, not 0",
    special_value=True,
    witness=lambda: case(lambda x: pd.mean(x, axis=(0,)), x=np.zeros((0, 2), np.float32)),
    control=lambda: case(lambda x: pd.mean(x, axis=(0,)), x=count(3, 2)),
)
@attrs.frozen
class MeanToSum(Pass):
    """mean(x) -> sum(x) / n."""

    name: ClassVar[str] = "mean-to-sum"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MeanOp):
            kind = ranked(op.x)
            if kind.is_static:
                n = max(1, int(np.prod([kind.shape[axis] for axis in op.axes])))
                with Builder.before(op):
                    total = pd.sum(op.x, axis=op.axis, keepdim=op.keepdim)
                    mean = pd.scale(total, scale=1 / n)
                op.replace_with(mean)
                self.count("means")


MONOTONIC = (pd.ReluOp, pd.LeakyReluOp, pd.FloorOp)


@AREA.mutant(
    citation="tensorflow/tensorflow#116436: Grappler ArithmeticOptimizer strips non-strictly-monotonic ops",
    mistake="a leaky relu with a negative slope is not monotonic",
    witness=lambda: case(lambda x: pd.max(pd.leaky_relu(x, negative_slope=-1.0)), x=programs.f32(1, -3)),
    control=lambda: case(lambda x: pd.max(pd.leaky_relu(x, negative_slope=0.5)), x=programs.f32(1, -3)),
)
def extremum_before_monotonic(program: Program) -> None:
    """max(f(x)) -> f(max(x)) for functions that keep the order."""
    for op in operations(program, pd.MaxOp, pd.MinOp):
        inner = op.x.defining_op
        if isinstance(inner, MONOTONIC) and inner.out.has_one_use:
            with Builder.before(op):
                extremum = type(op)(inner.x, axis=op.axis, keepdim=op.keepdim)
                moved = type(inner).create([extremum.out], [op.out.type], attributes=inner.attributes)
                if moved.parent is None:
                    op.parent.insert_before(moved, op)
            op.replace_with(moved)


@pattern(pd.MaxOp, pd.MinOp)
def before_unsqueeze(op: pd.ReductionOp, rewriter: Rewriter) -> bool:
    """Reduces before an axis of extent 1 is put before"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.UnsqueezeOp) or inner.axis != (0,) or op.keepdim or not op.axis or 0 in op.axes:
        return False
    early = type(op)(inner.x, axis=tuple(axis - 1 for axis in op.axis))
    grown = pd.unsqueeze(rewriter.insert(early), axis=(0,))
    if grown.out.type is not op.out.type:
        early.erase()
        return False
    rewriter.replace(op, rewriter.insert(grown))
    return True


AREA.rules(
    "reduce-before-unsqueeze",
    before_unsqueeze,
    citation="onnx/optimizer#35: fuse_consecutive_squeezes issue: consecutive negative axes",
    mistake="an axis that is counted from the end does not move",
    witness=lambda: case(lambda x: pd.max(pd.unsqueeze(x, axis=(0,)), axis=(-1,)), x=count(2, 2)),
    control=lambda: case(lambda x: pd.max(pd.unsqueeze(x, axis=(0,)), axis=(2,)), x=count(2, 2)),
)
