"""Softmax and normalisations."""

from __future__ import annotations

import math

from tx8ir.core import Operation, Value, f32
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter


def _softmax(node: OnnxNode, build: type[pd.SoftmaxOp] | None) -> Operation:
    """Softmax, or its logarithm without `build`.

    Before version 13 the tensor counted as a matrix, the axes from `axis` on being one; the default was 1, not -1.
    """
    type_ = node.type_of(0)
    x: Value | Operation = node.operand(0)
    axis = node.axis("axis", type_.rank, 1 if node.version < 13 else -1)
    is_last = axis == type_.rank - 1
    as_matrix = node.version < 13 and not is_last
    if as_matrix:
        x = pd.reshape(x, shape=(math.prod(type_.shape[:axis]), math.prod(type_.shape[axis:])))
        is_last = True
    axis = -1 if is_last else axis
    out = _log_softmax(x, axis) if build is None else build(x, axis=axis)
    return pd.reshape(out, shape=type_.shape) if as_matrix else out


def _log_softmax(x: Value | Operation, axis: int) -> Operation:
    shifted = pd.subtract(x, pd.max(x, axis=(axis,), keepdim=True))
    return pd.subtract(shifted, pd.log(pd.sum(pd.exp(shifted), axis=(axis,), keepdim=True)))


@converter("Softmax", first=1, last=13, attributes=("axis",))
def softmax(node: OnnxNode) -> Converted:
    """exp(x) / sum(exp(x))."""
    return _softmax(node, pd.softmax)


@converter("LogSoftmax", first=1, last=13, attributes=("axis",))
def log_softmax(node: OnnxNode) -> Converted:
    """X - log(sum(exp(x))), from x less its maximum."""
    return _softmax(node, None)


@converter("LayerNormalization", first=17, last=17, attributes=("axis", "epsilon", "stash_type"))
def layer_normalization(node: OnnxNode) -> Converted:
    """Normalisation over the axes from `axis` on. Scale and bias may broadcast to the normalised shape.

    `stash_type` says how mean and deviation are computed inside; one of fp32 is what `pd.layer_norm` evaluates in.
    """
    type_ = node.type_of(0)
    axis = node.axis("axis", type_.rank, -1)
    if node.int("stash_type", 1) != 1:
        raise node.error(f"attribute stash_type is {node.int('stash_type')}; supported is 1 (float)")
    normalised = type_.shape[axis:]
    epsilon = node.float("epsilon", 1e-5)

    def weight(index: int) -> Value | Operation | None:
        value = node.optional(index)
        if value is None:
            return None
        shape = node.type_of(index).shape
        return value if shape == normalised else pd.expand(value, shape=normalised)

    out = pd.layer_norm(node.operand(0), scale=weight(1), bias=weight(2), epsilon=epsilon, begin_norm_axis=axis)
    return out if node.num_outputs < 2 else [out, *_statistics(node, axis, epsilon)]


def _statistics(node: OnnxNode, axis: int, epsilon: float) -> list[Operation]:
    """The mean over the axes from `axis` on, and the reciprocal of the standard deviation, both in fp32."""
    type_ = node.type_of(0)
    axes = tuple(range(axis, type_.rank))
    x: Value | Operation = node.operand(0)
    if type_.element is not f32:
        x = pd.cast(x, dtype=f32)
    mean = pd.mean(x, axis=axes, keepdim=True)
    variance = pd.mean(pd.square(pd.subtract(x, mean)), axis=axes, keepdim=True)
    return [mean, pd.rsqrt(pd.scale(variance, bias=epsilon))]


_BATCH_NORM = ("epsilon", "momentum", "spatial", "training_mode", "is_test", "consumed_inputs")


@converter("BatchNormalization", first=1, last=15, attributes=_BATCH_NORM)
def batch_normalization(node: OnnxNode) -> Converted:
    """Normalisation per channel (axis 1): by given statistics, or by those of the batch, which are put out too."""
    if not node.bool("spatial", True):
        raise node.error("only one statistic per channel (spatial 1) is supported")
    type_, epsilon = node.type_of(0), node.float("epsilon", 1e-5)
    if node.version < 7 and not node.bool("is_test", False) and node.num_outputs > 1:
        raise node.error("only inference (is_test 1, one output) is supported before version 7")
    if not node.bool("training_mode", False):
        x, scale, bias, mean, variance = (node.operand(index) for index in range(5))
        if type_.rank < 2:  # one channel
            column = pd.reshape(x, shape=(*type_.shape, 1) if type_.rank else (1, 1))
            out = pd.batch_norm(column, mean, variance, scale=scale, bias=bias, epsilon=epsilon)
            return pd.reshape(out, shape=type_.shape)
        return pd.batch_norm(x, mean, variance, scale=scale, bias=bias, epsilon=epsilon)
    x = node.operand(0)
    others = tuple(axis for axis in range(type_.rank) if axis != 1)
    mean = pd.mean(x, axis=others, keepdim=True)
    variance = pd.mean(pd.square(pd.subtract(x, mean)), axis=others, keepdim=True)
    batch_mean, batch_variance = (pd.reshape(v, shape=(type_.shape[1],)) for v in (mean, variance))
    out = pd.batch_norm(x, batch_mean, batch_variance, scale=node.operand(1), bias=node.operand(2), epsilon=epsilon)
    momentum = node.float("momentum", 0.9)
    running = [
        pd.add(times(node.operand(index), momentum), times(batch, 1 - momentum))
        for index, batch in ((3, batch_mean), (4, batch_variance))
    ]
    return [out, *running]


@converter("InstanceNormalization", first=1, last=22, attributes=("epsilon", "consumed_inputs"))
def instance_normalization(node: OnnxNode) -> Converted:
    """Normalisation of each channel of each image over its spatial axes, then scale and bias per channel."""
    type_ = node.type_of(0)
    if type_.rank < 3:
        raise node.error(f"the input is {type_}; expected [N, C, D1, …]")
    per_channel = (type_.shape[1], *[1] * (type_.rank - 2))
    normal = pd.layer_norm(node.operand(0), epsilon=node.float("epsilon", 1e-5), begin_norm_axis=2)
    scale, bias = (pd.reshape(node.operand(index), shape=per_channel) for index in (1, 2))
    return pd.add(pd.multiply(normal, scale), bias)


@converter("LpNormalization", first=1, last=22, attributes=("axis", "p"))
def lp_normalization(node: OnnxNode) -> Converted:
    """X divided by its norm of order 1 or 2 along `axis`."""
    type_ = node.type_of(0)
    axes = (node.axis("axis", type_.rank, -1),)
    order = node.int("p", 2)
    x = node.operand(0)
    if order == 2:
        norm = pd.sqrt(pd.sum(pd.square(x), axis=axes, keepdim=True))
    elif order == 1:
        norm = pd.sum(pd.abs(x), axis=axes, keepdim=True)
    else:
        raise node.error(f"attribute p is {order}; supported are 1 and 2")
    zero, one = node.scalar(0, type_.element), node.scalar(1, type_.element)
    # Where the norm is 0 so is x: dividing by 1 leaves the zeros that ONNX asks for.
    return pd.divide(x, pd.where(pd.equal(norm, zero), one, norm))
