"""Normalisations, and attention as one operator."""

from __future__ import annotations

from tx8ir.core import Value, f32
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter("batch_norm", "batch_norm_", "sync_batch_norm_")
def batch_norm(node: PaddleNode) -> Converted:
    """Normalisation per channel: by given statistics, or by those of the batch, which go into the running ones."""
    x, mean, variance = (node.operand(index) for index in range(3))
    scale, bias = node.optional(3), node.optional(4)
    epsilon, layout = node.float("epsilon", 1e-5), node.word("data_format", "NCHW")
    layout = {"NCL": "NCHW", "NC": "NCHW", "NLC": "NHWC"}.get(layout, layout)
    if node.flag("is_test") or node.flag("use_global_stats"):
        out = pd.batch_norm(x, mean, variance, scale=scale, bias=bias, epsilon=epsilon, data_format=layout)
        return [out, mean, variance, None, None, None]
    if scale is None or bias is None:
        raise node.error("trains without a scale and a bias, which is not supported")
    momentum = node.float("momentum", 0.9)
    built = pd.batch_norm_training(
        x, mean, variance, scale, bias, momentum=momentum, epsilon=epsilon, data_format=layout
    )
    return [*built.results, None]


@converter("layer_norm")
def layer_norm(node: PaddleNode) -> Converted:
    """Normalisation over the last axes; mean and variance where the program uses them."""
    x, axis = node.operand(0), node.int("begin_norm_axis", 1)
    epsilon = node.float("epsilon", 1e-5)
    out = pd.layer_norm(x, scale=node.optional(1), bias=node.optional(2), epsilon=epsilon, begin_norm_axis=axis)
    if not node.graph.is_used(node.proto, 1, 2):
        return [out, None, None]
    axes = tuple(range(axis, tensor_type(x).rank))
    wide = node.cast(x, f32)
    mean = pd.mean(wide, axis=axes, keepdim=True).out
    variance = pd.mean(pd.square(pd.subtract(wide, mean)), axis=axes, keepdim=True)
    return [out, pd.squeeze(mean, axis=axes), pd.squeeze(variance, axis=axes)]


def _affine(node: PaddleNode, out: Value, rank: int) -> Value:
    """The scale and the bias of each channel, on axis 1."""
    for index, build in ((1, pd.multiply), (2, pd.add)):
        given = node.optional(index)
        if given is not None:
            out = build(out, pd.reshape(given, shape=(-1, *[1] * (rank - 2)))).out
    return out


@converter("group_norm", "instance_norm")
def group_norm(node: PaddleNode) -> Converted:
    """Normalisation over the channels of each group, or each channel, and all places."""
    x = node.operand(0)
    n, channels, *space = node.static_shape(x, "the image")
    groups = channels if node.proto.short == "instance_norm" else node.int("groups", 1)
    if not node.word("data_format", "NCHW").startswith("NC"):
        raise node.error("has its channels last, which is not supported")
    if groups < 1 or channels % groups:
        raise node.error(f"{channels} channels do not divide into {groups} groups")
    grouped = pd.reshape(x, shape=(n, groups, channels // groups, *space))
    normal = pd.layer_norm(grouped, epsilon=node.float("epsilon", 1e-5), begin_norm_axis=2)
    out = pd.reshape(normal, shape=(n, channels, *space)).out
    return [_affine(node, out, 2 + len(space)), None, None]


@converter("rms_norm")
def rms_norm(node: PaddleNode) -> Converted:
    """X / sqrt(mean(x²) + epsilon) over the last axes, times a weight."""
    x, weight = node.operand(0), node.optional(3 if node.count > 2 else 1)
    if any(node.optional(index) is not None for index in (1, 2, 4) if node.count > 2):
        raise node.error("adds a bias or a residual, which is not supported")
    axis, epsilon = node.int("begin_norm_axis", -1), node.float("epsilon", 1e-6)
    return [pd.rms_norm(x, norm_weight=weight, epsilon=epsilon, begin_norm_axis=axis), None, None]


@converter("flash_attn")
def flash_attn(node: PaddleNode) -> Converted:
    """Attention of [N, L, heads, E]."""
    if node.float("dropout", 0.0) and not node.flag("is_test"):
        raise node.error("drops elements at random; only inference is supported")
    query, key, value = (pd.transpose(node.operand(index), perm=(0, 2, 1, 3)).out for index in range(3))
    out = pd.scaled_dot_product_attention(query, key, value, attn_mask=node.optional(4), is_causal=node.flag("causal"))
    return [pd.transpose(out, perm=(0, 2, 1, 3)), None, None, None]
