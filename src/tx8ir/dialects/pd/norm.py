"""Normalisations and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    OptionalOperand,
    Pure,
    RankedTensor,
    Result,
    Type,
    Value,
    attribute,
    operand,
    optional_operand,
    result,
)
from tx8ir.dialects.samples import SHAPES, Case, Sampled, case

from . import numerics
from .inference import extents_match, fail, make_type, normalize_axis, one_of, same_element, tensor_operand


def batch_norms(**attributes: Any) -> tuple[Case, ...]:
    """Batch normalisations with and without scale and bias, of images in both formats and of matrices."""
    return tuple(
        case(shape, (c,), (c,), (c,) if scale else None, (c,) if bias else None, data_format=data_format, **attributes)
        for shape, c, data_format in (
            ((1, 2, 3, 3), 2, "NCHW"),
            ((2, 3), 3, "NCHW"),
            ((2, 3, 1, 2), 2, "NHWC"),
            ((2, 1, 3), 1, "NCHW"),
            ((3, 2, 5), 5, "NHWC"),
            ((0, 3), 3, "NCHW"),
            ((DYNAMIC, 2, 3), 2, "NCHW"),
        )
        for scale in (True, False)
        for bias in (True, False)
    )


class BatchNormOp(Op, Compute, InferTypes, Sampled, name="pd.batch_norm", traits=(Pure, HasValueSemantics)):
    """Batch normalisation with given statistics (inference): per channel, the axis `data_format` names.

    out = (x - mean) / sqrt(variance + epsilon) * scale + bias. Needs `is_test` or `use_global_stats`: normalising by
    the batch's own statistics, which also updates `mean` and `variance`, is `pd.batch_norm_training`. Of Paddle's six
    results it has the first.
    """

    x: Operand = operand(doc='[N, C, ...] ("NCHW") or [N, ..., C] ("NHWC"), rank >= 2')
    mean: Operand = operand(doc="[C]")
    variance: Operand = operand(doc="[C], not negative")
    scale: OptionalOperand = optional_operand(doc="[C], 1 if absent")
    bias: OptionalOperand = optional_operand(doc="[C], 0 if absent")
    is_test: bool = attribute(default=True)
    momentum: float = attribute(default=0.9, doc="weight of the old statistics in training; not used here")
    epsilon: float = attribute(default=1e-5)
    data_format: str = attribute(default="NCHW", doc='"NCHW" or "NHWC"')
    use_global_stats: bool = attribute(default=False)
    out: Result = result(doc="the type of `x`")

    accepts = "float"
    cases = (
        *batch_norms(is_test=True, use_global_stats=False),
        *(
            case((2, 3), (3,), (3,), (3,), (3,), is_test=is_test, use_global_stats=True, momentum=momentum)
            for is_test in (True, False)
            for momentum in (0.9, 0.0, 1.0)
        ),
    )

    @property
    def channel_axis(self) -> int:
        """1 for "NCHW", the last axis for "NHWC"."""
        return 1 if self.data_format == "NCHW" else tensor_operand(self, self.x, "x").rank - 1

    def infer_types(self) -> tuple[Type, ...]:
        one_of(self, "data_format", self.data_format, "NCHW", "NHWC")
        x = tensor_operand(self, self.x, "x", kind="float")
        if x.rank < 2:
            raise fail(self, f"operand `x` has type {x}; expected rank 2 or more")
        if not (self.is_test or self.use_global_stats):
            raise fail(
                self, "statistics of the batch are those of pd.batch_norm_training: set `is_test` or `use_global_stats`"
            )
        vectors: dict[str, RankedTensor] = {}
        for name in ("mean", "variance", "scale", "bias"):
            value = getattr(self, name)
            if value is not None:
                vectors[name] = tensor_operand(self, value, name, kind="float", rank=1)
        element = same_element(self, x=x, **vectors)
        channels = x.shape[self.channel_axis]
        for name, vector in vectors.items():
            if not extents_match(vector.shape[0], channels):
                raise fail(
                    self, f"operand `{name}` has type {vector}; expected {channels} elements, one per channel of {x}"
                )
        return (make_type((x, *vectors.values()), x.shape, element),)

    def compute(
        self, x: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any], *affine: NDArray[Any]
    ) -> NDArray[Any]:
        scale, bias = _scale_and_bias(self, affine)
        along = [-1 if axis == self.channel_axis else 1 for axis in range(x.ndim)]
        factor = 1 / np.sqrt(variance + self.epsilon)
        out = (x - mean.reshape(along)) * (factor if scale is None else factor * scale).reshape(along)
        return out if bias is None else out + bias.reshape(along)


_NORMALISED: Sequence[tuple[tuple[int, ...], tuple[int, ...], int]] = (
    ((2, 3), (3,), 1),
    ((2, 3), (3,), -1),
    ((2, 3), (2, 3), 0),
    ((2, 3), (6,), 0),
    ((5,), (5,), 0),
    ((2, 1, 3), (1, 3), 1),
    ((2, 3, 2), (6,), -2),
    ((1, 2, 3, 2), (2,), 3),
    ((2, 1), (1,), 1),
    ((0, 3), (3,), 1),
    ((DYNAMIC, 3), (3,), 1),
)
"""Shapes, shapes of weights, and the first axis that is normalised."""


class LayerNormOp(Op, Compute, InferTypes, Sampled, name="pd.layer_norm", traits=(Pure, HasValueSemantics)):
    """Normalisation over the axes from `begin_norm_axis` to the last.

    out = (x - mean) / sqrt(variance + epsilon) * scale + bias with the mean and the population variance of each
    slice. Of Paddle's three results it has the first.
    """

    x: Operand = operand(doc="[...]")
    scale: OptionalOperand = optional_operand(doc="the normalised shape, or flattened to rank 1; 1 if absent")
    bias: OptionalOperand = optional_operand(doc="the normalised shape, or flattened to rank 1; 0 if absent")
    epsilon: float = attribute(default=1e-5)
    begin_norm_axis: int = attribute(default=1)
    out: Result = result(doc="the type of `x`")

    accepts = "float"
    cases = tuple(
        case(shape, weight if scale else None, weight if bias else None, begin_norm_axis=begin)
        for shape, weight, begin in _NORMALISED
        for scale in (True, False)
        for bias in (True, False)
    )

    def infer_types(self) -> tuple[Type, ...]:
        return (_normalised_type(self, scale=self.scale, bias=self.bias),)

    def compute(self, x: NDArray[Any], *affine: NDArray[Any]) -> NDArray[Any]:
        scale, bias = _scale_and_bias(self, affine)
        begin = self.begin_norm_axis % x.ndim
        out = numerics.layer_norm(x, axes=tuple(range(begin, x.ndim)), epsilon=self.epsilon)
        if scale is not None:
            out = out * scale.reshape(x.shape[begin:])
        return out if bias is None else out + bias.reshape(x.shape[begin:])


class RmsNormOp(Op, Compute, InferTypes, Sampled, name="pd.rms_norm", traits=(Pure, HasValueSemantics)):
    """Division by the root mean square over the axes from `begin_norm_axis` to the last (arXiv:1910.07467).

    out = x / sqrt(mean(x^2) + epsilon) * norm_weight. Of Paddle's operands it has these two, of its results the first.
    """

    x: Operand = operand(doc="[...]")
    norm_weight: OptionalOperand = optional_operand(doc="the normalised shape, or flattened to rank 1; 1 if absent")
    epsilon: float = attribute(default=1e-6)
    begin_norm_axis: int = attribute(default=-1)
    out: Result = result(doc="the type of `x`")

    accepts = "float"
    cases = tuple(
        case(shape, given, begin_norm_axis=begin) for shape, weight, begin in _NORMALISED for given in (weight, None)
    )

    def infer_types(self) -> tuple[Type, ...]:
        return (_normalised_type(self, norm_weight=self.norm_weight),)

    def compute(self, x: NDArray[Any], norm_weight: NDArray[Any] | None = None) -> NDArray[Any]:
        begin = self.begin_norm_axis % x.ndim
        out = numerics.rms_norm(x, axes=tuple(range(begin, x.ndim)), epsilon=self.epsilon)
        return out if norm_weight is None else out * norm_weight.reshape(x.shape[begin:])


def _normalised_type(op: LayerNormOp | RmsNormOp, **weights: Value | None) -> RankedTensor:
    """The type of what normalises `op.x` over its trailing axes; checks those weights that are there."""
    x = tensor_operand(op, op.x, "x", kind="float")
    begin = normalize_axis(op, op.begin_norm_axis, x.rank, attribute="begin_norm_axis")
    normalised = x.shape[begin:]
    flat = DYNAMIC if DYNAMIC in normalised else math.prod(normalised)
    types: dict[str, RankedTensor] = {}
    for name, value in weights.items():
        if value is None:
            continue
        weight = types[name] = tensor_operand(op, value, name, kind="float")
        in_shape = weight.rank == len(normalised) and all(map(extents_match, weight.shape, normalised))
        if not in_shape and not (weight.rank == 1 and extents_match(weight.shape[0], flat)):
            raise fail(op, f"operand `{name}` has type {weight}; expected shape {list(normalised)} or [{flat}]")
    element = same_element(op, x=x, **types)
    return make_type((x, *types.values()), x.shape, element)


def _scale_and_bias(
    op: BatchNormOp | LayerNormOp, given: Sequence[NDArray[Any]]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """The arrays of the optional operands `scale` and `bias`, of which `given` has those that are present."""
    arrays = iter(given)
    return next(arrays) if op.scale is not None else None, next(arrays) if op.bias is not None else None


class SoftmaxOp(Op, Compute, InferTypes, Sampled, name="pd.softmax", traits=(Pure, HasValueSemantics)):
    """out = exp(x) / sum of exp(x) along `axis`, computed from x - max(x)."""

    has_inplace_form = True
    x: Operand = operand(doc="[...]")
    axis: int = attribute(default=-1)
    out: Result = result(doc="the type of `x`")

    accepts = "float"
    cases = tuple(
        case(shape, axis=axis)
        for shape in SHAPES
        for axis in dict.fromkeys((-1, 0, len(shape) - 1, -len(shape)))
        if shape
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="float")
        normalize_axis(self, self.axis, x.rank)
        return (x,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.softmax(x, axis=self.axis)
