"""Batch normalisation by the statistics of the batch, as training does it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
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
    attribute,
    operand,
    optional_operand,
    result,
)
from tx8ir.dialects.samples import Sampled

from . import numerics
from .inference import extents_match, fail, make_type, one_of, same_element, tensor_operand
from .norm import batch_norms


class BatchNormTrainingOp(
    Op, Compute, InferTypes, Sampled, name="pd.batch_norm_training", traits=(Pure, HasValueSemantics)
):
    """Batch normalisation by the mean and the population variance of the batch, per channel.

    out = (x - batch mean) / sqrt(batch variance + epsilon) * scale + bias, mean_out = momentum mean + (1 - momentum)
    batch mean, and variance_out alike. This is Paddle's `batch_norm` with `is_test` false, as values: its form in
    place, `batch_norm_`, is this operation with `pd.assign_` of `mean_out` and `variance_out` to the tensors that
    `mean` and `variance` are read from. Of Paddle's six results it has the first five.
    """

    x: Operand = operand(doc='[N, C, ...] ("NCHW") or [N, ..., C] ("NHWC"), rank >= 2')
    mean: Operand = operand(doc="[C]")
    variance: Operand = operand(doc="[C]")
    scale: OptionalOperand = optional_operand(doc="[C], 1 if absent")
    bias: OptionalOperand = optional_operand(doc="[C], 0 if absent")
    momentum: float = attribute(default=0.9, doc="weight of the old statistics")
    epsilon: float = attribute(default=1e-5)
    data_format: str = attribute(default="NCHW", doc='"NCHW" or "NHWC"')
    out: Result = result(doc="the type of `x`")
    mean_out: Result = result(doc="[C], the new running mean")
    variance_out: Result = result(doc="[C], the new running variance")
    saved_mean: Result = result(doc="[C], the mean of the batch")
    saved_variance: Result = result(doc="[C], 1 / sqrt(variance of the batch + epsilon), as Paddle's kernels keep it")

    accepts = "float"
    cases = batch_norms()

    @property
    def channel_axis(self) -> int:
        """1 for "NCHW", the last axis for "NHWC"."""
        return 1 if self.data_format == "NCHW" else tensor_operand(self, self.x, "x").rank - 1

    def infer_types(self) -> tuple[Type, ...]:
        one_of(self, "data_format", self.data_format, "NCHW", "NHWC")
        x = tensor_operand(self, self.x, "x", kind="float")
        if x.rank < 2:
            raise fail(self, f"operand `x` has type {x}; expected rank 2 or more")
        vectors: dict[str, RankedTensor] = {}
        given = {"mean": self.mean, "variance": self.variance, "scale": self.scale, "bias": self.bias}
        for name, value in given.items():
            if value is not None:
                vectors[name] = tensor_operand(self, value, name, kind="float", rank=1)
        element = same_element(self, x=x, **vectors)
        channels = x.shape[self.channel_axis]
        for name, vector in vectors.items():
            if not extents_match(vector.shape[0], channels):
                raise fail(
                    self, f"operand `{name}` has type {vector}; expected {channels} elements, one per channel of {x}"
                )
        types = (x, *vectors.values())
        return (make_type(types, x.shape, element), *[make_type(types, (channels,), element)] * 4)

    def compute(
        self, x: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any], *affine: NDArray[Any]
    ) -> tuple[NDArray[Any], ...]:
        given = list(affine)
        scale = given.pop(0) if self.scale is not None else None
        bias = given.pop(0) if self.bias is not None else None
        others = tuple(axis for axis in range(x.ndim) if axis != self.channel_axis)
        along = [-1 if axis == self.channel_axis else 1 for axis in range(x.ndim)]
        batch_mean = numerics.mean(x, axes=others, keepdims=False)
        centred = x - batch_mean.reshape(along)
        batch_variance = numerics.mean(np.square(centred), axes=others, keepdims=False)
        inverse = 1 / np.sqrt(batch_variance + np.asarray(self.epsilon, x.dtype))
        out = centred * (inverse if scale is None else inverse * scale).reshape(along)
        if bias is not None:
            out = out + bias.reshape(along)
        old, new = np.asarray([self.momentum, 1 - self.momentum], x.dtype)
        return out, mean * old + batch_mean * new, variance * old + batch_variance * new, batch_mean, inverse
