"""Elementwise operators on one tensor that are several operations, or one with attributes of another kind."""

from __future__ import annotations

import math

import numpy as np

from tx8ir.core import Operation, Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter


@converter("Neg", first=1, last=13, attributes=("consumed_inputs",))
def neg(node: OnnxNode) -> Converted:
    """-x."""
    return times(node.operand(0), -1.0)


@converter("Ceil", first=1, last=13, attributes=("consumed_inputs",))
def ceil(node: OnnxNode) -> Converted:
    """-floor(-x)."""
    return times(pd.floor(times(node.operand(0), -1.0)), -1.0)


@converter("PRelu", first=1, last=16, attributes=("consumed_inputs",))
def prelu(node: OnnxNode) -> Converted:
    """X where x >= 0, slope x elsewhere; the slope broadcasts to x."""
    x, slope = node.operand(0), node.operand(1)
    if node.version < 7 and node.type_of(1).rank == 1 and node.type_of(0).rank > 1:  # one slope per channel
        slope = pd.reshape(slope, shape=(-1, *[1] * (node.type_of(0).rank - 2))).out
    positive = pd.greater_equal(x, node.scalar(0, node.type_of(0).element))
    return pd.where(positive, x, pd.multiply(x, slope))


@converter("Elu", first=1, last=22, attributes=("alpha", "consumed_inputs"))
def elu(node: OnnxNode) -> Converted:
    """X where x > 0, alpha (exp(x) - 1) elsewhere."""
    return _elu(node, node.float("alpha", 1.0), 1.0)


@converter("Selu", first=1, last=22, attributes=("alpha", "gamma", "consumed_inputs"))
def selu(node: OnnxNode) -> Converted:
    """Gamma times the ELU; the defaults are ONNX's, rounded to fp32."""
    alpha, gamma = (1.6732, 1.0507) if node.version < 6 else (1.6732631921768188, 1.0507010221481323)
    return _elu(node, node.float("alpha", alpha), node.float("gamma", gamma))


def _elu(node: OnnxNode, alpha: float, gamma: float) -> Operation:
    x, zero = node.operand(0), node.scalar(0, node.type_of(0).element)
    # exp of the negative part only: exp of a large x would overflow where its result is not taken.
    negative = pd.scale(pd.exp(pd.minimum(x, zero)), scale=alpha * gamma, bias=-alpha * gamma)
    return pd.where(pd.greater_than(x, zero), x if gamma == 1.0 else times(x, gamma), negative)


@converter("HardSigmoid", first=1, last=22, attributes=("alpha", "beta", "consumed_inputs"))
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


@converter("Clip", first=1, last=13, attributes=("min", "max", "consumed_inputs"))
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


@converter("ThresholdedRelu", first=10, last=22, attributes=("alpha",))
def thresholded_relu(node: OnnxNode) -> Converted:
    """X where x > alpha, 0 elsewhere."""
    element = node.type_of(0).element
    x, bound = node.operand(0), node.scalar(node.float("alpha", 1.0), element)
    return pd.where(pd.greater_than(x, bound), x, node.scalar(0, element))


@converter("Scaler", first=1, last=1, attributes=("offset", "scale"), domain="ai.onnx.ml")
def scaler(node: OnnxNode) -> Converted:
    """(x - offset) * scale, both per column."""
    x, element = node.operand(0), node.type_of(0).element
    offset, scale = (np.asarray(node.floats(name)) for name in ("offset", "scale"))
    centred = pd.subtract(x, node.constant(offset, element, "offset"))
    return pd.multiply(centred, node.constant(scale, element, "scale"))


@converter("Binarizer", first=1, last=1, attributes=("threshold",), domain="ai.onnx.ml")
def binarizer(node: OnnxNode) -> Converted:
    """1 where x > threshold, 0 elsewhere."""
    element = node.type_of(0).element
    bound = node.scalar(node.float("threshold", 0.0), element)
    return pd.cast(pd.greater_than(node.operand(0), bound), dtype=element)


@converter("IsInf", first=10, last=20, attributes=("detect_negative", "detect_positive"))
def is_inf(node: OnnxNode) -> Converted:
    """Whether x is infinite, on one side or both."""
    type_, x = node.type_of(0), node.operand(0)
    negative, positive = node.bool("detect_negative", True), node.bool("detect_positive", True)
    if not (negative or positive):
        return pd.full(shape=type_.shape, value=0.0, dtype=i1)
    side = node.scalar(math.inf if positive else -math.inf, type_.element)
    return pd.equal(pd.abs(x) if negative and positive else x, side)
