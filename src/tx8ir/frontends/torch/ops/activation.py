"""Activations."""

from __future__ import annotations

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import clamp, times
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter("relu(Tensor self)")
def relu(node: TorchNode, x: Value) -> Converted:
    """max(x, 0)."""
    return pd.relu(x)


@converter("relu6(Tensor self)")
def relu6(node: TorchNode, x: Value) -> Converted:
    """min(max(x, 0), 6)."""
    return clamp(node, x, 0, 6)


@converter("gelu(Tensor self, *, str approximate='none')")
def gelu(node: TorchNode, x: Value, approximate: str) -> Converted:
    """X Phi(x), or its tanh form."""
    if approximate not in ("none", "tanh"):
        raise node.error(f"approximate is {approximate!r}; expected 'none' or 'tanh'")
    return pd.gelu(x, approximate=approximate == "tanh")


@converter("silu(Tensor self)")
def silu(node: TorchNode, x: Value) -> Converted:
    """X sigmoid(x)."""
    return pd.multiply(x, pd.sigmoid(x))


@converter("leaky_relu(Tensor self, Scalar negative_slope=0.01)")
def leaky_relu(node: TorchNode, x: Value, negative_slope: float) -> Converted:
    """X where x >= 0, negative_slope x elsewhere."""
    return pd.leaky_relu(x, negative_slope=float(negative_slope))


@converter("prelu(Tensor self, Tensor weight)", "_prelu_kernel(Tensor self, Tensor weight)")
def prelu(node: TorchNode, x: Value, weight: Value) -> Converted:
    """X where x >= 0, weight x elsewhere; one weight, or one for each channel."""
    type_ = tensor_type(x)
    if tensor_type(weight).rank == 1 and type_.rank > 1:
        weight = pd.reshape(weight, shape=(-1, *[1] * (type_.rank - 2))).out
    return pd.where(pd.greater_than(x, node.scalar(0, type_.element)), x, pd.multiply(x, weight))


@converter("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)")
def elu(node: TorchNode, x: Value, alpha: float, scale: float, input_scale: float) -> Converted:
    """Scale x where x > 0, scale alpha (exp(input_scale x) - 1) elsewhere."""
    zero = node.scalar(0, tensor_type(x).element)
    # exp of the negative part only: exp of a large x would overflow where its result is not taken.
    power = pd.exp(times(pd.minimum(x, zero), input_scale))
    negative = pd.scale(power, scale=float(alpha * scale), bias=float(-alpha * scale))
    return pd.where(pd.greater_than(x, zero), x if scale == 1 else times(x, scale), negative)


@converter("selu(Tensor self)")
def selu(node: TorchNode, x: Value) -> Converted:
    """The ELU with the constants of arXiv:1706.02515."""
    return elu(node, x, 1.6732632423543772, 1.0507009873554805, 1)


@converter("celu(Tensor self, Scalar alpha=1.)")
def celu(node: TorchNode, x: Value, alpha: float) -> Converted:
    """X where x > 0, alpha (exp(x / alpha) - 1) elsewhere."""
    return elu(node, x, alpha, 1, 1 / alpha)


@converter("softplus(Tensor self, Scalar beta=1, Scalar threshold=20)")
def softplus(node: TorchNode, x: Value, beta: float, threshold: float) -> Converted:
    """log(1 + exp(beta x)) / beta, and x above the threshold."""
    return pd.softplus(x, beta=float(beta), threshold=float(threshold))


@converter("log_sigmoid(Tensor self)")
def log_sigmoid(node: TorchNode, x: Value) -> Converted:
    """-softplus(-x)."""
    return times(pd.softplus(times(x, -1.0), threshold=1000.0), -1.0)


@converter("hardsigmoid(Tensor self)")
def hardsigmoid(node: TorchNode, x: Value) -> Converted:
    """min(max(x + 3, 0), 6) / 6."""
    element = tensor_type(x).element
    line = pd.maximum(pd.scale(x, bias=3.0), node.scalar(0, element))
    return times(pd.minimum(line, node.scalar(6, element)), 1 / 6)


@converter("hardswish(Tensor self)")
def hardswish(node: TorchNode, x: Value) -> Converted:
    """X min(max(x + 3, 0), 6) / 6."""
    element = tensor_type(x).element
    line = pd.minimum(pd.maximum(pd.scale(x, bias=3.0), node.scalar(0, element)), node.scalar(6, element))
    return times(pd.multiply(x, line), 1 / 6)


@converter("mish(Tensor self)")
def mish(node: TorchNode, x: Value) -> Converted:
    """X tanh(softplus(x))."""
    return pd.multiply(x, pd.tanh(pd.softplus(x)))


@converter("threshold(Tensor self, Scalar threshold, Scalar value)")
def threshold(node: TorchNode, x: Value, threshold: float, value: float) -> Converted:
    """X where x > threshold, value elsewhere."""
    element = tensor_type(x).element
    return pd.where(pd.greater_than(x, node.scalar(threshold, element)), x, node.scalar(value, element))


@converter("hardshrink(Tensor self, Scalar lambd=0.5)")
def hardshrink(node: TorchNode, x: Value, lambd: float) -> Converted:
    """X where |x| > lambd (or NaN), 0 elsewhere."""
    element = tensor_type(x).element
    near = pd.less_equal(pd.abs(x), node.scalar(lambd, element))
    return pd.where(near, node.scalar(0, element), x)


@converter("softshrink(Tensor self, Scalar lambd=0.5)")
def softshrink(node: TorchNode, x: Value, lambd: float) -> Converted:
    """X moved towards 0 by lambd, at most to it."""
    element = tensor_type(x).element
    zero = node.scalar(0, element)
    up = pd.maximum(pd.scale(x, bias=-float(lambd)), zero)
    return pd.add(up, pd.minimum(pd.scale(x, bias=float(lambd)), zero))


@converter("glu(Tensor self, int dim=-1)")
def glu(node: TorchNode, x: Value, dim: int) -> Converted:
    """The first half of an axis times the sigmoid of the second."""
    type_ = tensor_type(x)
    axis = node.axis(dim, type_.rank)
    half = type_.shape[axis] // 2
    first, second = pd.split(x, sections=(half, half), axis=axis).results
    return pd.multiply(first, pd.sigmoid(second))
