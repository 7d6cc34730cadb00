"""Scaled dot product attention against sums in plain Python, and what it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import DYNAMIC, Block, TensorType, VerifyError, VTensorType, bf16, f32, i1, i32
from tx8ir.dialects import pd


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


def attend(query, key, values, scale, bias):
    """One query vector: `bias` is added to its scores, None where a key does not count."""
    scores = [
        -math.inf if b is None else scale * math.fsum(q * k for q, k in zip(query, row, strict=True)) + b
        for row, b in zip(key, bias, strict=True)
    ]
    powers = [math.exp(s - max(scores)) for s in scores]
    weights = [p / math.fsum(powers) for p in powers]
    return [math.fsum(w * v for w, v in zip(weights, column, strict=True)) for column in values.T]


extents = st.integers(1, 4)


@given(batch=st.lists(st.integers(1, 3), max_size=2), sizes=st.tuples(*[extents] * 4), data=st.data())
def test_each_query_takes_the_mean_of_the_values_by_its_scores(evaluate_op, batch, sizes, data):
    length, keys, depth, width = sizes
    rng = np.random.default_rng(0)
    shared = data.draw(st.sampled_from([[], [1] * len(batch), batch]))
    query = rng.normal(size=(*batch, length, depth))
    key = rng.normal(size=(*shared, keys, depth))
    values = rng.normal(size=(*shared, keys, width))
    scale = data.draw(st.sampled_from([None, 0.5, -2.0]))
    causal = data.draw(st.booleans())
    kind = data.draw(st.sampled_from(["none", "added", "chosen"]))
    mask = None if kind == "none" else rng.normal(size=(length, keys))
    if kind == "chosen":
        mask = mask > -0.3
        mask[:, 0] = True
    result = evaluate_op(pd.scaled_dot_product_attention, query, key, values, mask, scale=scale, is_causal=causal)
    assert result.shape == (*batch, length, width)
    key, values = (np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (key, values))
    for index in np.ndindex(*batch, length):
        row = index[-1]
        bias = [0.0] * keys if kind != "added" else mask[row].tolist()
        counts = [(not causal or j <= row) and (kind != "chosen" or mask[row, j]) for j in range(keys)]
        bias = [b if count else None for b, count in zip(bias, counts, strict=True)]
        factor = 1 / math.sqrt(depth) if scale is None else scale
        expected = attend(query[index], key[index[:-1]], values[index[:-1]], factor, bias)
        np.testing.assert_allclose(result[index], expected, rtol=1e-10, atol=1e-12)


def test_a_query_without_keys_that_count(evaluate_op):
    x, mask = np.float32([[1.0], [3.0]]), np.array([[False, False], [True, False]])

    def attention(**attributes):
        return evaluate_op(pd.scaled_dot_product_attention, x, x, x, mask, **attributes).ravel().tolist()

    assert math.isnan(attention()[0])
    assert attention()[1] == 1.0
    assert attention(nan_to_zero=True) == [0.0, 1.0]
    assert attention(masked_score=-1e9) == [2.0, 1.0]


def test_the_result_is_a_value_when_all_operands_are():
    x = value(2, 5, 4)
    assert pd.scaled_dot_product_attention(x, value(1, 3, 4), value(3, 6)).out.type is VTensorType((2, 5, 6), f32)
    stored = Block([TensorType((5, 3), f32)]).args[0]
    assert pd.scaled_dot_product_attention(x, value(3, 4), value(3, 6), stored).out.type is TensorType((2, 5, 6), f32)
    masked = pd.scaled_dot_product_attention(x, value(3, 4), value(3, 6), value(1, 3, element=i1))
    assert masked.out.type is VTensorType((2, 5, 6), f32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pd.scaled_dot_product_attention(value(4), value(3, 4), value(3, 4)), "`query` .* expected rank 2 or"),
        (lambda: pd.scaled_dot_product_attention(value(5, 4), value(3, 2), value(3, 4)), r"D differs: 4 in .*, 2 in "),
        (lambda: pd.scaled_dot_product_attention(value(5, 4), value(3, 4), value(2, 4)), r"S differs: 3 in .*, 2 in "),
        (
            lambda: pd.scaled_dot_product_attention(value(5, 4), value(3, 4), value(3, 4), value(2, 5, 3)),
            r"`attn_mask` has type !pd.vtensor<2x5x3xf32>, which does not broadcast to !pd.vtensor<5x3xf32>",
        ),
        (
            lambda: pd.scaled_dot_product_attention(value(5, 4), value(3, 4), value(3, 4), value(5, 3, element=i32)),
            "different element types: `query` f32, `attn_mask` i32",
        ),
        (
            lambda: pd.scaled_dot_product_attention(value(5, 4), value(3, 4, element=bf16), value(3, 4)),
            "different element types: `query` f32, `key` bf16",
        ),
        (
            lambda: pd.scaled_dot_product_attention(value(5, DYNAMIC), value(3, 4), value(3, 4)),
            "expected D known and not 0, or a `scale`",
        ),
        (
            lambda: pd.scaled_dot_product_attention(value(2, 5, 4), value(3, 3, 4), value(3, 4)),
            "shapes do not broadcast at axis -1",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()
