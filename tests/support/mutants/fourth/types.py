"""Arithmetic and comparisons in narrower formats, bits in place of numbers, and clips before casts."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import NAN, case, constant, f32, ints, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, ScalarType, Value, bf16, f16, i1, i8, i32
from tx8ir.core import f32 as single
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting.declarative import Make, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, equals, is_vtensor

AREA = Area("types", round=4)
is_integer = Constraint("integers", lambda value: ranked(value).element.dtype.kind == "i")
x, y = (Var(name, is_integer, is_vtensor) for name in "xy")
number = Var("x", Constraint("numbers", lambda value: ranked(value).element.dtype.kind in "if"), is_vtensor)


def half(*numbers: float) -> Any:
    """A vector of f16."""
    return np.array(numbers, np.float16)


def leaves(value: Value, element: ScalarType, depth: int = 4) -> list[Value] | None:
    """What a sum is of, from left to right, where all of it is cast from a format."""
    op = value.defining_op
    if isinstance(op, pd.CastOp) and on_values(op) and ranked(op.x).element is element:
        return [op.x]
    if not isinstance(op, pd.AddOp) or not on_values(op) or not depth:
        return None
    left, right = leaves(op.x, element, depth - 1), leaves(op.y, element, 0)
    return None if left is None or right is None else [*left, *right]


@AREA.mutant(
    citation="pytorch/pytorch#131595: Mode to emulate amp numerics (elided upcasts and downcasts)",
    mistake="of three numbers the sum of two is rounded, too",
    witness=lambda: case(
        lambda x, y, z: pd.cast(pd.add(pd.add(pd.cast(x), pd.cast(y)), pd.cast(z)), dtype=f16),
        x=half(2048), y=half(1), z=half(1),
    ),
    control=lambda: case(
        lambda x, y: pd.cast(pd.add(pd.cast(x), pd.cast(y)), dtype=f16), x=half(2048, 0.1), y=half(1, 0.7)
    ),
)  # fmt: skip
@attrs.frozen
class AddInHalfPrecision(Pass):
    """Adds in half the width what is cast from it, and to it in the end."""

    name: ClassVar[str] = "add-in-half-precision"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.CastOp):
            element = ranked(op.out).element
            if element not in (f16, bf16) or ranked(op.x).element is not single or not on_values(op):
                continue
            terms = leaves(op.x, element)
            if terms is None or len(terms) < 2:
                continue
            with Builder.before(op):
                total = terms[0]
                for term in terms[1:]:
                    total = pd.add(total, term).out
            op.replace_with(total)
            self.count("sums")


@AREA.mutant(
    citation="llvm/llvm-project#185826: [InstCombine] Fold `fcmp (C - [su]itofp X), C` (for certain constant C)",
    mistake="the constant is rounded to the narrow format",
    witness=lambda: case(lambda x: pd.less_than(pd.cast(x), constant([0.1])), x=half(0.1, 1)),
    control=lambda: case(lambda x: pd.less_than(pd.cast(x), constant([0.5])), x=half(0.1, 1)),
)
def compare_in_half_precision(program: Program) -> None:
    """Compares numbers with a constant in the format that they are cast from."""
    for op in operations(program, pd.LessThanOp, pd.LessEqualOp, pd.GreaterThanOp, pd.GreaterEqualOp, pd.EqualOp):
        widened, bound, kind = op.x.defining_op, splat_value(op.y), ranked(op.y)
        if not isinstance(widened, pd.CastOp) or not on_values(widened) or bound is None or not abs(bound) < 6e4:
            continue
        source = ranked(widened.x).element
        if source in (f16, bf16) and kind.element is single and kind.is_static:
            with Builder.before(op):
                narrow = pd.full(shape=kind.shape, value=float(bound), dtype=source)
                compared = type(op)(widened.x, narrow)
            op.replace_with(compared)


@AREA.mutant(
    citation="NVIDIA/cudf#7212: [BUG] NaN values no longer sort correctly after optimization",
    mistake="the bits of NaN are those of a number above all others",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.less_than(pd.abs(x), pd.abs(y)), x=f32(1, -2), y=f32(NAN, 3)),
    control=lambda: case(lambda x, y: pd.less_than(pd.abs(x), pd.abs(y)), x=f32(1, -2), y=f32(0, 3)),
)
@attrs.frozen
class CompareBits(Pass):
    """Compares the bits of numbers that are not negative, as integers."""

    name: ClassVar[str] = "compare-bits"

    def run(self, program: Program) -> None:
        kinds = (pd.AbsOp, pd.ExpOp, pd.SigmoidOp)
        for op in operations(program, pd.LessThanOp, pd.LessEqualOp, pd.GreaterThanOp, pd.GreaterEqualOp):
            sides = op.x.defining_op, op.y.defining_op
            if all(isinstance(side, kinds) for side in sides) and ranked(op.x).element is single and on_values(op):
                with Builder.before(op):
                    compared = type(op)(*(pd.bitcast(v, dtype=i32) for v in op.operands))
                op.replace_with(compared)
                self.count("comparisons")


AREA.rules(
    "truth-of-product",
    Rule(
        "cast-multiply",
        Node(pd.CastOp, Node(pd.MultiplyOp, x, y), attributes={"dtype": equals(i1)}),
        Make(pd.LogicalAndOp, x, y),
    ),
    citation="llvm/llvm-project#129352: [InstSimplify] Fold `X * C >= X` to `true` (when `mul` is `nuw`)",
    mistake="the product of two numbers may wrap to 0",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.cast(pd.multiply(x, y), dtype=i1), x=ints("int8", 16, 0), y=ints("int8", 16, 2)
    ),
    control=lambda: case(
        lambda x, y: pd.cast(pd.multiply(x, y), dtype=i1), x=ints("int8", 15, 0), y=ints("int8", 16, 2)
    ),
)

AREA.rules(
    "drop-clip-before-cast",
    Rule(
        "clipped",
        Node(
            pd.CastOp,
            Node(pd.MinimumOp, Node(pd.MaximumOp, number, Number("", equals(-128))), Number("", equals(127))),
            attributes={"dtype": equals(i8)},
        ),
        Make(pd.CastOp, number, dtype=i8),
    ),
    citation="apache/tvm#15362: [Relay] improve SimplifyClipAndConsecutiveCast pass",
    mistake="a cast clips what is not an integer; of integers it keeps the low bits",
    witness=lambda: case(
        lambda x: pd.cast(
            pd.minimum(pd.maximum(x, constant([-128], "int32")), constant([127], "int32")), dtype=i8
        ),
        x=ints("int32", 300, -5),
    ),
    control=lambda: case(
        lambda x: pd.cast(pd.minimum(pd.maximum(x, constant([-128])), constant([127])), dtype=i8), x=f32(300, -5)
    ),
)  # fmt: skip
