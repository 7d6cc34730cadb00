"""Elementwise operators on one tensor that are several operations, or one with attributes of another kind."""

from __future__ import annotations

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.tensors import TensorError, element_of


@converter("Neg", first=6, last=13)
def neg(node: OnnxNode) -> Converted:
    """-x."""
    return times(node.operand(0), -1.0)


@converter("Ceil", first=6, last=13)
def ceil(node: OnnxNode) -> Converted:
    """-floor(-x)."""
    return times(pd.floor(times(node.operand(0), -1.0)), -1.0)


@converter("PRelu", first=7, last=16)
def prelu(node: OnnxNode) -> Converted:
    """X where x >= 0, slope x elsewhere; the slope broadcasts to x."""
    x, slope = node.operand(0), node.operand(1)
    positive = pd.greater_equal(x, node.scalar(0, node.type_of(0).element))
    return pd.where(positive, x, pd.multiply(x, slope))


@converter("Elu", first=6, last=22, attributes=("alpha",))
def elu(node: OnnxNode) -> Converted:
    """X where x > 0, alpha (exp(x) - 1) elsewhere."""
    return _elu(node, node.float("alpha", 1.0), 1.0)


@converter("Selu", first=6, last=22, attributes=("alpha", "gamma"))
def selu(node: OnnxNode) -> Converted:
    """Gamma times the ELU; the defaults are ONNX's, rounded to fp32."""
    return _elu(node, node.float("alpha", 1.6732631921768188), node.float("gamma", 1.0507010221481323))


def _elu(node: OnnxNode, alpha: float, gamma: float) -> Operation:
    x, zero = node.operand(0), node.scalar(0, node.type_of(0).element)
    # exp of the negative part only: exp of a large x would overflow where its result is not taken.
    negative = pd.scale(pd.exp(pd.minimum(x, zero)), scale=alpha * gamma, bias=-alpha * gamma)
    return pd.where(pd.greater_than(x, zero), x if gamma == 1.0 else times(x, gamma), negative)


@converter("HardSigmoid", first=6, last=22, attributes=("alpha", "beta"))
def hard_sigmoid(node: OnnxNode) -> Converted:
    """max(0, min(1, alpha x + beta))."""
    return _hard_sigmoid(node, node.float("alpha", 0.2), node.float("beta", 0.5))


@converter("HardSwish", first=14, last=22)
def hard_swish(node: OnnxNode) -> Converted:
    """X max(0, min(1, x / 6 + 1 / 2))."""
    return pd.multiply(node.operand(0), _hard_sigmoid(node, 1 / 6, 0.5))


def _hard_sigmoid(node: OnnxNode, alpha: float, beta: float) -> Operation:
    element = node.type_of(0).element
    line = pd.scale(node.operand(0), scale=alpha, bias=beta)
    return pd.maximum(pd.minimum(line, node.scalar(1, element)), node.scalar(0, element))


@converter("Gelu", first=20, last=20, attributes=("approximate",))
def gelu(node: OnnxNode) -> Converted:
    """X Phi(x), or its tanh form."""
    return pd.gelu(node.operand(0), approximate=node.string("approximate", ("none", "tanh"), "none") == "tanh")


@converter("Clip", first=6, last=13, attributes=("min", "max"))
def clip(node: OnnxNode) -> Converted:
    """min(max(x, low), high); the bounds are attributes before version 11 and optional inputs from there."""
    element = node.type_of(0).element
    if node.version < 11:
        low = node.scalar(node.float("min"), element) if node.has_attribute("min") else None
        high = node.scalar(node.float("max"), element) if node.has_attribute("max") else None
    else:
        node.check_attributes(())
        low, high = node.optional(1), node.optional(2)
    out: Value | Operation = node.operand(0)
    if low is not None:
        out = pd.maximum(out, low)
    return out if high is None else pd.minimum(out, high)


@converter("Cast", first=6, last=28, attributes=("to", "saturate", "round_mode"))
def cast(node: OnnxNode) -> Converted:
    """X in another element type; `saturate` and `round_mode` concern 8-bit floats only, which are refused."""
    try:
        element = element_of(node.int("to"))
    except TensorError as error:
        raise node.error(f"attribute to: {error}") from error
    x = node.operand(0)
    return x if node.type_of(0).element is element else pd.cast(x, dtype=element)


@converter("CastLike", first=15, last=25, attributes=("saturate", "round_mode"))
def cast_like(node: OnnxNode) -> Converted:
    """The first input in the element type of the second, of which nothing else is used."""
    element = node.type_of(1).element
    x = node.operand(0)
    return x if node.type_of(0).element is element else pd.cast(x, dtype=element)
