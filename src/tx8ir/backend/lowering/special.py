"""Lowering of functions that the vector unit has not: polynomials and quotients in fp32, from those that it has.

The polynomials are those of the Cephes library (Moshier, single precision: `atanf`, `asinf`, `asinhf`, `acoshf`,
`atanhf`), within 2 units in the last place of fp32 where their arguments are reduced exactly. `erf` is the quotient
x P(x²) / Q(x²) of Eigen's `erf_float`, absolute error below 4e-7; the complementary function in the exact `gelu` is the
one of Press et al., Numerical Recipes (`erfcc`), relative error below 2e-7. Every one is computed in fp32, whatever
the format of the operand is, and rounded once to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from tx8ir.backend.lowering.composite import lowers_as
from tx8ir.backend.lowering.context import ranked_type
from tx8ir.core import Operation, Value, f32
from tx8ir.dialects import pd

_Any: TypeAlias = "Value | Operation"
_UnaryT = TypeVar("_UnaryT", bound=pd.ElementwiseUnaryOp)


def _in_single(kind: type[_UnaryT]) -> Callable[[Callable[[Value], _Any]], Callable[[Value], _Any]]:
    """Registers the decorated function, of a value in fp32, as how operations of `kind` are lowered."""

    def register(function: Callable[[Value], _Any]) -> Callable[[Value], _Any]:
        @lowers_as(kind)
        def decompose(op: _UnaryT) -> Value:
            element = ranked_type(op.x).element
            out = function(op.x if element is f32 else pd.cast(op.x, dtype=f32).out)
            if element is not f32:
                out = pd.cast(out, dtype=element)
            return out if isinstance(out, Value) else out.results[0]

        assert decompose is not None
        return function

    return register


def _number(value: float) -> Value:
    return pd.full(shape=(), value=value, dtype=f32).out


def _polynomial(x: _Any, coefficients: Sequence[float]) -> _Any:
    """A polynomial by Horner's rule, the coefficient of the highest power first."""
    first, second, *rest = coefficients
    out: _Any = pd.scale(x, scale=first, bias=second)
    for coefficient in rest:
        out = pd.scale(pd.multiply(out, x), bias=coefficient)
    return out


def _odd(x: _Any, coefficients: Sequence[float]) -> Operation:
    """The odd function x + x³ p(x²)."""
    square = pd.square(x)
    return pd.add(x, pd.multiply(pd.multiply(_polynomial(square, coefficients), square), x))


def _with_sign_of(x: Value, magnitude: _Any) -> Operation:
    return pd.where(pd.less_than(x, _number(0)), pd.scale(magnitude, scale=-1.0, bias=-0.0), magnitude)


def _below(x: _Any, bound: float, small: _Any, large: _Any) -> Operation:
    return pd.where(pd.less_than(x, _number(bound)), small, large)


# -- whole numbers ----------------------------------------------------------------------------------------------------

_WHOLE = 2.0**23
"""From here on every number of fp32 is whole; a sum with it, from below, is rounded to a whole number."""


@_in_single(pd.RoundOp)
def round_to_even(x: Value) -> _Any:
    """|x| + 2^23 - 2^23 is rounded to nearest, ties to even, by the addition; larger numbers are whole."""
    magnitude = pd.abs(x)
    rounded = pd.scale(pd.scale(magnitude, bias=_WHOLE), bias=-_WHOLE)
    # Written so that NaN, which is below nothing, stays.
    return pd.where(pd.less_than(magnitude, _number(_WHOLE)), _with_sign_of(x, rounded), x)


@_in_single(pd.FloorOp)
def floor(x: Value) -> _Any:
    """The nearest whole number, less 1 where that is above x."""
    rounded = round_to_even(x)
    return pd.where(pd.greater_than(rounded, x), pd.scale(rounded, bias=-1.0), rounded)


@_in_single(pd.SignOp)
def sign(x: Value) -> _Any:
    """1, -1, or x itself."""
    zero = _number(0)
    below = pd.where(pd.less_than(x, zero), _number(-1), x)
    return pd.where(pd.greater_than(x, zero), _number(1), below)


# -- trigonometric functions ------------------------------------------------------------------------------------------


@_in_single(pd.TanOp)
def tan(x: Value) -> _Any:
    """sin(x) / cos(x)."""
    return pd.divide(pd.sin(x), pd.cos(x))


@_in_single(pd.AtanOp)
def atan(x: Value) -> _Any:
    """Three ranges of |x|: the last is turned by pi/2, the middle one by pi/4, to be below tan(pi/8)."""
    a = pd.abs(x)
    far, middle = math.tan(3 * math.pi / 8), math.tan(math.pi / 8)
    turned = pd.scale(pd.reciprocal(pd.maximum(a, _number(1.0))), scale=-1.0)
    halfway = pd.divide(pd.scale(a, bias=-1.0), pd.scale(a, bias=1.0))
    reduced = _below(a, middle, a, _below(a, far, halfway, turned))
    base = _below(a, middle, _number(0), _below(a, far, _number(math.pi / 4), _number(math.pi / 2)))
    small = _odd(reduced, (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1))
    return _with_sign_of(x, pd.where(pd.isnan(x), x, pd.add(base, small)))


_ASIN = (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)


@_in_single(pd.AsinOp)
def asin(x: Value) -> _Any:
    """Two ranges of |x|: beyond 1/2 it is pi/2 less twice that of sqrt((1 - x) / 2)."""
    a = pd.abs(x)
    rest = _odd(pd.sqrt(pd.scale(a, scale=-0.5, bias=0.5)), _ASIN)
    large = pd.scale(rest, scale=-2.0, bias=math.pi / 2)
    return _with_sign_of(x, _below(a, 0.5, _odd(a, _ASIN), large))


@_in_single(pd.AcosOp)
def acos(x: Value) -> _Any:
    """pi/2 - asin(x) in the middle; 2 asin(sqrt((1 - x) / 2)) beyond 1/2, and pi less that of -x below -1/2."""
    a = pd.abs(x)
    rest = pd.scale(_odd(pd.sqrt(pd.scale(a, scale=-0.5, bias=0.5)), _ASIN), scale=2.0)
    middle = pd.scale(_odd(x, _ASIN), scale=-1.0, bias=math.pi / 2)
    outer = pd.where(pd.less_than(x, _number(0)), pd.scale(rest, scale=-1.0, bias=math.pi), rest)
    return _below(a, 0.5, middle, outer)


# -- hyperbolic functions ---------------------------------------------------------------------------------------------


def _half_exponential(a: _Any) -> tuple[Operation, Operation]:
    """e^a / 2, not infinite before it must, and e^-a / 2."""
    root = pd.exp(pd.scale(a, scale=0.5))
    return pd.multiply(pd.scale(root, scale=0.5), root), pd.scale(pd.exp(pd.scale(a, scale=-1.0)), scale=0.5)


@_in_single(pd.SinhOp)
def sinh(x: Value) -> _Any:
    """Of |x|: the power series up to 1."""
    a = pd.abs(x)
    up, down = _half_exponential(a)
    series = _odd(a, [1 / math.factorial(n) for n in (11, 9, 7, 5, 3)])
    return _with_sign_of(x, _below(a, 1.0, series, pd.subtract(up, down)))


@_in_single(pd.CoshOp)
def cosh(x: Value) -> _Any:
    """(e^|x| + e^-|x|) / 2."""
    return pd.add(*_half_exponential(pd.abs(x)))


def _log_of_double(a: _Any) -> Operation:
    return pd.scale(pd.log(a), bias=math.log(2))


@_in_single(pd.AsinhOp)
def asinh(x: Value) -> _Any:
    """Of |x|: a polynomial up to 1/2, ln(x + sqrt(x² + 1)), and ln(2 x) where the square may be infinite."""
    a = pd.abs(x)
    small = _odd(a, (2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1))
    root = pd.sqrt(pd.scale(pd.square(pd.minimum(a, _number(1500))), bias=1.0))
    middle = pd.log(pd.add(a, root))
    return _with_sign_of(x, _below(a, 0.5, small, _below(a, 1500, middle, _log_of_double(a))))


@_in_single(pd.AcoshOp)
def acosh(x: Value) -> _Any:
    """sqrt(z) p(z) up to 3/2 with z = x - 1, ln(x + sqrt(z (x + 1))), and ln(2 x) where that may be infinite."""
    z = pd.scale(x, bias=-1.0)
    near = _polynomial(z, (1.7596881071e-3, -7.5272886713e-3, 2.6454905019e-2, -1.1784741703e-1, 1.4142135263))
    bounded = pd.minimum(x, _number(1500))
    root = pd.sqrt(pd.multiply(pd.scale(bounded, bias=-1.0), pd.scale(bounded, bias=1.0)))
    far = _below(x, 1500, pd.log(pd.add(x, root)), _log_of_double(x))
    return _below(x, 1.5, pd.multiply(pd.sqrt(z), near), far)


@_in_single(pd.AtanhOp)
def atanh(x: Value) -> _Any:
    """Of |x|: a polynomial up to 1/2, ln((1 + x) / (1 - x)) / 2 beyond."""
    a = pd.abs(x)
    small = _odd(a, (1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1, 3.33337300303e-1))
    quotient = pd.divide(pd.scale(a, bias=1.0), pd.scale(a, scale=-1.0, bias=1.0))
    return _with_sign_of(x, _below(a, 0.5, small, pd.scale(pd.log(quotient), scale=0.5)))


# -- the error function -----------------------------------------------------------------------------------------------

_ERF_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
          -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_ERF_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
          -1.42647390514189e-02)  # fmt: skip
_ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
         1.00002368, -1.26551223)  # fmt: skip


@_in_single(pd.ErfOp)
def erf(x: Value) -> _Any:
    """The quotient x P(x²) / Q(x²) within [-4, 4], beyond which it is 1 in fp32."""
    inside = pd.minimum(pd.maximum(x, _number(-4)), _number(4))
    square = pd.square(inside)
    return pd.divide(pd.multiply(inside, _polynomial(square, _ERF_P)), _polynomial(square, _ERF_Q))


def exact_gelu(x: Value) -> _Any:
    """max(x, 0) - |x| erfc(|x| / sqrt 2) / 2; erfc(z) = t exp(-z² + p(t)) with t = 1 / (1 + z / 2)."""
    z = pd.minimum(pd.scale(pd.abs(x), scale=math.sqrt(0.5)), _number(12))
    t = pd.reciprocal(pd.scale(z, scale=0.5, bias=1.0))
    tail = pd.multiply(t, pd.exp(pd.subtract(_polynomial(t, _ERFC), pd.square(z))))
    share = pd.multiply(pd.scale(pd.abs(pd.maximum(x, _number(-18))), scale=0.5), tail)
    # Far out nothing is left of the tail; an infinite x times 0 would be NaN.
    lost = pd.greater_than(x, _number(18))
    return pd.subtract(pd.maximum(x, _number(0)), pd.where(lost, _number(0), share))


@lowers_as(pd.GeluOp)
def lower_gelu(op: pd.GeluOp) -> Value:
    """The exact form, or 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel, 2016)."""
    if op.approximate:
        cube = pd.multiply(pd.square(op.x), op.x)
        inner = pd.add(op.x, pd.scale(cube, scale=0.044715, bias=-0.0))
        bent = pd.tanh(pd.scale(inner, scale=math.sqrt(2 / math.pi), bias=-0.0))
        return pd.multiply(pd.scale(op.x, scale=0.5, bias=-0.0), pd.scale(bent, bias=1.0)).out
    element = ranked_type(op.x).element
    out = exact_gelu(op.x if element is f32 else pd.cast(op.x, dtype=f32).out)
    if element is not f32:
        out = pd.cast(out, dtype=element)
    return out if isinstance(out, Value) else out.results[0]
