"""Elementwise operators on two or more tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from tx8ir.core import Operation, Value, f64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter

_Binary = Callable[[Value | Operation, Value], Operation]


def times(x: Value | Operation, factor: float) -> Operation:
    """`x * factor`, with the sign that a zero has: adding -0 changes nothing, adding 0 makes 0 of -0."""
    return pd.scale(x, scale=factor, bias=-0.0)


LEGACY = ("axis", "broadcast", "consumed_inputs")
"""Attributes of elementwise operators of early opsets; the last of them says nothing."""


def aligned(node: OnnxNode) -> tuple[Value, Value]:
    """The two operands. Before version 7 the second broadcast only if told to, its first axis placed at `axis`."""
    x, y = node.operand(0), node.operand(1)
    if node.version >= 7 or not node.bool("broadcast", False) or not node.has_attribute("axis"):
        return x, y
    rank, shape = node.type_of(0).rank, node.type_of(1).shape
    axis = node.axis("axis", rank)
    behind = rank - axis - len(shape)
    if behind < 0:
        raise node.error(f"attribute axis is {axis}; {node.type_of(1)} does not fit {node.type_of(0)} there")
    return x, pd.reshape(y, shape=(*shape, *[1] * behind)).out


def _register(operator: str, last: int, build: _Binary) -> None:
    """Register an operator on two tensors that is one `pd` operation."""
    converter(operator, first=1, last=last, attributes=LEGACY)(lambda node: build(*aligned(node)))


def _register_variadic(operator: str, last: int, build: _Binary) -> None:
    """Register an operator on one or more tensors that combines them from left to right."""

    def convert(node: OnnxNode) -> Converted:
        initial, *others = node.operands()
        return reduce(build, others, initial)

    converter(operator, first=1, last=last, attributes=LEGACY)(convert)


_register("Xor", 7, pd.not_equal)
_register_variadic("Max", 13, pd.maximum)
_register_variadic("Min", 13, pd.minimum)
_register_variadic("Sum", 13, pd.add)


@converter("Mean", first=1, last=13, attributes=LEGACY)
def mean(node: OnnxNode) -> Converted:
    """The elementwise mean of the inputs."""
    initial, *others = node.operands()
    return times(reduce(pd.add, others, initial), 1 / (1 + len(others)))


@converter("Where", first=9, last=16)
def where(node: OnnxNode) -> Converted:
    """X where the condition is true, y elsewhere."""
    return pd.where(node.operand(0), node.operand(1), node.operand(2))


@converter("Pow", first=1, last=15, attributes=LEGACY)
def pow(node: OnnxNode) -> Converted:
    """x^y, in the type of x. One known exponent becomes an attribute; one of another type than x is cast."""
    base, exponent = node.type_of(0), node.type_of(1)
    if not base.element.is_float:
        return _integer_power(node)
    known = node.find_known(1)
    if known is not None and known.size == 1 and exponent.rank <= base.rank:
        return pd.pow(node.operand(0), y=float(known.astype(np.float64).reshape(())))
    x, y = aligned(node)
    return pd.elementwise_pow(x, y if exponent.element is base.element else pd.cast(y, dtype=base.element))


def _integer_power(node: OnnxNode) -> Operation:
    """Integers to the power of floats in double precision; to that of integers by squaring, which wraps as products do.

    A negative integer exponent counts as what its bits say without the sign; ONNX defines nothing for it.
    """
    base, exponent = node.type_of(0).element, node.type_of(1).element
    x, y = aligned(node)
    if exponent.is_float:
        wide = pd.elementwise_pow(pd.cast(x, dtype=f64), pd.cast(y, dtype=f64))
        return pd.cast(wide, dtype=base)
    known = node.find_known(1)
    largest = int(known.max(initial=1)) if known is not None else exponent.format.integer_range[1]
    shape = np.broadcast_shapes(node.type_of(0).shape, node.type_of(1).shape)
    one, two, zero = (node.scalar(value, exponent) for value in (1, 2, 0))
    out: Operation = pd.full(shape=shape, value=1.0, dtype=base)
    factor: Value | Operation = x
    for bit in range(max(largest.bit_length(), 1)):
        odd = pd.not_equal(pd.remainder(y, two), zero)
        out = pd.where(odd, pd.multiply(out, factor), out)
        if bit + 1 < largest.bit_length():
            factor, y = pd.square(factor), pd.bitwise_right_shift(y, one).out
    return out


@converter("Mod", first=10, last=28, attributes=("fmod",))
def mod(node: OnnxNode) -> Converted:
    """The remainder, with the sign of the divisor; with `fmod` that of the dividend, as C has it."""
    build = pd.fmod if node.bool("fmod", False) else pd.remainder
    return build(node.operand(0), node.operand(1))


@converter("BitShift", first=11, last=28, attributes=("direction",))
def bit_shift(node: OnnxNode) -> Converted:
    """X shifted by as many bits as y says."""
    left = node.string("direction", ("LEFT", "RIGHT")) == "LEFT"
    return (pd.bitwise_left_shift if left else pd.bitwise_right_shift)(node.operand(0), node.operand(1))


@converter("BitwiseNot", first=18, last=18)
def bitwise_not(node: OnnxNode) -> Converted:
    """Every bit of x changed."""
    element = node.type_of(0).element
    ones = -1 if element.format.is_signed else element.format.integer_range[1]
    return pd.bitwise_xor(node.operand(0), node.constant(np.asarray(ones), element, "all_bits"))
