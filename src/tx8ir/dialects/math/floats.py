"""Functions of floats. Each is computed in the working precision, or in double precision, and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tx8ir.core import (
    Attribute,
    InferTypes,
    Operand,
    Result,
    SameOperandsAndResultType,
    Type,
    Value,
    VerifyError,
    attribute,
    f32,
    i8,
    i32,
    operand,
    result,
)
from tx8ir.core.attrs.builtin_types import with_element
from tx8ir.dialects.arith.declaration import (
    FLOATS,
    SHAPES,
    STRICT,
    ArithOp,
    FastMathAttr,
    float_like,
    is_every,
    shaped,
    signless_integer_like,
)
from tx8ir.dialects.arith.floats import FloatBinaryOp, MaximumFOp, MinimumFOp
from tx8ir.dialects.arith.integers import Array, signed
from tx8ir.dialects.pd import numerics, trigonometry
from tx8ir.dialects.samples import Sample
from tx8ir.target.arithmetic import add, exp, log
from tx8ir.target.rounding import Rounding

_FLAGS = {"fastmath": FastMathAttr(("nnan", "contract"))}


def few_samples(op: type[Any], count: int) -> Iterator[Sample]:
    """Of `count` floats: of f32 in every shape, of the other formats as numbers, and with flags."""
    for shape in SHAPES:
        yield Sample(op, (shaped(f32, shape),) * count, {})
    for element in FLOATS[1:]:
        yield Sample(op, (element,) * count, {})
    yield Sample(op, (f32,) * count, _FLAGS)


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python's `math`, number by number."""
    return lambda x: numerics.by_number(function, x)


def _double(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """A function of NumPy in double precision, of elements in rising order, as those of `target.arithmetic`."""
    return lambda x: np.asarray(function(np.asarray(x, np.float64, order="C"))).astype(x.dtype)


class FloatUnaryOp(ArithOp, traits=(SameOperandsAndResultType,)):
    """A function of one float."""

    x: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(float_like)

    assembly_format = "$x (`fastmath` $fastmath^)? attr-dict `:` type($out)"

    function: ClassVar[Any]
    """Of an array."""

    def compute(self, x: Array) -> Any:
        return type(self).function(x)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 1)


class AbsFOp(FloatUnaryOp, name="math.absf"):
    """out = |x|.

    %1 = math.absf %0 : f32
    """

    function = staticmethod(np.abs)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        inner = self.x.defining_op
        return self.x if isinstance(inner, AbsFOp) else None


class AcosOp(FloatUnaryOp, name="math.acos"):
    """out = the angle in [0, π] whose cosine is x; NaN outside of [-1, 1].

    %1 = math.acos %0 : f32
    """

    function = staticmethod(_each(math.acos))


class AcoshOp(FloatUnaryOp, name="math.acosh"):
    """out = the number of 0 or more whose hyperbolic cosine is x; NaN below 1.

    %1 = math.acosh %0 : f32
    """

    function = staticmethod(_each(math.acosh))


class AsinOp(FloatUnaryOp, name="math.asin"):
    """out = the angle in [-π/2, π/2] whose sine is x; NaN outside of [-1, 1].

    %1 = math.asin %0 : f32
    """

    function = staticmethod(_each(math.asin))


class AsinhOp(FloatUnaryOp, name="math.asinh"):
    """out = the number whose hyperbolic sine is x.

    %1 = math.asinh %0 : f32
    """

    function = staticmethod(_each(math.asinh))


class AtanOp(FloatUnaryOp, name="math.atan"):
    """out = the angle in [-π/2, π/2] whose tangent is x.

    %1 = math.atan %0 : f32
    """

    function = staticmethod(_each(math.atan))


class AtanhOp(FloatUnaryOp, name="math.atanh"):
    """out = the number whose hyperbolic tangent is x; infinite at ±1, NaN outside of [-1, 1].

    %1 = math.atanh %0 : f32
    """

    function = staticmethod(_each(trigonometry.artanh))


class CbrtOp(FloatUnaryOp, name="math.cbrt"):
    """out = the cube root of x, of negative numbers too.

    %1 = math.cbrt %0 : f32
    """

    function = staticmethod(_each(math.cbrt))


class CeilOp(FloatUnaryOp, name="math.ceil"):
    """out = x rounded up to a whole number.

    %1 = math.ceil %0 : f32
    """

    function = staticmethod(np.ceil)


class CosOp(FloatUnaryOp, name="math.cos"):
    """out = the cosine of x, in radians.

    %1 = math.cos %0 : f32
    """

    function = staticmethod(np.cos)


class CoshOp(FloatUnaryOp, name="math.cosh"):
    """out = the hyperbolic cosine of x.

    %1 = math.cosh %0 : f32
    """

    function = staticmethod(_each(trigonometry.cosh))


class ErfOp(FloatUnaryOp, name="math.erf"):
    """out = the error function of x, 2/√π ∫ exp(-t²) from 0 to x.

    %1 = math.erf %0 : f32
    """

    function = staticmethod(numerics.erf)


class ErfcOp(FloatUnaryOp, name="math.erfc"):
    """out = 1 - erf(x), accurate where that is small.

    %1 = math.erfc %0 : f32
    """

    function = staticmethod(numerics.erfc)


class ExpOp(FloatUnaryOp, name="math.exp"):
    """out = e^x.

    %1 = math.exp %0 : f32
    """

    function = staticmethod(exp)


class Exp2Op(FloatUnaryOp, name="math.exp2"):
    """out = 2^x.

    %1 = math.exp2 %0 : f32
    """

    function = staticmethod(_double(np.exp2))


class ExpM1Op(FloatUnaryOp, name="math.expm1"):
    """out = e^x - 1, accurate where that is small.

    %1 = math.expm1 %0 : f32
    """

    function = staticmethod(_double(np.expm1))


class FloorOp(FloatUnaryOp, name="math.floor"):
    """out = x rounded down to a whole number.

    %1 = math.floor %0 : f32
    """

    function = staticmethod(np.floor)


class LogOp(FloatUnaryOp, name="math.log"):
    """out = the natural logarithm of x; -inf of 0, NaN of negative numbers.

    %1 = math.log %0 : f32
    """

    function = staticmethod(log)


class Log10Op(FloatUnaryOp, name="math.log10"):
    """out = the logarithm of x to the base 10; -inf of 0, NaN of negative numbers.

    %1 = math.log10 %0 : f32
    """

    function = staticmethod(_double(np.log10))


class Log1pOp(FloatUnaryOp, name="math.log1p"):
    """out = the natural logarithm of 1 + x, accurate where x is small; -inf of -1, NaN below.

    %1 = math.log1p %0 : f32
    """

    function = staticmethod(_double(np.log1p))


class Log2Op(FloatUnaryOp, name="math.log2"):
    """out = the logarithm of x to the base 2; -inf of 0, NaN of negative numbers.

    %1 = math.log2 %0 : f32
    """

    function = staticmethod(_double(np.log2))


def _away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.copysign(whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(x.dtype.type(1), x), x.dtype.type(0)), x)


class RoundOp(FloatUnaryOp, name="math.round"):
    """out = x rounded to the nearest whole number, away from 0 where two are as near.

    %1 = math.round %0 : f32
    """

    function = staticmethod(_away)


class RoundEvenOp(FloatUnaryOp, name="math.roundeven"):
    """out = x rounded to the nearest whole number, to the even one where two are as near.

    %1 = math.roundeven %0 : f32
    """

    function = staticmethod(np.rint)


class RsqrtOp(FloatUnaryOp, name="math.rsqrt"):
    """out = 1/√x; infinite at 0, NaN of negative numbers.

    %1 = math.rsqrt %0 : f32
    """

    def compute(self, x: Array) -> Any:
        return 1 / np.sqrt(x)


class SinOp(FloatUnaryOp, name="math.sin"):
    """out = the sine of x, in radians.

    %1 = math.sin %0 : f32
    """

    function = staticmethod(np.sin)


class SinhOp(FloatUnaryOp, name="math.sinh"):
    """out = the hyperbolic sine of x.

    %1 = math.sinh %0 : f32
    """

    function = staticmethod(_each(trigonometry.sinh))


class SqrtOp(FloatUnaryOp, name="math.sqrt"):
    """out = √x; NaN of negative numbers.

    %1 = math.sqrt %0 : f32
    """

    function = staticmethod(np.sqrt)


class TanOp(FloatUnaryOp, name="math.tan"):
    """out = the tangent of x, in radians.

    %1 = math.tan %0 : f32
    """

    function = staticmethod(_each(math.tan))


class TanhOp(FloatUnaryOp, name="math.tanh"):
    """out = the hyperbolic tangent of x.

    %1 = math.tanh %0 : f32
    """

    function = staticmethod(np.tanh)


class TruncOp(FloatUnaryOp, name="math.trunc"):
    """out = x rounded toward 0 to a whole number.

    %1 = math.trunc %0 : f32
    """

    function = staticmethod(np.trunc)


# --- of several numbers ----------------------------------------------------------------------------------------------


class Atan2Op(FloatBinaryOp, name="math.atan2"):
    """out = the angle in [-π, π] of the point with ordinate lhs and abscissa rhs.

    %2 = math.atan2 %0, %1 : f32
    """

    def compute(self, x: Array, y: Array) -> Any:
        return np.arctan2(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 2)


class CopySignOp(FloatBinaryOp, name="math.copysign"):
    """out = |lhs| with the sign of rhs, of zeros and NaN too.

    %2 = math.copysign %0, %1 : f32
    """

    function = staticmethod(np.copysign)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if self.lhs is self.rhs else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 2)


class PowFOp(FloatBinaryOp, name="math.powf"):
    """out = lhs to the power rhs, as IEEE 754's `pow`.

    %2 = math.powf %0, %1 : f32
    """

    function = staticmethod(numerics.power)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], 1) else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 2)


class FPowIOp(ArithOp, InferTypes, name="math.fpowi"):
    """out = lhs to the power of the signed integer rhs.

    %2 = math.fpowi %0, %1 : f32, i32
    """

    lhs: Operand = operand(float_like)
    rhs: Operand = operand(signless_integer_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(float_like)

    assembly_format = "$lhs `,` $rhs (`fastmath` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"

    def infer_types(self) -> tuple[Type, ...]:
        if with_element(self.rhs.type, i32) is not with_element(self.lhs.type, i32):
            raise VerifyError(f"{self.name} takes a base and an exponent of one shape, not {self._types()}", self)
        return (self.lhs.type,)

    def _types(self) -> str:
        return f"{self.lhs.type} and {self.rhs.type}"

    def compute(self, x: Array, y: Array) -> Any:
        return np.float_power(x, signed(y)).astype(x.dtype)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], 1) else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for shape in SHAPES:
            yield Sample(cls, (shaped(f32, shape), shaped(i32, shape)), {})
        for element in FLOATS[1:]:
            yield Sample(cls, (element, i8), _FLAGS)


class FloatTernaryOp(ArithOp, traits=(SameOperandsAndResultType,)):
    """A function of three floats of one type."""

    a: Operand = operand(float_like)
    b: Operand = operand(float_like)
    c: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(float_like)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 3)


def _fused(x: float, y: float, z: float) -> float:
    """The sum of x * y and z, doubles, rounded once."""
    plain = x * y + z
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return plain
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else plain
    except OverflowError:
        return math.copysign(math.inf, exact)


class FmaOp(FloatTernaryOp, name="math.fma"):
    """out = a * b + c, rounded once.

    %3 = math.fma %0, %1, %2 : f32
    """

    assembly_format = "$a `,` $b `,` $c (`fastmath` $fastmath^)? attr-dict `:` type($out)"

    def compute(self, x: Array, y: Array, z: Array) -> Any:
        if x.dtype != np.float64:  # the product is exact in double precision
            product = x.astype(np.float64) * y
            return add(np.atleast_1d(product), np.atleast_1d(z.astype(np.float64)), Rounding.NEAREST_EVEN).reshape(
                x.shape
            )
        rows = zip(x.ravel().tolist(), y.ravel().tolist(), z.ravel().tolist(), strict=True)
        return np.fromiter((_fused(*row) for row in rows), np.float64, count=x.size).reshape(x.shape)


class ClampFOp(FloatTernaryOp, name="math.clampf"):
    """out = the larger of b and the smaller of a and c: a, kept between b and c. A NaN if one is.

    %3 = math.clampf %0 to [%1, %2] : f32
    """

    assembly_format = "$a `to` ` ` `[` $b `,` $c `]` (`fastmath` $fastmath^)? attr-dict `:` type($out)"

    def compute(self, x: Array, y: Array, z: Array) -> Any:
        return MaximumFOp.function(MinimumFOp.function(x, z), y)


class SincosOp(ArithOp, name="math.sincos", traits=(SameOperandsAndResultType,)):
    """sin, cos = the sine and the cosine of x, in radians.

    %s, %c = math.sincos %0 : f32
    """

    x: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    sin: Result = result(float_like)
    cos: Result = result(float_like)

    assembly_format = "$x (`fastmath` $fastmath^)? attr-dict `:` shared-type($x, $sin, $cos)"

    def compute(self, x: Array) -> Any:
        return np.sin(x), np.cos(x)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 1)
