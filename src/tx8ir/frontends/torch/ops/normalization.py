"""Softmax and normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tx8ir.core import DYNAMIC, Operation, ScalarType, Value, f32
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import times
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


def _softmax_axis(node: TorchNode, x: Value, dim: int) -> int:
    rank = tensor_type(x).rank
    axis = node.axis(dim, rank)
    return -1 if axis == rank - 1 else axis


@converter("softmax.int(Tensor self, int dim, ScalarType? dtype=None)")
def softmax(node: TorchNode, x: Value, dim: int, dtype: ScalarType | None) -> Converted:
    """exp(x) / sum(exp(x))."""
    x = node.floating(x) if dtype is None else node.cast(x, dtype)
    return pd.softmax(x, axis=_softmax_axis(node, x, dim))


@converter("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None)")
def log_softmax(node: TorchNode, x: Value, dim: int, dtype: ScalarType | None) -> Converted:
    """X - log(sum(exp(x))), from x less its maximum."""
    x = node.floating(x) if dtype is None else node.cast(x, dtype)
    axes = (_softmax_axis(node, x, dim),)
    shifted = pd.subtract(x, pd.max(x, axis=axes, keepdim=True))
    return pd.subtract(shifted, pd.log(pd.sum(pd.exp(shifted), axis=axes, keepdim=True)))


@converter("_softmax(Tensor self, int dim, bool half_to_float)")
def softmax_core(node: TorchNode, x: Value, dim: int, half_to_float: bool) -> Converted:
    """As `softmax`."""
    return softmax(node, x, dim, f32 if half_to_float else None)


@converter("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None)")
def safe_softmax(node: TorchNode, x: Value, dim: int, dtype: ScalarType | None) -> Converted:
    """As `softmax`, 0 where every element is -inf."""
    x = node.floating(x) if dtype is None else node.cast(x, dtype)
    axis = _softmax_axis(node, x, dim)
    out = pd.softmax(x, axis=axis)
    element = tensor_type(x).element
    nothing = pd.equal(pd.max(x, axis=(axis,), keepdim=True), node.scalar(-math.inf, element))
    return pd.where(nothing, node.scalar(0, element), out)


@converter("_log_softmax(Tensor self, int dim, bool half_to_float)")
def log_softmax_core(node: TorchNode, x: Value, dim: int, half_to_float: bool) -> Converted:
    """As `log_softmax`."""
    return log_softmax(node, x, dim, f32 if half_to_float else None)


@converter("logsumexp(Tensor self, int[1] dim, bool keepdim=False)")
def logsumexp(node: TorchNode, x: Value, dim: Sequence[int], keepdim: bool) -> Converted:
    """log(sum(exp(x))), from x less its maximum."""
    x = node.floating(x)
    axes = node.axes(dim, tensor_type(x).rank)
    largest = pd.max(x, axis=axes, keepdim=True)
    total = pd.sum(pd.exp(pd.subtract(x, largest)), axis=axes, keepdim=True)
    out = pd.add(pd.log(total), largest)
    return out if keepdim else pd.squeeze(out, axis=axes)


@converter(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enable=True)"
)
def layer_norm(
    node: TorchNode, x: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float,
    cudnn_enable: bool,
) -> Converted:  # fmt: skip
    """Normalisation over the last axes."""
    axis = tensor_type(x).rank - len(normalized_shape)
    return pd.layer_norm(x, scale=weight, bias=bias, epsilon=eps, begin_norm_axis=axis)


@converter("native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)")
def native_layer_norm(
    node: TorchNode, x: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> Converted:
    """As `layer_norm`, with the mean and the reciprocal of the deviation."""
    rank = tensor_type(x).rank
    axis = rank - len(normalized_shape)
    out = pd.layer_norm(x, scale=weight, bias=bias, epsilon=eps, begin_norm_axis=axis)
    if not node.graph.is_used(node.proto, 1, 2):
        return [out, None, None]
    axes = tuple(range(axis, rank))
    wide = node.cast(x, f32)
    mean = pd.mean(wide, axis=axes, keepdim=True)
    variance = pd.mean(pd.square(pd.subtract(wide, mean)), axis=axes, keepdim=True)
    return [out, mean, pd.rsqrt(pd.scale(variance, bias=eps))]


@converter("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)")
def rms_norm(
    node: TorchNode, x: Value, normalized_shape: Sequence[int], weight: Value | None, eps: float | None
) -> Converted:
    """X / sqrt(mean(x²) + eps) over the last axes; eps is the format's, if it is not given."""
    type_ = tensor_type(x)
    if eps is None:
        eps = 2.0**-(type_.element.format.mantissa_bits)
    return pd.rms_norm(x, norm_weight=weight, epsilon=eps, begin_norm_axis=type_.rank - len(normalized_shape))


def _per_channel(value: Value, rank: int) -> Value:
    return pd.reshape(value, shape=(-1, *[1] * (rank - 2))).out


@converter(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enabled=True)"
)
def group_norm(
    node: TorchNode, x: Value, num_groups: int, weight: Value | None, bias: Value | None, eps: float,
    cudnn_enabled: bool,
) -> Converted:  # fmt: skip
    """Normalisation over the channels of each group and all places."""
    n, channels, *space = tensor_type(x).shape
    if num_groups < 1 or channels % num_groups:
        raise node.error(f"{channels} channels do not divide into {num_groups} groups")
    grouped = pd.reshape(x, shape=(n, num_groups, channels // num_groups, *space))
    normal = pd.layer_norm(grouped, epsilon=eps, begin_norm_axis=2)
    out: Value = pd.reshape(normal, shape=(n, channels, *space)).out
    if weight is not None:
        out = pd.multiply(out, _per_channel(weight, 2 + len(space))).out
    return out if bias is None else pd.add(out, _per_channel(bias, 2 + len(space)))


@converter(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
    "float eps)"
)
def native_group_norm(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, n: object, c: object, space: object,
    group: int, eps: float,
) -> Converted:  # fmt: skip
    """As `group_norm`."""
    out = group_norm(node, x, group, weight, bias, eps, True)
    return [out if isinstance(out, Value | Operation) else None, None, None]


@converter(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool use_input_stats, float momentum, float eps, bool cudnn_enabled)"
)
def instance_norm(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Converted:  # fmt: skip
    """Normalisation of each channel of each image over its places, or by given statistics."""
    if not use_input_stats:
        return batch_norm(node, x, weight, bias, running_mean, running_var, False, momentum, eps, cudnn_enabled)
    if running_mean is not None:
        raise node.error("keeps running statistics while training; only inference is supported")
    return group_norm(node, x, tensor_type(x).shape[1], weight, bias, eps, cudnn_enabled)


@converter(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled)"
)
def batch_norm(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Converted:  # fmt: skip
    """Normalisation per channel: by given statistics, or by those of the batch, which go into the running ones."""
    if not training:
        if running_mean is None or running_var is None:
            raise node.error("has no statistics to normalise by")
        return pd.batch_norm(x, running_mean, running_var, scale=weight, bias=bias, epsilon=eps)
    out, mean, variance = _by_batch(node, x, weight, bias, eps)
    for name, running, batch in (
        ("running_mean", running_mean, mean),
        ("running_var", running_var, _unbiased(node, x, variance)),
    ):
        if running is not None:
            node.mutate(name, _moved(running, batch, momentum))
    return out


def _by_batch(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Operation, Value, Value]:
    """The result, and mean and variance of each channel."""
    type_ = tensor_type(x)
    others = tuple(axis for axis in range(type_.rank) if axis != 1)
    mean = pd.mean(x, axis=others, keepdim=True)
    variance = pd.mean(pd.square(pd.subtract(x, mean)), axis=others, keepdim=True)
    mean, variance = (pd.reshape(value, shape=(type_.shape[1],)).out for value in (mean, variance))
    return pd.batch_norm(x, mean, variance, scale=weight, bias=bias, epsilon=eps), mean, variance


def _unbiased(node: TorchNode, x: Value, variance: Value) -> Value:
    shape = tensor_type(x).shape
    if DYNAMIC in shape:
        raise node.error(f"trains on {tensor_type(x)}; its extents have to be known: load(…, dimensions=…)")
    count = math.prod(shape) // max(shape[1], 1)
    return times(variance, count / max(count - 1, 1))


def _moved(running: Value, batch: Value, momentum: float) -> Value:
    return pd.add(times(running, 1 - momentum), times(batch, momentum)).out


_NATIVE = "Tensor input, Tensor? weight, Tensor? bias, Tensor{a} running_mean, Tensor{a} running_var, "


@converter(f"_native_batch_norm_legit_no_training({_NATIVE.format(a='')}float momentum, float eps)")
def batch_norm_inference(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value,
    momentum: float, eps: float,
) -> Converted:  # fmt: skip
    """Normalisation per channel by given statistics."""
    return [pd.batch_norm(x, mean, variance, scale=weight, bias=bias, epsilon=eps), None, None]


@converter(f"_native_batch_norm_legit_functional({_NATIVE.format(a='')}bool training, float momentum, float eps)")
def batch_norm_functional(
    node: TorchNode, x: Value, weight: Value | None, bias: Value | None, running_mean: Value, running_var: Value,
    training: bool, momentum: float, eps: float,
) -> Converted:  # fmt: skip
    """Normalisation per channel, with the new running statistics as results."""
    if not training:
        out = pd.batch_norm(x, running_mean, running_var, scale=weight, bias=bias, epsilon=eps)
        return [out, None, None, running_mean, running_var]
    out, mean, variance = _by_batch(node, x, weight, bias, eps)
    inverse = pd.rsqrt(pd.scale(variance, bias=eps))
    unbiased = _unbiased(node, x, variance)
    moved = [_moved(*pair, momentum) for pair in ((running_mean, mean), (running_var, unbiased))]
    return [out, mean, inverse, *moved]
