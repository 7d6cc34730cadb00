"""Remainders, shifts, masks and extrema of integers."""

from __future__ import annotations

from typing import ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, ints, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, i8, i32
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, is_vtensor

AREA = Area("integers", round=3)
is_integer = Constraint("integers", lambda value: ranked(value).element.dtype.kind == "i")
x, y, c = (Var(name, is_integer, is_vtensor) for name in "xyc")


@pattern(pd.RemainderOp, pd.FmodOp)
def remainder_by_mask(op: pd.RemainderOp | pd.FmodOp, rewriter: Rewriter) -> bool:
    """The remainder of a division by a power of two is the low bits"""
    number = splat_value(op.y)
    if ranked(op.x).element.dtype.kind != "i" or op.x.type is not op.out.type or not isinstance(number, int):
        return False
    if number < 1 or number & (number - 1):
        return False
    kind = ranked(op.y)
    mask = rewriter.insert(pd.full(shape=kind.shape, value=float(number - 1), dtype=kind.element))
    rewriter.replace(op, rewriter.insert(pd.bitwise_and(op.x, mask)))
    return True


AREA.rules(
    "remainder-by-mask",
    remainder_by_mask,
    citation="stp/stp#600: Rewrite signed modulo by a positive power of two to extract/concat (and not the remainder)",
    mistake="the remainder of C's division has the sign of the dividend",
    witness=lambda: case(lambda x: pd.fmod(x, constant([4], "int32")), x=ints("int32", 7, -7)),
    control=lambda: case(lambda x: pd.remainder(x, constant([4], "int32")), x=ints("int32", 7, -7)),
)

AREA.rules(
    "quotient-times-divisor",
    Rule(
        "multiple",
        Node(pd.MultiplyOp, Node(pd.DivideOp, x, c), c),
        Make(pd.SubtractOp, x, Make(pd.RemainderOp, x, c)),
    ),
    citation="hernanponcedeleon/Dat3M#223: Mod vs rem",
    mistake="the quotient is rounded towards 0, the remainder is that of rounding down",
    witness=lambda: case(lambda x, c: pd.multiply(pd.divide(x, c), c), x=ints("int32", 7, -7), c=ints("int32", 2, 2)),
    control=lambda: case(lambda x, c: pd.multiply(pd.divide(x, c), c), x=ints("int32", 7, -6), c=ints("int32", 2, 2)),
)


@AREA.mutant(
    citation="apache/tvm#20181: [Fix][Arith] Preserve nested floormod semantics",
    mistake="the outer divisor must divide the inner one, and not just be smaller",
    witness=lambda: case(
        lambda x: pd.remainder(pd.remainder(x, constant([6], "int32")), constant([4], "int32")),
        x=ints("int32", 5, 7),
    ),
    control=lambda: case(
        lambda x: pd.remainder(pd.remainder(x, constant([6], "int32")), constant([3], "int32")),
        x=ints("int32", 5, 7),
    ),
)
@attrs.frozen
class MergeRemainders(Pass):
    """(x mod a) mod b -> x mod b."""

    name: ClassVar[str] = "merge-remainders"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.RemainderOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.RemainderOp) or inner.x.type is not op.x.type or not on_values(op):
                continue
            a, b = splat_value(inner.y), splat_value(op.y)
            if isinstance(a, int) and isinstance(b, int) and 0 < b <= a:
                op.set_operands([inner.x, op.y])
                self.count("remainders")


@AREA.mutant(
    citation="Livinskii, Babokin, Regehr: YARPGen, OOPSLA 2020 (class of mistake: signs of narrow integers)",
    mistake="a number that is cast to i8 and back has the sign that its low bits give it",
    witness=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i8), dtype=i32), x=ints("int32", 300, 200)),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i8), dtype=i32), x=ints("int32", 300, 100)),
)
def casts_to_mask(program: Program) -> None:
    """Casting an i32 to i8 and back keeps its low bits."""
    for op in operations(program, pd.CastOp):
        inner = op.x.defining_op
        if (
            not isinstance(inner, pd.CastOp)
            or not on_values(inner)
            or ranked(inner.out).element is not i8
            or inner.x.type is not op.out.type
        ):
            continue
        kind = ranked(op.out)
        if kind.element is i32 and kind.is_static:
            with Builder.before(op):
                masked = pd.bitwise_and(inner.x, pd.full(shape=kind.shape, value=255.0, dtype=i32))
            op.replace_with(masked)


AREA.rules(
    "maximum-of-sums",
    Rule(
        "max-add",
        Node(pd.MaximumOp, Node(pd.AddOp, x, c), Node(pd.AddOp, y, c)),
        Make(pd.AddOp, Make(pd.MaximumOp, x, y), c),
    ),
    citation="halide/Halide#6002: Guard against overflow in constant folding for EQ rewrite rules (Fixes #5998)",
    mistake="one of the sums may wrap",
    special_value=True,
    witness=lambda: case(
        lambda x, y, c: pd.maximum(pd.add(x, c), pd.add(y, c)),
        x=ints("int8", 120, 1), y=ints("int8", 1, 2), c=ints("int8", 10, 1),
    ),
    control=lambda: case(
        lambda x, y, c: pd.maximum(pd.add(x, c), pd.add(y, c)),
        x=ints("int8", 12, 1), y=ints("int8", 1, 2), c=ints("int8", 10, 1),
    ),
)  # fmt: skip

AREA.rules(
    "shift-there-and-back",
    Rule("shl-shr", Node(pd.BitwiseRightShiftOp, Node(pd.BitwiseLeftShiftOp, x, c), c), x),
    citation="llvm/llvm-project#86597: [X86] Fix miscompile in combineShiftRightArithmetic",
    mistake="the bits that are shifted out at the top are lost",
    special_value=True,
    witness=lambda: case(
        lambda x, c: pd.bitwise_right_shift(pd.bitwise_left_shift(x, c), c),
        x=ints("int8", 100, 3), c=ints("int8", 1, 1),
    ),
    control=lambda: case(
        lambda x, c: pd.bitwise_right_shift(pd.bitwise_left_shift(x, c), c),
        x=ints("int8", -20, 3), c=ints("int8", 1, 1),
    ),
)  # fmt: skip
