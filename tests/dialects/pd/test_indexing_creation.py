"""Selection by an index tensor; tensors from nothing; inputs and outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Block, VerifyError, VTensorType, bf16, f32, i1, i8, i32, i64
from tx8ir.dialects import pd
from tx8ir.interpreter import EvaluationError


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


@given(ids=st.lists(st.integers(0, 4), max_size=6), padding_idx=st.integers(-1, 4))
def test_embedding_takes_rows(evaluate_op, ids, padding_idx):
    weight = np.arange(15.0).reshape(5, 3)
    result = evaluate_op(pd.embedding, np.array([ids], np.int64), weight, padding_idx=padding_idx)
    assert result.tolist() == [[[0.0] * 3 if i == padding_idx else [3.0 * i, 3.0 * i + 1, 3.0 * i + 2] for i in ids]]
    assert weight.tolist() == np.arange(15.0).reshape(5, 3).tolist()


@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    index_shape=st.lists(st.integers(0, 3), max_size=2),
    data=st.data(),
)
def test_gather_replaces_the_axis_by_the_index(evaluate_op, shape, index_shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    count = math.prod(index_shape)
    ids = data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=count, max_size=count))
    index = np.array(ids, np.int32).reshape(index_shape)
    x = np.arange(math.prod(shape)).reshape(shape)
    result = evaluate_op(pd.gather, x, index, axis=axis - data.draw(st.sampled_from([0, len(shape)])))
    assert result.shape == (*shape[:axis], *index_shape, *shape[axis + 1 :])
    for place in np.ndindex(result.shape):
        before, chosen = place[:axis], index[place[axis : axis + index.ndim]]
        assert result[place] == x[(*before, chosen, *place[axis + index.ndim :])]


@pytest.mark.parametrize("bad", [-1, 5])
def test_an_index_out_of_range_is_named(evaluate_op, bad):
    index, table = np.array([[0, 1], [bad, 2]]), np.zeros((5, 3))
    with pytest.raises(
        EvaluationError, match=rf"pd.gather failed: IndexError: index\[1, 0\] is {bad}; expected 0 <= index < 5"
    ):
        evaluate_op(pd.gather, table, index)
    with pytest.raises(EvaluationError, match=rf"pd.embedding failed: IndexError: x\[1, 0\] is {bad}"):
        evaluate_op(pd.embedding, index, table)


@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        (1.5, f32, 1.5),
        (1 / 3, bf16, 0.333984375),
        (2.7, i32, 2),
        (3.0, i1, True),
        (math.inf, i8, 127),
        (-0.0, f32, -0.0),
    ],
)
def test_full_fills_a_shape(evaluate_op, number, dtype, expected):
    result = evaluate_op(pd.full, shape=(2, 0, 3), value=number, dtype=dtype, precision="native")
    assert (result.shape, result.dtype) == ((2, 0, 3), dtype.dtype)
    result = evaluate_op(pd.full, shape=(2,), value=number, dtype=dtype, precision="native")
    assert result.tolist() == [expected] * 2
    assert math.copysign(1, result[0]) == math.copysign(1, expected)


def test_assign_copies_any_element_type(evaluate_op):
    assert evaluate_op(pd.assign, np.array([True, False])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pd.embedding(value(2), value(5, 3)), "operand `x` has type .*; expected an integer element type"),
        (lambda: pd.embedding(value(2, element=i64), value(5)), "operand `weight` .* of rank 1; expected rank 2"),
        (lambda: pd.embedding(value(2, element=i64), value(5, 3), padding_idx=-2), "`padding_idx` is -2"),
        (lambda: pd.gather(value(2, 3), value(2, element=i64), axis=2), "`axis` is 2; expected -2 <= axis < 2"),
        (lambda: pd.full(shape=(-1,), value=0.0), r"`shape` is \[-1\]; expected extents >= 0"),
        (lambda: pd.full(shape=(1,), value=0.0, dtype=VTensorType((), f32)), "expected a scalar type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()
