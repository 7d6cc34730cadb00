"""Comparisons, logic, bits and choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tx8ir.core import Operation, Value, i1, i32
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import Operand
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_COMPARISONS: Final[dict[str, Callable[[Value, Value], Operation]]] = {
    "eq": pd.equal, "ne": pd.not_equal, "lt": pd.less_than, "le": pd.less_equal, "gt": pd.greater_than,
    "ge": pd.greater_equal,
}  # fmt: skip
_LOGIC: Final[dict[str, Callable[[Value, Value], Operation]]] = {
    "logical_and": pd.logical_and, "logical_or": pd.logical_or, "logical_xor": pd.not_equal,
}  # fmt: skip
_BITS: Final[dict[str, tuple[Callable[[Value, Value], Operation], Callable[[Value, Value], Operation]]]] = {
    "bitwise_and": (pd.bitwise_and, pd.logical_and),
    "bitwise_or": (pd.bitwise_or, pd.logical_or),
    "bitwise_xor": (pd.bitwise_xor, pd.not_equal),
}
"""For each operator what it is of integers, and of truth values."""


def _register_comparison(name: str, build: Callable[[Value, Value], Operation]) -> None:
    @converter(f"{name}.Tensor(Tensor self, Tensor other)", f"{name}.Scalar(Tensor self, Scalar other)")
    def compare(node: TorchNode, x: Value, y: Operand) -> Converted:
        a, b = node.pair(x, y)
        if tensor_type(a).element is i1:  # truth values are ordered as 0 and 1
            a, b = node.cast(a, i32), node.cast(b, i32)
        return build(a, b)

    assert compare is not None


def _register_logic(name: str, build: Callable[[Value, Value], Operation]) -> None:
    @converter(f"{name}(Tensor self, Tensor other)")
    def combine(node: TorchNode, x: Value, y: Operand) -> Converted:
        return build(node.cast(x, i1), node.operand(y, i1))

    assert combine is not None


def _register_bits(
    name: str, of_integers: Callable[[Value, Value], Operation], of_truths: Callable[[Value, Value], Operation]
) -> None:
    @converter(f"{name}.Tensor(Tensor self, Tensor other)", f"{name}.Scalar(Tensor self, Scalar other)")
    def combine(node: TorchNode, x: Value, y: Operand) -> Converted:
        a, b = node.common(x, y)
        return (of_truths if tensor_type(a).element is i1 else of_integers)(a, b)

    assert combine is not None


for _name, _build in _COMPARISONS.items():
    _register_comparison(_name, _build)
for _name, _build in _LOGIC.items():
    _register_logic(_name, _build)
for _name, _pair in _BITS.items():
    _register_bits(_name, *_pair)


@converter("logical_not(Tensor self)")
def logical_not(node: TorchNode, x: Value) -> Converted:
    """Whether x is 0."""
    return pd.logical_not(node.cast(x, i1))


@converter("bitwise_not(Tensor self)")
def bitwise_not(node: TorchNode, x: Value) -> Converted:
    """Every bit of x changed."""
    element = tensor_type(x).element
    if element is i1:
        return pd.logical_not(x)
    ones = -1 if element.format.is_signed else element.format.integer_range[1]
    return pd.bitwise_xor(x, node.constant(np.asarray(ones), element, "all_bits"))


@converter("__and__.Tensor(Tensor self, Tensor other)")
def and_(node: TorchNode, x: Value, y: Value) -> Converted:
    """X & y."""
    a, b = node.common(x, y)
    return (pd.logical_and if tensor_type(a).element is i1 else pd.bitwise_and)(a, b)


@converter("__or__.Tensor(Tensor self, Tensor other)")
def or_(node: TorchNode, x: Value, y: Value) -> Converted:
    """X | y."""
    a, b = node.common(x, y)
    return (pd.logical_or if tensor_type(a).element is i1 else pd.bitwise_or)(a, b)


@converter(
    "where.self(Tensor condition, Tensor self, Tensor other)",
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other)",
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other)",
    "where.Scalar(Tensor condition, Scalar self, Scalar other)",
)
def where(node: TorchNode, condition: Value, x: Operand, y: Operand) -> Converted:
    """X where the condition is true, y elsewhere."""
    return pd.where(node.cast(condition, i1), *node.pair(x, y))


@converter(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)",
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)",
)
def masked_fill(node: TorchNode, x: Value, mask: Value, value: Operand) -> Converted:
    """The value where the mask is true, x elsewhere."""
    return pd.where(mask, node.operand(value, tensor_type(x).element), x)


@converter("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False)")
def isin_scalar(node: TorchNode, x: Value, value: float, assume_unique: bool, invert: bool) -> Converted:
    """Whether x is the value, or is not."""
    return (pd.not_equal if invert else pd.equal)(*node.pair(x, value))
