"""Sums, roots and quotients that are factored, undone or moved over others, element by element."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import bools, case, constant, f32, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import is_float, is_vtensor

AREA = Area("elementwise", round=4)
x, y, z = (Var(name, is_float, is_vtensor) for name in "xyz")
root = Node(pd.SqrtOp, x)


@pattern(pd.WhereOp)
def selection_into_sum(op: pd.WhereOp, rewriter: Rewriter) -> bool:
    """where(c, x, x + y) -> x + where(c, 0, y)"""
    total = op.y.defining_op
    if not isinstance(total, pd.AddOp) or total.x is not op.x or not on_values(op) or not on_values(total):
        return False
    kind = ranked(op.out)
    if not kind.is_static or not kind.element.is_float or any(v.type is not kind for v in (op.x, op.y, total.y)):
        return False
    nothing = rewriter.insert(pd.full(shape=kind.shape, value=0.0, dtype=kind.element))
    chosen = rewriter.insert(pd.where(op.condition, nothing, total.y))
    rewriter.replace(op, rewriter.insert(pd.add(op.x, chosen)))
    return True


AREA.rules(
    "selection-into-sum",
    selection_into_sum,
    citation="llvm/llvm-project#113423: Wrong folding of `select` into floating number ops",
    mistake="the unit of addition is -0: where the sum is not selected, -0 becomes +0",
    special_value=True,
    witness=lambda: case(
        lambda c, x, y: pd.where(c, x, pd.add(x, y)), c=bools(1, 0), x=f32(-0.0, 1), y=f32(3, 4)
    ),
    control=lambda: case(
        lambda c, x, y: pd.where(c, x, pd.add(x, y)), c=bools(1, 0), x=f32(0.0, 1), y=f32(3, 4)
    ),
)  # fmt: skip

AREA.rules(
    "square-of-root",
    Rule("square", Node(pd.SquareOp, root), x),
    Rule("product", Node(pd.MultiplyOp, root, root), x),
    citation="openxla/xla#14074: Add sqrt(x) * sqrt(x) => x to algsimp (for x >= 0)",
    mistake="a negative number has no root",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.square(pd.sqrt(x)), x=f32(4, -4)),
    control=lambda: case(lambda x: pd.square(pd.sqrt(x)), x=f32(4, 2)),
)


@AREA.mutant(
    citation="clab/dynet#1090: logistic function inconsistent negative outputs (0.5 + 0.5 * tanh(x * 0.5))",
    mistake="for negative numbers the sum of one half and nearly minus one half has no digits left",
    witness=lambda: case(lambda x: pd.sigmoid(x), x=f32(1, -30)),
    control=lambda: case(lambda x: pd.sigmoid(x), x=f32(1, 3)),
)
@attrs.frozen
class SigmoidByTanh(Pass):
    """sigmoid(x) -> tanh(x / 2) / 2 + 1 / 2."""

    name: ClassVar[str] = "sigmoid-by-tanh"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SigmoidOp):
            if on_values(op):
                with Builder.before(op):
                    expanded = pd.scale(pd.tanh(pd.scale(op.x, scale=0.5)), scale=0.5, bias=0.5)
                op.replace_with(expanded)
                self.count("sigmoids")


@AREA.mutant(
    citation="Panchekha et al.: Herbie, PLDI 2015 (class of mistake: identities of real numbers)",
    mistake="the sum is rounded first, up to a whole number it may be",
    witness=lambda: case(lambda x: pd.floor(pd.add(x, constant([1]))), x=f32(0.5, 0.99999994)),
    control=lambda: case(lambda x: pd.floor(pd.add(x, constant([1]))), x=f32(0.5, -1.25)),
)
def floor_before_sum(program: Program) -> None:
    """floor(x + n) -> floor(x) + n for a whole n."""
    for op in operations(program, pd.FloorOp):
        total = op.x.defining_op
        if not isinstance(total, pd.AddOp) or not on_values(total) or total.x.type is not op.out.type:
            continue
        number = splat_value(total.y)
        if number is not None and math.isfinite(number) and number == int(number):
            with Builder.before(op):
                later = pd.add(pd.floor(total.x), total.y)
            op.replace_with(later)


AREA.rules(
    "factor-out-of-sum",
    Rule(
        "distributive",
        Node(pd.AddOp, Node(pd.MultiplyOp, x, z), Node(pd.MultiplyOp, y, z)),
        Make(pd.MultiplyOp, Make(pd.AddOp, x, y), z),
    ),
    citation="dotnet/runtime#126852: JIT: Transform arithmetic using distributive property",
    mistake="the sum may overflow where the sum of the products does not",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(
        lambda x, y, z: pd.add(pd.multiply(x, z), pd.multiply(y, z)), x=f32(1, 3e38), y=f32(2, 3e38), z=f32(3, 1e-10)
    ),
    control=lambda: case(
        lambda x, y, z: pd.add(pd.multiply(x, z), pd.multiply(y, z)), x=f32(1, 3), y=f32(2, 5), z=f32(3, 0.1)
    ),
)

AREA.rules(
    "quotient-by-own-root",
    Rule("divide-sqrt", Node(pd.DivideOp, x, root), Make(pd.SqrtOp, x)),
    citation="llvm/llvm-project#165011: [DAGCombiner] Relax nsz constraint for FP optimizations (fdiv(x, sqrt(x)))",
    mistake="0 / 0, and an infinity divided by its root, are NaN",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.divide(x, pd.sqrt(x)), x=f32(4, 0)),
    control=lambda: case(lambda x: pd.divide(x, pd.sqrt(x)), x=f32(4, 2)),
)
