"""Normalisations and softmax against sums in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Block, VerifyError, VTensorType, bf16, f32
from tx8ir.dialects import pd


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


@given(shape=st.lists(st.integers(1, 4), min_size=2, max_size=4), nhwc=st.booleans(), affine=st.booleans())
def test_batch_norm_normalises_each_channel(evaluate_op, shape, nhwc, affine):
    axis = len(shape) - 1 if nhwc else 1
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    mean, variance, scale, bias = (rng.uniform(0.1, 2, size=shape[axis]) for _ in range(4))
    result = evaluate_op(
        pd.batch_norm,
        x, mean, variance, scale if affine else None, bias if affine else None,
        epsilon=0.01,
        data_format="NHWC" if nhwc else "NCHW",
    )  # fmt: skip
    for index in np.ndindex(*shape):
        c = index[axis]
        expected = (x[index] - mean[c]) / math.sqrt(variance[c] + 0.01)
        expected = expected * scale[c] + bias[c] if affine else expected
        assert result[index] == pytest.approx(expected, rel=1e-12, abs=1e-14)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_layer_norm_normalises_each_slice(evaluate_op, shape, data):
    begin = data.draw(st.integers(0, len(shape) - 1))
    flat = data.draw(st.booleans())
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    normalised = shape[begin:]
    scale, bias = (rng.normal(size=[math.prod(normalised)] if flat else normalised) for _ in range(2))
    given_scale, given_bias = data.draw(st.booleans()), data.draw(st.booleans())
    result = evaluate_op(
        pd.layer_norm,
        x, scale if given_scale else None, bias if given_bias else None,
        epsilon=1e-3,
        begin_norm_axis=begin - data.draw(st.sampled_from([0, len(shape)])),
    )  # fmt: skip
    for row, out in zip(x.reshape(-1, math.prod(normalised)), result.reshape(-1, math.prod(normalised)), strict=True):
        mean = math.fsum(row) / len(row)
        variance = math.fsum((v - mean) ** 2 for v in row) / len(row)
        expected = [(v - mean) / math.sqrt(variance + 1e-3) for v in row]
        expected = [v * s for v, s in zip(expected, scale.ravel(), strict=True)] if given_scale else expected
        expected = [v + b for v, b in zip(expected, bias.ravel(), strict=True)] if given_bias else expected
        np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-13)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_rms_norm_divides_each_slice_by_its_root_mean_square(evaluate_op, shape, data):
    begin = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    size = math.prod(shape[begin:])
    weight = rng.normal(size=[size] if data.draw(st.booleans()) else shape[begin:])
    weighted = data.draw(st.booleans())
    result = evaluate_op(
        pd.rms_norm,
        x, weight if weighted else None,
        epsilon=1e-3,
        begin_norm_axis=begin - data.draw(st.sampled_from([0, len(shape)])),
    )  # fmt: skip
    for row, out in zip(x.reshape(-1, size), result.reshape(-1, size), strict=True):
        root = math.sqrt(math.fsum(v * v for v in row) / size + 1e-3)
        factors = weight.ravel() if weighted else [1] * size
        np.testing.assert_allclose(out, [v / root * w for v, w in zip(row, factors, strict=True)], rtol=1e-12)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
def test_softmax_sums_to_one_along_its_axis(evaluate_op, shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.random.default_rng(0).normal(size=shape) * 3
    result = np.moveaxis(evaluate_op(pd.softmax, x, axis=axis), axis, -1).reshape(-1, shape[axis])
    for row, out in zip(np.moveaxis(x, axis, -1).reshape(-1, shape[axis]), result, strict=True):
        total = math.fsum(math.exp(v) for v in row)
        np.testing.assert_allclose(out, [math.exp(v) / total for v in row], rtol=1e-13)


def test_softmax_of_large_and_masked_inputs(evaluate_op):
    x = np.array([[1e4, 1e4, -math.inf], [-1e4, -math.inf, -math.inf]])
    for precision in ("fp64", "native"):
        result = evaluate_op(pd.softmax, x, precision=precision, element=f32)
        assert result.tolist() == [[0.5, 0.5, 0], [1, 0, 0]]
    assert np.isnan(evaluate_op(pd.softmax, np.array([-math.inf, -math.inf]))).all()


def test_slices_without_elements(evaluate_op):
    empty = np.zeros((2, 0))
    assert evaluate_op(pd.softmax, empty).shape == (2, 0)
    assert evaluate_op(pd.layer_norm, empty).shape == (2, 0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: pd.batch_norm(value(1, 3, 4), value(3), value(4)),
            "pd.batch_norm: operand `variance` has type .*; expected 3 elements, one per channel",
        ),
        (lambda: pd.batch_norm(value(3), value(3), value(3)), "expected rank 2 or more"),
        (
            lambda: pd.batch_norm(value(1, 3), value(3), value(3), is_test=False),
            "statistics of the batch are those of pd.batch_norm_training: set `is_test` or `use_global_stats`",
        ),
        (
            lambda: pd.batch_norm(value(1, 3, element=bf16), value(3), value(3)),
            "different element types: `x` bf16, `mean` f32, `variance` f32",
        ),
        (lambda: pd.layer_norm(value(2, 3, 4), value(4)), r"operand `scale` .*; expected shape \[3, 4\] or \[12\]"),
        (lambda: pd.rms_norm(value(2, 3, 4), value(2)), r"operand `norm_weight` .*; expected shape \[4\] or \[4\]"),
        (lambda: pd.rms_norm(value(2, 3), value(3, element=bf16)), "types: `x` f32, `norm_weight` bf16"),
        (lambda: pd.layer_norm(value(2, 3), begin_norm_axis=2), "`begin_norm_axis` is 2; expected -2 <= begin_norm"),
        (lambda: pd.softmax(value(2, 3), axis=2), "`axis` is 2; expected -2 <= axis < 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()


def test_global_statistics_serve_outside_of_a_test():
    assert pd.batch_norm(value(1, 3), value(3), value(3), is_test=False, use_global_stats=True).out.type.shape == (1, 3)
