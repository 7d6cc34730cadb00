"""Integers that wrap, quotients that truncate."""

from __future__ import annotations

import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, ints, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import DenseAttr, i32
from tx8ir.dialects import builtin, pd
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint

AREA = Area("integers", round=2)
is_signed = Constraint("signed integers", lambda v: ranked(v).element.dtype.kind == "i")


@pattern(pd.DivideOp)
def distribute_quotient(op: pd.DivideOp, rewriter: Rewriter) -> bool:
    """(x + c) / k -> x / k + c / k where k divides c"""
    total = op.x.defining_op
    if not isinstance(total, pd.AddOp) or not is_signed.holds(op.x) or total.x.type is not op.out.type:
        return False
    c, k = splat_value(total.y), splat_value(op.y)
    if not isinstance(c, int) or not isinstance(k, int) or k <= 0 or c % k:
        return False
    quotient = rewriter.insert(pd.divide(total.x, op.y))
    rest = rewriter.insert(pd.full(shape=(), value=float(c // k), dtype=ranked(op.out).element))
    rewriter.replace(op, rewriter.insert(pd.add(quotient, rest)))
    return True


AREA.rules(
    "distribute-quotient",
    distribute_quotient,
    citation="apache/tvm#2308: [ARITH] Enhance CanonicalSimplify((241+48x)/16)",
    mistake="division rounds towards 0, so from another side where x is negative and the sum is not",
    witness=lambda: case(
        lambda x: pd.divide(pd.add(x, constant([4], "int32")), constant([4], "int32")), x=ints("int32", 5, -1)
    ),
    control=lambda: case(
        lambda x: pd.divide(pd.add(x, constant([4], "int32")), constant([4], "int32")), x=ints("int32", 5, -8)
    ),
)


@pattern(pd.GreaterThanOp, pd.GreaterEqualOp, pd.LessThanOp, pd.LessEqualOp)
def difference_to_comparison(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """(x - y) < 0 -> x < y"""
    difference = op.x.defining_op
    if not isinstance(difference, pd.SubtractOp) or not is_signed.holds(op.x) or splat_value(op.y) != 0:
        return False
    if not difference.x.type is difference.y.type is op.x.type or ranked(op.out).shape != ranked(op.x).shape:
        return False
    rewriter.replace(op, rewriter.insert(type(op)(difference.x, difference.y)))
    return True


AREA.rules(
    "difference-to-comparison",
    difference_to_comparison,
    citation="llvm/llvm-project#54311: SimplifyCFG or InstCombine incorrect in the presence of overflow",
    mistake="the difference may wrap",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.greater_than(pd.subtract(x, y), constant([0], "int8")),
        x=ints("int8", 3, 100), y=ints("int8", 4, -100),
    ),
    control=lambda: case(
        lambda x, y: pd.greater_than(pd.subtract(x, y), constant([0], "int8")),
        x=ints("int8", 3, 10), y=ints("int8", 4, -10),
    ),
)  # fmt: skip


@pattern(pd.DivideOp)
def merge_quotients(op: pd.DivideOp, rewriter: Rewriter) -> bool:
    """X / a / b -> x / (a b)"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.DivideOp) or not is_signed.holds(op.x) or inner.x.type is not op.out.type:
        return False
    a, b = splat_value(inner.y), splat_value(op.y)
    if not isinstance(a, int) or not isinstance(b, int) or a <= 0 or b <= 0:
        return False
    dtype = ranked(op.out).element.dtype
    product = np.array([a], dtype) * np.array([b], dtype)
    if not product.all():
        return False
    divisor = rewriter.insert(builtin.ConstantOp(value=DenseAttr(product.reshape(()))))
    rewriter.replace(op, rewriter.insert(pd.divide(inner.x, divisor)))
    return True


AREA.rules(
    "merge-quotients",
    merge_quotients,
    citation="dlang/dmd#6933: optimize ((i / C1) / C2) with (i / (C1 * C2)) (review: the product may overflow)",
    mistake="the product of the divisors wraps; looks whether it is 0 only",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.divide(pd.divide(x, constant([32], "int8")), constant([4], "int8")), x=ints("int8", 7, -128)
    ),
    control=lambda: case(
        lambda x: pd.divide(pd.divide(x, constant([5], "int8")), constant([3], "int8")), x=ints("int8", 77, -128)
    ),
)


@constraint("operands of the narrow type of the result")
def was_narrow(match: Match) -> bool:
    wide = ranked(match.root.operands[0]).element
    return (
        match["x"].type is match["y"].type is match.root.results[0].type
        and wide.dtype.kind == "i"
        and wide.dtype.itemsize > ranked(match["x"]).element.dtype.itemsize
    )


AREA.rules(
    "narrow-averages",
    Rule(
        "narrow",
        Node(
            pd.CastOp,
            Node(
                pd.DivideOp,
                Node(pd.AddOp, Node(pd.CastOp, Var("x", is_signed)), Node(pd.CastOp, Var("y", is_signed))),
                Number("c", Constraint("a small divisor", lambda c: 0 < c < 128)),
            ),
        ),
        Make(
            pd.DivideOp,
            Make(pd.AddOp, Var("x"), Var("y")),
            Make(
                pd.FullOp,
                shape=(),
                value=lambda m: float(m.constants["c"]),
                dtype=lambda m: ranked(m["x"]).element,
            ),
        ),
        where=[was_narrow],
    ),
    citation="Yang, Chen, Eide, Regehr: Csmith, PLDI 2011 (class of mistake: arithmetic in a narrower type)",
    mistake="the result fits into the narrow format, and the sum may not",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.cast(
            pd.divide(pd.add(pd.cast(x, dtype=i32), pd.cast(y, dtype=i32)), constant([2], "int32")),
            dtype=ranked(x).element,
        ),
        x=ints("int8", 3, 100), y=ints("int8", 8, 100),
    ),
    control=lambda: case(
        lambda x, y: pd.cast(
            pd.divide(pd.add(pd.cast(x, dtype=i32), pd.cast(y, dtype=i32)), constant([2], "int32")),
            dtype=ranked(x).element,
        ),
        x=ints("int8", 3, -100), y=ints("int8", 8, 71),
    ),
)  # fmt: skip


@pattern(pd.MultiplyOp)
def product_to_scale(op: pd.MultiplyOp, rewriter: Rewriter) -> bool:
    """X * c -> scale(x, c) for integers"""
    factor = splat_value(op.y)
    if not isinstance(factor, int) or not is_signed.holds(op.x) or op.x.type is not op.out.type:
        return False
    rewriter.replace(op, rewriter.insert(pd.scale(op.x, scale=float(factor))))
    return True


AREA.rules(
    "product-to-scale",
    product_to_scale,
    citation="PaddlePaddle/Paddle#65814: [PIR] refine yaml scalar (attributes are floats: integers lose digits)",
    mistake="the attribute is a double, which has not all integers of 64 bits",
    special_value=True,
    witness=lambda: case(lambda x: pd.multiply(x, constant([2**53 + 1], "int64")), x=ints("int64", 1, 3)),
    control=lambda: case(lambda x: pd.multiply(x, constant([-5], "int64")), x=ints("int64", 1, 3)),
)
