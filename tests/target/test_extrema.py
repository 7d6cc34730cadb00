"""Largest and smallest: commutative down to the sign of a zero, in whatever order the elements come."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tx8ir.target.extrema import largest, maximum, minimum, smallest

NUMBERS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], np.float32)


def bits(x: np.ndarray) -> list[int]:
    return np.atleast_1d(np.where(np.isnan(x), np.float32(np.nan), x)).view(np.int32).tolist()


@pytest.mark.parametrize("function", [maximum, minimum])
def test_two_commute(function) -> None:
    x, y = (np.array(v, np.float32) for v in zip(*itertools.product(NUMBERS, NUMBERS), strict=True))
    assert bits(function(x, y)) == bits(function(y, x))


def test_zeros_are_ordered_by_sign() -> None:
    x, y = np.float32([0.0, 0.0, -0.0, -0.0]), np.float32([0.0, -0.0, 0.0, -0.0])
    np.testing.assert_array_equal(np.signbit(maximum(x, y)), [False, False, False, True])
    np.testing.assert_array_equal(np.signbit(minimum(x, y)), [False, True, True, True])


@pytest.mark.parametrize(("function", "fold"), [(largest, maximum), (smallest, minimum)])
def test_a_reduction_is_the_fold_in_any_order(function, fold) -> None:
    for numbers in itertools.combinations_with_replacement(NUMBERS, 3):
        for order in itertools.permutations(numbers):
            x = np.array(order, np.float32)
            folded = fold(fold(x[0], x[1]), x[2])
            assert bits(function(x, axes=(0,), keepdims=True)) == bits(np.float32(folded))


def test_integers_have_one_zero() -> None:
    x = np.array([[0, -3], [2, 1]], np.int32)
    assert maximum(x, x[::-1]).tolist() == [[2, 1], [2, 1]]
    assert largest(x, axes=(1,), keepdims=False).tolist() == [0, 2]
    assert smallest(x, axes=(0,), keepdims=True).tolist() == [[0, -3]]
