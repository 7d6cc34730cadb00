"""Arithmetic on elements, comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tx8ir.core import Operation, Value, bf16, f16, f32, f64, i1, i32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

Build = Callable[[Value, Value], Operation]

_BINARY: Final[dict[str, tuple[Build, Build]]] = {
    "add": (pd.add, pd.logical_or),
    "multiply": (pd.multiply, pd.logical_and),
    "maximum": (pd.maximum, pd.logical_or),
    "minimum": (pd.minimum, pd.logical_and),
    "subtract": (pd.subtract, pd.not_equal),
}
"""What operations on numbers are, and those of the same name on truth values."""


def _register(name: str, of_numbers: Build, of_truths: Build) -> None:
    @converter(f"stablehlo.{name}", elementwise=True)
    def convert(node: StableHloNode) -> Converted:
        x, y = node.take(2)
        return (of_truths if tensor_type(x).element is i1 else of_numbers)(x, y)

    assert convert is not None


for _name, _builds in _BINARY.items():
    _register(_name, *_builds)


def _not_zero(node: StableHloNode, y: Value) -> tuple[Value | None, Value]:
    """Where a divisor is 0, None for nowhere, and the divisor with 1 there, because dividing by 0 is an error."""
    known = node.known(y)
    if known is not None and known.all():
        return None, y
    element = tensor_type(y).element
    is_zero = pd.equal(y, node.scalar(0, element)).out
    return is_zero, pd.where(is_zero, node.scalar(1, element), y).out


@converter("stablehlo.divide", elementwise=True)
def divide(node: StableHloNode) -> Converted:
    """X / y, of integers towards zero; an integer divided by 0 has all bits set."""
    x, y = node.take(2)
    element = tensor_type(x).element
    if element.is_float:
        return pd.divide(x, y)
    is_zero, divisor = _not_zero(node, y)
    quotient = pd.divide(x, divisor)
    if is_zero is None:
        return quotient
    ones = node.constant(np.asarray(-1).astype(element.dtype), element, "ones")
    return pd.where(is_zero, ones, quotient)


@converter("stablehlo.remainder", elementwise=True)
def remainder(node: StableHloNode) -> Converted:
    """The remainder with the sign of x; of an integer divided by 0 the integer."""
    x, y = node.take(2)
    if tensor_type(x).element.is_float:
        return pd.fmod(x, y)
    is_zero, divisor = _not_zero(node, y)
    rest = pd.fmod(x, divisor)
    return rest if is_zero is None else pd.where(is_zero, x, rest)


@converter("stablehlo.power", elementwise=True)
def power(node: StableHloNode) -> Converted:
    """x^y."""
    x, y = node.take(2)
    element = tensor_type(x).element
    if element.is_float:
        known = node.known(y)
        if known is not None and known.ndim == 0:
            return pd.square(x) if known == 2 else pd.pow(x, y=float(known))
        return pd.elementwise_pow(x, y)
    known = node.known(y)
    width = element.format.bits if known is None else max(int(known.max(initial=0)), 1).bit_length()
    one = node.scalar(1, element)
    out, base, left = one, x, y
    for _ in range(width):  # the binary digits of the exponent, the last first
        odd = pd.not_equal(pd.bitwise_and(left, one), node.scalar(0, element))
        out = pd.where(odd, pd.multiply(out, base), out).out
        base, left = pd.square(base).out, pd.bitwise_right_shift(left, one).out
    if not element.format.is_signed or (known is not None and known.min(initial=0) >= 0):
        return out
    # 1 and -1 have powers with a negative exponent; for others the fraction is 0.
    is_unit = pd.equal(pd.square(x), one)
    negative = pd.less_than(y, node.scalar(0, element))
    return pd.where(negative, pd.where(is_unit, out, node.scalar(0, element)), out)


@converter("stablehlo.negate", elementwise=True)
def negate(node: StableHloNode) -> Converted:
    """-x."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    return pd.scale(x, scale=-1.0, bias=-0.0) if element.is_float else pd.subtract(node.scalar(0, element), x)


@converter("stablehlo.abs", elementwise=True)
def absolute(node: StableHloNode) -> Converted:
    """|x|."""
    (x,) = node.take(1)
    return pd.abs(x)


@converter("stablehlo.sign", elementwise=True)
def sign(node: StableHloNode) -> Converted:
    """-1, 0 or 1."""
    (x,) = node.take(1)
    return pd.sign(x)


@converter("stablehlo.clamp", elementwise=True)
def clamp(node: StableHloNode) -> Converted:
    """min(max(x, least), largest)."""
    least, x, largest = node.take(3)
    return pd.minimum(pd.maximum(x, least), largest)


@converter("stablehlo.select", elementwise=True)
def select(node: StableHloNode) -> Converted:
    """X where a truth value holds, y elsewhere."""
    condition, x, y = node.take(3)
    return pd.where(condition, x, y)


_COMPARISONS: Final[dict[str, Build]] = {
    "EQ": pd.equal,
    "NE": pd.not_equal,
    "GE": pd.greater_equal,
    "GT": pd.greater_than,
    "LE": pd.less_equal,
    "LT": pd.less_than,
}


@converter("stablehlo.compare", elementwise=True)
def compare(node: StableHloNode) -> Converted:
    """Whether elements are equal, less, …."""
    x, y = node.take(2)
    direction = node.word("comparison_direction")
    build = _COMPARISONS.get(direction)
    if build is None:
        raise node.error(f"compares by {direction!r}; expected one of {', '.join(_COMPARISONS)}")
    element = tensor_type(x).element
    if node.word("compare_type") == "TOTALORDER" and element.is_float:
        return build(total_order(node, x), total_order(node, y))
    if element is i1 and direction not in ("EQ", "NE"):
        return build(node.cast(x, i32), node.cast(y, i32))
    return build(x, y)


def total_order(node: StableHloNode, x: Value) -> Value:
    """Integers in the order of floating-point numbers: -NaN, -inf, …, -0, 0, …, inf, NaN."""
    wide = tensor_type(x).element is f64
    bits = pd.bitcast(x if wide else node.cast(x, f32), dtype=i64 if wide else i32).out
    element = i64 if wide else i32
    largest = node.constant(np.asarray(element.format.integer_range[1]), element, "largest")
    flipped = pd.bitwise_xor(bits, largest)
    return pd.where(pd.less_than(bits, node.scalar(0, element)), flipped, bits).out


@converter("stablehlo.convert", elementwise=True)
def convert(node: StableHloNode) -> Converted:
    """Each element in another format."""
    (x,) = node.take(1)
    return node.cast(x, node.result.element)


@converter("stablehlo.reduce_precision", elementwise=True)
def reduce_precision(node: StableHloNode) -> Converted:
    """Each element rounded to another format and back."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    bits = node.int("exponent_bits"), node.int("mantissa_bits")
    through = {(8, 7): bf16, (5, 10): f16, (8, 23): f32, (11, 52): f64}.get(bits)
    if through is None:
        raise node.error(f"rounds to {bits[0]} bits of exponent and {bits[1]} of mantissa, which no format has")
    if through.format.bits >= element.format.bits:
        return x
    return node.cast(node.cast(x, through), element)
