"""Losses. Their `reduction` is 0 for each, 1 for the mean and 2 for the sum."""

from __future__ import annotations

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

MEAN, SUM = 1, 2


def reduced(each: Value, reduction: int) -> Value:
    """What a loss gives of the losses of its elements."""
    return each if reduction == 0 else pd.mean(each).out if reduction == MEAN else pd.sum(each).out


@converter("mse_loss(Tensor self, Tensor target, int reduction=1)")
def mse_loss(node: TorchNode, x: Value, target: Value, reduction: int) -> Converted:
    """The square of the difference."""
    return reduced(pd.square(pd.subtract(*node.pair(x, target))).out, reduction)


@converter("l1_loss(Tensor self, Tensor target, int reduction=1)")
def l1_loss(node: TorchNode, x: Value, target: Value, reduction: int) -> Converted:
    """The size of the difference."""
    return reduced(pd.abs(pd.subtract(*node.pair(x, target))).out, reduction)


@converter(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=1)"
)
def binary_cross_entropy_with_logits(
    node: TorchNode, x: Value, target: Value, weight: Value | None, pos_weight: Value | None, reduction: int
) -> Converted:
    """max(x, 0) - x target + log(1 + exp(-|x|)), which no large x makes overflow."""
    if weight is not None or pos_weight is not None:
        raise node.error("weights of elements or of positive answers are not supported")
    x, target = node.pair(x, target)
    apart = pd.log(pd.scale(pd.exp(pd.scale(pd.abs(x), scale=-1.0)), bias=1.0)).out
    return reduced(pd.add(pd.subtract(pd.relu(x), pd.multiply(x, target)), apart).out, reduction)


@converter(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
    "float label_smoothing=0.0)"
)
def cross_entropy_loss(
    node: TorchNode, x: Value, target: Value, weight: Value | None, reduction: int, ignore_index: int,
    label_smoothing: float,
) -> Converted:  # fmt: skip
    """Minus the logarithm of the softmax at the class; of probabilities the sum, each times its probability.

    The mean is one over the targets that are not `ignore_index`, or over all places where targets are probabilities.
    """
    if weight is not None:
        raise node.error("weights of classes are not supported")
    if label_smoothing:
        raise node.error(f"label_smoothing = {label_smoothing} is not supported; expected 0")
    x = node.floating(x)
    kind = tensor_type(x)
    axis = 0 if kind.rank == 1 else 1
    if tensor_type(target).element.format.is_float:
        found = pd.cross_entropy_with_softmax(x, node.cast(target, kind.element), axis=axis, soft_label=True)
        each = pd.squeeze(found.loss, axis=(axis,)).out
        return reduced(each, reduction)
    label = pd.unsqueeze(target, axis=(axis,)).out
    found = pd.cross_entropy_with_softmax(x, label, axis=axis, ignore_index=ignore_index)
    each = pd.squeeze(found.loss, axis=(axis,)).out
    if reduction != MEAN:
        return reduced(each, reduction)
    wanted = pd.not_equal(target, node.scalar(ignore_index, tensor_type(target).element)).out
    return pd.divide(pd.sum(each), pd.sum(node.cast(wanted, kind.element)))
