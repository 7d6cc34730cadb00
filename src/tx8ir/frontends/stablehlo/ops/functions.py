"""Functions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_DIRECT: Final[dict[str, Callable[[Value], Operation]]] = {
    "stablehlo.cosine": pd.cos, "stablehlo.exponential": pd.exp, "stablehlo.floor": pd.floor, "stablehlo.log": pd.log,
    "stablehlo.logistic": pd.sigmoid, "stablehlo.round_nearest_even": pd.round, "stablehlo.rsqrt": pd.rsqrt,
    "stablehlo.sine": pd.sin, "stablehlo.sqrt": pd.sqrt, "stablehlo.tan": pd.tan, "stablehlo.tanh": pd.tanh,
    "chlo.acos": pd.acos, "chlo.acosh": pd.acosh, "chlo.asin": pd.asin, "chlo.asinh": pd.asinh, "chlo.atan": pd.atan,
    "chlo.atanh": pd.atanh, "chlo.cosh": pd.cosh, "chlo.erf": pd.erf, "chlo.sinh": pd.sinh, "chlo.square": pd.square,
    "chlo.tan": pd.tan,
}  # fmt: skip


def _register(name: str, build: Callable[[Value], Operation]) -> None:
    @converter(name, elementwise=True)
    def convert(node: StableHloNode) -> Converted:
        return build(*node.take(1))

    assert convert is not None


for _name, _build in _DIRECT.items():
    _register(_name, _build)


def _times(x: Value | Operation, factor: float) -> Value:
    return pd.scale(x, scale=factor, bias=-0.0).out


@converter("stablehlo.ceil", elementwise=True)
def ceil(node: StableHloNode) -> Converted:
    """-floor(-x)."""
    (x,) = node.take(1)
    return _times(pd.floor(_times(x, -1.0)), -1.0)


@converter("stablehlo.round_nearest_afz", elementwise=True)
def round_away(node: StableHloNode) -> Converted:
    """The nearest integer; of two that are as near the one further from zero."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    size = pd.abs(x)
    whole = pd.floor(size)
    up = pd.cast(pd.greater_equal(pd.subtract(size, whole), node.scalar(0.5, element)), dtype=element)
    out = pd.add(whole, up)
    return pd.where(pd.less_than(x, node.scalar(0, element)), _times(out, -1.0), out)


@converter("stablehlo.cbrt", elementwise=True)
def cbrt(node: StableHloNode) -> Converted:
    """The cube root, with the sign of x."""
    (x,) = node.take(1)
    return pd.multiply(pd.sign(x), pd.pow(pd.abs(x), y=1 / 3))


@converter("stablehlo.exponential_minus_one", elementwise=True)
def expm1(node: StableHloNode) -> Converted:
    """e^x - 1: near 0 as 2t / (1 - t) for t = tanh(x / 2), which loses no digits."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    one = node.scalar(1, element)
    t = pd.tanh(_times(x, 0.5))
    near = pd.divide(_times(t, 2.0), pd.subtract(one, t))
    return pd.where(_is_near_zero(node, x), near, pd.subtract(pd.exp(x), one))


def _is_near_zero(node: StableHloNode, x: Value) -> Operation:
    return pd.less_than(pd.abs(x), node.scalar(0.5, tensor_type(x).element))


@converter("stablehlo.log_plus_one", elementwise=True)
def log1p(node: StableHloNode) -> Converted:
    """log(1 + x): near 0 as log(u) x / (u - 1) for u = 1 + x, in which what rounding lost cancels (W. Kahan)."""
    (x,) = node.take(1)
    return log_plus_one(node, x)


def log_plus_one(node: StableHloNode, x: Value) -> Value:
    """log(1 + x)."""
    element = tensor_type(x).element
    one = node.scalar(1, element)
    u = pd.add(x, one)
    log = pd.log(u)
    rounded = pd.subtract(u, one)
    is_lost = pd.equal(rounded, node.scalar(0, element))
    ratio = pd.divide(x, pd.where(is_lost, one, rounded))
    near = pd.where(is_lost, x, pd.multiply(log, ratio))
    return pd.where(_is_near_zero(node, x), near, log).out


@converter("stablehlo.atan2", elementwise=True)
def atan2(node: StableHloNode) -> Converted:
    """The angle of the point (y, x): the arctangent of a ratio of at most 1, moved to the octant."""
    y, x = node.take(2)
    element = tensor_type(y).element
    zero, one = node.scalar(0, element), node.scalar(1, element)
    wide, tall = pd.abs(x), pd.abs(y)
    small, large = pd.minimum(wide, tall), pd.maximum(wide, tall)
    both_infinite = pd.equal(small, node.scalar(math.inf, element))
    is_origin = pd.equal(large, zero)
    ratio = pd.divide(small, pd.where(is_origin, one, large))
    angle: Operation = pd.atan(pd.where(both_infinite, one, ratio))
    angle = pd.where(pd.greater_than(tall, wide), pd.subtract(node.scalar(math.pi / 2, element), angle), angle)
    angle = pd.where(_is_negative(node, x), pd.subtract(node.scalar(math.pi, element), angle), angle)
    return pd.where(_is_negative(node, y), _times(angle, -1.0), angle)


def _is_negative(node: StableHloNode, x: Value) -> Operation:
    """Whether the sign is -, which zeros have too: dividing by them tells."""
    zero = node.scalar(0, tensor_type(x).element)
    below = pd.less_than(pd.reciprocal(x), zero)
    return pd.logical_or(pd.less_than(x, zero), pd.logical_and(pd.equal(x, zero), below))


@converter("stablehlo.is_finite", elementwise=True)
def is_finite(node: StableHloNode) -> Converted:
    """Whether x - x is 0, which it is not for infinities and NaN."""
    (x,) = node.take(1)
    return pd.equal(pd.subtract(x, x), node.scalar(0, tensor_type(x).element))


def _infinity(name: str, sign: float, *, of_size: bool) -> None:
    @converter(name, elementwise=True)
    def convert(node: StableHloNode) -> Converted:
        (x,) = node.take(1)
        return pd.equal(pd.abs(x) if of_size else x, node.scalar(sign * math.inf, tensor_type(x).element))

    assert convert is not None


_infinity("chlo.is_inf", 1.0, of_size=True)
_infinity("chlo.is_pos_inf", 1.0, of_size=False)
_infinity("chlo.is_neg_inf", -1.0, of_size=False)


@converter("chlo.erfc", elementwise=True)
def erfc(node: StableHloNode) -> Converted:
    """1 - erf(x): right to a rounding of 1, so that little is left of the digits of results near 0."""
    (x,) = node.take(1)
    return pd.scale(pd.erf(x), scale=-1.0, bias=1.0)


# M. Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2010), the single precision version.
_CENTRAL: Final = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                   -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_TAIL: Final = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


@converter("chlo.erf_inv", elementwise=True)
def erf_inv(node: StableHloNode) -> Converted:
    """The number whose error function is x, to single precision."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    w = _times(log_plus_one(node, _times(pd.square(x), -1.0)), -1.0)
    central = _polynomial(node, pd.scale(w, bias=-2.5).out, _CENTRAL)
    tail = _polynomial(node, pd.scale(pd.sqrt(w), bias=-3.0).out, _TAIL)
    inside = pd.multiply(x, pd.where(pd.less_than(w, node.scalar(5, element)), central, tail))
    edge = pd.multiply(x, node.scalar(math.inf, element))
    return pd.where(pd.equal(pd.abs(x), node.scalar(1, element)), edge, inside)


def _polynomial(node: StableHloNode, x: Value, coefficients: Sequence[float]) -> Value:
    """The value of a polynomial, its coefficients from the highest power down."""
    out = node.scalar(coefficients[0], tensor_type(x).element)
    for coefficient in coefficients[1:]:
        out = pd.scale(pd.multiply(out, x), bias=coefficient).out
    return out
