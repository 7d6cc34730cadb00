"""Gradients: those of the operation that the operator is the gradient of, as `pd` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.autodiff import rules as _rules  # registers the gradients of operations
from tx8ir.core import Grad, Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter

from .table import TABLE

del _rules


def _gradients(node: PaddleNode, op: Operation, cotangents: Sequence[Value | None]) -> Sequence[Value | None]:
    """The gradients of the operands of an operation."""
    model = op.interface(Grad)
    if model is None:
        raise node.error(f"{op.name} has no gradient")
    return model.grad(cotangents)


@converter(*(f"{name}_grad" for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "matmul")))
def binary_grad(node: PaddleNode) -> Converted:
    """Those of the operator's two operands."""
    same = TABLE[node.proto.short.removesuffix("_grad")]
    given: list[Any] = [node.operand(0), node.operand(1)]
    flags: dict[str, Any] = {parameter.name: node.flag(parameter.name) for parameter in same.attributes}
    return _gradients(node, same.op_class(*given, **flags), [node.operand(2)])


@converter("relu_grad")
def relu_grad(node: PaddleNode) -> Converted:
    """That of the operand, from the result, which is positive where it is."""
    return _gradients(node, pd.relu(node.operand(0)), [node.operand(1)])


@converter("mean_grad", "sum_grad")
def reduction_grad(node: PaddleNode) -> Converted:
    """That of the operand of a sum or a mean."""
    build = pd.mean if node.proto.short == "mean_grad" else pd.sum
    axes = () if node.flag("reduce_all") else node.known_ints(2, "axis")
    return _gradients(node, build(node.operand(0), axis=axes, keepdim=node.flag("keepdim")), [node.operand(1)])


@converter("cross_entropy_with_softmax_grad")
def cross_entropy_grad(node: PaddleNode) -> Converted:
    """That of the input, from its softmax."""
    return pd.cross_entropy_with_softmax_grad(
        node.operand(0),
        node.operand(1),
        node.operand(2),
        soft_label=node.flag("soft_label"),
        ignore_index=node.int("ignore_index", -100),
        axis=node.int("axis", -1),
    )


@converter("batch_norm_grad")
def batch_norm_grad(node: PaddleNode) -> Converted:
    """Those of input, scale and bias, by statistics of the batch."""
    if node.flag("is_test") or node.flag("use_global_stats"):
        raise node.error("differentiates inference, which is not supported")
    x, scale, bias, saved = (node.operand(index) for index in (0, 1, 2, 5))
    built = pd.batch_norm_training(
        x, saved, saved, scale, bias, epsilon=node.float("epsilon", 1e-5), data_format=node.word("data_format", "NCHW")
    )
    found = _gradients(node, built, [node.operand(8), None, None, None, None])
    return [found[0], found[3], found[4]]
