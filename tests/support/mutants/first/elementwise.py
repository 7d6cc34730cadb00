"""Mutants of arithmetic on floating-point numbers, element by element."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import INF, NAN, case, constant, f32, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals, is_float

AREA = Area("elementwise", round=1)
x, y = Var("x", is_float), Var("y", is_float)


@constraint("x and y have the type of the result")
def full_size(match: Match) -> bool:
    return match["x"].type is match["y"].type is match.root.results[0].type


AREA.rules(
    "select-greater-zero-to-relu",
    Rule("relu", Node(pd.WhereOp, Node(pd.GreaterThanOp, x, Number("zero", equals(0.0))), x, Number("", equals(0.0))),
         Make(pd.ReluOp, x)),
    citation="pytorch/pytorch#93784: Problems with clamp/clamp_min/clamp_max/minimum/maximum",
    mistake="where(x > 0, x, 0) gives 0 for NaN, relu gives NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.where(pd.greater_than(x, constant([0])), x, constant([0])), x=f32(1, -2, NAN)),
    control=lambda: case(lambda x: pd.where(pd.greater_than(x, constant([0])), x, constant([0])), x=f32(1, -2, 3)),
)  # fmt: skip

AREA.rules(
    "select-less-to-minimum",
    Rule("min", Node(pd.WhereOp, Node(pd.LessThanOp, x, y), x, y), Make(pd.MinimumOp, x, y)),
    citation="HSAFoundation/HLC-HSAIL-Development-LLVM#3: fcmp + select incorrectly matched to min/max",
    mistake="where(x < y, x, y) is y when x is NaN; the minimum is NaN",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.where(pd.less_than(x, y), x, y), x=f32(1, NAN), y=f32(0, 2)),
    control=lambda: case(lambda x, y: pd.where(pd.less_than(x, y), x, y), x=f32(1, 5), y=f32(2, 3)),
)

AREA.rules(
    "select-sign-to-abs",
    Rule(
        "abs",
        Node(
            pd.WhereOp,
            Node(pd.GreaterEqualOp, x, Number("", equals(0.0))),
            x,
            Node(pd.MultiplyOp, x, Number("", equals(-1.0))),
        ),
        Make(pd.AbsOp, x),
    ),
    citation="llvm/llvm-project#59279: InstCombine: incorrect fabs formation",
    mistake="-0 >= 0 holds, so -0 is selected as it is; its magnitude is +0",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.where(pd.greater_equal(x, constant([0])), x, pd.multiply(x, constant([-1]))), x=f32(3, -0.0)
    ),
    control=lambda: case(
        lambda x: pd.where(pd.greater_equal(x, constant([0])), x, pd.multiply(x, constant([-1]))), x=f32(3, -2)
    ),
)

AREA.rules(
    "subtract-from-zero-to-negation",
    Rule("negate", Node(pd.SubtractOp, Number("", equals(0.0)), x),
         Make(pd.MultiplyOp, x, Make(pd.FullOp, shape=(), value=-1.0, dtype=lambda m: ranked(m["x"]).element)),
         where=[constraint("the type of x")(lambda m: m["x"].type is m.root.results[0].type)]),
    citation="llvm/llvm-project#59238: Incorrect `fsub -0, %x` -> `fneg %x`",
    mistake="holds for -0 - x; 0 - 0 is +0, its negation -0",
    special_value=True,
    witness=lambda: case(lambda x: pd.subtract(constant([0]), x), x=f32(2, 0)),
    control=lambda: case(lambda x: pd.subtract(constant([0]), x), x=f32(2, -3)),
)  # fmt: skip

AREA.rules(
    "drop-addition-of-unit",
    Rule("plus-zero", Node(pd.AddOp, x, Number("", equals(0.0))), x),
    citation='onnx/optimizer#285: The pass "eliminate_nop_with_unit" causes output mismatch',
    mistake="the unit of addition is -0: -0 + +0 is +0",
    special_value=True,
    witness=lambda: case(lambda x: pd.add(x, constant([0])), x=f32(1, -0.0)),
    control=lambda: case(lambda x: pd.add(x, constant([0])), x=f32(1, 2)),
)


@AREA.mutant(
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: x * 0)",
    mistake="0 * NaN and 0 * infinity are NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.multiply(x, constant([0])), x=f32(2, INF)),
    control=lambda: case(lambda x: pd.multiply(x, constant([0])), x=f32(2, -3)),
)
@attrs.frozen
class AnnihilateProducts(Pass):
    """x * 0 -> 0; the sign of the zero is left open, as the guarantee says."""

    name: ClassVar[str] = "annihilate-products"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.VALUES

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MultiplyOp):
            kind = ranked(op.out)
            if kind.is_static and any(splat_value(factor) == 0 for factor in op.operands):
                with Builder.before(op):
                    zeros = pd.full(shape=kind.shape, value=0.0, dtype=kind.element)
                op.replace_with(zeros)
                self.count("products")


AREA.rules(
    "reciprocal-twice",
    Rule("involution", Node(pd.ReciprocalOp, Node(pd.ReciprocalOp, x)), x),
    citation="tensorflow/tensorflow#119429: Grappler ArithmeticOptimizer eliminates `reciprocal(reciprocal(x))`",
    mistake="the reciprocal is rounded, so that the second one need not give x",
    witness=lambda: case(lambda x: pd.reciprocal(pd.reciprocal(x)), x=f32(*range(1, 64))),
    control=lambda: case(lambda x: pd.reciprocal(pd.reciprocal(x)), x=f32(2, 0.5)),
)

AREA.rules(
    "power-minus-one-half-to-reciprocal-root",
    Rule("rsqrt", Node(pd.PowOp, x, attributes={"y": equals(-0.5)}), Make(pd.RsqrtOp, x)),
    citation="llvm/llvm-project#205592: Gate fold_pow(x, ±0.5)->sqrt/rsqrt on nsz+ninf fast-math flags",
    mistake="pow(-infinity, -0.5) is +0, the reciprocal of the root is NaN",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.pow(x, y=-0.5), x=f32(4, -INF)),
    control=lambda: case(lambda x: pd.pow(x, y=-0.5), x=f32(4, 9)),
)


@AREA.mutant(
    citation="apache/tvm#16819: Inconsistent Transformation Results in TVM's DivToMul Optimization",
    mistake="asks whether c * (1 / c) is 1, in double precision; 1 / 3 passes and is not exact",
    witness=lambda: case(lambda x: pd.divide(x, constant([3])), x=f32(*range(1, 64))),
    control=lambda: case(lambda x: pd.divide(x, constant([4])), x=f32(1, 3)),
)
def divide_by_constant_to_product(program: Program) -> None:
    for op in operations(program, pd.DivideOp):
        divisor = splat_value(op.y)
        if op.x.type is not op.out.type or not ranked(op.x).element.is_float or not divisor:
            continue
        if float(divisor) * (1 / float(divisor)) == 1.0:
            with Builder.before(op):
                product = pd.multiply(op.x, pd.full(shape=(), value=1 / divisor, dtype=ranked(op.x).element))
            op.replace_with(product)


@pattern(pd.DivideOp)
def by_power_of_two(op: pd.DivideOp, rewriter: Rewriter) -> bool:
    """X / 2^n -> x * 2^-n, which is exact"""
    divisor = splat_value(op.y)
    if op.x.type is not op.out.type or not ranked(op.x).element.is_float or not isinstance(divisor, float):
        return False
    if not math.isfinite(divisor) or abs(math.frexp(divisor)[0]) != 0.5:
        return False
    inverse = rewriter.insert(pd.full(shape=(), value=1 / divisor, dtype=ranked(op.x).element))
    rewriter.replace(op, rewriter.insert(pd.multiply(op.x, inverse)))
    return True


AREA.rules(
    "divide-by-power-of-two",
    by_power_of_two,
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: reciprocals of subnormal divisors)",
    mistake="the reciprocal of a subnormal power of two is infinite in the format",
    special_value=True,
    witness=lambda: case(lambda x: pd.divide(x, constant([2.0**-140])), x=f32(1e-35, 3e-36)),
    control=lambda: case(lambda x: pd.divide(x, constant([8])), x=f32(1, 3)),
)


@AREA.mutant(
    citation="apache/tvm#16211: Two passes incur unacceptable numerical bugs, pattern 3: (c1 + x) + c2 -> x + c",
    mistake="that c1 + c2 is exact does not make the reassociated sum the same",
    witness=lambda: case(lambda x: pd.add(pd.add(x, constant([4096])), constant([-4096])), x=f32(0.1, 1e-5)),
    control=lambda: case(lambda x: pd.add(pd.add(x, constant([4])), constant([-2])), x=f32(1, 2)),
)
def combine_constant_terms(program: Program) -> None:
    for op in operations(program, pd.AddOp):
        inner = op.x.defining_op
        if not isinstance(inner, pd.AddOp) or inner.out.type is not inner.x.type or inner.out.type is not op.out.type:
            continue
        first, second = splat_value(inner.y), splat_value(op.y)
        element = ranked(op.out).element
        if not isinstance(first, float) or not isinstance(second, float) or element.dtype != np.float32:
            continue
        if float(np.float32(first + second)) == first + second:
            with Builder.before(op):
                total = pd.add(inner.x, pd.full(shape=(), value=first + second, dtype=element))
            op.replace_with(total)


AREA.rules(
    "quotient-to-product",
    Rule("divide", Node(pd.DivideOp, x, y), Make(pd.MultiplyOp, x, Make(pd.ReciprocalOp, y)), where=[full_size]),
    citation="apache/tvm#16211: Two passes incur unacceptable numerical bugs, pattern 1: division -> reciprocal",
    mistake="the reciprocal of a subnormal number is infinite, the quotient of two small ones is not",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x, y: pd.divide(x, y), x=f32(1, 3e-39), y=f32(3, 1e-39)),
    control=lambda: case(lambda x, y: pd.divide(x, y), x=f32(1, 2), y=f32(3, 7)),
)


@AREA.mutant(
    citation="openxla/xla#47290: 337 IRs diverge after running HLO pass `algsimp` (NaN/Inf mismatches)",
    mistake="exp(2x) overflows where tanh is 1, so that the quotient is NaN",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.tanh(x), x=f32(1, 60)),
    control=lambda: case(lambda x: pd.tanh(x), x=f32(1, -2)),
)
def expand_tanh(program: Program) -> None:
    """Tanh x = (exp 2x - 1) / (exp 2x + 1), for targets without the function."""
    for op in operations(program, pd.TanhOp):
        with Builder.before(op):
            power = pd.exp(pd.scale(op.x, scale=2.0))
            quotient = pd.divide(pd.scale(power, bias=-1.0), pd.scale(power, bias=1.0))
        op.replace_with(quotient)


AREA.rules(
    "maximum-of-scaled-to-leaky-relu",
    Rule("leaky", Node(pd.MaximumOp, x, Node(pd.ScaleOp, x, attributes={"scale": Attr("s"), "bias": equals(0.0)})),
         Make(pd.LeakyReluOp, x, negative_slope=Attr("s"))),
    citation="openvinotoolkit/openvino#19446: Disallow LeakyReluFusion when alpha is greater than one",
    mistake="with a slope above 1 the maximum takes the other branch",
    guarantee=NumericGuarantee.VALUES,
    witness=lambda: case(lambda x: pd.maximum(x, pd.scale(x, scale=2.0)), x=f32(3, -2)),
    control=lambda: case(lambda x: pd.maximum(x, pd.scale(x, scale=0.5)), x=f32(3, -2)),
)  # fmt: skip


@AREA.mutant(
    citation="apache/tvm#2299: Avoid recursion in FoldScaleAxis (only fold when the constant is positive)",
    mistake="looks at the sign of the first factor only",
    guarantee=NumericGuarantee.VALUES,
    witness=lambda: case(lambda x: pd.relu(pd.multiply(x, constant([2, -3]))), x=f32(1, 1)),
    control=lambda: case(lambda x: pd.relu(pd.multiply(x, constant([2, 3]))), x=f32(1, -1)),
)
@attrs.frozen
class MoveScaleOverRelu(Pass):
    """relu(x * c) -> relu(x) * c for positive c, so that the scale can be folded further down."""

    name: ClassVar[str] = "move-scale-over-relu"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.VALUES

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ReluOp):
            product = op.x.defining_op
            if not isinstance(product, pd.MultiplyOp) or product.x.type is not op.out.type:
                continue
            factor = getattr(product.y.defining_op, "value", None)
            numbers = np.ravel(getattr(factor, "value", ()))
            if numbers.size and np.isfinite(numbers).all() and numbers[0] > 0:
                with Builder.before(op):
                    moved = pd.multiply(pd.relu(product.x), product.y)
                op.replace_with(moved)
                self.count("moved")


@constraint("the type of x")
def type_of_x(match: Match) -> bool:
    return match["x"].type is match.root.results[0].type


AREA.rules(
    "exchange-clip-bounds",
    Rule(
        "clip",
        Node(pd.MinimumOp, Node(pd.MaximumOp, x, Number("low")), Number("high")),
        Make(pd.MaximumOp, Make(pd.MinimumOp, x, lambda m: m["high"]), lambda m: m["low"]),
        where=[type_of_x],
    ),
    citation="microsoft/onnxscript#2410: [Rewriter]: fuse successive Relu/Clip nodes (order of the bounds)",
    mistake="where the lower bound is above the upper one, the last to be applied wins",
    witness=lambda: case(lambda x: pd.minimum(pd.maximum(x, constant([0])), constant([-1])), x=f32(3, -2)),
    control=lambda: case(lambda x: pd.minimum(pd.maximum(x, constant([0])), constant([6])), x=f32(3, 8)),
)


@AREA.mutant(
    citation="Le, Afshari, Su: Compiler Validation via Equivalence Modulo Inputs, PLDI 2014",
    mistake="takes all operations on two tensors as commutative",
    witness=lambda: case(lambda x, y: pd.add(pd.subtract(x, y), pd.subtract(y, x)), x=f32(1, 2), y=f32(5, 9)),
    control=lambda: case(lambda x, y: pd.subtract(pd.multiply(x, y), pd.multiply(y, x)), x=f32(1, 2), y=f32(5, 9)),
)
@attrs.frozen
class MergeBinaryOperations(Pass):
    """Does an operation on two tensors once, in whatever order it has them."""

    name: ClassVar[str] = "merge-binary-operations"

    def run(self, program: Program) -> None:
        seen: dict[object, pd.ElementwiseBinaryOp] = {}
        for op in operations(program, pd.ElementwiseBinaryOp):
            earlier = seen.setdefault((op.parent, type(op), frozenset(op.operands), op.out.type), op)
            if earlier is not op:
                op.replace_with(earlier)
                self.count("merged")


AREA.rules(
    "logarithm-of-product",
    Rule("sum", Node(pd.LogOp, Node(pd.MultiplyOp, x, y)), Make(pd.AddOp, Make(pd.LogOp, x), Make(pd.LogOp, y)),
         where=[full_size]),
    citation="Panchekha et al.: Herbie, PLDI 2015 (class of mistake: identities outside of their domain)",
    mistake="two negative numbers have a positive product",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x, y: pd.log(pd.multiply(x, y)), x=f32(2, -3), y=f32(3, -4)),
    control=lambda: case(lambda x, y: pd.log(pd.multiply(x, y)), x=f32(2, 3), y=f32(3, 4)),
)  # fmt: skip
