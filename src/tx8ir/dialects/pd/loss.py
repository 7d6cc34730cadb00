"""Losses, and their gradients where these are operations of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    ConditionallySpeculatable,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    RankedTensor,
    Result,
    Type,
    Value,
    attribute,
    f32,
    i32,
    i64,
    operand,
    result,
)
from tx8ir.dialects.domains import ANYTHING, Domain, OperandDomains
from tx8ir.dialects.samples import Sampled, case, of
from tx8ir.target.arithmetic import exp, log

from . import numerics
from .inference import extents_match, fail, make_type, normalize_axis, same_element, tensor_operand

_LABELLED: Sequence[tuple[tuple[int, ...], int]] = (
    ((2, 3), -1),
    ((5,), 0),
    ((3, 2), 0),
    ((2, 3, 1, 2), 1),
    ((2, 1, 3), -2),
    ((2, 1), 1),
    ((0, 3), 1),
    ((DYNAMIC, 3), -1),
)
"""Shapes, and the axis of the classes."""


def _reduced(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(1 if i == axis % len(shape) else extent for i, extent in enumerate(shape))


class _CrossEntropyOp(
    Op, Compute, ConditionallySpeculatable, OperandDomains, InferTypes, Sampled, traits=(Pure, HasValueSemantics)
):
    """What the loss and its gradient have in common: labels are class numbers, or probabilities with `soft_label`."""

    soft_label: bool = attribute(default=False)
    ignore_index: int = attribute(default=-100)
    axis: int = attribute(default=-1)

    accepts = "float"

    def can_fail(self) -> bool:
        return not self.soft_label

    def _checked(self, scores: RankedTensor, name: str, label: Value) -> tuple[RankedTensor, tuple[int, ...]]:
        """The type of the label, and the shape of `scores` with one class; `name` is the operand of that type."""
        axis = normalize_axis(self, self.axis, scores.rank)
        reduced = (*scores.shape[:axis], 1, *scores.shape[axis + 1 :])
        type_ = tensor_operand(self, label, "label", kind="float" if self.soft_label else "integer")
        if self.soft_label:
            same_element(self, **{name: scores, "label": type_})
        self._check_shape(scores, "label", type_, scores.shape if self.soft_label else reduced)
        return type_, reduced

    def _check_shape(self, scores: RankedTensor, name: str, type_: RankedTensor, wanted: Sequence[int]) -> None:
        if type_.rank != scores.rank or not all(map(extents_match, type_.shape, wanted)):
            raise fail(self, f"operand `{name}` has type {type_}; expected shape {list(wanted)}")

    def _label_domain(self, scores: RankedTensor) -> Domain:
        """The labels that are not an error, for scores of that type."""
        if self.soft_label:
            return ANYTHING
        last = max(scores.shape[self.axis], 1) - 1
        return Domain(0, last, also=frozenset({self.ignore_index}))


class CrossEntropyWithSoftmaxOp(_CrossEntropyOp, name="pd.cross_entropy_with_softmax"):
    """softmax = exp(x) / sum of exp(x) along `axis`; loss = -sum of label * log(softmax) along `axis`.

    Labels are class numbers with extent 1 on `axis`, or with `soft_label` probabilities of the shape of `input`.
    A class number that is `ignore_index` gives loss 0; another one out of range is an error at evaluation.
    """

    input: Operand = operand(doc="[..., C, ...], C on `axis`, floating-point")
    label: Operand = operand(doc="[..., 1, ...] of integers, or the type of `input` with `soft_label`")
    softmax: Result = result(doc="the shape of `input`")
    loss: Result = result(doc="[..., 1, ...]")

    cases = (
        *(case(shape, of(_reduced(shape, axis), i64), axis=axis, soft_label=False) for shape, axis in _LABELLED),
        *(case(shape, shape, axis=axis, soft_label=True) for shape, axis in _LABELLED),
        *(case((2, 3), of((2, 1), i32), ignore_index=ignored) for ignored in (0, 2, 1, -1)),
        case(of((2, 3), f32), (2, 1), soft_label=False).over("integer"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.input, "input", kind="float")
        label, reduced = self._checked(x, "input", self.label)
        return make_type((x, label), x.shape, x.element), make_type((x, label), reduced, x.element)

    def operand_domains(self) -> tuple[Domain, ...]:
        return (ANYTHING, self._label_domain(tensor_operand(self, self.input, "input")))

    def compute(self, input: NDArray[Any], label: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        softmax = numerics.softmax(input, axis=self.axis)
        shifted = input - input.max(axis=self.axis, keepdims=True, initial=-np.inf)
        logs = shifted - log(numerics.total(exp(shifted), axes=(self.axis,), keepdims=True))
        if self.soft_label:
            return softmax, -numerics.total(label * logs, axes=(self.axis,), keepdims=True)
        kept, index = _classes(label, self.ignore_index, input.shape[self.axis])
        loss = -np.take_along_axis(logs, index, axis=self.axis)
        return softmax, np.where(kept, loss, np.zeros_like(loss))


class CrossEntropyWithSoftmaxGradOp(_CrossEntropyOp, name="pd.cross_entropy_with_softmax_grad"):
    """The gradient of `pd.cross_entropy_with_softmax` by its input: (softmax * sum of label - label) * loss_grad."""

    label: Operand = operand(doc="as given to the loss")
    softmax: Operand = operand(doc="as computed by the loss")
    loss_grad: Operand = operand(doc="[..., 1, ...]")
    out: Result = result(doc="the shape of `softmax`")

    cases = (
        *(
            case(of(_reduced(shape, axis), i64), shape, _reduced(shape, axis), axis=axis, soft_label=False)
            for shape, axis in _LABELLED
        ),
        *(case(shape, shape, _reduced(shape, axis), axis=axis, soft_label=True) for shape, axis in _LABELLED),
        *(case(of((2, 1), i32), (2, 3), (2, 1), ignore_index=ignored) for ignored in (0, 2, 1, -1)),
        case((2, 1), of((2, 3), f32), of((2, 1), f32), soft_label=False).over("integer"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        softmax = tensor_operand(self, self.softmax, "softmax", kind="float")
        loss_grad = tensor_operand(self, self.loss_grad, "loss_grad", kind="float")
        same_element(self, softmax=softmax, loss_grad=loss_grad)
        label, reduced = self._checked(softmax, "softmax", self.label)
        self._check_shape(softmax, "loss_grad", loss_grad, reduced)
        return (make_type((softmax, loss_grad, label), softmax.shape, softmax.element),)

    def operand_domains(self) -> tuple[Domain, ...]:
        return (self._label_domain(tensor_operand(self, self.softmax, "softmax")), ANYTHING, ANYTHING)

    def compute(self, label: NDArray[Any], softmax: NDArray[Any], loss_grad: NDArray[Any]) -> NDArray[Any]:
        if self.soft_label:
            return (softmax * numerics.total(label, axes=(self.axis,), keepdims=True) - label) * loss_grad
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
        raise IndexError(f"label {index[outside].flat[0]} is not a class; expected 0 to {count - 1}, or {ignored}")
    return kept, index
