"""Lowering of operations that stand for several others of the tensor dialect, as these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tx8ir.backend.lowering.context import Lowering, lower, lowers, ranked_type
from tx8ir.core import Block, Builder, DenseAttr, Op, Operation, Value, VTensorType, i1
from tx8ir.dialects import builtin, pd

OpT = TypeVar("OpT", bound=Op)
FoundT = TypeVar("FoundT", bound=Value | Sequence[Value])


def lower_as(ctx: Lowering, decompose: Callable[[], Value | Sequence[Value]]) -> Sequence[Value]:
    """Lower what `decompose` writes, operations of the tensor dialect, by their own rules and in order.

    The values that it gives take the places of the results.
    """
    scratch = Block()
    with Builder.at_end(scratch):
        found = decompose()
    try:
        for part in scratch:
            if not isinstance(part, pd.FullOp | builtin.ConstantOp):
                ctx.values.update(zip(part.results, lower(ctx, part), strict=True))
        return [ctx.get(value) for value in ([found] if isinstance(found, Value) else found)]
    finally:
        parts: list[Operation] = list(scratch)
        for part in reversed(parts):
            part.erase(by="lower-to-tx8be")


def lowers_as(kind: type[OpT]) -> Callable[[Callable[[OpT], FoundT]], Callable[[OpT], FoundT]]:
    """Registers the decorated function: it writes operations of the tensor dialect, and gives what takes the places of
    the results: a value for one result, or several. These are lowered by their own rules, in order.
    """

    def register(decompose: Callable[[OpT], FoundT]) -> Callable[[OpT], FoundT]:
        @lowers(kind)
        def rule(ctx: Lowering, op: OpT) -> Sequence[Value]:
            return lower_as(ctx, lambda: decompose(op))

        assert rule is not None
        return decompose

    return register


@lowers_as(pd.RmsNormOp)
def lower_rms_norm(op: pd.RmsNormOp) -> Value:
    """X * rsqrt(mean(x²) + epsilon) * weight, of the last axis; several normalised axes are flattened into one."""
    kind = ranked_type(op.x)
    begin = op.begin_norm_axis % kind.rank
    size = math.prod(kind.shape[begin:])
    x = op.x if begin == kind.rank - 1 else pd.reshape(op.x, shape=(*kind.shape[:begin], size)).out
    square = pd.mean(pd.square(x), axis=(-1,), keepdim=True)
    out = pd.multiply(x, pd.rsqrt(pd.scale(square, bias=op.epsilon)))
    if op.norm_weight is not None:
        out = pd.multiply(out, pd.reshape(op.norm_weight, shape=(size,)))
    return pd.reshape(out, shape=kind.shape).out


@lowers_as(pd.ScaledDotProductAttentionOp)
def lower_attention(op: pd.ScaledDotProductAttentionOp) -> Value:
    """softmax(scale * query · keyᵀ, masked) · value. A scale up to 1 goes to the query, so that no score overflows."""
    query, scale = op.query, op.factor
    if abs(scale) <= 1 and scale != 1:
        query = pd.scale(query, scale=scale, bias=-0.0).out
    scores = pd.matmul(query, op.key, transpose_y=True).out
    if not abs(scale) <= 1:
        scores = pd.scale(scores, scale=scale, bias=-0.0).out
    kind = ranked_type(scores)
    hidden = pd.full(shape=(), value=op.masked_score, dtype=kind.element)
    if op.attn_mask is not None:
        masked = ranked_type(op.attn_mask).element is i1
        scores = pd.where(op.attn_mask, scores, hidden).out if masked else pd.add(scores, op.attn_mask).out
    if op.is_causal:
        visible = VTensorType(kind.shape[-2:], i1)
        mask = builtin.ConstantOp(value=DenseAttr(np.tri(*visible.shape, dtype=np.bool_), visible), out=visible)
        scores = pd.where(mask, scores, hidden).out
    weights = pd.softmax(scores).out
    if op.nan_to_zero:
        weights = pd.where(pd.isnan(weights), pd.full(shape=(), value=0.0, dtype=kind.element), weights).out
    return pd.matmul(weights, op.value).out
