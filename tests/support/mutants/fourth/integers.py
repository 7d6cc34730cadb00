"""Bits under masks, differences of extrema, and divisions by multiplying."""

from __future__ import annotations

from typing import ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, ints, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, i32, i64
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, is_vtensor

AREA = Area("integers", round=4)
is_integer = Constraint("integers", lambda value: ranked(value).element.dtype.kind == "i")
x, y, c, n = (Var(name, is_integer, is_vtensor) for name in "xycn")

AREA.rules(
    "shift-before-mask",
    Rule(
        "shr-and",
        Node(pd.BitwiseRightShiftOp, Node(pd.BitwiseAndOp, x, c), n),
        Make(pd.BitwiseAndOp, Make(pd.BitwiseRightShiftOp, x, n), c),
    ),
    citation="Lopes, Menendez, Nagarakatte, Regehr: Alive, PLDI 2015 (class of mistake: masks of shifted bits)",
    mistake="the mask has to be shifted, too",
    witness=lambda: case(
        lambda x, c, n: pd.bitwise_right_shift(pd.bitwise_and(x, c), n),
        x=ints("int32", 240, 7), c=ints("int32", 240, 7), n=ints("int32", 4, 1),
    ),
    control=lambda: case(
        lambda x, c, n: pd.bitwise_right_shift(pd.bitwise_and(x, c), n),
        x=ints("int32", 240, 7), c=ints("int32", -1, -1), n=ints("int32", 4, 1),
    ),
)  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#72772: [Reassociate] Use disjoint flag to convert Or to Add.",
    mistake="masks of which neither holds the other may share bits",
    witness=lambda: case(
        lambda x, y: pd.bitwise_or(
            pd.bitwise_and(x, constant([12], "int32")), pd.bitwise_and(y, constant([6], "int32"))
        ),
        x=ints("int32", 15, 1), y=ints("int32", 15, 2),
    ),
    control=lambda: case(
        lambda x, y: pd.bitwise_or(
            pd.bitwise_and(x, constant([12], "int32")), pd.bitwise_and(y, constant([3], "int32"))
        ),
        x=ints("int32", 15, 1), y=ints("int32", 15, 2),
    ),
)  # fmt: skip
@attrs.frozen
class AddDisjointBits(Pass):
    """(x & a) | (y & b) -> (x & a) + (y & b) for masks that share no bits."""

    name: ClassVar[str] = "add-disjoint-bits"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.BitwiseOrOp):
            left, right = op.x.defining_op, op.y.defining_op
            if not isinstance(left, pd.BitwiseAndOp) or not isinstance(right, pd.BitwiseAndOp) or not on_values(op):
                continue
            a, b = splat_value(left.y), splat_value(right.y)
            if isinstance(a, int) and isinstance(b, int) and a & b not in (a, b):
                with Builder.before(op):
                    total = pd.add(op.x, op.y)
                op.replace_with(total)
                self.count("sums")


AREA.rules(
    "distance-by-magnitude",
    Rule(
        "max-min",
        Node(pd.SubtractOp, Node(pd.MaximumOp, x, y), Node(pd.MinimumOp, x, y)),
        Make(pd.AbsOp, Make(pd.SubtractOp, x, y)),
    ),
    citation="llvm/llvm-project#61228: [InstCombine] reduce absolute diff from min+max+sub (with no-wrap)",
    mistake="where the difference wraps it has another sign",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.subtract(pd.maximum(x, y), pd.minimum(x, y)), x=ints("int8", 100, 1), y=ints("int8", -100, 5)
    ),
    control=lambda: case(
        lambda x, y: pd.subtract(pd.maximum(x, y), pd.minimum(x, y)), x=ints("int8", 10, 1), y=ints("int8", -100, 5)
    ),
)


@AREA.mutant(
    citation="dotnet/runtime#37570: 64-bit integer division produces incorrect results (magic numbers)",
    mistake="16 bits of the reciprocal are enough for dividends of 16 bits",
    witness=lambda: case(lambda x: pd.divide(x, constant([7], "int32")), x=ints("int32", 1000000, -8)),
    control=lambda: case(lambda x: pd.divide(x, constant([7], "int32")), x=ints("int32", 100, -8)),
)
def divide_by_multiplying(program: Program) -> None:
    """Multiplies magnitudes with a reciprocal in fixed point instead of dividing by a constant."""
    for op in operations(program, pd.DivideOp):
        divisor, kind = splat_value(op.y), ranked(op.out)
        if kind.element is not i32 or not on_values(op) or op.x.type is not kind or not isinstance(divisor, int):
            continue
        if 2 < divisor < 256:
            with Builder.before(op):
                wide = pd.cast(op.x, dtype=i64)
                reciprocal, places = (
                    pd.full(shape=(), value=float(v), dtype=i64) for v in (2**16 // divisor + 1, 16)
                )  # fmt: skip
                quotient = pd.bitwise_right_shift(pd.multiply(pd.abs(wide), reciprocal), places)
                signed = pd.cast(pd.multiply(pd.sign(wide), quotient), dtype=i32)
            op.replace_with(signed)


@AREA.mutant(
    citation="llvm/llvm-project#69965: Miscompile in x86 backend, incorrectly removed bit mask (demanded bits)",
    mistake="a bit below those of the mask may carry into them",
    witness=lambda: case(
        lambda x, y: pd.bitwise_and(pd.add(x, y), constant([5], "int32")), x=ints("int32", 3, 8), y=ints("int32", 1, 4)
    ),
    control=lambda: case(
        lambda x, y: pd.bitwise_and(pd.add(x, y), constant([7], "int32")), x=ints("int32", 3, 8), y=ints("int32", 1, 4)
    ),
)
def mask_before_sum(program: Program) -> None:
    """(x + y) & m -> ((x & m) + (y & m)) & m for masks of the low bits."""
    for op in operations(program, pd.BitwiseAndOp):
        total, mask = op.x.defining_op, splat_value(op.y)
        if not isinstance(total, pd.AddOp) or not on_values(total) or not isinstance(mask, int) or total.x is total.y:
            continue
        if mask < 0 or not mask & 1 or isinstance(total.x.defining_op, pd.BitwiseAndOp):
            continue
        with Builder.before(op):
            masked = pd.add(pd.bitwise_and(total.x, op.y), pd.bitwise_and(total.y, op.y))
            low = pd.bitwise_and(masked, op.y)
        if low.out.type is op.out.type:
            op.replace_with(low)


AREA.rules(
    "complement-of-conjunction",
    Rule(
        "de-morgan",
        Node(pd.BitwiseXorOp, Node(pd.BitwiseAndOp, x, y), c),
        Make(pd.BitwiseOrOp, Make(pd.BitwiseXorOp, x, c), Make(pd.BitwiseXorOp, y, c)),
    ),
    citation="Lopes, Menendez, Nagarakatte, Regehr: Alive, PLDI 2015 (class of mistake: a rule for one constant)",
    mistake="holds for the exclusive or with all bits",
    witness=lambda: case(
        lambda x, y, c: pd.bitwise_xor(pd.bitwise_and(x, y), c),
        x=ints("int32", 3, 5), y=ints("int32", 1, 6), c=ints("int32", 1, 2),
    ),
    control=lambda: case(
        lambda x, y, c: pd.bitwise_xor(pd.bitwise_and(x, y), c),
        x=ints("int32", 3, 5), y=ints("int32", 1, 6), c=ints("int32", -1, -1),
    ),
)  # fmt: skip
