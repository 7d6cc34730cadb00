"""Matrix product against sums written out with einsum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tx8ir.core import Block, VerifyError, VTensorType, bf16, f32, i1
from tx8ir.dialects import pd


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


@given(data=st.data())
def test_batches_broadcast_and_operands_transpose(evaluate_op, data):
    m, k, n = (data.draw(st.integers(0, 4)) for _ in range(3))
    batches = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3)).input_shapes
    transpose_x, transpose_y = data.draw(st.booleans()), data.draw(st.booleans())
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*batches[0], *((k, m) if transpose_x else (m, k))))
    y = rng.normal(size=(*batches[1], *((n, k) if transpose_y else (k, n))))
    terms = f"...{'km' if transpose_x else 'mk'},...{'nk' if transpose_y else 'kn'}->...mn"
    result = evaluate_op(pd.matmul, x, y, transpose_x=transpose_x, transpose_y=transpose_y)
    np.testing.assert_allclose(result, np.einsum(terms, x, y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "terms"),
    [((3,), (3,), "k,k->"), ((3,), (3, 2), "k,kn->n"), ((2, 3), (3,), "mk,k->m"), ((4, 2, 3), (3,), "bmk,k->bm")],
)
def test_vectors_lose_their_axis(evaluate_op, x_shape, y_shape, terms):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=x_shape), rng.normal(size=y_shape)
    np.testing.assert_allclose(evaluate_op(pd.matmul, x, y), np.einsum(terms, x, y), rtol=1e-12)


def test_bfloat16_accumulates_in_float32_and_rounds_once(evaluate_op):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(8, 64)).astype(bf16.dtype) for _ in range(2))
    exact = np.einsum("mk,nk->mn", x.astype(np.float64), y.astype(np.float64))
    result = evaluate_op(pd.matmul, x, y, transpose_y=True, precision="native").astype(np.float64)
    # Half a unit in the last of 8 bits, and what 64 float32 additions may add to it.
    assert np.all(np.abs(result - exact) <= np.abs(exact) * 2**-8 + 64 * 2**-24 * np.abs(exact).max())


def test_dynamic_extents_match_any():
    assert pd.matmul(value(-1, 4, 8), value(-1, 3)).out.type is VTensorType((-1, 4, 3), f32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pd.matmul(value(2, 3), value(2, 3)), r"pd.matmul: K differs: 3 in `x` \[2, 3\], 2 in `y` \[2, 3\]"),
        (
            lambda: pd.matmul(value(2, 3), value(2, 3), transpose_x=True, transpose_y=True),
            r"K differs: 2 in `x` \[2, 3\] transposed, 3 in `y` \[2, 3\] transposed",
        ),
        (lambda: pd.matmul(value(3), value(3, 2), transpose_x=True), r"a vector cannot be transposed \(`trans"),
        (lambda: pd.matmul(value(), value(3, 2)), "operand `x` has type .*; expected a vector or matrices"),
        (lambda: pd.matmul(value(2, 4, 3), value(5, 3, 4)), r"do not broadcast at axis -1: `x` \[2\], `y` \[5\]"),
        (lambda: pd.matmul(value(2, 2), value(2, 2, element=bf16)), "different element types: `x` f32, `y` bf16"),
        (lambda: pd.matmul(value(2, 2, element=i1), value(2, 2, element=i1)), "expected a floating-point or integer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()
