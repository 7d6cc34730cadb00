"""Elementwise operators on two or more tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter

_Binary = Callable[[Value | Operation, Value], Operation]


def times(x: Value | Operation, factor: float) -> Operation:
    """`x * factor`, with the sign that a zero has: adding -0 changes nothing, adding 0 makes 0 of -0."""
    return pd.scale(x, scale=factor, bias=-0.0)


def _register(operator: str, first: int, last: int, build: _Binary) -> None:
    """Register an operator on two tensors that is one `pd` operation. Before version 7 broadcasting was another."""
    converter(operator, first=first, last=last)(lambda node: build(node.operand(0), node.operand(1)))


def _register_variadic(operator: str, first: int, last: int, build: _Binary) -> None:
    """Register an operator on one or more tensors that combines them from left to right."""

    def convert(node: OnnxNode) -> Converted:
        initial, *others = node.operands()
        return reduce(build, others, initial)

    converter(operator, first=first, last=last)(convert)


_register("Xor", 7, 7, pd.not_equal)
_register_variadic("Max", 6, 13, pd.maximum)
_register_variadic("Min", 6, 13, pd.minimum)
_register_variadic("Sum", 6, 13, pd.add)


@converter("Mean", first=6, last=13)
def mean(node: OnnxNode) -> Converted:
    """The elementwise mean of the inputs."""
    initial, *others = node.operands()
    return times(reduce(pd.add, others, initial), 1 / (1 + len(others)))


@converter("Where", first=9, last=16)
def where(node: OnnxNode) -> Converted:
    """X where the condition is true, y elsewhere."""
    return pd.where(node.operand(0), node.operand(1), node.operand(2))


@converter("Pow", first=7, last=15)
def pow(node: OnnxNode) -> Converted:
    """x^y. One known exponent becomes an attribute; an exponent of another type than x is cast to it."""
    base, exponent = node.type_of(0), node.type_of(1)
    if not base.element.is_float:
        raise node.error(f"the base is {base}; only floating-point bases are supported")
    known = node.find_known(1)
    if known is not None and known.size == 1 and exponent.rank <= base.rank:
        return pd.pow(node.operand(0), y=float(known.astype(np.float64).reshape(())))
    y: Value | Operation = node.operand(1)
    if exponent.element is not base.element:
        y = pd.cast(y, dtype=base.element)
    return pd.elementwise_pow(node.operand(0), y)
