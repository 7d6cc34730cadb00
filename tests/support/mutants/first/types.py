"""Mutants of element types: casts, and constants in one format or another."""

from __future__ import annotations

from typing import ClassVar

import attrs
import ml_dtypes
import numpy as np

from support.mutants import programs
from support.mutants.mutant import Area
from support.mutants.programs import bools, case, constant, ints, operations, ranked
from tx8ir.core import Builder, DenseAttr, Program, bf16, f16, f32, i1, i8, i32, i64
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, element

AREA = Area("types", round=1)
x = Var("x")


@constraint("only the last cast to a truth value")
def ends_in_truth_value(match: Match) -> bool:
    return match.attributes["to"] is i1 and ranked(match["x"]).element.is_float


AREA.rules(
    "shorten-cast-to-truth-value",
    Rule(
        "cast-cast",
        Node(pd.CastOp, Node(pd.CastOp, x), attributes={"dtype": Attr("to")}),
        Make(pd.CastOp, x, dtype=Attr("to")),
        where=[ends_in_truth_value],
    ),
    citation="microsoft/onnxruntime#28089: ORT_ENABLE_ALL incorrectly eliminates Cast(float->int32)->Cast(int32->bool)",
    mistake="0.5 is true, and 0 as an integer",
    witness=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i32), dtype=i1), x=programs.f32(0, 0.5, 2)),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i32), dtype=i1), x=programs.f32(0, 1, 2)),
)

AREA.rules(
    "drop-round-trip",
    Rule("there-and-back",
         Node(pd.CastOp, Node(pd.CastOp, Var("x", element(f32)), attributes={"dtype": Attr("middle")})), x,
         where=[constraint("floating-point in between")(lambda m: m.attributes["middle"].is_float)]),
    citation="pytorch/pytorch#180575: [inductor] Fix fp32=>bf16=>fp32 cast being lost",
    mistake="the format in between may have fewer digits",
    witness=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=bf16), dtype=f32), x=programs.f32(1, 1.001)),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=bf16), dtype=f32), x=programs.f32(1, 0.5)),
)  # fmt: skip


@AREA.mutant(
    citation="microsoft/onnxruntime#8787: Cast Bug (float to float16 and back)",
    mistake="takes formats of equal width as equal: f16 has more digits than bf16, which has the larger range",
    witness=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=bf16), dtype=f16), x=np.array([1, 1.01], np.float16)),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=f32), dtype=f16), x=np.array([1, 1.01], np.float16)),
)
def drop_widening_round_trips(program: Program) -> None:
    for op in operations(program, pd.CastOp):
        inner = op.x.defining_op
        if not isinstance(inner, pd.CastOp) or inner.x.type is not op.out.type:
            continue
        source, middle = ranked(inner.x).element, ranked(inner.out).element
        if source.is_float == middle.is_float and middle.format.bits >= source.format.bits:
            op.replace_with(inner.x)


AREA.rules(
    "widen-before-abs",
    Rule(
        "cast-abs",
        Node(pd.CastOp, Node(pd.AbsOp, Var("x", element(i8))), attributes={"dtype": Attr("to")}),
        Make(pd.AbsOp, Make(pd.CastOp, x, dtype=Attr("to"))),
        where=[
            constraint("to a format of numbers that has all of i8")(lambda m: m.attributes["to"] in (i32, i64, f32))
        ],
    ),
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: integers taken as mathematical ones)",
    mistake="the magnitude of -128 wraps to -128 in i8, and does not in a wider format",
    special_value=True,
    witness=lambda: case(lambda x: pd.cast(pd.abs(x), dtype=i32), x=ints("int8", -3, -128)),
    control=lambda: case(lambda x: pd.cast(pd.abs(x), dtype=i32), x=ints("int8", -3, 7)),
)


@AREA.mutant(
    citation="iron-codegen/iron#32: Constant folding does not respect integer width, signedness, and overflow policy",
    mistake="the number is not converted to the format of the constant first",
    witness=lambda: case(
        lambda x: pd.add(x, pd.cast(pd.full(shape=(1,), value=2.75, dtype=i32), dtype=f32)), x=programs.f32(0)
    ),
    control=lambda: case(
        lambda x: pd.add(x, pd.cast(pd.full(shape=(1,), value=3.0, dtype=i32), dtype=f32)), x=programs.f32(0)
    ),
)
def fill_in_last_format(program: Program) -> None:
    for op in operations(program, pd.CastOp):
        filled = op.x.defining_op
        if isinstance(filled, pd.FullOp):
            with Builder.before(op):
                direct = pd.full(shape=filled.shape, value=filled.value, dtype=op.dtype)
            op.replace_with(direct)


@AREA.mutant(
    citation="pytorch/pytorch#183761: torch.compile produces different fp16 results for where + full_like + cast + add",
    mistake="evaluates a chain of constants in single precision, and rounds to the format at its end only",
    witness=lambda: case(
        lambda x: pd.add(
            x, pd.add(pd.add(constant(programs.bf16(1)), constant(programs.bf16(2**-8))), constant(programs.bf16(-1)))
        ),
        x=programs.bf16(0),
    ),
    control=lambda: case(
        lambda x: pd.add(
            x, pd.add(pd.add(constant(programs.bf16(1)), constant(programs.bf16(2))), constant(programs.bf16(-1)))
        ),
        x=programs.bf16(0),
    ),
)
@attrs.frozen
class FoldSumsInSinglePrecision(Pass):
    """Folds sums of constants."""

    name: ClassVar[str] = "fold-sums-in-single-precision"

    def run(self, program: Program) -> None:
        exact: dict[object, np.ndarray] = {}
        for op in operations(program, builtin.ConstantOp, pd.AddOp):
            if isinstance(op, builtin.ConstantOp):
                if op.value.value.dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
                    exact[op.out] = op.value.value.astype(np.float32)
            elif op.x in exact and op.y in exact:
                numbers = exact[op.x] + exact[op.y]
                kind = ranked(op.out)
                with Builder.before(op):
                    made = builtin.ConstantOp(value=DenseAttr(numbers.astype(kind.element.dtype)))
                op.replace_with(made)
                exact[made.out] = numbers
                self.count("folded")


@pattern(pd.CastOp)
def truth_value_as_number(op: pd.CastOp, rewriter: Rewriter) -> bool:
    """The number of a number's truth value is the number"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.CastOp) or ranked(inner.out).element is not i1 or inner.x.type is not op.out.type:
        return False
    rewriter.replace(op, inner.x)
    return True


AREA.rules(
    "truth-value-as-number",
    truth_value_as_number,
    citation="microsoft/onnxruntime#433: when there are few cast connected, the result might be wrong",
    mistake="right for 0 and 1 only",
    witness=lambda: case(
        lambda x: pd.cast(pd.cast(pd.sum(x, axis=(0,), keepdim=True, dtype=i64), dtype=i1), dtype=i64),
        x=bools(1, 1, 1),
    ),
    control=lambda: case(
        lambda x: pd.cast(pd.cast(pd.sum(x, axis=(0,), keepdim=True, dtype=i64), dtype=i1), dtype=i64),
        x=bools(0, 1, 0),
    ),
)


@AREA.mutant(
    citation="pytorch/pytorch#183639: Add low precision cast barrier regression coverage (fp16 overflow)",
    mistake="the product may overflow in f16 where the quotient does not",
    witness=lambda: case(
        lambda x, y, z: pd.cast(
            pd.divide(pd.multiply(pd.cast(x, dtype=f32), pd.cast(y, dtype=f32)), pd.cast(z, dtype=f32)), dtype=f16
        ),
        x=np.array([2, 300], np.float16),
        y=np.array([3, 300], np.float16),
        z=np.array([4, 300], np.float16),
    ),
    control=lambda: case(
        lambda x, y, z: pd.cast(
            pd.divide(pd.multiply(pd.cast(x, dtype=f32), pd.cast(y, dtype=f32)), pd.cast(z, dtype=f32)), dtype=f16
        ),
        x=np.array([2, 3], np.float16),
        y=np.array([3, 8], np.float16),
        z=np.array([4, 2], np.float16),
    ),
)
@attrs.frozen
class NarrowQuotients(Pass):
    """Computes in the narrow format where operands were widened, and the result is rounded to it again."""

    name: ClassVar[str] = "narrow-quotients"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.CastOp):
            quotient = op.x.defining_op
            product = quotient.x.defining_op if isinstance(quotient, pd.DivideOp) else None
            if not isinstance(product, pd.MultiplyOp) or not ranked(op.out).element.is_float:
                continue
            widened = [value.defining_op for value in (product.x, product.y, quotient.y)]
            narrow = [cast.operands[0] for cast in widened if isinstance(cast, pd.CastOp)]
            if len(narrow) == 3 and all(value.type is op.out.type for value in narrow):
                with Builder.before(op):
                    made = pd.divide(pd.multiply(narrow[0], narrow[1]), narrow[2])
                op.replace_with(made)
                self.count("quotients")
