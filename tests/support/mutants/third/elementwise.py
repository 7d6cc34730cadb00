"""Functions that are merged, split, absorbed or approximated by others, element by element."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, case, constant, f32, operations
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint, equals, is_float, is_vtensor

AREA = Area("elementwise", round=3)
x, y = Var("x", is_float, is_vtensor), Var("y", is_float, is_vtensor)


def slopes(match: Match) -> float:
    """The product of both slopes."""
    return match.attributes["outer"] * match.attributes["inner"]


AREA.rules(
    "merge-leaky-relus",
    Rule(
        "leaky-leaky",
        Node(
            pd.LeakyReluOp,
            Node(pd.LeakyReluOp, x, attributes={"negative_slope": Attr("inner")}),
            attributes={"negative_slope": Attr("outer")},
        ),
        Make(pd.LeakyReluOp, x, negative_slope=slopes),
    ),
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a rule without the condition on an attribute)",
    mistake="with a negative slope the inner one gives positive numbers, on which the outer one does nothing",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.leaky_relu(pd.leaky_relu(x, negative_slope=-0.5), negative_slope=0.5), x=f32(-2, 3)
    ),
    control=lambda: case(
        lambda x: pd.leaky_relu(pd.leaky_relu(x, negative_slope=0.5), negative_slope=0.5), x=f32(-2, 3)
    ),
)


@AREA.mutant(
    guarantee=NumericGuarantee.VALUES,
    citation="grame-cncm/faust#1302: Fix RoundPrim constant folding by calling round instead of rint",
    mistake="a number in the middle of two is rounded to the even one, not up",
    witness=lambda: case(lambda x: pd.round(x), x=f32(2.5, 1.25)),
    control=lambda: case(lambda x: pd.round(x), x=f32(3.5, 1.25)),
)
def round_by_floor(program: Program) -> None:
    """round(x) -> floor(x + 1/2)."""
    for op in operations(program, pd.RoundOp):
        with Builder.before(op):
            rounded = pd.floor(pd.scale(op.x, bias=0.5))
        op.replace_with(rounded)


@AREA.mutant(
    citation="Jittor/jittor#174: parameter 'threshold' is not used in Softplus",
    mistake="the threshold is lost; a low one makes the function linear early",
    witness=lambda: case(lambda x: pd.softplus(x, beta=2.0, threshold=1.0), x=f32(-1, 1)),
    control=lambda: case(lambda x: pd.softplus(x, beta=2.0, threshold=30.0), x=f32(-1, 1)),
)
@attrs.frozen
class PlainSoftplus(Pass):
    """Writes softplus with attributes as the one without, scaled before and after."""

    name: ClassVar[str] = "plain-softplus"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SoftplusOp):
            if (op.beta, op.threshold) != (1.0, 20.0) and op.beta != 0.0:
                with Builder.before(op):
                    plain = pd.scale(pd.softplus(pd.scale(op.x, scale=op.beta)), scale=1 / op.beta)
                op.replace_with(plain)
                self.count("softplus")


AREA.rules(
    "absorb-minimum",
    Rule("max-min", Node(pd.MaximumOp, Node(pd.MinimumOp, x, y, commutative=True), x, commutative=True), x),
    Rule("min-max", Node(pd.MinimumOp, Node(pd.MaximumOp, x, y, commutative=True), x, commutative=True), x),
    citation="llvm/llvm-project#160224: [mlir][arith] Fold min/max with absorption and redundancy",
    mistake="NaN in y is not absorbed",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.maximum(pd.minimum(x, y), x), x=f32(1, 2), y=f32(3, NAN)),
    control=lambda: case(lambda x, y: pd.maximum(pd.minimum(x, y), x), x=f32(1, 2), y=f32(3, 0)),
)

AREA.rules(
    "negation-of-difference",
    Rule(
        "negated",
        Node(pd.MultiplyOp, Node(pd.SubtractOp, x, y, name="difference"), Number("", equals(-1.0))),
        Make(pd.SubtractOp, y, x),
        where=[constraint("one type")(lambda m: m.ops["difference"].result.type is m.root.results[0].type)],
    ),
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: signs of zero)",
    mistake="the difference of equal numbers is +0 both ways, its negation -0",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.multiply(pd.subtract(x, y), constant([-1])), x=f32(1, 2), y=f32(1, 5)),
    control=lambda: case(lambda x, y: pd.multiply(pd.subtract(x, y), constant([-1])), x=f32(1, 2), y=f32(3, 5)),
)

AREA.rules(
    "split-exponent",
    Rule("exp-add", Node(pd.ExpOp, Node(pd.AddOp, x, y)), Make(pd.MultiplyOp, Make(pd.ExpOp, x), Make(pd.ExpOp, y))),
    citation="tensorflow/tensorflow#123991: Gate exp(LHS)*exp(RHS) => exp(LHS+RHS) rewrite behind fast-math",
    mistake="one of the powers may overflow where that of the sum does not",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x, y: pd.exp(pd.add(x, y)), x=f32(100, 1), y=f32(-99, 1)),
    control=lambda: case(lambda x, y: pd.exp(pd.add(x, y)), x=f32(2, 1), y=f32(-1, 1)),
)

even = Constraint("an even exponent", lambda exponent: math.isfinite(exponent) and int(exponent) % 2 == 0)

AREA.rules(
    "even-power-of-magnitude",
    Rule(
        "pow-abs",
        Node(pd.PowOp, Node(pd.AbsOp, x), attributes={"y": Attr("y", even)}),
        Make(pd.PowOp, x, y=lambda m: m.attributes["y"]),
    ),
    citation="OpenModelica/OpenModelica#6714: [FE] update exponential simplification (a^b for even b is one of abs(a))",
    mistake="an exponent that is not an integer is cut to one before it is asked whether it is even",
    witness=lambda: case(lambda x: pd.pow(pd.abs(x), y=2.5), x=f32(-4, 1)),
    control=lambda: case(lambda x: pd.pow(pd.abs(x), y=4.0), x=f32(-4, INF)),
)
