"""Activations that are several operations of `pd`."""

from __future__ import annotations

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


def times(x: Value | Operation, factor: float) -> Value:
    """Each element by a number."""
    return pd.scale(x, scale=factor, bias=-0.0).out


def clipped(node: PaddleNode, x: Value | Operation, low: float, high: float) -> Value:
    """Each element, at least `low` and at most `high`."""
    value = x if isinstance(x, Value) else x.results[0]
    element = tensor_type(value).element
    return pd.minimum(pd.maximum(value, node.scalar(low, element)), node.scalar(high, element)).out


@converter("relu6")
def relu6(node: PaddleNode) -> Converted:
    """Clipped to 0 … 6."""
    return clipped(node, node.operand(0), 0.0, node.float("threshold", 6.0))


@converter("silu", "swish")
def silu(node: PaddleNode) -> Converted:
    """X · sigmoid(x)."""
    x = node.operand(0)
    return pd.multiply(x, pd.sigmoid(x))


def _exponential(node: PaddleNode, x: Value, alpha: float, inner: float, factor: float) -> Value:
    """Factor · x where x > 0, else factor · alpha · (exp(x / inner) - 1)."""
    zero = node.scalar(0.0, tensor_type(x).element)
    below = pd.minimum(x, zero).out
    grown = pd.scale(pd.exp(times(below, 1 / inner) if inner != 1 else below), scale=alpha, bias=-alpha)
    out = pd.where(pd.greater_than(x, zero), x, grown).out
    return out if factor == 1 else times(out, factor)


@converter("elu")
def elu(node: PaddleNode) -> Converted:
    """X where x > 0, else alpha · (exp(x) - 1)."""
    return _exponential(node, node.operand(0), node.float("alpha", 1.0), 1.0, 1.0)


@converter("celu")
def celu(node: PaddleNode) -> Converted:
    """X where x > 0, else alpha · (exp(x / alpha) - 1)."""
    alpha = node.float("alpha", 1.0)
    return _exponential(node, node.operand(0), alpha, alpha, 1.0)


@converter("selu")
def selu(node: PaddleNode) -> Converted:
    """Scale · elu(x)."""
    scale, alpha = node.float("scale", 1.0507009873554805), node.float("alpha", 1.6732632423543772)
    return _exponential(node, node.operand(0), alpha, 1.0, scale)


@converter("hardtanh")
def hardtanh(node: PaddleNode) -> Converted:
    """Clipped."""
    return clipped(node, node.operand(0), node.float("t_min", -1.0), node.float("t_max", 1.0))


@converter("hardsigmoid")
def hardsigmoid(node: PaddleNode) -> Converted:
    """Slope · x + offset, clipped to 0 … 1."""
    line = pd.scale(node.operand(0), scale=node.float("slope", 1 / 6), bias=node.float("offset", 0.5))
    return clipped(node, line, 0.0, 1.0)


@converter("hardswish")
def hardswish(node: PaddleNode) -> Converted:
    """X · clip(x + 3, 0, 6) / 6."""
    x = node.operand(0)
    gate = clipped(node, pd.scale(x, bias=node.float("offset", 3.0)), 0.0, node.float("threshold", 6.0))
    return times(pd.multiply(x, gate), 1 / node.float("scale", 6.0))


@converter("mish")
def mish(node: PaddleNode) -> Converted:
    """X · tanh(softplus(x))."""
    x = node.operand(0)
    return pd.multiply(x, pd.tanh(pd.softplus(x, threshold=node.float("lambda", 20.0))))


@converter("logsigmoid")
def logsigmoid(node: PaddleNode) -> Converted:
    """Minus softplus(-x)."""
    return times(pd.softplus(times(node.operand(0), -1.0)), -1.0)


@converter("softsign")
def softsign(node: PaddleNode) -> Converted:
    """X / (1 + |x|)."""
    x = node.operand(0)
    return pd.divide(x, pd.scale(pd.abs(x), bias=1.0))


@converter("tanh_shrink")
def tanh_shrink(node: PaddleNode) -> Converted:
    """X - tanh(x)."""
    x = node.operand(0)
    return pd.subtract(x, pd.tanh(x))


@converter("stanh")
def stanh(node: PaddleNode) -> Converted:
    """Scale_b · tanh(scale_a · x)."""
    return times(pd.tanh(times(node.operand(0), node.float("scale_a", 0.67))), node.float("scale_b", 1.7159))


@converter("prelu")
def prelu(node: PaddleNode) -> Converted:
    """X where x > 0, else weight · x, with one weight for all or for each channel."""
    x, weight = node.operand(0), node.operand(1)
    rank = tensor_type(x).rank
    mode = node.word("mode", "all", ("all", "channel"))
    if mode == "channel":
        axis = 1 if node.word("data_format", "NCHW").startswith("NC") else rank - 1
        weight = pd.reshape(weight, shape=tuple(-1 if a == axis else 1 for a in range(rank))).out
    zero = node.scalar(0.0, tensor_type(x).element)
    return pd.add(pd.maximum(x, zero), pd.multiply(weight, pd.minimum(x, zero)))


@converter("log_softmax")
def log_softmax(node: PaddleNode) -> Converted:
    """X - log(sum(exp(x))), from x less its maximum."""
    x = node.operand(0)
    axes = (node.axis(node.int("axis", -1), tensor_type(x).rank),)
    shifted = pd.subtract(x, pd.max(x, axis=axes, keepdim=True))
    return pd.subtract(shifted, pd.log(pd.sum(pd.exp(shifted), axis=axes, keepdim=True)))


@converter("dropout")
def dropout(node: PaddleNode) -> Converted:
    """The tensor itself, in inference; less by the share that training drops, where the mode is not to upscale."""
    if not node.flag("is_test", False):
        raise node.error("drops elements at random; only inference is supported")
    x = node.operand(0)
    if node.word("mode", "upscale_in_train", ("upscale_in_train", "downgrade_in_infer")) == "upscale_in_train":
        return [x, None]
    return [times(x, 1 - node.known_number(2, "p")), None]


@converter("swiglu")
def swiglu(node: PaddleNode) -> Converted:
    """Silu(x) · y; of one tensor its halves."""
    x, y = node.operand(0), node.optional(1)
    if y is None:
        extent = node.static_shape(x, "the operand")[-1]
        x, y = pd.split(x, sections=(extent // 2, extent // 2), axis=-1).results
    return pd.multiply(pd.multiply(x, pd.sigmoid(x)), y)


@converter("logit")
def logit(node: PaddleNode) -> Converted:
    """Log(x / (1 - x))."""
    x, eps = node.operand(0), node.float("eps", 0.0)
    x = clipped(node, x, eps, 1 - eps) if eps else x
    return pd.subtract(pd.log(x), pd.log(pd.scale(x, scale=-1.0, bias=1.0)))


@converter("thresholded_relu")
def thresholded_relu(node: PaddleNode) -> Converted:
    """X where it is more than the threshold, else a value."""
    x = node.operand(0)
    element = tensor_type(x).element
    above = pd.greater_than(x, node.scalar(node.float("threshold", 1.0), element))
    return pd.where(above, x, node.scalar(node.float("value", 0.0), element))
