"""Comparisons of differences, products and extrema, and selections that are nested or become something else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, bools, case, constant, f32, on_values, operations, ranked
from tx8ir.analysis.constants import is_negative_zero, splat_value
from tx8ir.core import Builder, Program, i1
from tx8ir.core import f32 as single
from tx8ir.dialects import pd
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import is_float, is_vtensor

AREA = Area("comparisons", round=4)
ORDERS = (pd.LessThanOp, pd.LessEqualOp, pd.GreaterThanOp, pd.GreaterEqualOp)
x, y, z = (Var(name, is_float, is_vtensor) for name in "xyz")
v, w, c, d = (Var(name, is_vtensor) for name in "vwcd")


@pattern(*ORDERS)
def compare_without_difference(op: Any, rewriter: Rewriter) -> bool:
    """Compares two numbers instead of their difference with 0"""
    difference = op.x.defining_op
    if not isinstance(difference, pd.SubtractOp) or not on_values(difference) or splat_value(op.y) != 0:
        return False
    if not ranked(op.x).element.is_float or ranked(op.x).shape != ranked(op.out).shape:
        return False
    rewriter.replace(op, rewriter.insert(type(op)(difference.x, difference.y)))
    return True


AREA.rules(
    "compare-without-difference",
    compare_without_difference,
    citation="llvm/llvm-project#85506: [InstCombine] Fold `fcmp pred (x - y), 0` into `fcmp pred x, y`",
    mistake="equal infinities have no difference, and are less or equal",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.less_equal(pd.subtract(x, y), constant([0])), x=f32(1, INF), y=f32(2, INF)
    ),
    control=lambda: case(
        lambda x, y: pd.less_equal(pd.subtract(x, y), constant([0])), x=f32(1, INF), y=f32(2, 5)
    ),
)  # fmt: skip


@pattern(pd.WhereOp)
def lax_selection(op: pd.WhereOp, rewriter: Rewriter) -> bool:
    """where(x < 0, 0, x) -> where(x <= 0, 0, x): both select 0 for 0"""
    test = op.condition.defining_op
    if not isinstance(test, pd.LessThanOp) or not on_values(test) or not on_values(op) or test.x is not op.y:
        return False
    if splat_value(test.y) != 0 or splat_value(op.x) != 0:
        return False
    lax = rewriter.insert(pd.less_equal(test.x, test.y))
    rewriter.set_operand(op, 0, lax.out)
    return True


AREA.rules(
    "lax-selection",
    lax_selection,
    citation="llvm/llvm-project#141017: [InstCombine] `select (fcmp nsz olt X, 0.0), -0.0, X -> select (fcmp nsz ole`",
    mistake="0 that is selected may have another sign than the 0 of x",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.where(pd.less_than(x, constant([0, 0])), constant([-0.0, -0.0]), x), x=f32(-1, 0.0)
    ),
    control=lambda: case(
        lambda x: pd.where(pd.less_than(x, constant([0, 0])), constant([-0.0, -0.0]), x), x=f32(-1, 2)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: operands of a selection in either order)",
    mistake="looks whether 0 and 1 are selected, and not which of them where the condition holds",
    witness=lambda: case(lambda c: pd.where(c, constant([0, 0]), constant([1, 1])), c=bools(1, 0)),
    control=lambda: case(lambda c: pd.where(c, constant([1, 1]), constant([0, 0])), c=bools(1, 0)),
)
def selection_to_cast(program: Program) -> None:
    """Selecting 1 or 0 by a truth value is a cast."""
    for op in operations(program, pd.WhereOp):
        kind, numbers = ranked(op.out), (splat_value(op.x), splat_value(op.y))
        if not on_values(op) or None in numbers or any(is_negative_zero(n) for n in numbers if n is not None):
            continue
        if set(numbers) == {0, 1} and op.condition.type is kind.with_element(i1):
            with Builder.before(op):
                number = pd.cast(op.condition, dtype=kind.element)
            op.replace_with(number)


AREA.rules(
    "merge-nested-selections",
    Rule(
        "in-the-first",
        Node(pd.WhereOp, c, Node(pd.WhereOp, d, v, w), w),
        Make(pd.WhereOp, Make(pd.LogicalAndOp, c, d), v, w),
    ),
    Rule(
        "in-the-second",
        Node(pd.WhereOp, c, v, Node(pd.WhereOp, d, v, w)),
        Make(pd.WhereOp, Make(pd.LogicalAndOp, c, d), v, w),
    ),
    citation="Yang, Chen, Eide, Regehr: Csmith, PLDI 2011 (class of mistake: conditions of nested choices)",
    mistake="what is selected in either case needs one of the conditions, and not both",
    witness=lambda: case(
        lambda c, d, x, y: pd.where(c, x, pd.where(d, x, y)), c=bools(1, 0), d=bools(0, 0), x=f32(1, 2), y=f32(3, 4)
    ),
    control=lambda: case(
        lambda c, d, x, y: pd.where(c, pd.where(d, x, y), y), c=bools(1, 0), d=bools(0, 0), x=f32(1, 2), y=f32(3, 4)
    ),
)


@AREA.mutant(
    citation="llvm/llvm-project#110630: [InstCombine] Fold `icmp spred (mul nsw X, Z), (mul nsw Y, Z)` (Z < 0: Y, X)",
    mistake="a negative factor turns the order round",
    witness=lambda: case(lambda x: pd.less_than(pd.scale(x, scale=-2.0), constant([2])), x=f32(1, -3)),
    control=lambda: case(lambda x: pd.less_than(pd.scale(x, scale=2.0), constant([2])), x=f32(1, -3)),
)
def compare_without_factor(program: Program) -> None:
    """Divides a constant by a power of two, instead of multiplying what it is compared with."""
    for op in operations(program, *ORDERS):
        scaled, number = op.x.defining_op, splat_value(op.y)
        if not isinstance(scaled, pd.ScaleOp) or scaled.bias != 0.0 or not on_values(op) or number is None:
            continue
        kind, factor = ranked(op.y), scaled.scale
        if kind.element is not single or not kind.is_static or not abs(number) > 1e-30 or not abs(number) < 1e30:
            continue
        if 1 <= abs(factor) <= 1024 and math.frexp(abs(factor))[0] == 0.5:
            assert np.float32(number / factor) * np.float32(factor) == number, "powers of two divide exactly"
            with Builder.before(op):
                bound = pd.full(shape=kind.shape, value=number / factor, dtype=kind.element)
                compared = type(op)(scaled.x, bound)
            op.replace_with(compared)


AREA.rules(
    "comparison-of-minimum",
    Rule(
        "min-lt",
        Node(pd.LessThanOp, Node(pd.MinimumOp, x, y), z),
        Make(pd.LogicalOrOp, Make(pd.LessThanOp, x, z), Make(pd.LessThanOp, y, z)),
    ),
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: NaN in one of two operands)",
    mistake="the minimum of a number and NaN is NaN, which is less than nothing",
    special_value=True,
    witness=lambda: case(
        lambda x, y, z: pd.less_than(pd.minimum(x, y), z), x=f32(1, 2), y=f32(NAN, 3), z=f32(5, 1)
    ),
    control=lambda: case(
        lambda x, y, z: pd.less_than(pd.minimum(x, y), z), x=f32(1, 2), y=f32(7, 3), z=f32(5, 1)
    ),
)  # fmt: skip
