"""Bits of integers, and truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tx8ir.core import Operation, ScalarType, Value, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

Build = Callable[[Value, Value], Operation]
_UNSIGNED: Final[dict[ScalarType, ScalarType]] = {i8: ui8, i16: ui16, i32: ui32, i64: ui64}
_SIGNED: Final[dict[ScalarType, ScalarType]] = {unsigned: signed for signed, unsigned in _UNSIGNED.items()}


def _register(name: str, of_integers: Build, of_truths: Build) -> None:
    @converter(f"stablehlo.{name}", elementwise=True)
    def convert(node: StableHloNode) -> Converted:
        x, y = node.take(2)
        return (of_truths if tensor_type(x).element is i1 else of_integers)(x, y)

    assert convert is not None


_register("and", pd.bitwise_and, pd.logical_and)
_register("or", pd.bitwise_or, pd.logical_or)
_register("xor", pd.bitwise_xor, pd.not_equal)
_register("shift_left", pd.bitwise_left_shift, pd.logical_and)


@converter("stablehlo.not", elementwise=True)
def not_(node: StableHloNode) -> Converted:
    """The bits that x has not."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    if element is i1:
        return pd.logical_not(x)
    return pd.bitwise_xor(x, node.constant(np.asarray(-1).astype(element.dtype), element, "ones"))


def _as(x: Value, element: ScalarType) -> Value:
    """The bits of an integer as one of another format."""
    return x if tensor_type(x).element is element else pd.bitcast(x, dtype=element).out


def _shift(node: StableHloNode, formats: dict[ScalarType, ScalarType]) -> Converted:
    x, y = node.take(2)
    element = tensor_type(x).element
    through = formats.get(element, element)
    return _as(pd.bitwise_right_shift(_as(x, through), _as(y, through)).out, element)


@converter("stablehlo.shift_right_logical", elementwise=True)
def shift_right_logical(node: StableHloNode) -> Converted:
    """The bits moved down, with zeros from above."""
    return _shift(node, _UNSIGNED)


@converter("stablehlo.shift_right_arithmetic", elementwise=True)
def shift_right_arithmetic(node: StableHloNode) -> Converted:
    """The bits moved down, with copies of the sign from above."""
    return _shift(node, _SIGNED)


def _count(node: StableHloNode, x: Value) -> Value:
    """The number of bits set of unsigned integers: sums of neighbours, pairs, fours, … (Hacker's Delight, 5-1)."""
    element = tensor_type(x).element
    width = element.format.bits
    step = 1
    while step < width:
        mask = sum(((1 << step) - 1) << place for place in range(0, width, 2 * step))
        kept = node.constant(np.asarray(mask, element.dtype), element, "mask")
        moved = pd.bitwise_right_shift(x, node.scalar(step, element))
        x = pd.add(pd.bitwise_and(x, kept), pd.bitwise_and(moved, kept)).out
        step *= 2
    return x


@converter("stablehlo.popcnt", elementwise=True)
def popcnt(node: StableHloNode) -> Converted:
    """The number of bits set."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    return _as(_count(node, _as(x, _UNSIGNED.get(element, element))), element)


@converter("stablehlo.count_leading_zeros", elementwise=True)
def count_leading_zeros(node: StableHloNode) -> Converted:
    """The number of zeros above the highest bit set: all bits below it are set, and those left counted."""
    (x,) = node.take(1)
    element = tensor_type(x).element
    through = _UNSIGNED.get(element, element)
    bits = _as(x, through)
    step = 1
    while step < through.format.bits:
        bits = pd.bitwise_or(bits, pd.bitwise_right_shift(bits, node.scalar(step, through))).out
        step *= 2
    below = _count(node, bits)
    return _as(pd.subtract(node.scalar(through.format.bits, through), below).out, element)


@converter("stablehlo.bitcast_convert", elementwise=True)
def bitcast_convert(node: StableHloNode) -> Converted:
    """The same bits in another format, which is as wide."""
    (x,) = node.take(1)
    found, wanted = tensor_type(x).element, node.result.element
    if found.format.bits != wanted.format.bits:
        raise node.error(f"reads bits of {found} as {wanted}; supported are formats of equal width")
    return _as(x, wanted)
