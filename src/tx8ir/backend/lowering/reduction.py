"""Lowering of reductions, pooling, softmax and normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.backend.lowering.composite import lowers_as
from tx8ir.backend.lowering.context import Lowering, LoweringError, lowers, ranked_type
from tx8ir.core import Operation, ScalarType, Value, bf16, f16, f32
from tx8ir.dialects import pd, tx8be
from tx8ir.dialects.tx8be import ReduceFunction

FUNCTIONS: dict[type[Operation], ReduceFunction] = {
    pd.SumOp: ReduceFunction.SUM,
    pd.MeanOp: ReduceFunction.AVG,
    pd.MaxOp: ReduceFunction.MAX,
    pd.MinOp: ReduceFunction.MIN,
}

MOST_FACTORS = 64
"""Of a product over axes: each is an operation."""


@lowers(*FUNCTIONS)
def lower_reduction(ctx: Lowering, op: pd.SumOp) -> Sequence[Value]:
    """One `Reduce` over any set of axes.

    Directly when the vector unit reduces exactly these; otherwise over the rows or columns of a matrix, after a
    transpose when the reduced axes are neither first nor last.
    """
    function, axes, shape = FUNCTIONS[type(op)], op.axes, ctx.shape(op.x)
    target = ranked_type(op.out).element
    if target is not ranked_type(op.x).element:
        raise LoweringError(f"the sum is asked for in {target}; cast the operand first")
    rank = len(shape)
    if not rank:  # of a scalar there is nothing to combine
        return [ctx.get(op.x)]
    kept = tuple(axis for axis in range(rank) if axis not in axes)
    reduced = math.prod(shape[a] for a in axes)
    if axes in tx8be.reduce_axes(rank):
        out = _reduce(ctx.get(op.x), function, axes)
    elif axes == tuple(range(rank - len(axes), rank)):
        out = _reduce(ctx.reshaped(op.x, (math.prod(shape[a] for a in kept), reduced)), function, (1,))
    elif axes == tuple(range(len(axes))):
        out = _reduce(ctx.reshaped(op.x, (reduced, math.prod(shape[a] for a in kept))), function, (0,))
    else:
        moved = ctx.transposed(op.x, kept + axes)
        out = _reduce(ctx.reshape(moved, (math.prod(shape[a] for a in kept), reduced)), function, (1,))
    return [ctx.reshape(out, ctx.shape(op.out))]


def _reduce(x: Value, function: ReduceFunction, axes: tuple[int, ...]) -> Value:
    return tx8be.ReduceOp(x, function=function, axes=axes).y


@lowers_as(pd.ProdOp)
def lower_product(op: pd.ProdOp) -> Value:
    """One factor after the other, the interpreter's order: in another one, other products would overflow on the way."""
    kind = ranked_type(op.x)
    if kind.element not in (f32, f16, bf16):
        raise LoweringError(f"products of {kind.element} may need more bits than fp32 has")
    kept = [axis for axis in range(kind.rank) if axis not in op.axes]
    rows, count = (math.prod(kind.shape[axis] for axis in axes) for axes in (kept, op.axes))
    moved = pd.transpose(op.x, perm=(*op.axes, *kept)).out if kind.rank else op.x
    x = pd.reshape(moved, shape=(count, rows)).out
    if count > MOST_FACTORS:
        raise LoweringError(f"a product of {count} factors; expected up to {MOST_FACTORS}")
    product = _row(x, 0)
    for index in range(1, count):
        product = pd.multiply(product, _row(x, index)).out
    return pd.reshape(product, shape=ranked_type(op.out).shape).out


def _row(x: Value, index: int) -> Value:
    return pd.slice(x, axes=(0,), starts=(index,), ends=(index + 1,)).out


@lowers(pd.Pool2dOp)
def lower_pool(ctx: Lowering, op: pd.Pool2dOp) -> Sequence[Value]:
    """One `Pool`; over the whole image a `Reduce`. An average that does not count padding is corrected by a factor."""
    if op.data_format != "NHWC":
        raise LoweringError(f"data is {op.data_format}; expected NHWC: run nhwc")
    _, h, w, _ = ctx.shape(op.x)
    n, oh, ow, c = ctx.shape(op.out)
    function = ReduceFunction.MAX if op.pooling_type == "max" else ReduceFunction.AVG
    x = ctx.get(op.x)
    if op.global_pooling or (op.adaptive and (oh, ow) == (1, 1)):
        return [_reduce(x, function, (1, 2))]
    if op.adaptive:
        if h % oh or w % ow:
            raise LoweringError(f"adaptive pooling of {h} x {w} to {oh} x {ow} has windows of different sizes")
        kernel = strides = (h // oh, w // ow)
        return [tx8be.PoolOp(x, function=function, kernel=kernel, strides=strides).y]
    top, bottom, left, right = op.pads
    kernel, strides = op.kernel, op.strides
    # with ceil_mode the last window may hang over the end: pad until it fits
    over = [
        (o - 1) * s + k - (e + low)
        for o, s, k, e, low in zip((oh, ow), strides, kernel, (h, w), (top, left), strict=True)
    ]
    pads = (top, max(bottom, over[0]), left, max(right, over[1]))
    pool = tx8be.PoolOp(x, function=function, kernel=kernel, strides=strides, pads=pads).y
    if function is ReduceFunction.MAX:
        return [pool]
    rows = _cells(oh, kernel[0], strides[0], h, top, bottom, op.exclusive)
    columns = _cells(ow, kernel[1], strides[1], w, left, right, op.exclusive)
    factor = kernel[0] * kernel[1] / np.outer(rows, columns)
    if np.all(factor == 1):
        return [pool]
    full = np.broadcast_to(factor[None, :, :, None], (n, oh, ow, c))
    element: ScalarType = ranked_type(op.x).element
    return [tx8be.MulOp(pool, ctx.new_constant("pool.factor", full, element)).out]


def _cells(windows: int, size: int, stride: int, extent: int, low: int, high: int, exclusive: bool) -> np.ndarray:
    """How many cells of each window along one axis an average counts: image cells, or also declared padding."""
    first = np.arange(windows) * stride - low
    begin, end = (0, extent) if exclusive else (-low, extent + high)
    return np.minimum(first + size, end) - np.maximum(first, begin)


@lowers(pd.SoftmaxOp)
def lower_softmax(ctx: Lowering, op: pd.SoftmaxOp) -> Sequence[Value]:
    """`Softmax` of the last axis; another axis changes places with it before and after."""
    rank = len(ctx.shape(op.x))
    axis = op.axis % rank
    if axis == rank - 1:
        return [tx8be.SoftmaxOp(ctx.get(op.x)).y]
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return [tx8be.TransposeOp(tx8be.SoftmaxOp(ctx.transposed(op.x, perm)).y, perm=tuple(perm)).y]


@lowers(pd.LayerNormOp)
def lower_layer_norm(ctx: Lowering, op: pd.LayerNormOp) -> Sequence[Value]:
    """`LayerNorm` of the last axis; several normalised axes are flattened into one."""
    shape = ctx.shape(op.x)
    begin = op.begin_norm_axis % len(shape)
    size = math.prod(shape[begin:])
    x = ctx.reshaped(op.x, (*shape[:begin], size))
    scale, bias = (ctx.none() if v is None else ctx.vector(v) for v in (op.scale, op.bias))
    return [ctx.reshape(tx8be.LayerNormOp(x, scale, bias, epsilon=op.epsilon).y, shape)]
