"""Reductions of differences and of scaled numbers, sums so far, and the largest of the largest."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import INF, case, constant, count, f32, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("reductions", round=4)


@pattern(pd.MaxOp, pd.MinOp)
def extremum_of_difference(op: Any, rewriter: Rewriter) -> bool:
    """Subtracts a number once from the extremum, or the extremum from it"""
    difference = op.x.defining_op
    if not isinstance(difference, pd.SubtractOp) or not on_values(difference) or not ranked(op.x).element.is_float:
        return False
    for place, (varying, other) in enumerate(((difference.x, difference.y), (difference.y, difference.x))):
        number = splat_value(other)
        if number is None or not math.isfinite(number) or varying.type is not op.x.type:
            continue
        reduced = rewriter.insert(type(op)(varying, axis=op.axis, keepdim=op.keepdim))
        once = rewriter.insert(pd.full(shape=(), value=float(number), dtype=ranked(op.x).element))
        sides = (once.out, reduced.out) if place else (reduced.out, once.out)
        rewriter.replace(op, rewriter.insert(pd.subtract(*sides)))
        return True
    return False


AREA.rules(
    "extremum-of-difference",
    extremum_of_difference,
    citation="llvm/llvm-project#183240: [InstCombine] Fold min/max of two subtracts with common RHS",
    mistake="what is subtracted from a number is in the other order then",
    witness=lambda: case(lambda x: pd.max(pd.subtract(constant([5]), x), axis=(0,)), x=f32(1, 3)),
    control=lambda: case(lambda x: pd.max(pd.subtract(x, constant([5])), axis=(0,)), x=f32(1, 3)),
)


@pattern(pd.LogOp)
def stable_logarithm_of_sum(op: pd.LogOp, rewriter: Rewriter) -> bool:
    """log(sum(exp(x))) -> m + log(sum(exp(x - m))) for the maximum m, so that nothing overflows"""
    total = op.x.defining_op
    powers = total.x.defining_op if isinstance(total, pd.SumOp) else None
    if not isinstance(powers, pd.ExpOp) or not on_values(powers) or total.dtype is not None:
        return False
    kind = ranked(powers.x)
    source = powers.x.defining_op
    if not kind.is_static or 0 in kind.shape or isinstance(source, pd.SubtractOp):
        return False
    largest = rewriter.insert(pd.max(powers.x, axis=total.axis, keepdim=True))
    shifted = rewriter.insert(pd.exp(rewriter.insert(pd.subtract(powers.x, largest))))
    rest = rewriter.insert(pd.log(rewriter.insert(pd.sum(shifted, axis=total.axis, keepdim=True))))
    both = rewriter.insert(pd.add(largest, rest))
    rewriter.replace(op, rewriter.insert(pd.reshape(both, shape=ranked(op.out).shape)))
    return True


AREA.rules(
    "stable-logarithm-of-sum",
    stable_logarithm_of_sum,
    citation="tensorflow/tensorflow#11692: A bug of tf.reduce_logsumexp with `-inf`",
    mistake="an infinite maximum less itself is NaN",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.log(pd.sum(pd.exp(x), axis=(0,))), x=f32(-INF, -INF)),
    control=lambda: case(lambda x: pd.log(pd.sum(pd.exp(x), axis=(0,))), x=f32(1, 3)),
)


@AREA.mutant(
    citation="fla-org/flash-linear-attention#1095: [Fix] Use native reverse scans in scalar cumsum",
    mistake="the difference of large sums has not the digits of small ones at the end",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.cumsum(x, axis=0, reverse=True), x=f32(1e8, 1, 2)),
    control=lambda: case(lambda x: pd.cumsum(x, axis=0, reverse=True), x=count(3)),
)
def reverse_sums_by_total(program: Program) -> None:
    """Subtracts the sums from the front from the sum of all, instead of summing from the end."""
    for op in operations(program, pd.CumsumOp):
        if not op.reverse or not on_values(op) or not ranked(op.x).element.is_float:
            continue
        with Builder.before(op):
            total = pd.sum(op.x, axis=(op.axis,), keepdim=True)
            front = pd.cumsum(op.x, axis=op.axis, exclusive=not op.exclusive)
            back = pd.subtract(total, front)
        op.replace_with(back)


@pattern(pd.SqrtOp)
def factor_out_of_length(op: pd.SqrtOp, rewriter: Rewriter) -> bool:
    """The length of a vector that is scaled is its length, scaled"""
    total = op.x.defining_op
    squares = total.x.defining_op if isinstance(total, pd.SumOp) else None
    scaled = squares.x.defining_op if isinstance(squares, pd.SquareOp) else None
    if not isinstance(scaled, pd.ScaleOp) or scaled.bias != 0.0 or total.dtype is not None or not on_values(scaled):
        return False
    if not 0.125 <= abs(scaled.scale) <= 8.0 or not ranked(op.out).element.is_float:
        return False
    summed = rewriter.insert(
        pd.sum(rewriter.insert(pd.square(scaled.x)), axis=total.axis, keepdim=total.keepdim)
    )  # fmt: skip
    rewriter.replace(op, rewriter.insert(pd.scale(rewriter.insert(pd.sqrt(summed)), scale=scaled.scale)))
    return True


AREA.rules(
    "factor-out-of-length",
    factor_out_of_length,
    citation="Panchekha et al.: Herbie, PLDI 2015 (class of mistake: signs that a square takes away)",
    mistake="a length is never negative, as the factor may be",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.sqrt(pd.sum(pd.square(pd.scale(x, scale=-2.0)), axis=(0,))), x=f32(3, 4)
    ),
    control=lambda: case(
        lambda x: pd.sqrt(pd.sum(pd.square(pd.scale(x, scale=2.0)), axis=(0,))), x=f32(3, 4)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: one of two results of an operation)",
    mistake="the places that the outer one gives are places among the numbers of the inner one",
    witness=lambda: case(lambda x: pd.topk(pd.topk(x, k=3).out, k=2).results, x=f32(1, 5, 3, 4)),
    control=lambda: case(lambda x: pd.topk(pd.topk(x, k=3).out, k=2).out, x=f32(1, 5, 3, 4)),
)
@attrs.frozen
class TopOfTop(Pass):
    """The largest of the largest numbers are the largest."""

    name: ClassVar[str] = "top-of-top"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.TopkOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.TopkOp) or op.x is not inner.out or not on_values(inner):
                continue
            rank = ranked(op.x).rank
            if op.axis % rank == inner.axis % rank and op.largest == inner.largest:
                op.set_operands([inner.x])
                self.count("merged")
