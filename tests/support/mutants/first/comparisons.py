"""Mutants of comparisons, selections and truth values."""

from __future__ import annotations

from typing import ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, bools, case, constant, f32, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, f16, i32
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals

AREA = Area("comparisons", round=1)
x, y = Var("x"), Var("y")

AREA.rules(
    "invert-less-than",
    Rule("not", Node(pd.LogicalNotOp, Node(pd.LessThanOp, x, y)), Make(pd.GreaterEqualOp, x, y)),
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: inverting ordered comparisons)",
    mistake="with NaN neither x < y nor x >= y holds",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.logical_not(pd.less_than(x, y)), x=f32(1, NAN), y=f32(2, 0)),
    control=lambda: case(lambda x, y: pd.logical_not(pd.less_than(x, y)), x=f32(1, 3), y=f32(2, 0)),
)


@AREA.mutant(
    citation="llvm/llvm-project#57951: `tosa.cast` and `tosa.equal` get folded incorrectly",
    mistake="NaN is not equal to itself",
    special_value=True,
    witness=lambda: case(lambda x: pd.equal(x, x), x=f32(1, NAN)),
    control=lambda: case(lambda x: pd.equal(x, x), x=f32(1, 2)),
)
def fold_comparison_with_itself(program: Program) -> None:
    reflexive = (pd.EqualOp, pd.GreaterEqualOp, pd.LessEqualOp)
    for op in operations(program, *reflexive, pd.NotEqualOp):
        kind = ranked(op.out)
        if op.x is op.y and kind.is_static:
            with Builder.before(op):
                known = pd.full(shape=kind.shape, value=float(isinstance(op, reflexive)), dtype=kind.element)
            op.replace_with(known)


@pattern(pd.LessThanOp, pd.LessEqualOp)
def constant_to_the_right(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """C < x -> x > c, c <= x -> x >= c"""
    if splat_value(op.x) is None or splat_value(op.y) is not None:
        return False
    mirrored = pd.GreaterEqualOp if isinstance(op, pd.LessThanOp) else pd.GreaterThanOp
    rewriter.replace(op, rewriter.insert(mirrored(op.y, op.x)))
    return True


AREA.rules(
    "constant-to-the-right",
    constant_to_the_right,
    citation="llvm/llvm-project#57357: [InstCombine] Wrong signed zero optimization (olt becomes ole)",
    mistake="takes the inverse of the comparison where the operands are exchanged: they differ on equal numbers",
    witness=lambda: case(lambda x: pd.less_than(constant([2]), x), x=f32(1, 2, 3)),
    control=lambda: case(lambda x: pd.less_than(constant([2]), x), x=f32(1, 4, 3)),
)


@AREA.mutant(
    citation="pytorch/pytorch#195223: [inductor] Preserve low-precision rounding before comparisons",
    mistake="numbers that differ may be equal after rounding",
    witness=lambda: case(
        lambda x, y: pd.equal(pd.cast(x, dtype=f16), pd.cast(y, dtype=f16)), x=f32(1, 1.0001), y=f32(2, 1)
    ),
    control=lambda: case(lambda x, y: pd.equal(pd.cast(x, dtype=f16), pd.cast(y, dtype=f16)), x=f32(1, 2), y=f32(2, 2)),
)
@attrs.frozen
class CompareBeforeCast(Pass):
    """Compares before a cast of both sides to another floating format, which keeps the order."""

    name: ClassVar[str] = "compare-before-cast"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ComparisonOp):
            sides = [value.defining_op for value in op.operands]
            sources = [side.x for side in sides if isinstance(side, pd.CastOp)]
            elements = {ranked(source).element for source in sources}
            if len(sources) < 2 or len(elements) > 1:
                continue
            if all(ranked(v).element.is_float for v in (*sources, *op.operands)):
                with Builder.before(op):
                    early = type(op)(*sources)
                op.replace_with(early)
                self.count("compared")


@constraint("y has the type of the result")
def y_of_result_type(match: Match) -> bool:
    return match["y"].type is match.root.results[0].type


AREA.rules(
    "select-between-equals",
    Rule("equal", Node(pd.WhereOp, Node(pd.EqualOp, x, y), x, y), y, where=[y_of_result_type]),
    citation="llvm/llvm-project#137998: AArch64 backend folds fcmp+select to fminnm, confusing +0.0 and -0.0",
    mistake="-0 and +0 are equal and different",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.where(pd.equal(x, y), x, y), x=f32(1, -0.0), y=f32(1, 0.0)),
    control=lambda: case(lambda x, y: pd.where(pd.equal(x, y), x, y), x=f32(1, 3), y=f32(1, 2)),
)


@AREA.mutant(
    citation="llvm/llvm-project#85772: Fold `fmul X, -0.0` into `copysign(0.0, -X)` (review: X must not be NaN)",
    mistake="an infinity or NaN that is not selected becomes NaN in the product with 0",
    guarantee=NumericGuarantee.VALUES,
    special_value=True,
    witness=lambda: case(lambda c, x: pd.where(c, x, constant([0])), c=bools(1, 0), x=f32(2, INF)),
    control=lambda: case(lambda c, x: pd.where(c, x, constant([0])), c=bools(1, 0), x=f32(2, -3)),
)
def select_to_masking_product(program: Program) -> None:
    """where(c, x, 0) -> x * c, for targets that multiply faster than they select."""
    for op in operations(program, pd.WhereOp):
        kind = ranked(op.out)
        if splat_value(op.y) == 0 and op.x.type is kind and kind.element.is_float:
            with Builder.before(op):
                masked = pd.multiply(op.x, pd.cast(op.condition, dtype=kind.element))
            op.replace_with(masked)


AREA.rules(
    "equal-to-false",
    Rule("not", Node(pd.EqualOp, Node(pd.CastOp, x), Number("", equals(0))), Make(pd.LogicalNotOp, x),
         where=[constraint("a result of the size of x")(
             lambda m: ranked(m["x"]).shape == ranked(m.root.results[0]).shape)]),
    citation="microsoft/onnxruntime#11994: Inconsistent result when casting a float tensor to int32 and then to bool",
    mistake="the cast truncates: 0.5 is cast to 0 and is not false",
    witness=lambda: case(lambda x: pd.equal(pd.cast(x, dtype=i32), constant([0], "int32")), x=f32(0, 0.5, 2)),
    control=lambda: case(lambda x: pd.equal(pd.cast(x, dtype=i32), constant([0], "int32")), x=f32(0, 1, 2)),
)  # fmt: skip
