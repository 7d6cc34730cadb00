"""Comparisons, selections and places of extrema: what may be moved out of them, or is known of them."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, bools, case, constant, f32, ints, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, HasValueSemantics, Program
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, is_float, is_vtensor

AREA = Area("comparisons", round=3)
RISING = (pd.ExpOp, pd.TanhOp, pd.SigmoidOp, pd.AtanOp)
"""Functions that are greater for a greater number."""


@pattern(pd.LessThanOp, pd.GreaterThanOp, pd.LessEqualOp, pd.GreaterEqualOp)
def compare_arguments(op: Any, rewriter: Rewriter) -> bool:
    """Compares the arguments of a rising function instead of what it gives"""
    a, b = op.x.defining_op, op.y.defining_op
    if a is None or b is None or type(a) is not type(b) or not isinstance(a, RISING):
        return False
    if not on_values(op):
        return False
    rewriter.replace(op, rewriter.insert(type(op)(a.operands[0], b.operands[0])))
    return True


AREA.rules(
    "compare-arguments",
    compare_arguments,
    citation="llvm/llvm-project#99475: Optimize fptrunc(x)>=C1 --> x>=C2",
    mistake="numbers that differ may have one result after rounding",
    witness=lambda: case(lambda x, y: pd.less_than(pd.tanh(x), pd.tanh(y)), x=f32(20, 1), y=f32(21, 2)),
    control=lambda: case(lambda x, y: pd.less_than(pd.tanh(x), pd.tanh(y)), x=f32(2, 1), y=f32(-1, 2)),
)


@AREA.mutant(
    citation="onnx/onnx#1429: Optimization Pass: Monotonic growing function is useless before argmax calculation.",
    mistake="the function may give the same for several numbers, of which the first then counts",
    witness=lambda: case(lambda x: pd.argmax(pd.sigmoid(x), axis=0), x=f32(1, 200, 300)),
    control=lambda: case(lambda x: pd.argmax(pd.sigmoid(x), axis=0), x=f32(1, 2, -3)),
)
@attrs.frozen
class PlaceWithoutFunction(Pass):
    """Looks for the place of the largest number before a function that keeps the order."""

    name: ClassVar[str] = "place-without-function"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ArgmaxOp, pd.ArgminOp):
            if on_values(op) and isinstance(op.x.defining_op, (*RISING, pd.ReluOp)):
                op.set_operands([op.x.defining_op.operands[0]])
                self.count("places")


@AREA.mutant(
    citation="LeventErkok/sbv#456: Invalid constant-folding when converting from floating-point to integer",
    mistake="an integer below 2.5 need not be below 2",
    witness=lambda: case(lambda x: pd.less_than(pd.cast(x), constant([2.5])), x=ints("int32", 1, 2)),
    control=lambda: case(lambda x: pd.less_than(pd.cast(x), constant([2.0])), x=ints("int32", 1, 2)),
)
def compare_integers_with_constant(program: Program) -> None:
    """Compares integers with a floating-point constant as integers."""
    for op in operations(program, pd.LessThanOp, pd.GreaterEqualOp):
        widened, number = op.x.defining_op, splat_value(op.y)
        if not isinstance(widened, pd.CastOp) or number is None or not abs(number) < 100 or not on_values(op):
            continue
        kind = ranked(widened.x)
        if kind.element.dtype.kind == "i" and ranked(op.x).element.is_float and ranked(op.y).is_static:
            with Builder.before(op):
                bound = pd.full(shape=ranked(op.y).shape, value=float(int(number)), dtype=kind.element)
                compared = type(op)(widened.x, bound)
            op.replace_with(compared)


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a rule for operations of one class, used for others)",
    mistake="takes every function of one tensor that keeps its type for one of each element",
    witness=lambda: case(
        lambda c, x, y: pd.where(c, pd.softmax(x), pd.softmax(y)), c=bools(1, 0), x=f32(1, 2), y=f32(5, 3)
    ),
    control=lambda: case(
        lambda c, x, y: pd.where(c, pd.relu(x), pd.relu(y)), c=bools(1, 0), x=f32(1, -2), y=f32(5, -3)
    ),
)
@attrs.frozen
class SelectBeforeFunction(Pass):
    """Selects among the arguments of a function, which is then computed once."""

    name: ClassVar[str] = "select-before-function"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.WhereOp):
            a, b = op.x.defining_op, op.y.defining_op
            if a is None or b is None or type(a) is not type(b) or a.attributes != b.attributes:
                continue
            if not on_values(op) or not a.has_trait(HasValueSemantics):
                continue
            if len(a.operands) == 1 and not a.regions and a.operands[0].type is a.result.type is op.out.type:
                if b.operands[0].type is not a.operands[0].type or op.x.type is not op.y.type:
                    continue
                with Builder.before(op):
                    chosen = pd.where(op.condition, a.operands[0], b.operands[0])
                later = a.clone({a.operands[0]: chosen.out})
                op.parent.insert_before(later, op)
                op.replace_with(later.results)
                self.count("selections")


@pattern(pd.IsnanOp)
def isnan_of_argument(op: pd.IsnanOp, rewriter: Rewriter) -> bool:
    """What a function that makes no NaN of a number gives is NaN where its argument is"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.SinOp | pd.CosOp | pd.TanhOp | pd.ExpOp | pd.AbsOp | pd.ReluOp) or not on_values(op):
        return False
    rewriter.replace(op, rewriter.insert(pd.isnan(inner.x)))
    return True


AREA.rules(
    "isnan-of-argument",
    isnan_of_argument,
    citation="llvm/llvm-project#63316: Instcombine incorrectly optimizes `fcmp uno`",
    mistake="the sine of an infinity is NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.isnan(pd.sin(x)), x=f32(1, INF)),
    control=lambda: case(lambda x: pd.isnan(pd.sin(x)), x=f32(1, NAN)),
)

x, y = Var("x", is_float, is_vtensor), Var("y", is_float, is_vtensor)
shaped = constraint("the shape of x")(lambda m: ranked(m["x"]).shape == ranked(m.root.results[0]).shape)

AREA.rules(
    "compare-with-own-maximum",
    Rule("max-ge", Node(pd.GreaterEqualOp, Node(pd.MaximumOp, x, y), x), Make(pd.EqualOp, x, x), where=[shaped]),
    Rule("min-le", Node(pd.LessEqualOp, Node(pd.MinimumOp, x, y), x), Make(pd.EqualOp, x, x), where=[shaped]),
    citation="dotnet/runtime#130838: Fold floating-point comparisons with a constant NaN in morph",
    mistake="asks whether x is a number, and not whether y is",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.greater_equal(pd.maximum(x, y), x), x=f32(1, 2), y=f32(0, NAN)),
    control=lambda: case(lambda x, y: pd.greater_equal(pd.maximum(x, y), x), x=f32(1, NAN), y=f32(0, 3)),
)
