"""Reductions that become others, and what is moved out of them: factors, frames, reshapes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import NAN, case, count, f32, on_values, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("reductions", round=3)


@AREA.mutant(
    citation="quantalea/AleaTK#5: ReduceMean divides by the whole size of the matrix",
    mistake="counts the elements along the first of the axes alone",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.mean(x, axis=(0, 1)), x=count(2, 3)),
    control=lambda: case(lambda x: pd.mean(x, axis=(1,)), x=count(2, 3)),
)
def mean_by_sum(program: Program) -> None:
    """A mean is a sum, divided."""
    for op in operations(program, pd.MeanOp):
        kind = ranked(op.x)
        if op.axis and kind.is_static and 0 not in kind.shape:
            with Builder.before(op):
                mean = pd.scale(pd.sum(op.x, axis=op.axis, keepdim=op.keepdim), scale=1 / kind.shape[op.axis[0]])
            op.replace_with(mean)


@AREA.mutant(
    citation="apache/tvm#7391: [ONNX] Add CumSum operator to ONNX frontend (review: exclusive or reverse)",
    mistake="the last of the sums is that of all elements when they count forwards, itself included",
    witness=lambda: case(
        lambda x: pd.slice(pd.cumsum(x, axis=1, reverse=True), axes=(1,), starts=(2,), ends=(3,), decrease_axis=(1,)),
        x=count(2, 3),
    ),
    control=lambda: case(
        lambda x: pd.slice(pd.cumsum(x, axis=1), axes=(1,), starts=(2,), ends=(3,), decrease_axis=(1,)), x=count(2, 3)
    ),
)
@attrs.frozen
class LastOfCumulativeSum(Pass):
    """The last of the sums so far is the sum."""

    name: ClassVar[str] = "last-of-cumulative-sum"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SliceOp):
            sums = op.input.defining_op
            if (
                not isinstance(sums, pd.CumsumOp)
                or not on_values(op)
                or len(op.axes) != 1
                or not ranked(op.input).is_static
            ):
                continue
            rank = ranked(op.input).rank
            axis = sums.axis % rank
            extent = ranked(op.input).shape[axis]
            if op.axes[0] % rank != axis or list(range(extent)[op.starts[0] : op.ends[0]]) != [extent - 1]:
                continue
            with Builder.before(op):
                total = pd.sum(sums.x, axis=(axis,), keepdim=not op.decrease_axis)
            if total.out.type is op.out.type:
                op.replace_with(total)
                self.count("sums")
            else:
                total.erase()


@pattern(pd.MaxOp, pd.MinOp)
def extremum_before_reshape(op: Any, rewriter: Rewriter) -> bool:
    """Reduces along an axis that a reshape keeps before the reshape"""
    reshaped = op.x.defining_op
    if (
        not isinstance(reshaped, pd.ReshapeOp)
        or not on_values(op)
        or len(op.axis) != 1
        or not ranked(reshaped.x).is_static
    ):
        return False
    before, after = ranked(reshaped.x).shape, ranked(op.x).shape
    axis = op.axis[0] % len(after)
    if axis >= len(before) or before[axis] != after[axis]:
        return False
    reduced = rewriter.insert(type(op)(reshaped.x, axis=(axis,)))
    rewriter.replace(op, rewriter.insert(pd.reshape(reduced, shape=ranked(op.out).shape)))
    return True


AREA.rules(
    "extremum-before-reshape",
    extremum_before_reshape,
    citation="tinygrad/tinygrad#10641: check for matching shape order in fused reduce",
    mistake="an axis of the same number and extent is another one where those before it have been split",
    witness=lambda: case(lambda x: pd.max(pd.reshape(x, shape=(2, 2, 2)), axis=(1,)), x=count(4, 2)),
    control=lambda: case(lambda x: pd.max(pd.reshape(x, shape=(2, 2, 3)), axis=(0,)), x=count(2, 6)),
)


@pattern(pd.SumOp, pd.MeanOp)
def reduce_without_frame(op: Any, rewriter: Rewriter) -> bool:
    """Zeros around an image add nothing"""
    padded = op.x.defining_op
    if not isinstance(padded, pd.PadOp) or padded.pad_value != 0.0 or not on_values(op):
        return False
    if isinstance(op, pd.SumOp) and op.dtype is not None:
        return False
    rank = ranked(op.x).rank
    reduced = {axis % rank for axis in op.axis} or set(range(rank))
    if any(amount and i // 2 not in reduced for i, amount in enumerate(padded.paddings)):
        return False
    rewriter.replace(op, rewriter.insert(type(op)(padded.x, axis=op.axis, keepdim=op.keepdim)))
    return True


AREA.rules(
    "reduce-without-frame",
    reduce_without_frame,
    citation="tinygrad/tinygrad#2935: fix PADTO optimization (what is reduced over padding)",
    mistake="the zeros count in a mean",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.mean(pd.pad(x, paddings=(0, 0, 1, 1)), axis=(1,)), x=count(2, 3)),
    control=lambda: case(lambda x: pd.sum(pd.pad(x, paddings=(0, 0, 1, 1)), axis=(1,)), x=count(2, 3)),
)


@pattern(pd.TopkOp)
def first_of_top(op: pd.TopkOp, rewriter: Rewriter) -> bool:
    """The first of the largest numbers is the maximum"""
    if op.k != 1 or op.indices.has_uses or not op.out.has_uses:
        return False
    extremum = pd.max if op.largest else pd.min
    rewriter.replace_uses(op.out, rewriter.insert(extremum(op.x, axis=(op.axis,), keepdim=True)).out)
    return True


AREA.rules(
    "first-of-top",
    first_of_top,
    citation="pytorch/pytorch#16762: torch.topk has trouble with inf's and nan's",
    mistake="NaN counts as the largest number when sorting, and makes any minimum NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.topk(x, k=1, largest=False).out, x=f32(2, NAN, 1)),
    control=lambda: case(lambda x: pd.topk(x, k=1, largest=False).out, x=f32(2, 3, 1)),
)


@AREA.mutant(
    citation="tenstorrent/tt-lang#597: Support scalar multiplication (and fix reduce #594 bug): reduce(x) * c^2",
    mistake="a product has the factor as often as it has elements",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.prod(pd.scale(x, scale=2.0), axis=(1,)), x=count(2, 3)),
    control=lambda: case(lambda x: pd.mean(pd.scale(x, scale=2.0), axis=(1,)), x=count(2, 3)),
)
def factor_out_of_reduction(program: Program) -> None:
    """Multiplies once what has been reduced instead of each element."""
    for op in operations(program, pd.SumOp, pd.MeanOp, pd.ProdOp):
        scaled = op.x.defining_op
        if (
            not isinstance(scaled, pd.ScaleOp)
            or scaled.bias != 0.0
            or not on_values(op)
            or not ranked(op.x).element.is_float
        ):
            continue
        if math.isfinite(scaled.scale) and not (isinstance(op, pd.SumOp) and op.dtype is not None):
            with Builder.before(op):
                reduced = pd.scale(type(op)(scaled.x, axis=op.axis, keepdim=op.keepdim), scale=scaled.scale)
            op.replace_with(reduced)
