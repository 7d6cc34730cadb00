"""Losses, and their gradients where these are operations of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Compute,
    Fallible,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    RankedTensor,
    Result,
    Type,
    attribute,
    operand,
    result,
)

from . import numerics
from .inference import extents_match, fail, make_type, normalize_axis, same_element, tensor_operand


class CrossEntropyWithSoftmaxOp(
    Op, Compute, Fallible, InferTypes, name="pd.cross_entropy_with_softmax", traits=(Pure, HasValueSemantics)
):
    """softmax = exp(x) / sum of exp(x) along `axis`; loss = -sum of label * log(softmax) along `axis`.

    Labels are class numbers with extent 1 on `axis`, or with `soft_label` probabilities of the shape of `input`.
    A class number that is `ignore_index` gives loss 0; another one out of range is an error at evaluation.
    """

    input: Operand = operand(doc="[..., C, ...], C on `axis`, floating-point")
    label: Operand = operand(doc="[..., 1, ...] of integers, or the type of `input` with `soft_label`")
    soft_label: bool = attribute(default=False)
    ignore_index: int = attribute(default=-100)
    axis: int = attribute(default=-1)
    softmax: Result = result(doc="the shape of `input`")
    loss: Result = result(doc="[..., 1, ...]")

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.input, "input", kind="float")
        axis = normalize_axis(self, self.axis, x.rank)
        reduced = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        label = tensor_operand(self, self.label, "label", kind="float" if self.soft_label else "integer")
        if self.soft_label:
            same_element(self, input=x, label=label)
        wanted = x.shape if self.soft_label else reduced
        if label.rank != x.rank or not all(map(extents_match, label.shape, wanted)):
            raise fail(self, f"operand `label` has type {label}; expected shape {list(wanted)}")
        return make_type((x, label), x.shape, x.element), make_type((x, label), reduced, x.element)

    def can_fail(self) -> bool:
        return not self.soft_label

    def compute(self, input: NDArray[Any], label: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        softmax = numerics.softmax(input, axis=self.axis)
        shifted = input - input.max(axis=self.axis, keepdims=True)
        logs = shifted - np.log(np.sum(np.exp(shifted), axis=self.axis, keepdims=True))
        if self.soft_label:
            return softmax, -np.sum(label * logs, axis=self.axis, keepdims=True)
        kept, index = _classes(label, self.ignore_index, input.shape[self.axis])
        loss = -np.take_along_axis(logs, index, axis=self.axis)
        return softmax, np.where(kept, loss, np.zeros_like(loss))


class CrossEntropyWithSoftmaxGradOp(
    Op, Compute, Fallible, InferTypes, name="pd.cross_entropy_with_softmax_grad", traits=(Pure, HasValueSemantics)
):
    """The gradient of `pd.cross_entropy_with_softmax` by its input: (softmax * sum of label - label) * loss_grad."""

    label: Operand = operand(doc="as given to the loss")
    softmax: Operand = operand(doc="as computed by the loss")
    loss_grad: Operand = operand(doc="[..., 1, ...]")
    soft_label: bool = attribute(default=False)
    ignore_index: int = attribute(default=-100)
    axis: int = attribute(default=-1)
    out: Result = result(doc="the shape of `softmax`")

    def infer_types(self) -> tuple[Type, ...]:
        softmax = tensor_operand(self, self.softmax, "softmax", kind="float")
        types: list[RankedTensor] = [softmax, tensor_operand(self, self.loss_grad, "loss_grad", kind="float")]
        same_element(self, softmax=softmax, loss_grad=types[1])
        types.append(tensor_operand(self, self.label, "label"))
        normalize_axis(self, self.axis, softmax.rank)
        return (make_type(types, softmax.shape, softmax.element),)

    def can_fail(self) -> bool:
        return not self.soft_label

    def compute(self, label: NDArray[Any], softmax: NDArray[Any], loss_grad: NDArray[Any]) -> NDArray[Any]:
        if self.soft_label:
            return (softmax * label.sum(axis=self.axis, keepdims=True) - label) * loss_grad
        kept, index = _classes(label, self.ignore_index, softmax.shape[self.axis])
        one_hot = np.zeros_like(softmax)
        np.put_along_axis(one_hot, index, np.ones((), softmax.dtype), axis=self.axis)
        return np.where(kept, (softmax - one_hot) * loss_grad, np.zeros_like(softmax))


def _classes(label: NDArray[Any], ignored: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which labels count, and class numbers with 0 for the others. Raises IndexError for one that is out of range."""
    kept = label != ignored
    index = np.where(kept, label, 0).astype(np.int64)
    outside = (index < 0) | (index >= count)
    if outside.any():
        raise IndexError(f"label {index[outside].flat[0]} is no class; expected 0 to {count - 1}, or {ignored}")
    return kept, index
