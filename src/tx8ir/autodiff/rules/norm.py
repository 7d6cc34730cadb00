"""`Grad` of the normalisations."""

from __future__ import annotations

from tx8ir.core import Grad, IrError, Model, Value
from tx8ir.dialects.pd import (
    AddOp,
    BatchNormOp,
    BatchNormTrainingOp,
    LayerNormOp,
    MeanOp,
    MultiplyOp,
    ReshapeOp,
    RmsNormOp,
    RsqrtOp,
    ScaleOp,
    SquareOp,
    SubtractOp,
    SumOp,
)
from tx8ir.dialects.pd.gradients import static_tensor, times

from .base import Cotangents, only, read


@Grad.implement(BatchNormOp)
class BatchNormGrad(Model[BatchNormOp], Grad):
    """With s = 1 / sqrt(variance + epsilon) and n = (x - mean) s, sums over all axes but that of the channels:

    g scale s; minus the sum of g scale s; minus half the sum of g scale n s^2; the sum of g n; the sum of g.
    """

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        rank, channel = static_tensor(op.x).rank, op.channel_axis
        along = tuple(-1 if axis == channel else 1 for axis in range(rank))
        others = tuple(axis for axis in range(rank) if axis != channel)

        def per_channel(value: Value) -> Value:
            return ReshapeOp(value, shape=along).out

        inverse = RsqrtOp(ScaleOp(read(op.variance), bias=op.epsilon)).out
        normal = times(SubtractOp(read(op.x), per_channel(read(op.mean))).out, per_channel(inverse))
        factor = inverse if op.scale is None else times(inverse, read(op.scale))
        by_x = times(g, per_channel(factor))
        by_mean = ScaleOp(SumOp(by_x, axis=others), scale=-1.0).out
        by_variance = ScaleOp(times(SumOp(times(by_x, normal), axis=others).out, inverse), scale=-0.5).out
        found: list[Value | None] = [by_x, by_mean, by_variance]
        if op.scale is not None:
            found.append(SumOp(times(g, normal), axis=others).out)
        if op.bias is not None:
            found.append(SumOp(g, axis=others).out)
        return found


def _weights(
    op: LayerNormOp | RmsNormOp, g: Value, weight: Value | None
) -> tuple[tuple[int, ...], tuple[int, ...], Value]:
    """The axes normalised over, those before them, and g times the weight."""
    rank, shape = static_tensor(op.x).rank, static_tensor(op.x).shape
    begin = op.begin_norm_axis % rank
    weighted = g if weight is None else MultiplyOp(g, ReshapeOp(read(weight), shape=shape[begin:])).out
    return tuple(range(begin, rank)), tuple(range(begin)), weighted


def _summed(value: Value, axes: tuple[int, ...], weight: Value) -> Value:
    """The sum over axes, in the shape of a weight."""
    return ReshapeOp(SumOp(value, axis=axes) if axes else value, shape=static_tensor(weight).shape).out


@Grad.implement(LayerNormOp)
class LayerNormGrad(Model[LayerNormOp], Grad):
    """With n the normalised x, s = 1 / sqrt(variance + epsilon), h = g scale, and means over the normalised axes:

    s (h - mean h - n mean(h n)); the sum of g n; the sum of g.
    """

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        axes, before, h = _weights(op, g, op.scale)
        x = read(op.x)
        centred = SubtractOp(x, MeanOp(x, axis=axes, keepdim=True)).out
        inverse = RsqrtOp(ScaleOp(MeanOp(SquareOp(centred), axis=axes, keepdim=True), bias=op.epsilon)).out
        normal = times(centred, inverse)
        through = AddOp(
            MeanOp(h, axis=axes, keepdim=True), times(normal, MeanOp(times(h, normal), axis=axes, keepdim=True).out)
        ).out
        found: list[Value | None] = [times(inverse, SubtractOp(h, through).out)]
        if op.scale is not None:
            found.append(_summed(times(g, normal), before, op.scale))
        if op.bias is not None:
            found.append(_summed(g, before, op.bias))
        return found


@Grad.implement(RmsNormOp)
class RmsNormGrad(Model[RmsNormOp], Grad):
    """With r = 1 / sqrt(mean x^2 + epsilon), n = x r, h = g weight: r (h - n mean(h n)); the sum of g n."""

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, g = self.op, only(self.op, cotangents)
        axes, before, h = _weights(op, g, op.norm_weight)
        x = read(op.x)
        inverse = RsqrtOp(ScaleOp(MeanOp(SquareOp(x), axis=axes, keepdim=True), bias=op.epsilon)).out
        normal = times(x, inverse)
        through = times(normal, MeanOp(times(h, normal), axis=axes, keepdim=True).out)
        found: list[Value | None] = [times(inverse, SubtractOp(h, through).out)]
        if op.norm_weight is not None:
            found.append(_summed(times(g, normal), before, op.norm_weight))
        return found


@Grad.implement(BatchNormTrainingOp)
class BatchNormTrainingGrad(Model[BatchNormTrainingOp], Grad):
    """With n the normalised x, s = `saved_variance`, h = g scale, and means over all axes but that of the channels:

    s (h - mean h - n mean(h n)); none for the running statistics; the sum of g n; the sum of g.
    """

    def grad(self, cotangents: Cotangents) -> Cotangents:
        op, (g, *statistics) = self.op, cotangents
        if g is None or any(given is not None for given in statistics):
            raise IrError(f"{op.name} has a gradient by its first result only; its statistics take none", op)
        rank, channel = static_tensor(op.x).rank, op.channel_axis
        along = tuple(-1 if axis == channel else 1 for axis in range(rank))
        others = tuple(axis for axis in range(rank) if axis != channel)

        def per_channel(value: Value) -> Value:
            return ReshapeOp(value, shape=along).out

        def mean(value: Value) -> Value:
            return MeanOp(value, axis=others, keepdim=True).out

        inverse = per_channel(read(op.saved_variance))
        normal = times(SubtractOp(read(op.x), per_channel(read(op.saved_mean))).out, inverse)
        h = g if op.scale is None else times(g, per_channel(read(op.scale)))
        through = AddOp(mean(h), times(normal, mean(times(h, normal)))).out
        found: list[Value | None] = [times(inverse, AddOp(h, ScaleOp(through, scale=-1.0)).out), None, None]
        if op.scale is not None:
            found.append(SumOp(times(g, normal), axis=others).out)
        if op.bias is not None:
            found.append(SumOp(g, axis=others).out)
        return found
