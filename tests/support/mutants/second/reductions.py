"""What may be moved out of a sum or an extremum, and what it becomes there."""

from __future__ import annotations

import math

from support.mutants.mutant import Area
from support.mutants.programs import INF, case, constant, count, f32, ints, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import equals, is_float

AREA = Area("reductions", round=2)
x = Var("x", is_float)

AREA.rules(
    "scale-after-sum",
    Rule(
        "sum-scale",
        Node(
            pd.SumOp,
            Node(pd.ScaleOp, x, attributes={"scale": Attr("s"), "bias": Attr("b"), "bias_after_scale": equals(True)}),
            attributes={"axis": Attr("axis"), "keepdim": Attr("keepdim"), "dtype": equals(None)},
        ),
        Make(
            pd.ScaleOp,
            Make(pd.SumOp, x, axis=Attr("axis"), keepdim=Attr("keepdim")),
            scale=Attr("s"),
            bias=Attr("b"),
        ),
    ),
    citation="Samsung/ONE#9976: [compute/cker] Fix Reduce kernel (the bias counts once for each element)",
    mistake="the bias was added to each element, and is added once",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.sum(pd.scale(x, scale=2.0, bias=1.0), axis=(0,)), x=count(3, 2)),
    control=lambda: case(lambda x: pd.sum(pd.scale(x, scale=2.0), axis=(0,)), x=count(3, 2)),
)


@pattern(pd.MaxOp, pd.MinOp)
def extremum_of_negated(op: pd.MaxOp | pd.MinOp, rewriter: Rewriter) -> bool:
    """max(0 - x) -> 0 - min(x)"""
    inner = op.x.defining_op
    element = ranked(op.x).element
    if not isinstance(inner, pd.SubtractOp) or splat_value(inner.x) != 0 or inner.y.type is not op.x.type:
        return False
    if element.dtype.kind != "i" and not element.is_float:
        return False
    other = pd.MinOp if isinstance(op, pd.MaxOp) else pd.MaxOp
    extremum = rewriter.insert(other(inner.y, axis=op.axis, keepdim=op.keepdim))
    zero = rewriter.insert(pd.full(shape=(), value=0.0, dtype=element))
    rewriter.replace(op, rewriter.insert(pd.subtract(zero, extremum)))
    return True


AREA.rules(
    "extremum-of-negated",
    extremum_of_negated,
    citation="tenstorrent/tt-metal#44750: [ttnn.min/max]: INT32 SFPU reduce returns incorrect results with INT32_MIN",
    mistake="the smallest integer is its own negation, and not the largest one",
    guarantee=NumericGuarantee.VALUES,
    special_value=True,
    witness=lambda: case(lambda x: pd.max(pd.subtract(constant([0], "int8"), x)), x=ints("int8", 3, -128)),
    control=lambda: case(lambda x: pd.max(pd.subtract(constant([0], "int8"), x)), x=ints("int8", 3, -127)),
)


@pattern(pd.SumOp)
def sum_of_expand(op: pd.SumOp, rewriter: Rewriter) -> bool:
    """The sum of copies is so many times the sum"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.ExpandOp) or op.dtype is not None or not ranked(op.x).element.is_float:
        return False
    before, after = ranked(inner.x), ranked(op.x)
    if before.rank != after.rank or not after.is_static:
        return False
    if any(before.shape[a] != after.shape[a] for a in range(after.rank) if a not in op.axes):
        return False
    copies = math.prod(after.shape[a] for a in op.axes)
    total = rewriter.insert(pd.sum(inner.x, axis=op.axis, keepdim=op.keepdim))
    rewriter.replace(op, rewriter.insert(pd.scale(total, scale=float(copies))))
    return True


AREA.rules(
    "sum-of-expand",
    sum_of_expand,
    citation="EnzymeAD/Enzyme-JAX#881: Fix reduce of broadcast",
    mistake="counts the elements that are summed, also along axes that are not stretched",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.sum(pd.expand(x, shape=(3, 2)), axis=(0, 1)), x=count(1, 2)),
    control=lambda: case(lambda x: pd.sum(pd.expand(x, shape=(3, 2)), axis=(0,)), x=count(1, 2)),
)


@pattern(pd.SumOp)
def sum_of_softmax(op: pd.SumOp, rewriter: Rewriter) -> bool:
    """Probabilities sum to 1"""
    inner, kind = op.x.defining_op, ranked(op.out)
    if not isinstance(inner, pd.SoftmaxOp) or op.dtype is not None or not ranked(op.x).is_static:
        return False
    axis = inner.axis % ranked(op.x).rank
    if op.axes != (axis,) or ranked(op.x).shape[axis] == 0:
        return False
    rewriter.replace(op, rewriter.insert(pd.full(shape=kind.shape, value=1.0, dtype=kind.element)))
    return True


AREA.rules(
    "sum-of-softmax",
    sum_of_softmax,
    citation="FluxML/NNlib.jl#206: softmax([Inf, 1.0]) gives NaNs",
    mistake="an infinity among the numbers makes NaN of all",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.sum(pd.softmax(x), axis=(0,)), x=f32(1, INF)),
    control=lambda: case(lambda x: pd.sum(pd.softmax(x), axis=(0,)), x=f32(1, 2)),
)


@pattern(pd.MaxOp, pd.MinOp)
def extremum_of_scaled(op: pd.MaxOp | pd.MinOp, rewriter: Rewriter) -> bool:
    """max(s x + b) -> s max(x) + b, or s min(x) + b for negative s"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.ScaleOp) or not inner.bias_after_scale or not ranked(op.x).element.is_float:
        return False
    if not math.isfinite(inner.scale) or not math.isfinite(inner.bias):
        return False
    other = pd.MinOp if isinstance(op, pd.MaxOp) else pd.MaxOp
    kind = other if inner.scale < 0 else type(op)
    extremum = rewriter.insert(kind(inner.x, axis=op.axis, keepdim=op.keepdim))
    rewriter.replace(op, rewriter.insert(pd.scale(extremum, scale=inner.scale, bias=inner.bias)))
    return True


AREA.rules(
    "extremum-of-scaled",
    extremum_of_scaled,
    citation="ROCm/aotriton#47: [Issue]: Forward kernel returns NaN when sm_scale is 0",
    mistake="0 times an infinity that is not the extremum is NaN, and then the extremum",
    guarantee=NumericGuarantee.VALUES,
    special_value=True,
    witness=lambda: case(lambda x: pd.max(pd.scale(x, scale=0.0, bias=1.0)), x=f32(1, -INF)),
    control=lambda: case(lambda x: pd.max(pd.scale(x, scale=-2.0, bias=1.0)), x=f32(1, -3)),
)
