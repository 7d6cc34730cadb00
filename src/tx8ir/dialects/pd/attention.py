"""Attention."""

from __future__ import annotations

import math
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
    attribute,
    i1,
    operand,
    optional_operand,
    result,
)
from tx8ir.dialects.samples import Sampled, case, of

from . import numerics
from .inference import broadcast_shape, extents_match, fail, make_type, same_element, tensor_operand


class ScaledDotProductAttentionOp(
    Op, Compute, InferTypes, Sampled, name="pd.scaled_dot_product_attention", traits=(Pure, HasValueSemantics)
):
    """Attention (arXiv:1706.03762): out = softmax(scale * query · keyᵀ, masked) · value, for every index of the batch.

    The batch axes, heads among them, come first and broadcast, as those of `pd.matmul` do: the layout of
    `paddle.compat.nn.functional.scaled_dot_product_attention`, which gives the name and the operands. Paddle's kernels
    (`pd_op.flash_attn`, `memory_efficient_attention`, `fused_dot_product_attention`) have the heads after the
    sequence, and results and operands for dropout, random state and variable lengths that inference does not need.

    The mask is either added to the scores, or of i1 and says which keys count; with `is_causal` query i attends to the
    keys 0 to i. The score of a key that does not count is `masked_score`, so that a query without any key that counts
    has NaN as result (or, with a finite `masked_score`, the mean of all values).
    """

    query: Operand = operand(doc="[..., L, D]")
    key: Operand = operand(doc="[..., S, D]")
    value: Operand = operand(doc="[..., S, V]")
    attn_mask: OptionalOperand = optional_operand(doc="broadcasts to the scores, [..., L, S]; of i1 or added")
    scale: float | None = attribute(default=None, doc="1 / sqrt(D) if absent")
    is_causal: bool = attribute(default=False)
    masked_score: float = attribute(default=-math.inf, doc="the score of a key that does not count")
    nan_to_zero: bool = attribute(
        default=False, doc="whether probabilities that are NaN, as where no key counts, are replaced by 0"
    )
    out: Result = result(doc="[..., L, V]")

    accepts = "float"
    cases = (
        case((2, 3), (5, 3), (5, 2)),
        case((1, 2, 3), (1, 2, 3), (1, 2, 3), is_causal=True),
        *(
            case((2, 2, 3), (2, 3, 3), (2, 3, 2), mask, is_causal=is_causal, nan_to_zero=nan_to_zero)
            for mask in (None, (2, 3), of((2, 3), i1), of((2, 1, 3), i1), (1,), of((), i1))
            for is_causal in (False, True)
            for nan_to_zero in (False, True)
        ),
        *(
            case((2, 3), (2, 3), (2, 3), of((2, 2), i1), masked_score=score, is_causal=True)
            for score in (-math.inf, 0.0, -1e30, -1.0)
        ),
        case((3, 5), (2, 5), (2, 1), is_causal=True),
        case((1, 2, 2, 3), (2, 1, 3, 3), (3, 2)),
        case((2, 0), (3, 0), (3, 2), scale=1.0),
        case((2, 3), (0, 3), (0, 2)),
        case((DYNAMIC, 2, 3), (DYNAMIC, 2, 3), (DYNAMIC, 2, 3)),
        case((2, 3), (DYNAMIC, 3), (DYNAMIC, 2), is_causal=True),
    )

    @property
    def factor(self) -> float:
        """What the scores are multiplied with."""
        if self.scale is not None:
            return self.scale
        return 1 / math.sqrt(tensor_operand(self, self.query, "query").shape[-1])

    def infer_types(self) -> tuple[Type, ...]:
        query, key, value = (self._matrices(name) for name in ("query", "key", "value"))
        element = same_element(self, query=query, key=key, value=value)
        for what, (a, b), axis in (("D", (query, key), -1), ("S", (key, value), -2)):
            if not extents_match(a.shape[axis], b.shape[axis]):
                raise fail(self, f"{what} differs: {a.shape[axis]} in {a}, {b.shape[axis]} in {b}")
        if self.scale is None and query.shape[-1] <= 0:
            raise fail(self, f"operand `query` has type {query}; expected D known and not 0, or a `scale`")
        batch = broadcast_shape(self, query=_batch(query), key=_batch(key))
        sources = [query, key, value]
        if self.attn_mask is not None:
            mask = tensor_operand(self, self.attn_mask, "attn_mask")
            if mask.element is not i1:
                same_element(self, query=query, attn_mask=mask)
            scores = query.with_shape((*batch, query.shape[-2], key.shape[-2]))
            if broadcast_shape(self, scores=scores, attn_mask=mask) != scores.shape:
                raise fail(self, f"operand `attn_mask` has type {mask}, which does not broadcast to {scores}")
            sources.append(mask)
        batch = broadcast_shape(self, scores=query.with_shape(batch), value=_batch(value))
        return (make_type(sources, (*batch, query.shape[-2], value.shape[-1]), element),)

    def _matrices(self, name: str) -> RankedTensor:
        type_ = tensor_operand(self, getattr(self, name), name, kind="float")
        if type_.rank < 2:
            raise fail(self, f"operand `{name}` has type {type_}; expected rank 2 or more")
        return type_

    def compute(
        self, query: NDArray[Any], key: NDArray[Any], value: NDArray[Any], attn_mask: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        # On the smaller one, so that no product is infinite that was none before it was scaled.
        factor = query.dtype.type(self.factor)
        keys: NDArray[Any] = np.swapaxes(key, -1, -2)
        scores: NDArray[Any] = np.matmul(query * factor, keys) if abs(factor) < 1 else np.matmul(query, keys) * factor
        if abs(factor) < 1 and np.isinf(keys).any():  # 0 times infinity, of a query that vanishes when it is scaled
            scores = np.where(np.isnan(scores), np.matmul(query, keys) * factor, scores)
        hidden = scores.dtype.type(self.masked_score)
        if attn_mask is not None:
            scores = np.where(attn_mask, scores, hidden) if attn_mask.dtype == np.bool_ else scores + attn_mask
        if self.is_causal:
            visible = np.tri(query.shape[-2], key.shape[-2], dtype=np.bool_)
            scores = np.where(visible, scores, hidden)
        weights = numerics.softmax(scores, axis=-1)
        if self.nan_to_zero:
            weights = np.where(np.isnan(weights), weights.dtype.type(0), weights)
        return np.matmul(weights, value)


def _batch(type_: RankedTensor) -> RankedTensor:
    return type_.with_shape(type_.shape[:-2])
