"""Functions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from tx8ir.core import Operation, Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import times, truncated
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_FLOATING: Final[dict[str, Callable[[Value], Operation]]] = {
    "acos": pd.acos, "acosh": pd.acosh, "asin": pd.asin, "asinh": pd.asinh, "atan": pd.atan, "atanh": pd.atanh,
    "cos": pd.cos, "cosh": pd.cosh, "erf": pd.erf, "exp": pd.exp, "log": pd.log, "reciprocal": pd.reciprocal,
    "rsqrt": pd.rsqrt, "sigmoid": pd.sigmoid, "sin": pd.sin, "sinh": pd.sinh, "sqrt": pd.sqrt, "tan": pd.tan,
    "tanh": pd.tanh,
}  # fmt: skip
"""Functions whose result is floating-point, of integers too."""


def _register(name: str, build: Callable[[Value], Operation]) -> None:
    @converter(f"{name}(Tensor self)")
    def convert(node: TorchNode, x: Value) -> Converted:
        return build(node.floating(x))

    assert convert is not None


for _name, _build in _FLOATING.items():
    _register(_name, _build)


@converter("abs(Tensor self)")
def abs(node: TorchNode, x: Value) -> Converted:
    """|x|."""
    return pd.abs(x)


@converter("square(Tensor self)")
def square(node: TorchNode, x: Value) -> Converted:
    """x²."""
    return pd.square(x)


@converter("sign(Tensor self)", "sgn(Tensor self)")
def sign(node: TorchNode, x: Value) -> Converted:
    """-1, 0 or 1."""
    return pd.sign(x)


def _whole(x: Value) -> bool:
    return not tensor_type(x).element.is_float


@converter("floor(Tensor self)")
def floor(node: TorchNode, x: Value) -> Converted:
    """The largest integer that is not above x."""
    return x if _whole(x) else pd.floor(x)


@converter("ceil(Tensor self)")
def ceil(node: TorchNode, x: Value) -> Converted:
    """-floor(-x)."""
    return x if _whole(x) else times(pd.floor(times(x, -1.0)), -1.0)


@converter("round(Tensor self)")
def round(node: TorchNode, x: Value) -> Converted:
    """The nearest integer, the even one of two."""
    return x if _whole(x) else pd.round(x)


@converter("trunc(Tensor self)", "fix(Tensor self)")
def trunc(node: TorchNode, x: Value) -> Converted:
    """The integer part."""
    return x if _whole(x) else truncated(node, x)


@converter("round.decimals(Tensor self, *, int decimals)")
def round_decimals(node: TorchNode, x: Value, decimals: int) -> Converted:
    """The nearest number of so many digits after the point."""
    if _whole(x):
        return x
    return times(pd.round(times(x, 10.0**decimals)), 10.0**-decimals)


@converter("logit(Tensor self, float? eps=None)")
def logit(node: TorchNode, x: Value, eps: float | None) -> Converted:
    """log(x / (1 - x)), of x between eps and 1 - eps."""
    x = node.floating(x)
    if eps is not None:
        element = tensor_type(x).element
        x = pd.minimum(pd.maximum(x, node.scalar(eps, element)), node.scalar(1 - eps, element)).out
    return pd.log(pd.divide(x, pd.scale(x, scale=-1.0, bias=1.0)))


@converter("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)")
def nan_to_num(node: TorchNode, x: Value, nan: float | None, posinf: float | None, neginf: float | None) -> Converted:
    """Other numbers for NaN, and for infinite ones: by default 0, and the largest of either sign."""
    if _whole(x):
        return x
    element = tensor_type(x).element
    low, high = element.format.limits
    for infinite, value in (
        (math.inf, high if posinf is None else posinf),
        (-math.inf, low if neginf is None else neginf),
    ):
        x = pd.where(pd.equal(x, node.scalar(infinite, element)), node.scalar(value, element), x).out
    return pd.where(pd.isnan(x), node.scalar(nan or 0.0, element), x)


@converter("log1p(Tensor self)")
def log1p(node: TorchNode, x: Value) -> Converted:
    """log(1 + x)."""
    return pd.log(pd.scale(node.floating(x), bias=1.0))


@converter("expm1(Tensor self)")
def expm1(node: TorchNode, x: Value) -> Converted:
    """exp(x) - 1, as 2 tanh(x/2) / (1 - tanh(x/2)) where x is small and the difference would cancel."""
    x = node.floating(x)
    element = tensor_type(x).element
    half = pd.tanh(times(x, 0.5))
    small = pd.divide(times(half, 2.0), pd.scale(half, scale=-1.0, bias=1.0))
    is_small = pd.less_than(pd.abs(x), node.scalar(0.5, element))
    return pd.where(is_small, small, pd.scale(pd.exp(x), bias=-1.0))


@converter("exp2(Tensor self)")
def exp2(node: TorchNode, x: Value) -> Converted:
    """2^x."""
    x = node.floating(x)
    return pd.elementwise_pow(node.scalar(2, tensor_type(x).element), x)


@converter("log2(Tensor self)")
def log2(node: TorchNode, x: Value) -> Converted:
    """log(x) / log(2)."""
    return times(pd.log(node.floating(x)), 1 / math.log(2))


@converter("log10(Tensor self)")
def log10(node: TorchNode, x: Value) -> Converted:
    """log(x) / log(10)."""
    return times(pd.log(node.floating(x)), 1 / math.log(10))


@converter("erfc(Tensor self)")
def erfc(node: TorchNode, x: Value) -> Converted:
    """1 - erf(x)."""
    return pd.scale(pd.erf(node.floating(x)), scale=-1.0, bias=1.0)


@converter("isnan(Tensor self)")
def isnan(node: TorchNode, x: Value) -> Converted:
    """Whether x is NaN."""
    return _never(x) if _whole(x) else pd.isnan(x)


@converter("isinf(Tensor self)")
def isinf(node: TorchNode, x: Value) -> Converted:
    """Whether x is infinite."""
    return _never(x) if _whole(x) else pd.equal(pd.abs(x), node.scalar(math.inf, tensor_type(x).element))


@converter("isfinite(Tensor self)")
def isfinite(node: TorchNode, x: Value) -> Converted:
    """Whether x is neither infinite nor NaN."""
    if _whole(x):
        return pd.logical_not(_never(x))
    return pd.less_than(pd.abs(x), node.scalar(math.inf, tensor_type(x).element))


def _never(x: Value) -> Value:
    no = pd.full(shape=(), value=0.0, dtype=i1)
    return pd.expand(no, shape=tensor_type(x).shape).out
