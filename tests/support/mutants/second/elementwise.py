"""Arithmetic on floating-point numbers, element by element."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import INF, bf16, case, constant, f32, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Number, OneOf, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint, equals, is_float

AREA = Area("elementwise", round=2)
x = Var("x", is_float)


@constraint("the type of x")
def type_of_x(match: Match) -> bool:
    return match["x"].type is match.root.results[0].type


AREA.rules(
    "root-of-square-to-magnitude",
    Rule("abs", Node(pd.SqrtOp, OneOf(Node(pd.SquareOp, x), Node(pd.MultiplyOp, x, x))), Make(pd.AbsOp, x)),
    citation="openxla/xla#45560: Gate unsound inverse-function folds after fast-math (`sqrt(A*A) => |A|`)",
    mistake="the square of a large number is infinite, that of a small one 0",
    special_value=True,
    witness=lambda: case(lambda x: pd.sqrt(pd.square(x)), x=f32(3, -1e30)),
    control=lambda: case(lambda x: pd.sqrt(pd.multiply(x, x)), x=f32(3, -1.7)),
)

AREA.rules(
    "logarithm-of-power",
    Rule(
        "product",
        Node(pd.LogOp, Node(pd.PowOp, x, attributes={"y": Attr("y", Constraint("not 0", lambda y: y != 0))})),
        Make(pd.ScaleOp, Make(pd.LogOp, Make(pd.AbsOp, x)), scale=Attr("y")),
    ),
    citation="jiggzson/nerdamer#465: evaluating log(x^even number) uses an inaccurate identity.",
    mistake="the magnitude is right for even exponents; an odd power of a negative number has no logarithm",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.log(pd.pow(x, y=3.0)), x=f32(2, -2)),
    control=lambda: case(lambda x: pd.log(pd.pow(x, y=2.0)), x=f32(3, -2)),
)

AREA.rules(
    "power-of-power",
    Rule(
        "multiply",
        Node(
            pd.PowOp,
            Node(pd.PowOp, x, attributes={"y": Attr("a", Constraint("whole", lambda y: float(y).is_integer()))}),
            attributes={"y": Attr("b")},
        ),
        Make(pd.PowOp, x, y=lambda m: m.attributes["a"] * m.attributes["b"]),
    ),
    citation="asc-community/AngouriMath#752: Simplify collapses (x^2)^(1/2) to x, wrong for negative x",
    mistake="an even power has lost the sign, which the product of the exponents may bring back",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.pow(pd.pow(x, y=2.0), y=0.5), x=f32(4, -3)),
    control=lambda: case(lambda x: pd.pow(pd.pow(x, y=2.0), y=2.0), x=f32(4, -3)),
)

AREA.rules(
    "merge-scales",
    Rule(
        "scale-scale",
        Node(
            pd.ScaleOp,
            Node(pd.ScaleOp, x, attributes={"scale": Attr("a"), "bias": Attr("b")}),
            attributes={"scale": Attr("c"), "bias": Attr("d"), "bias_after_scale": equals(True)},
        ),
        Make(
            pd.ScaleOp,
            x,
            scale=lambda m: m.attributes["a"] * m.attributes["c"],
            bias=lambda m: m.attributes["b"] * m.attributes["c"] + m.attributes["d"],
        ),
    ),
    citation="PaddlePaddle/Paddle-Lite#3528: [Fusion Pass][BUG FIX] Not fuse two scale in the same time",
    mistake="asks the outer one whether its bias comes after the scale, and not the inner one",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.scale(pd.scale(x, scale=2.0, bias=3.0, bias_after_scale=False), scale=4.0), x=f32(1, -2)
    ),
    control=lambda: case(lambda x: pd.scale(pd.scale(x, scale=2.0, bias=3.0), scale=4.0, bias=1.0), x=f32(1, -2)),
)


@pattern(pd.MaximumOp)
def merge_bounds(op: pd.MaximumOp, rewriter: Rewriter) -> bool:
    """max(max(x, a), b) -> max(x, max(a, b))"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.MaximumOp) or inner.x.type is not op.out.type or not ranked(op.x).element.is_float:
        return False
    a, b = splat_value(inner.y), splat_value(op.y)
    if a is None or b is None:
        return False
    bound = rewriter.insert(pd.full(shape=(), value=max(float(a), float(b)), dtype=ranked(op.x).element))
    rewriter.replace(op, rewriter.insert(pd.maximum(inner.x, bound)))
    return True


AREA.rules(
    "merge-lower-bounds",
    merge_bounds,
    citation="llvm/llvm-project#114595: [mlir][arith] Fix arith maxnumf/minnumf folder",
    mistake="Python's maximum of -0 and +0, or of a number and NaN, is the first of them",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.maximum(pd.maximum(x, constant([-0.0])), constant([0.0])), x=f32(1, -2)
    ),
    control=lambda: case(lambda x: pd.maximum(pd.maximum(x, constant([-1])), constant([0.5])), x=f32(1, -2)),
)  # fmt: skip


@pattern(pd.DivideOp)
def quotient_of_equals(op: pd.DivideOp, rewriter: Rewriter) -> bool:
    """X / x -> 1"""
    kind = ranked(op.out)
    if op.x is not op.y or not kind.element.is_float or not kind.is_static:
        return False
    rewriter.replace(op, rewriter.insert(pd.full(shape=kind.shape, value=1.0, dtype=kind.element)))
    return True


AREA.rules(
    "quotient-of-equals",
    quotient_of_equals,
    citation="pytorch/pytorch#46412: [NNC] IRSimplifier rules for Compare and Mod (review: 0 / 0 is NaN, not 1)",
    mistake="0 / 0, and an infinity divided by itself, are NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.divide(x, x), x=f32(2, 0)),
    control=lambda: case(lambda x: pd.divide(x, x), x=f32(2, -3)),
)

AREA.rules(
    "contract-product-and-sum",
    Rule(
        "scale",
        Node(pd.AddOp, Node(pd.MultiplyOp, x, Number("s")), Number("b")),
        Make(
            pd.ScaleOp, x, scale=lambda m: float(m.constants["s"]), bias=lambda m: float(m.constants["b"])
        ),
        where=[type_of_x],
    ),
    citation="modular/modular#6159: Incorrect results for fused BF16 elementwise expressions: one-graph (x * y) + z",
    mistake="a product in a narrow format is rounded before the sum; the one operation rounds once",
    witness=lambda: case(
        lambda x: pd.add(pd.multiply(x, constant(bf16(1.0234375))), constant(bf16(-1))), x=bf16(1.0234375, 2)
    ),
    control=lambda: case(lambda x: pd.add(pd.multiply(x, constant([3])), constant([-1])), x=f32(1.1, 2)),
)  # fmt: skip


@pattern(pd.MinimumOp)
def clip_at_the_largest(op: pd.MinimumOp, rewriter: Rewriter) -> bool:
    """min(x, c) -> x where no number of the format is above c"""
    bound = splat_value(op.y)
    element = ranked(op.x).element
    if bound is None or not element.is_float or op.x.type is not op.out.type:
        return False
    info = np.finfo(element.dtype) if element.dtype.kind == "f" else ml_dtypes.finfo(element.dtype)
    if math.isnan(bound) or bound < float(info.max):
        return False
    rewriter.replace(op, op.x)
    return True


AREA.rules(
    "drop-clip-at-the-largest",
    clip_at_the_largest,
    citation="tenstorrent/tt-metal#51498: ttnn.clamp: omitting a bound substitutes a finite sentinel (+inf -> FLT_MAX)",
    mistake="an infinity is above the largest finite number",
    special_value=True,
    witness=lambda: case(lambda x: pd.minimum(x, constant([np.finfo(np.float32).max])), x=f32(1, INF)),
    control=lambda: case(lambda x: pd.minimum(x, constant([np.finfo(np.float32).max])), x=f32(1, 1e38)),
)
