"""Reductions against loops over the elements of each slice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Block, VerifyError, VTensorType, bf16, f32, f64, i8, i32, i64
from tx8ir.dialects import pd

REDUCTIONS = {
    "sum": (pd.sum, math.fsum),
    "mean": (pd.mean, lambda v: math.fsum(v) / len(v)),
    "max": (pd.max, max),
    "min": (pd.min, min),
}


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reduces_the_named_axes(evaluate_op, name, data):
    op, formula = REDUCTIONS[name]
    shape = data.draw(st.lists(st.integers(1, 4), max_size=4))
    axes = data.draw(st.lists(st.integers(0, max(0, len(shape) - 1)), unique=True, max_size=len(shape)))
    signed = tuple(data.draw(st.sampled_from([a, a - len(shape)])) for a in axes)
    keepdim = data.draw(st.booleans())
    x = np.random.default_rng(0).normal(size=shape)
    reduced = set(axes or range(len(shape)))
    expected = np.empty([1 if a in reduced else n for a, n in enumerate(shape)])
    for index in np.ndindex(expected.shape):
        cells = x[tuple(slice(None) if a in reduced else i for a, i in enumerate(index))]
        expected[index] = formula(np.ravel(cells).tolist())
    if not keepdim:
        expected = expected.reshape([n for a, n in enumerate(shape) if a not in reduced])
    np.testing.assert_allclose(evaluate_op(op, x, axis=signed, keepdim=keepdim), expected, rtol=1e-13, atol=1e-14)


def test_nan_wins_a_maximum_and_a_minimum(evaluate_op):
    x = np.array([1.0, math.nan, 2.0])
    assert math.isnan(evaluate_op(pd.max, x))
    assert math.isnan(evaluate_op(pd.min, x))


def test_reductions_of_no_elements(evaluate_op):
    empty = np.zeros((2, 0))
    assert evaluate_op(pd.sum, empty, axis=(1,)).tolist() == [0, 0]
    assert np.isnan(evaluate_op(pd.mean, empty, axis=(1,))).all()
    assert evaluate_op(pd.max, empty, axis=(0,)).shape == (0,)


def test_sums_of_integers(evaluate_op):
    wide = evaluate_op(pd.sum, np.array([2**31 - 1, 1], np.int32))
    assert (wide.item(), wide.dtype) == (2**31, np.int64)
    assert evaluate_op(pd.sum, np.array([True, True, False])).item() == 2
    narrow = evaluate_op(pd.sum, np.array([100, 100], np.int8))
    assert (narrow.item(), narrow.dtype) == (-56, np.int8)
    assert evaluate_op(pd.sum, np.array([100, 100], np.int8), dtype=i32).item() == 200
    assert evaluate_op(pd.sum, np.array([1, 2], np.int32), dtype=f32, precision="native").dtype == np.float32


@pytest.mark.parametrize(
    ("element", "dtype", "expected"),
    [(f32, None, f32), (i32, None, i64), (i8, None, i8), (i8, f64, f64), (bf16, f32, f32)],
    ids=str,
)
def test_element_type_of_a_sum(element, dtype, expected):
    assert pd.sum(value(3, element=element), dtype=dtype).out.type.element is expected


def test_a_narrow_sum_is_rounded_once(evaluate_op):
    # 1 + 256 * 2^-8 in bfloat16 steps would stay 1; in float32 it is 2.
    x = np.array([1.0, *[2**-8] * 256], np.float32).astype(bf16.dtype)
    assert evaluate_op(pd.sum, x, precision="native").item() == 2.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pd.sum(value(2, 3), axis=(2,)), "pd.sum: attribute `axis` is 2; expected -2 <= axis < 2"),
        (lambda: pd.mean(value(2, 3), axis=(1, -1)), r"`axis` names an axis twice: \[1, -1\] of rank 2"),
        (lambda: pd.max(value(2, 0), axis=(1,)), "operand `x` has type .*; axis 1 has no element to choose from"),
        (lambda: pd.mean(value(2, element=i32)), "expected a floating-point element type"),
        (lambda: pd.sum(value(2), dtype=VTensorType((), f32)), "expected a scalar type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()
