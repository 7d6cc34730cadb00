"""Comparisons that are merged, moved over casts or arithmetic."""

from __future__ import annotations

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, case, constant, f32, ints, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import f32 as single
from tx8ir.dialects import pd
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import is_float

AREA = Area("comparisons", round=2)
x, y = Var("x", is_float), Var("y", is_float)


@pattern(pd.EqualOp, pd.NotEqualOp, pd.LessThanOp, pd.LessEqualOp, pd.GreaterThanOp, pd.GreaterEqualOp)
def compare_as_integers(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """Float(x) < float(y) -> x < y for integers, of which no two change places in a cast"""
    sources = [v.defining_op.x for v in op.operands if isinstance(v.defining_op, pd.CastOp)]
    if len(sources) < 2 or not ranked(op.x).element.is_float:
        return False
    a, b = (ranked(source).element for source in sources)
    if a is not b or a.dtype.kind not in "iu":
        return False
    rewriter.replace(op, rewriter.insert(type(op)(*sources)))
    return True


AREA.rules(
    "compare-as-integers",
    compare_as_integers,
    citation="llvm/llvm-project#210521: [InstCombine] Fold fcmp of two int-to-fp conversions to an integer compare",
    mistake="large integers that differ may be cast to one number",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.less_than(pd.cast(x, dtype=single), pd.cast(y, dtype=single)),
        x=ints("int32", 1, 2**24), y=ints("int32", 2, 2**24 + 1),
    ),
    control=lambda: case(
        lambda x, y: pd.less_than(pd.cast(x, dtype=single), pd.cast(y, dtype=single)),
        x=ints("int32", 1, -3), y=ints("int32", 2, -4),
    ),
)  # fmt: skip

AREA.rules(
    "less-or-greater-to-different",
    Rule(
        "different",
        Node(pd.LogicalOrOp, Node(pd.LessThanOp, x, y), Node(pd.GreaterThanOp, x, y)),
        Make(pd.NotEqualOp, x, y),
    ),
    citation="tinygrad/tinygrad#14805: ptx: use setp.neu for float CMPNE (ordered and unordered inequality)",
    mistake="NaN is neither less nor greater, and different",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.logical_or(pd.less_than(x, y), pd.greater_than(x, y)), x=f32(1, NAN), y=f32(2, 2)
    ),
    control=lambda: case(
        lambda x, y: pd.logical_or(pd.less_than(x, y), pd.greater_than(x, y)), x=f32(1, 2), y=f32(2, 2)
    ),
)

AREA.rules(
    "isnan-of-sum",
    Rule("either", Node(pd.IsnanOp, Node(pd.AddOp, x, y)),
         Make(pd.LogicalOrOp, Make(pd.IsnanOp, x), Make(pd.IsnanOp, y))),
    citation="llvm/llvm-project#190559: [Support][ValueTraking] Improve KnownFPClass for fadd. Handle infinity signs",
    mistake="the sum of two infinities of different signs is NaN",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.isnan(pd.add(x, y)), x=f32(1, INF), y=f32(2, -INF)),
    control=lambda: case(lambda x, y: pd.isnan(pd.add(x, y)), x=f32(1, NAN), y=f32(2, 3)),
)  # fmt: skip


@pattern(pd.GreaterThanOp, pd.GreaterEqualOp)
def compare_without_relu(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """relu(x) > c -> x > c for c that are not negative"""
    bound = splat_value(op.y)
    if not isinstance(op.x.defining_op, pd.ReluOp) or bound is None or not bound >= 0:
        return False
    rewriter.replace(op, rewriter.insert(type(op)(op.x.defining_op.x, op.y)))
    return True


AREA.rules(
    "compare-without-relu",
    compare_without_relu,
    citation="llvm/llvm-project#182461: [InstCombine] Decompose icmp over min/max intrinsics",
    mistake="what relu gives for negative numbers is not greater than 0, and is as great as 0",
    witness=lambda: case(lambda x: pd.greater_equal(pd.relu(x), constant([0])), x=f32(1, -2)),
    control=lambda: case(lambda x: pd.greater_than(pd.relu(x), constant([0])), x=f32(1, -2)),
)


@pattern(pd.LogicalAndOp, pd.LogicalOrOp)
def tightest_bound(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """X > a and x > b -> x > max(a, b)"""
    sides = [v.defining_op for v in op.operands]
    a, b = (side if isinstance(side, pd.GreaterThanOp) else None for side in sides)
    if a is None or b is None or a.x is not b.x or ranked(op.out).shape != ranked(a.x).shape:
        return False
    bounds = [splat_value(side.y) for side in (a, b)]
    if None in bounds or any(bound != bound for bound in bounds):
        return False
    number = max(float(bound) for bound in bounds if bound is not None)
    bound = rewriter.insert(pd.full(shape=(), value=number, dtype=ranked(a.x).element))
    rewriter.replace(op, rewriter.insert(pd.greater_than(a.x, bound)))
    return True


AREA.rules(
    "tightest-bound",
    tightest_bound,
    citation="llvm/llvm-project#153842: [InstCombine] Fold `(x == A) || (x & -Pow2) == A + 1` into range check",
    mistake="takes the same bound for `and` and for `or`, where the loosest one decides",
    witness=lambda: case(
        lambda x: pd.logical_or(pd.greater_than(x, constant([1])), pd.greater_than(x, constant([3]))), x=f32(0, 2)
    ),
    control=lambda: case(
        lambda x: pd.logical_and(pd.greater_than(x, constant([1])), pd.greater_than(x, constant([3]))), x=f32(2, 4)
    ),
)
