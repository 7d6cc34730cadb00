"""Chains of casts, casts that are moved over functions, constants in half the width."""

from __future__ import annotations

import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, f32, ranked
from tx8ir.core import DenseAttr, bf16, f16, i8, i32
from tx8ir.core import f32 as single
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint, element, is_float, one_of

AREA = Area("types", round=2)
x = Var("x", is_float)
integer = Constraint("integers", lambda t: not t.is_float and t.format.bits > 1)
signed = Constraint("signed integers", lambda t: t.dtype.kind == "i")


@constraint("the last format the narrower one")
def narrows(match: Match) -> bool:
    return match.attributes["to"].format.bits < match.attributes["middle"].format.bits


AREA.rules(
    "merge-casts-to-integers",
    Rule(
        "cast-cast",
        Node(pd.CastOp, Node(pd.CastOp, x, attributes={"dtype": Attr("middle", signed)}),
             attributes={"dtype": Attr("to", signed)}),
        Make(pd.CastOp, x, dtype=Attr("to")),
        where=[narrows],
    ),
    citation="NVIDIA/cutlass#3489: int/int8 and int/uint8 conversion saturates for packed widths but wraps for width 1",
    mistake="a number outside of the format is clipped when it is a float, and wraps when it is an integer",
    special_value=True,
    witness=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i32), dtype=i8), x=f32(2.5, 200)),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=i32), dtype=i8), x=f32(2.5, -100)),
)  # fmt: skip


@constraint("formats that become narrower")
def descends(match: Match) -> bool:
    first, middle, last = ranked(match["x"]).element, match.attributes["middle"], match.attributes["to"]
    return middle.is_float and last.is_float and first.format.bits > middle.format.bits > last.format.bits


AREA.rules(
    "merge-narrowing-casts",
    Rule(
        "cast-cast",
        Node(pd.CastOp, Node(pd.CastOp, x, attributes={"dtype": Attr("middle")}), attributes={"dtype": Attr("to")}),
        Make(pd.CastOp, x, dtype=Attr("to")),
        where=[descends],
    ),
    citation="JuliaLang/julia#57809: Fix fptrunc Float64 -> Float16 rounding through Float32",
    mistake="rounding twice is not rounding once, where the first ends in the middle of two numbers of the last format",
    witness=lambda: case(
        lambda x: pd.cast(pd.cast(x, dtype=single), dtype=f16), x=np.array([2.5, 1 + 2**-11 + 2**-40])
    ),
    control=lambda: case(lambda x: pd.cast(pd.cast(x, dtype=single), dtype=f16), x=np.array([2.5, 1 / 3])),
)

AREA.rules(
    "cast-before-exp",
    Rule(
        "exp-cast",
        Node(pd.CastOp, Node(pd.ExpOp, Var("x", element(single))), attributes={"dtype": Attr("to", one_of(f16, bf16))}),
        Make(pd.ExpOp, Make(pd.CastOp, x, dtype=Attr("to"))),
    ),
    citation="microsoft/onnxruntime#7191: Propagate Cast operations to maximize lower precision (float16) computation",
    mistake="the rounding of the argument grows with it in the power; that of the power does not",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.cast(pd.exp(x), dtype=bf16), x=f32(1, 80.2)),
    control=lambda: case(lambda x: pd.cast(pd.exp(x), dtype=bf16), x=f32(1, -2)),
)

AREA.rules(
    "cast-without-floor",
    Rule(
        "truncates",
        Node(pd.CastOp, Node(pd.FloorOp, x), attributes={"dtype": Attr("to", integer)}),
        Make(pd.CastOp, x, dtype=Attr("to")),
    ),
    citation="emscripten-core/emscripten#2667: Fix invalid usage of Math.floor() + simplify code",
    mistake="a cast truncates towards 0, which is not down for negative numbers",
    witness=lambda: case(lambda x: pd.cast(pd.floor(x), dtype=i32), x=f32(2.5, -2.5)),
    control=lambda: case(lambda x: pd.cast(pd.floor(x), dtype=i32), x=f32(2.5, -3)),
)


@pattern(builtin.ConstantOp)
def halve_constant(op: builtin.ConstantOp, rewriter: Rewriter) -> bool:
    """Stores single-precision constants in half the width where that keeps their numbers"""
    data = op.value.value
    if data.dtype != np.float32:
        return False
    with np.errstate(over="ignore", under="ignore"):
        half = data.astype(np.float16)
    if not np.allclose(half.astype(np.float32), data):
        return False
    stored = rewriter.insert(builtin.ConstantOp(value=DenseAttr(half)))
    rewriter.replace(op, rewriter.insert(pd.cast(stored, dtype=single)))
    return True


AREA.rules(
    "constants-in-half-precision",
    halve_constant,
    citation="microsoft/onnxconverter-common#153: Updated float16 conversion script to maintain sign and finiteness",
    mistake="`allclose` takes numbers below its absolute tolerance for 0",
    special_value=True,
    witness=lambda: case(lambda x: pd.multiply(x, constant([1e-9])), x=f32(2, 1e9)),
    control=lambda: case(lambda x: pd.multiply(x, constant([0.25])), x=f32(2, 1e9)),
)
