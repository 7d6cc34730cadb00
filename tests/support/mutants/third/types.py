"""Casts that are moved over functions or dropped, and bits that are read as numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import INF, case, f32, ints, on_values, operations, ranked
from tx8ir.core import Builder, Program, Value, f16, i8, i32
from tx8ir.core import f32 as single
from tx8ir.dialects import pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import equals, is_float, is_vtensor

AREA = Area("types", round=3)
x = Var("x", is_float, is_vtensor)


def is_signed(value: Value) -> bool:
    """Whether a tensor is one of signed integers."""
    return ranked(value).element.dtype.kind == "i"


@pattern(pd.ReluOp, pd.SignOp)
def function_before_cast(op: Any, rewriter: Rewriter) -> bool:
    """Computes a function of integers before the numbers are cut to integers"""
    cut = op.x.defining_op
    if not isinstance(cut, pd.CastOp) or not is_signed(op.x) or ranked(cut.x).element is not single:
        return False
    if not on_values(op):
        return False
    computed = rewriter.insert(type(op)(cut.x))
    rewriter.replace(op, rewriter.insert(pd.cast(computed, dtype=ranked(op.out).element)))
    return True


AREA.rules(
    "function-before-cast",
    function_before_cast,
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a rule for operations of one class, used for others)",
    mistake="a number below 1 has a sign, and none when it has been cut to 0",
    witness=lambda: case(lambda x: pd.sign(pd.cast(x, dtype=i32)), x=f32(-2, 0.5)),
    control=lambda: case(lambda x: pd.relu(pd.cast(x, dtype=i32)), x=f32(-2, 1.5)),
)

AREA.rules(
    "drop-integer-round-trip",
    Rule(
        "whole",
        Node(
            pd.CastOp,
            Node(pd.CastOp, Node((pd.FloorOp, pd.RoundOp), x, name="whole"), attributes={"dtype": equals(i32)}),
            attributes={"dtype": equals(single)},
        ),
        lambda m, _: m.ops["whole"].result if m.ops["whole"].result.type is m.root.results[0].type else None,
    ),
    citation="llvm/llvm-project#55150: [InstCombine] likely incorrect optimization of sitofp/fptosi roundtrip",
    mistake="a whole number need not fit into the integer format",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.cast(pd.cast(pd.floor(x), dtype=i32), dtype=single), x=f32(1.5, INF)
    ),
    control=lambda: case(
        lambda x: pd.cast(pd.cast(pd.floor(x), dtype=i32), dtype=single), x=f32(1.5, -7.5)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="tenstorrent/tt-mlir#4616: Remove BF16 requirement from argmax operand workaround",
    mistake="numbers that differ may be equal in a narrower format; the first of them then counts",
    witness=lambda: case(lambda x: pd.argmax(pd.cast(x, dtype=f16), axis=0), x=f32(4096, 4097)),
    control=lambda: case(lambda x: pd.argmax(pd.cast(x, dtype=f16), axis=0), x=f32(4096, 4100)),
)
@attrs.frozen
class PlaceWithoutCast(Pass):
    """Looks for the place of an extremum before a cast, which keeps the order."""

    name: ClassVar[str] = "place-without-cast"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ArgmaxOp, pd.ArgminOp):
            cast = op.x.defining_op
            if not isinstance(cast, pd.CastOp) or not on_values(op):
                continue
            if ranked(cast.x).element.is_float and ranked(op.x).element.is_float:
                op.set_operands([cast.x])
                self.count("places")


@AREA.mutant(
    citation="thepowersgang/mrustc#270: Incorrect operations after casting (constants propagated through casts)",
    mistake="what the cast cuts off is multiplied, too",
    witness=lambda: case(lambda x: pd.scale(pd.cast(x, dtype=i32), scale=3.0), x=f32(1.5, 2)),
    control=lambda: case(lambda x: pd.scale(pd.cast(x, dtype=i32), scale=3.0), x=f32(1, 2)),
)
def scale_before_cast(program: Program) -> None:
    """Scales floating-point numbers instead of the integers that they are cast to."""
    for op in operations(program, pd.ScaleOp):
        cast = op.x.defining_op
        if isinstance(cast, pd.CastOp) and on_values(op) and is_signed(op.x) and ranked(cast.x).element is single:
            with Builder.before(op):
                scaled = pd.scale(cast.x, scale=op.scale, bias=op.bias, bias_after_scale=op.bias_after_scale)
                cut = pd.cast(scaled, dtype=ranked(op.out).element)
            op.replace_with(cut)


@pattern(pd.EqualOp, pd.NotEqualOp)
def equality_of_bits(op: Any, rewriter: Rewriter) -> bool:
    """Numbers are equal when their bits are"""
    a, b = op.x.defining_op, op.y.defining_op
    if not isinstance(a, pd.BitcastOp) or not isinstance(b, pd.BitcastOp) or not on_values(op):
        return False
    if ranked(a.x).element is not ranked(b.x).element or not ranked(a.x).element.is_float or not is_signed(a.out):
        return False
    rewriter.replace(op, rewriter.insert(type(op)(a.x, b.x)))
    return True


AREA.rules(
    "equality-of-bits",
    equality_of_bits,
    citation="ziglang/zig#14201: llvm codegen: fix f16,f32,f64 nan bitcasts",
    mistake="the two zeros have different bits and are equal",
    special_value=True,
    witness=lambda: case(lambda x, y: pd.equal(pd.bitcast(x), pd.bitcast(y)), x=f32(1, 0.0), y=f32(1, -0.0)),
    control=lambda: case(lambda x, y: pd.equal(pd.bitcast(x), pd.bitcast(y)), x=f32(1, 2), y=f32(1, 3)),
)


@AREA.mutant(
    citation="llvm/llvm-project#173221: [InstCombine] Fold trunc(umin/umax(zext(x), y & mask)) to narrower umin/umax",
    mistake="the low bits of the larger number may be those of the smaller one",
    witness=lambda: case(
        lambda x, y: pd.cast(pd.maximum(x, y), dtype=i8), x=ints("int32", 300, 1), y=ints("int32", 100, 2)
    ),
    control=lambda: case(
        lambda x, y: pd.cast(pd.add(x, y), dtype=i8), x=ints("int32", 300, 1), y=ints("int32", 100, 2)
    ),
)
@attrs.frozen
class NarrowBeforeArithmetic(Pass):
    """Casts integers to a narrower format before arithmetic of which only the low bits are kept."""

    name: ClassVar[str] = "narrow-before-arithmetic"

    def run(self, program: Program) -> None:
        kinds = (pd.AddOp, pd.SubtractOp, pd.MultiplyOp, pd.BitwiseAndOp, pd.BitwiseXorOp, pd.MaximumOp, pd.MinimumOp)
        for op in operations(program, pd.CastOp):
            inner, element = op.x.defining_op, ranked(op.out).element
            if not on_values(op) or not isinstance(inner, kinds) or not is_signed(inner.out) or not is_signed(op.out):
                continue
            if element.dtype.itemsize < ranked(inner.out).element.dtype.itemsize:
                with Builder.before(op):
                    narrow = type(inner)(pd.cast(inner.x, dtype=element), pd.cast(inner.y, dtype=element))
                op.replace_with(narrow)
                self.count("narrowed")
