"""Casts between widths and between integers and floats.

A float that does not fit the integer type, or is a NaN, is poison in MLIR; 0 is computed. Integers become floats with
one rounding to nearest even. `roundingmode` is not there: `truncf` rounds to nearest even.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from tx8ir.core import (
    Attribute,
    Operand,
    Result,
    Type,
    UnitAttr,
    Value,
    VerifyError,
    attribute,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    operand,
    result,
    tf32,
)
from tx8ir.core.attrs.builtin_types import FloatType, IndexType, element_of, integer_format, with_element
from tx8ir.dialects.samples import Sample

from .declaration import (
    SHAPES,
    ArithOp,
    FastMathAttr,
    OverflowAttr,
    computed_element,
    float_like,
    number_like,
    shaped,
    signless_integer_like,
    width_of,
)
from .integers import Array, signed, unsigned, wrapped

_INDEX = IndexType()
_EXACT = 1 << 53  # integers up to there are numbers of float64


def bits_of(type: Type) -> int | None:
    """The bits of an integer or float, or of each element; None for index, which has as many as an address."""
    element = element_of(type)
    if isinstance(element, IndexType):
        return None
    if isinstance(element, FloatType):
        return element.width
    if element is tf32:  # 19 of the 32 that it is held in
        return 19
    return element.format.bits if not signless_integer_like(type) else integer_format(element)[0]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  (a number that is none of the above is a ScalarType)


class CastOp(ArithOp):
    """One number to one of another type, for each element."""

    pairs: ClassVar[tuple[tuple[Type, Type], ...]]
    """Element types of operand and result, for samples."""
    widens: ClassVar[bool | None] = None
    """Whether the result has more bits than the operand (True), fewer (False), or any number."""
    assembly_format = "$x attr-dict `:` type($x) `to` type($out)"

    def verify_op(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        if with_element(source, element_of(target)) is not target:
            raise VerifyError(f"{self.name} keeps the shape; {source} does not become {target}", self)
        self.verify_widths(bits_of(source), bits_of(target))

    def verify_widths(self, source: int | None, target: int | None) -> None:
        """Check the bits of operand and result. Raises VerifyError."""
        if self.widens is None:
            return
        if source is None or target is None or (source < target) is not self.widens or source == target:
            wanted = "more" if self.widens else "fewer"
            types = f"{self.operands[0].type} to {self.results[0].type}"
            raise VerifyError(f"{self.name} is to a type of {wanted} bits, not {types}", self)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for source, target in cls.pairs:
            for shape in SHAPES:
                yield Sample(cls, (shaped(source, shape),), {"out": shaped(target, shape)})


_WIDER = ((i8, i32), (i1, i8), (i4, i16), (i32, i64), (i1, i64))
_FLOATS = (f32, f16, bf16, f64)
_INTEGERS = (i32, i1, i4, i8, i16, i64)


class ExtSIOp(CastOp, name="arith.extsi"):
    """out = x as a signed number; a true i1 is -1."""

    x: Operand = operand(signless_integer_like)
    out: Result = result(signless_integer_like)

    pairs = _WIDER
    widens = True

    def compute(self, x: Array) -> Any:
        return wrapped(signed(x), self.out)


class ExtUIOp(CastOp, name="arith.extui"):
    """out = x as an unsigned number. `nonNeg`: its sign bit is 0."""

    x: Operand = operand(signless_integer_like)
    non_negative: UnitAttr | None = attribute(default=None, name="nonNeg")
    out: Result = result(signless_integer_like)

    pairs = _WIDER
    widens = True
    assembly_format = "$x (`nneg` $non_negative^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return wrapped(unsigned(x, width_of(self.x)), self.out)


class TruncIOp(CastOp, name="arith.trunci"):
    """out = the low bits of x, whatever the flags say of the others."""

    x: Operand = operand(signless_integer_like)
    overflow: OverflowAttr | None = attribute(default=None, name="overflowFlags")
    out: Result = result(signless_integer_like)

    pairs = tuple((wide, narrow) for narrow, wide in _WIDER)
    widens = False
    assembly_format = "$x (`overflow` $overflow^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return wrapped(signed(x), self.out)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        inner = self.x.defining_op
        return inner.x if isinstance(inner, (ExtSIOp, ExtUIOp)) and inner.x.type is self.out.type else None


class ExtFOp(CastOp, name="arith.extf"):
    """out = x, which the wider type has exactly."""

    x: Operand = operand(float_like)
    fastmath: FastMathAttr | None = attribute(default=None)
    out: Result = result(float_like)

    pairs = ((f16, f32), (bf16, f32), (f32, f64), (bf16, f64))
    widens = True
    assembly_format = "$x (`fastmath` $fastmath^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return x.astype(np.float64) if computed_element(self.out) is f64 else x


class TruncFOp(CastOp, name="arith.truncf"):
    """out = x rounded to nearest even."""

    x: Operand = operand(float_like)
    fastmath: FastMathAttr | None = attribute(default=None)
    out: Result = result(float_like)

    pairs = ((f32, f16), (f32, bf16), (f64, f32), (f64, bf16))
    widens = False
    assembly_format = "$x (`fastmath` $fastmath^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return x  # rounded by whoever computes, once


def _to_float(x: Array, value: Value) -> Array:
    """int64 or uint64 in float64, so that one rounding to the type of a value is that of the integer."""
    if computed_element(value) is f64:
        return x.astype(np.float64)
    # Numbers that float64 has not are rounded to odd, after which a second rounding is as good as one.
    low = x & x.dtype.type(0x7FF)
    odd = (x - low) | np.where(low != 0, 0x800, 0).astype(x.dtype)
    large: Array = x > _EXACT if x.dtype == np.uint64 else (x > _EXACT) | (x < -_EXACT)
    rounded: Array = np.where(large, odd, x)
    return rounded.astype(np.float64)


class SIToFPOp(CastOp, name="arith.sitofp"):
    """out = the signed number x, rounded to nearest even."""

    x: Operand = operand(signless_integer_like)
    out: Result = result(float_like)

    pairs = (*((i, f32) for i in _INTEGERS), *((i64, f) for f in _FLOATS[1:]))

    def compute(self, x: Array) -> Any:
        return _to_float(signed(x), self.out)


class UIToFPOp(CastOp, name="arith.uitofp"):
    """out = the unsigned number x, rounded to nearest even. `nonNeg`: its sign bit is 0."""

    x: Operand = operand(signless_integer_like)
    non_negative: UnitAttr | None = attribute(default=None, name="nonNeg")
    out: Result = result(float_like)

    pairs = SIToFPOp.pairs
    assembly_format = "$x (`nneg` $non_negative^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return _to_float(unsigned(x, width_of(self.x)), self.out)


class FPToSIOp(CastOp, name="arith.fptosi"):
    """out = x rounded toward 0, as a signed number; 0 where it does not fit (poison in MLIR)."""

    x: Operand = operand(float_like)
    out: Result = result(signless_integer_like)

    pairs = tuple((f, i) for i, f in SIToFPOp.pairs)

    def compute(self, x: Array) -> Any:
        whole = np.trunc(x.astype(np.float64))
        bound = 2.0 ** (width_of(self.out) - 1)
        return wrapped(np.where((whole >= -bound) & (whole < bound), whole, 0.0).astype(np.int64), self.out)


class FPToUIOp(CastOp, name="arith.fptoui"):
    """out = x rounded toward 0, as an unsigned number; 0 where it does not fit (poison in MLIR)."""

    x: Operand = operand(float_like)
    out: Result = result(signless_integer_like)

    pairs = FPToSIOp.pairs

    def compute(self, x: Array) -> Any:
        whole = np.trunc(x.astype(np.float64))
        fits = (whole >= 0) & (whole < 2.0 ** width_of(self.out))
        return wrapped(np.where(fits, whole, 0.0).astype(np.uint64), self.out)


class BitcastOp(CastOp, name="arith.bitcast"):
    """out = the bits of x as a number of another type that has as many."""

    x: Operand = operand(number_like)
    out: Result = result(number_like)

    pairs = ((f32, i32), (i32, f32), (f16, i16), (i16, bf16), (f64, i64), (i64, f64), (i32, i32))

    def verify_widths(self, source: int | None, target: int | None) -> None:
        if source is None or source != target:
            raise VerifyError(f"arith.bitcast keeps the bits; {self.x.type} has others than {self.out.type}", self)

    def compute(self, x: Array) -> Any:
        source, target = computed_element(self.x), computed_element(self.out)
        if source is target:
            return x
        seen = np.ascontiguousarray(x).astype(source.dtype).reshape(np.shape(x)).view(target.dtype)
        return seen.astype(np.float64 if target is f64 else np.float32) if target.is_float else seen

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        if self.x.type is self.out.type:
            return self.x
        inner = self.x.defining_op
        return inner.x if isinstance(inner, BitcastOp) and inner.x.type is self.out.type else None


class IndexCastOp(CastOp, name="arith.index_cast"):
    """out = x as a signed number, from or to index; the low bits where it is wider."""

    x: Operand = operand(signless_integer_like)
    out: Result = result(signless_integer_like)

    pairs = (*((i, _INDEX) for i in _INTEGERS), *((_INDEX, i) for i in _INTEGERS))

    def verify_widths(self, source: int | None, target: int | None) -> None:
        if (source is None) == (target is None):
            raise VerifyError(f"{self.name} is from or to index, not {self.x.type} to {self.out.type}", self)

    def compute(self, x: Array) -> Any:
        return wrapped(signed(x), self.out)


class IndexCastUIOp(IndexCastOp, name="arith.index_castui"):
    """out = x as an unsigned number, from or to index; the low bits where it is wider. `nonNeg`: its sign bit is 0."""

    non_negative: UnitAttr | None = attribute(default=None, name="nonNeg")

    assembly_format = "$x (`nneg` $non_negative^)? attr-dict `:` type($x) `to` type($out)"

    def compute(self, x: Array) -> Any:
        return wrapped(unsigned(x, width_of(self.x)), self.out)
