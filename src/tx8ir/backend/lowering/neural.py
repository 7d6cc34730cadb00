"""Lowering of matrix products and convolutions to the neural engine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.backend.lowering.composite import lower_as, lowers_as
from tx8ir.backend.lowering.context import Lowering, LoweringError, lowers, ranked_type
from tx8ir.core import ScalarType, Value, i8, i32
from tx8ir.dialects import pd, tx8be
from tx8ir.dialects.pd.conv import ConvolutionOp


@lowers(pd.MatmulOp)
def lower_matmul(ctx: Lowering, op: pd.MatmulOp) -> Sequence[Value]:
    """One `Gemm` of rank 2 or 3; other ranks are reshaped around it, a vector is a matrix of one row or column."""
    x_shape, y_shape = ctx.shape(op.x), ctx.shape(op.y)
    # a vector has no transposed form: [K] is [1, K] on the left, [K, 1] on the right
    x_shape = (1, *x_shape) if len(x_shape) == 1 else x_shape
    y_shape = (*y_shape, 1) if len(y_shape) == 1 else y_shape
    transpose_x = op.transpose_x and len(ctx.shape(op.x)) > 1
    transpose_y = op.transpose_y and len(ctx.shape(op.y)) > 1
    lead = np.broadcast_shapes(x_shape[:-2], y_shape[:-2])
    if not lead:
        x, y = ctx.reshaped(op.x, x_shape), ctx.reshaped(op.y, y_shape)
    else:
        x = _batched(ctx, op.x, x_shape, lead)
        y = _batched(ctx, op.y, y_shape, lead)
    sums = _sum_element(op.out, x_shape[-2 if transpose_x else -1])
    gemm = tx8be.GemmOp(x, y, ctx.none(), ctx.none(), transL=transpose_x, transR=transpose_y, out_element=sums)
    if sums is None:  # a bias or activation would have to come after the low bits
        ctx.fusable[op.out] = gemm
    return [ctx.reshape(_low_bits(gemm.out, op.out), ctx.shape(op.out))]


def _sum_element(result: Value, terms: int) -> ScalarType | None:
    """The element type that the engine writes sums of so many products in; None for that of its operands.

    An engine's result of int8 saturates, a program's has the low bits of the sum: the engine writes it in int32.
    """
    if ranked_type(result).element is not i8:
        return None
    if terms << 14 >= 1 << 31:  # a product of two int8 is at most 2^14
        raise LoweringError(f"sums of {terms} products of i8 may need more than the 32 bits that the engine adds in")
    return i32


def _low_bits(sums: Value, result: Value) -> Value:
    """What the engine wrote, in the element type of the program's result."""
    element = ranked_type(result).element
    return _in_element(sums, None if tx8be.ranked(sums, "sums").element is element else element)


def _in_element(value: Value, element: ScalarType | None) -> Value:
    """A backend value in another element type; None keeps its own."""
    return value if element is None else tx8be.CastOp(value, y=tx8be.ranked(value, "operand").with_element(element)).y


def _batched(ctx: Lowering, value: Value, shape: tuple[int, ...], lead: tuple[int, ...]) -> Value:
    """An operand as [B, rows, columns], or [rows, columns] when the engine broadcasts it over the batch."""
    own, matrix = shape[:-2], shape[-2:]
    if not own:
        return ctx.reshaped(value, matrix)
    batch = math.prod(own)
    if batch == 1 or batch == math.prod(lead):
        return ctx.reshaped(value, (batch, *matrix))
    # some batch axes broadcast and some do not: the engine broadcasts all or none
    if ctx.is_constant(value):
        full = (math.prod(lead), *matrix)
        return ctx.derived(value, ("batch", lead), lambda a: np.broadcast_to(a, (*lead, *matrix)).reshape(full))
    return ctx.reshape(ctx.broadcast(value, (*lead, *matrix)), (math.prod(lead), *matrix))


@lowers(pd.Conv2dOp, pd.DepthwiseConv2dOp)
def lower_conv(ctx: Lowering, op: ConvolutionOp) -> Sequence[Value]:
    """One `Conv`; several for groups of several channels, or when each channel gives several."""
    if op.data_format != "NHWC" or op.filter_format != "HWOI":
        raise LoweringError(f"data is {op.data_format} and filter {op.filter_format}; expected NHWC and HWOI: run nhwc")
    channels = ctx.shape(op.input)[3]
    outputs = ctx.shape(op.out)[3]
    if op.groups not in (1, channels):
        return [_grouped(ctx, op)]
    if op.groups == channels and outputs > channels:
        return [_multiplied(ctx, op, outputs // channels)]
    sums = _conv_sum_element(ctx, op)
    bias = ctx.none() if op.bias is None else _in_element(ctx.vector(op.bias), sums)
    conv = tx8be.ConvOp(
        ctx.get(op.input), ctx.get(op.filter), bias, ctx.none(),
        strides=op.strides, pads=op.pads, dilations=op.dilations, groups=op.groups, out_element=sums,
    )  # fmt: skip
    if sums is None:
        ctx.fusable[op.out] = conv
    return [_low_bits(conv.out, op.out)]


def _conv_sum_element(ctx: Lowering, op: ConvolutionOp) -> ScalarType | None:
    kh, kw, _, inputs = ctx.shape(op.filter)
    return _sum_element(op.out, kh * kw * inputs + (op.bias is not None))


def _grouped(ctx: Lowering, op: ConvolutionOp) -> Value:
    n, h, w, _ = ctx.shape(op.input)
    kh, kw, outputs, inputs = ctx.shape(op.filter)
    step = outputs // op.groups
    sums = _conv_sum_element(ctx, op)
    parts: list[Value] = []
    for g in range(op.groups):
        x = ctx.sliced(op.input, (0, 0, 0, g * inputs), (n, h, w, (g + 1) * inputs))
        weight = ctx.sliced(op.filter, (0, 0, g * step, 0), (kh, kw, (g + 1) * step, inputs))
        bias = ctx.none()
        if op.bias is not None:
            bias = _in_element(ctx.sliced(op.bias, (g * step,), ((g + 1) * step,)), sums)
        conv = tx8be.ConvOp(
            x, weight, bias, ctx.none(),
            strides=op.strides, pads=op.pads, dilations=op.dilations, out_element=sums,
        )  # fmt: skip
        parts.append(_low_bits(conv.out, op.out))
    return tx8be.ConcatenateOp(parts, axis=3).y


def _multiplied(ctx: Lowering, op: ConvolutionOp, times: int) -> Value:
    """A depthwise convolution whose channel c gives the channels c*times to (c+1)*times - 1.

    One `Conv` for the first, second, … output of every channel; the results are interleaved.
    """
    if not ctx.is_constant(op.filter) or (op.bias is not None and not ctx.is_constant(op.bias)):
        raise LoweringError(f"each channel gives {times}, and filter and bias are not both immutable parameters")
    n, oh, ow, outputs = ctx.shape(op.out)
    channels = outputs // times
    sums = _conv_sum_element(ctx, op)
    parts: list[Value] = []
    for i in range(times):
        every = slice(i, None, times)
        weight = ctx.derived(op.filter, ("every", i, times), lambda a, every=every: a[:, :, every, :])
        bias = (
            ctx.none()
            if op.bias is None
            else _in_element(ctx.derived(op.bias, ("every", i, times), lambda a, every=every: a[every]), sums)
        )
        conv = tx8be.ConvOp(
            ctx.get(op.input), weight, bias, ctx.none(),
            strides=op.strides, pads=op.pads, dilations=op.dilations, groups=channels,
            out_element=sums,
        )  # fmt: skip
        parts.append(ctx.reshape(_low_bits(conv.out, op.out), (n, oh, ow, channels, 1)))
    return ctx.reshape(tx8be.ConcatenateOp(parts, axis=4).y, (n, oh, ow, outputs))


@lowers(pd.FusedConv2dAddActOp)
def lower_fused_conv(ctx: Lowering, op: pd.FusedConv2dAddActOp) -> Sequence[Value]:
    """A convolution whose activation is that of the engine, or a `Relu` of its own where it takes several."""
    (out,) = lower_conv(ctx, op)
    engine = out.defining_op
    if isinstance(engine, tx8be.ConvOp):
        engine.set_attribute("activation", tx8be.Activation.RELU)
        del ctx.fusable[op.out]  # nothing more can be fused after the activation
        return [out]
    return [tx8be.ReluOp(out).results[0]]


@lowers(pd.BatchNormOp)
def lower_batch_norm(ctx: Lowering, op: pd.BatchNormOp) -> Sequence[Value]:
    """`y = x * a + b` with a = scale / sqrt(variance + epsilon) and b = bias - mean * a, computed here in fp64; of
    statistics that are computed themselves, (x - mean) * a + bias.
    """
    if op.channel_axis != len(ctx.shape(op.x)) - 1:
        raise LoweringError(f"data is {op.data_format}; expected NHWC: run nhwc")
    statistics = [v for v in (op.mean, op.variance, op.scale, op.bias) if v is not None]
    if not all(ctx.is_constant(v) for v in statistics):
        return lower_as(ctx, lambda: _normalized(op))
    mean, variance = ctx.array(op.mean).astype(np.float64), ctx.array(op.variance).astype(np.float64)
    factor = 1 / np.sqrt(variance + op.epsilon)
    factor = factor if op.scale is None else factor * ctx.array(op.scale).astype(np.float64)
    offset = -mean * factor
    offset = offset if op.bias is None else offset + ctx.array(op.bias).astype(np.float64)
    element = ranked_type(op.x).element
    scaled = tx8be.MulOp(ctx.get(op.x), ctx.new_constant("batch_norm.scale", factor, element))
    return [tx8be.AddOp(scaled.out, ctx.new_constant("batch_norm.offset", offset, element)).out]


@lowers_as(pd.BatchNormTrainingOp)
def lower_batch_norm_training(op: pd.BatchNormTrainingOp) -> Sequence[Value]:
    """The mean and the population variance of the batch first, then (x - mean) / sqrt(variance + epsilon)."""
    kind = ranked_type(op.x)
    if op.channel_axis != kind.rank - 1:
        raise LoweringError(f"data is {op.data_format}; expected NHWC: run nhwc")
    others = tuple(range(kind.rank - 1))
    mean = pd.mean(op.x, axis=others).out
    centred = pd.subtract(op.x, mean).out
    variance = pd.mean(pd.square(centred), axis=others).out
    inverse = pd.rsqrt(pd.scale(variance, bias=op.epsilon)).out
    out = pd.multiply(centred, inverse if op.scale is None else pd.multiply(inverse, op.scale)).out
    if op.bias is not None:
        out = pd.add(out, op.bias).out

    def running(old: Value, new: Value) -> Value:
        return pd.add(pd.scale(old, scale=op.momentum), pd.scale(new, scale=1 - op.momentum)).out

    return out, running(op.mean, mean), running(op.variance, variance), mean, inverse


def _normalized(op: pd.BatchNormOp) -> Value:
    factor = pd.rsqrt(pd.scale(op.variance, bias=op.epsilon)).out
    if op.scale is not None:
        factor = pd.multiply(factor, op.scale).out
    out = pd.multiply(pd.subtract(op.x, op.mean), factor).out
    return out if op.bias is None else pd.add(out, op.bias).out
