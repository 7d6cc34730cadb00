"""Lowering of losses: of class numbers as tables of which class each one is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tx8ir.backend.lowering.composite import lowers_as
from tx8ir.backend.lowering.context import ranked_type
from tx8ir.core import DenseAttr, Value, VTensorType
from tx8ir.dialects import builtin, pd


def _is_class(op: pd.CrossEntropyWithSoftmaxOp | pd.CrossEntropyWithSoftmaxGradOp, scores: Value) -> Value:
    """Where the class of a score is the label, in the shape of `scores`; nowhere for a label that is ignored."""
    kind, element = ranked_type(scores), ranked_type(op.label).element
    axis = op.axis % kind.rank
    count = kind.shape[axis]
    classes = np.arange(count, dtype=element.dtype)
    if 0 <= op.ignore_index < count:
        classes[op.ignore_index] = -1  # the number of no class
    along = VTensorType([count if i == axis else 1 for i in range(kind.rank)], element)
    numbers = builtin.ConstantOp(value=DenseAttr(classes.reshape(along.shape), along), out=along).out
    return pd.equal(op.label, numbers).out


@lowers_as(pd.CrossEntropyWithSoftmaxOp)
def lower_cross_entropy(op: pd.CrossEntropyWithSoftmaxOp) -> Sequence[Value]:
    """Softmax, and minus the sum of its logarithms (from scores less the largest) where the class is the label."""
    axes = (op.axis,)
    shifted = pd.subtract(op.input, pd.max(op.input, axis=axes, keepdim=True)).out
    logs = pd.subtract(shifted, pd.log(pd.sum(pd.exp(shifted), axis=axes, keepdim=True))).out
    if op.soft_label:
        counted = pd.multiply(op.label, logs).out
    else:
        nothing = pd.full(shape=(), value=0.0, dtype=ranked_type(op.input).element)
        counted = pd.where(_is_class(op, op.input), logs, nothing).out
    loss = pd.scale(pd.sum(counted, axis=axes, keepdim=True), scale=-1.0, bias=-0.0).out
    return pd.softmax(op.input, axis=op.axis).out, loss


@lowers_as(pd.CrossEntropyWithSoftmaxGradOp)
def lower_cross_entropy_grad(op: pd.CrossEntropyWithSoftmaxGradOp) -> Value:
    """(softmax · sum of label - label) · loss_grad; the sum is 1 for a class number, and 0 for one that is ignored."""
    axes, element = (op.axis,), ranked_type(op.softmax).element
    label = op.label if op.soft_label else pd.cast(_is_class(op, op.softmax), dtype=element).out
    weighted = pd.multiply(op.softmax, pd.sum(label, axis=axes, keepdim=True))
    return pd.multiply(pd.subtract(weighted, label), op.loss_grad).out
