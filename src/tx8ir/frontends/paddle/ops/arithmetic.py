"""Arithmetic that is several operations of `pd`."""

from __future__ import annotations

from typing import Final

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

from .activation import times

_NATURAL: Final = {"log2": 1.4426950408889634, "log10": 0.4342944819032518}


@converter("scale")
def scale(node: PaddleNode) -> Converted:
    """Each element by a number, and another number more; a number more alone is a sum, of which passes know more."""
    x, factor, bias = node.operand(0), node.known_number(1, "scale"), node.float("bias", 0.0)
    element = tensor_type(x).element
    if factor == 1 and not element.is_float:
        return pd.add(x, node.scalar(bias, element))
    return pd.scale(x, scale=factor, bias=bias, bias_after_scale=node.flag("bias_after_scale", True))


@converter("ceil")
def ceil(node: PaddleNode) -> Converted:
    """The next whole number that is not less."""
    return times(pd.floor(times(node.operand(0), -1.0)), -1.0)


@converter("trunc")
def trunc(node: PaddleNode) -> Converted:
    """The next whole number towards 0."""
    x = node.operand(0)
    return pd.multiply(pd.sign(x), pd.floor(pd.abs(x)))


@converter("round")
def round_(node: PaddleNode) -> Converted:
    """The nearest whole number, halves to even, or to decimal places."""
    decimals = node.int("decimals", 0)
    x = node.operand(0)
    return pd.round(x) if not decimals else times(pd.round(times(x, 10.0**decimals)), 10.0**-decimals)


@converter("log1p")
def log1p(node: PaddleNode) -> Converted:
    """log(1 + x); as x · log(u) / (u - 1) with u = 1 + x rounded, which loses nothing near 0 (Kahan)."""
    x = node.operand(0)
    one = node.scalar(1.0, tensor_type(x).element)
    u = pd.scale(x, bias=1.0).out
    same = pd.equal(u, one)
    below = pd.where(same, one, pd.scale(u, bias=-1.0))
    return pd.where(same, x, pd.multiply(x, pd.divide(pd.log(u), below)))


@converter("expm1")
def expm1(node: PaddleNode) -> Converted:
    """exp(x) - 1; 2 tanh(x/2) / (1 - tanh(x/2)) near 0, where the difference loses digits."""
    x = node.operand(0)
    element = tensor_type(x).element
    half = pd.tanh(times(x, 0.5)).out
    near = pd.divide(times(half, 2.0), pd.scale(half, scale=-1.0, bias=1.0))
    return pd.where(pd.less_than(pd.abs(x), node.scalar(0.5, element)), near, pd.scale(pd.exp(x), bias=-1.0))


@converter("log2", "log10")
def logarithm(node: PaddleNode) -> Converted:
    """The logarithm to base 2 or 10."""
    return times(pd.log(node.operand(0)), _NATURAL[node.proto.short.removesuffix("_")])


@converter("clip")
def clip(node: PaddleNode) -> Converted:
    """Each element, at least one number and at most another."""
    x = node.operand(0)
    element = tensor_type(x).element
    low, high = (_bound(node, index, x) for index in (1, 2))
    return pd.minimum(pd.maximum(x, node.cast(low, element)), node.cast(high, element))


def _bound(node: PaddleNode, index: int, x: Value) -> Value:
    """A bound without axes, so that the result has those of `x`."""
    bound = node.operand(index)
    return pd.reshape(bound, shape=()).out if tensor_type(bound).rank else bound


@converter("floor_divide")
def floor_divide(node: PaddleNode) -> Converted:
    """The quotient, rounded down."""
    x, y = node.operand(0), node.operand(1)
    if tensor_type(x).element.is_float:
        return pd.floor(pd.divide(x, y))
    return pd.divide(pd.subtract(x, pd.remainder(x, y)), y)


@converter("fmax", "fmin")
def extreme_of_numbers(node: PaddleNode) -> Converted:
    """The larger or the smaller; of a number and no number the number."""
    x, y = node.operand(0), node.operand(1)
    larger = node.proto.short.startswith("fmax")
    either = (pd.maximum if larger else pd.minimum)(x, y)
    return pd.where(pd.isnan(x), y, pd.where(pd.isnan(y), x, either))


@converter("logical_xor")
def logical_xor(node: PaddleNode) -> Converted:
    """Whether just one holds."""
    return pd.not_equal(node.operand(0), node.operand(1))


@converter("bitwise_not")
def bitwise_not(node: PaddleNode) -> Converted:
    """Each bit turned; -1 - x."""
    x = node.operand(0)
    element = tensor_type(x).element
    if element.format.bits == 1:
        return pd.logical_not(x)
    return pd.bitwise_xor(x, node.scalar(-1, element))


@converter("isinf", "isfinite")
def is_finite(node: PaddleNode) -> Converted:
    """Whether an element is infinite, or neither that nor no number."""
    x = node.operand(0)
    infinity = node.scalar(float("inf"), tensor_type(x).element)
    if node.proto.short == "isinf":
        return pd.equal(pd.abs(x), infinity)
    return pd.less_than(pd.abs(x), infinity)


@converter("increment")
def increment(node: PaddleNode) -> Converted:
    """The element, and a number more."""
    return pd.scale(node.operand(0), bias=node.float("value", 1.0))


@converter("add_n")
def add_n(node: PaddleNode) -> Converted:
    """The sum of tensors."""
    total, *others = node.list(0)
    for other in others:
        total = pd.add(total, other).out
    return total


@converter("bmm", "mv", "dot")
def products(node: PaddleNode) -> Converted:
    """Products of matrices, of a matrix and a vector, of two vectors."""
    x, y = node.operand(0), node.operand(1)
    if node.proto.short == "bmm":
        return pd.matmul(x, y)
    return pd.sum(pd.multiply(x, y), axis=(-1,), keepdim=False)


@converter("addmm")
def addmm(node: PaddleNode) -> Converted:
    """Beta · input + alpha · x y."""
    product = times(pd.matmul(node.operand(1), node.operand(2)), node.float("alpha", 1.0))
    return pd.add(times(node.operand(0), node.float("beta", 1.0)), product)


@converter("lerp")
def lerp(node: PaddleNode) -> Converted:
    """X + weight · (y - x)."""
    x, y, weight = (node.operand(index) for index in range(3))
    return pd.add(x, pd.multiply(weight, pd.subtract(y, x)))
