"""Losses and optimisers."""

from __future__ import annotations

from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter


@converter("cross_entropy_with_softmax")
def cross_entropy_with_softmax(node: PaddleNode) -> Converted:
    """Softmax, and what it says of the labels."""
    if not node.flag("use_softmax", True):
        raise node.error("takes what is a softmax already, which is not supported")
    return pd.cross_entropy_with_softmax(
        node.operand(0),
        node.operand(1),
        soft_label=node.flag("soft_label"),
        ignore_index=node.int("ignore_index", -100),
        axis=node.int("axis", -1),
    )


@converter("sgd_")
def sgd(node: PaddleNode) -> Converted:
    """One step of gradient descent: the parameter less the gradient times the rate."""
    rate = pd.reshape(node.operand(1), shape=())
    return [pd.subtract(node.operand(0), pd.multiply(node.operand(2), rate)), None]
