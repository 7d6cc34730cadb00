"""Elementwise operations against the `math` module, element by element in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from support.formulas import formula_of, mnemonic, unary_operations
from tx8ir.core import Block, VerifyError, VTensorType, bf16, f16, f32, i1, i8, i32, i64, ui8
from tx8ir.dialects import pd
from tx8ir.interpreter import EvaluationError

INF, NAN = math.inf, math.nan


def shapes(max_dims=3):
    return hnp.array_shapes(min_dims=0, max_dims=max_dims, min_side=0, max_side=4)


@pytest.mark.parametrize("op", unary_operations(), ids=mnemonic)
@given(data=st.data())
def test_unary_equals_its_formula(evaluate_op, op, data):
    low, high = op.interval
    x = data.draw(hnp.arrays(np.float64, shapes(), elements=st.floats(low, high)))
    formula = formula_of(op)
    np.testing.assert_allclose(evaluate_op(op, x), formula.of(x), rtol=formula.tolerance, atol=1e-300)


@pytest.mark.parametrize(
    ("op", "attributes"), [(op, variant) for op in unary_operations() for variant in formula_of(op).variants]
)
def test_attributes_enter_the_formula(evaluate_op, op, attributes):
    x = np.linspace(-3, 3, 25)
    expected = formula_of(op).of(x, **attributes)
    np.testing.assert_allclose(evaluate_op(op, x, **attributes), expected, rtol=1e-14, atol=1e-16)
    assert not np.array_equal(expected, formula_of(op).of(x)), "the attributes change nothing"


@pytest.mark.parametrize(
    ("op", "x", "expected"),
    [
        (pd.relu, [NAN, -INF, INF], [NAN, 0, INF]),
        (pd.gelu, [NAN, -INF, INF, -40.0], [NAN, -0.0, INF, -0.0]),
        (pd.sigmoid, [NAN, -INF, INF, -1000.0, 1000.0], [NAN, 0, 1, 0, 1]),
        (pd.softplus, [NAN, -INF, INF, -1000.0, 1000.0], [NAN, 0, INF, 0, 1000]),
        (pd.exp, [-INF, INF, 1000.0], [0, INF, INF]),
        (pd.log, [0.0, -1.0, INF], [-INF, NAN, INF]),
        (pd.sqrt, [-0.0, -1.0], [-0.0, NAN]),
        (pd.rsqrt, [0.0, -0.0, -1.0, INF], [INF, -INF, NAN, 0]),
        (pd.reciprocal, [0.0, -0.0, INF], [INF, -INF, 0]),
        (pd.erf, [-0.0, INF, NAN], [-0.0, 1, NAN]),
        (pd.tanh, [-0.0, -INF], [-0.0, -1]),
    ],
)
def test_ieee_special_values(evaluate_op, op, x, expected):
    for precision in ("fp64", "native"):
        element = f32 if precision == "native" else None
        result = evaluate_op(op, np.array(x), precision=precision, element=element)
        np.testing.assert_array_equal(result, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(np.array(expected)[numbers]))


def test_the_tails_of_gelu_and_sigmoid_keep_their_relative_accuracy(evaluate_op):
    x = np.array([-8.0, -20.0])
    np.testing.assert_allclose(evaluate_op(pd.gelu, x), [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x], rtol=1e-13)
    np.testing.assert_allclose(evaluate_op(pd.sigmoid, x), [math.exp(v) / (1 + math.exp(v)) for v in x], rtol=1e-14)


BINARY = {
    "add": (pd.add, lambda a, b: a + b),
    "subtract": (pd.subtract, lambda a, b: a - b),
    "multiply": (pd.multiply, lambda a, b: a * b),
    "divide": (pd.divide, lambda a, b: a / b),
    "maximum": (pd.maximum, max),
    "minimum": (pd.minimum, min),
    "elementwise_pow": (pd.elementwise_pow, lambda a, b: abs(a) ** b),
    "equal": (pd.equal, lambda a, b: a == b),
    "not_equal": (pd.not_equal, lambda a, b: a != b),
    "greater_than": (pd.greater_than, lambda a, b: a > b),
    "greater_equal": (pd.greater_equal, lambda a, b: a >= b),
    "less_than": (pd.less_than, lambda a, b: a < b),
    "less_equal": (pd.less_equal, lambda a, b: a <= b),
    "logical_and": (pd.logical_and, lambda a, b: bool(a) and bool(b)),
    "logical_or": (pd.logical_or, lambda a, b: bool(a) or bool(b)),
}


def pairwise(formula, x, y):
    """`formula` on the elements of x and y, which meet where NumPy's index arithmetic says they do."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        a, b = (
            array[tuple(i % n for i, n in zip(index[len(shape) - array.ndim :], array.shape, strict=True))]
            for array in (x, y)
        )
        out[index] = formula(a.item(), b.item())
    return out


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary_equals_its_formula_and_broadcasts(evaluate_op, name, data):
    op, formula = BINARY[name]
    x_shape, y_shape = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    # Few distinct values, none of them 0 for a divisor, so that comparisons meet equal ones.
    values = st.sampled_from([-2.5, -1.0, 0.5, 1.0, 3.0] + [0.0] * name.startswith("logical"))
    x = data.draw(hnp.arrays(np.float64, x_shape, elements=values))
    y = data.draw(hnp.arrays(np.float64, y_shape, elements=values))
    x = np.abs(x) if name == "elementwise_pow" else x
    result = evaluate_op(op, x, y)
    expected = pairwise(formula, x, y)
    if result.dtype == np.bool_:
        np.testing.assert_array_equal(result, expected.astype(bool))
    else:
        np.testing.assert_allclose(result, expected.astype(np.float64), rtol=1e-15)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (pd.maximum, NAN), (pd.minimum, NAN), (pd.equal, False), (pd.not_equal, True), (pd.greater_than, False),
        (pd.greater_equal, False), (pd.less_than, False), (pd.less_equal, False), (pd.add, NAN),
    ],
)  # fmt: skip
def test_nan_against_a_number(evaluate_op, op, expected):
    for x, y in ((NAN, 1.0), (1.0, NAN)):
        np.testing.assert_array_equal(evaluate_op(op, np.array([x]), np.array([y])), [expected])


def test_integers_divide_towards_zero(evaluate_op):
    x, y = np.array([7, -7, 7, -7, 6, -6], np.int32), np.array([2, 2, -2, -2, 3, 3], np.int32)
    result = evaluate_op(pd.divide, x, y)
    assert result.tolist() == [3, -3, -3, 3, 2, -2]
    assert result.dtype == np.int32


def test_division_of_an_integer_by_zero_is_an_error(evaluate_op):
    with pytest.raises(EvaluationError, match=r"pd\.divide failed: ZeroDivisionError: an integer is divided by 0"):
        evaluate_op(pd.divide, np.array([1]), np.array([0]))


def test_integers_wrap(evaluate_op):
    x = np.array([127, -128], np.int8)
    assert evaluate_op(pd.add, x, np.array([1, -1], np.int8)).tolist() == [-128, 127]
    assert evaluate_op(pd.square, np.array([16], np.int8)).tolist() == [0]
    assert evaluate_op(pd.scale, np.array([3], np.int32), scale=-2.0, bias=1.0).tolist() == [-5]


@given(data=st.data())
def test_where_selects_elements(evaluate_op, data):
    c_shape, x_shape, y_shape = data.draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3)
    ).input_shapes
    condition = data.draw(hnp.arrays(np.bool_, c_shape))
    x, y = np.random.default_rng(0).normal(size=x_shape), np.full(y_shape, NAN)
    shape = np.broadcast_shapes(c_shape, x_shape, y_shape)
    chosen, from_x = np.broadcast_to(condition, shape), np.broadcast_to(x, shape)
    expected = [from_x[i] if chosen[i] else NAN for i in np.ndindex(shape)]
    np.testing.assert_array_equal(evaluate_op(pd.where, condition, x, y).ravel(), expected)


def test_isnan_and_logical_not(evaluate_op):
    x = np.array([NAN, INF, 0.0, -0.0, 2.0])
    assert evaluate_op(pd.isnan, x).tolist() == [True, False, False, False, False]
    assert evaluate_op(pd.logical_not, x).tolist() == [False, False, True, True, False]
    assert evaluate_op(pd.logical_not, np.array([True, False])).tolist() == [False, True]


# --- cast ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "x", "expected"),
    [
        (i8, [1.9, -1.9, 300.0, -300.0, NAN, INF, -INF], [1, -1, 127, -128, 0, 127, -128]),
        (ui8, [1.9, -1.9, 300.0], [1, 0, 255]),
        (i64, [2.0**63, -(2.0**64), 0.5], [2**63 - 1, -(2**63), 0]),
        (i1, [0.0, -0.0, 0.5, NAN], [False, False, True, True]),
    ],
)
def test_cast_of_floats_truncates_and_saturates(evaluate_op, dtype, x, expected):
    result = evaluate_op(pd.cast, np.array(x), dtype=dtype)
    assert result.tolist() == expected
    assert result.dtype == dtype.dtype


@pytest.mark.parametrize(
    ("dtype", "expected"), [(i8, [-1, 44, -44]), (ui8, [255, 44, 212]), (i1, [True] * 3), (f32, [-1.0, 300.0, -300.0])]
)
def test_cast_of_integers_keeps_the_low_bits(evaluate_op, dtype, expected):
    assert evaluate_op(pd.cast, np.array([-1, 300, -300], np.int32), dtype=dtype).tolist() == expected


def test_cast_rounds_once_to_nearest_even(evaluate_op):
    # 1 + 2^-8 lies halfway between two bfloat16 numbers; 2^24 + 1 halfway between two float32 numbers.
    ties = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20], np.float32)
    assert evaluate_op(pd.cast, ties, dtype=bf16, precision="native").tolist() == [1.0, 1 + 2**-6, 1 + 2**-7]
    assert evaluate_op(pd.cast, np.array([2**24 + 1, 2**24 + 3]), dtype=f32, precision="native").tolist() == [
        2**24,
        2**24 + 4,
    ]
    # Through float32 this integer would round down twice: it is just above a bfloat16 tie.
    assert evaluate_op(pd.cast, np.array([2**32 + 2**24 + 1]), dtype=bf16, precision="native").tolist() == [
        2**32 + 2**25
    ]


def test_fp64_keeps_floats_whatever_the_declared_format(evaluate_op):
    x = np.array([1 / 3])
    assert evaluate_op(pd.cast, x, dtype=f16).tolist() == [1 / 3]
    assert evaluate_op(pd.square, x, element=bf16).tolist() == [1 / 9]


# --- one rounding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", [bf16, f16], ids=str)
def test_narrow_floats_are_computed_in_float32_and_rounded_once(evaluate_op, element):
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=1000).astype(element.dtype) for _ in range(2))
    # The product of two narrow numbers is exact in float64, so rounding that is rounding once.
    exact = (x.astype(np.float64) * y.astype(np.float64)).astype(np.float32).astype(element.dtype)
    result = evaluate_op(pd.multiply, x, y, precision="native")
    assert result.dtype == element.dtype
    np.testing.assert_array_equal(result, exact)


# --- inference -----------------------------------------------------------------------------------------------------


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


def test_broadcasting_of_dynamic_extents():
    result = pd.add(value(-1, 1, 3), value(4, -1)).out.type
    assert result is VTensorType((-1, 4, 3), f32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: pd.add(value(2, 3), value(4, 3)),
            r"pd.add: shapes do not broadcast at axis -2: `x` \[2, 3\], `y` \[4, 3\]",
        ),
        (
            lambda: pd.add(value(2), value(2, element=bf16)),
            "pd.add: operands have different element types: `x` f32, `y` bf16; insert a pd.cast",
        ),
        (
            lambda: pd.exp(value(2, element=i32)),
            "pd.exp: operand `x` has type !pd.vtensor<2xi32>; expected a floating-point element type",
        ),
        (
            lambda: pd.add(value(2, element=i1), value(2, element=i1)),
            "pd.add: operand `x` has type !pd.vtensor<2xi1>; expected a floating-point or integer element type",
        ),
        (
            lambda: pd.where(value(2), value(2), value(2)),
            "pd.where: operand `condition` has type !pd.vtensor<2xf32>; expected element type i1",
        ),
        (
            lambda: pd.scale(value(2, element=i32), scale=0.5),
            "pd.scale: attribute `scale` is 0.5; expected .* from -2147483648 to 2147483647 for a tensor of i32",
        ),
        (lambda: pd.scale(value(2, element=i32), scale=2.0**31), "`scale` is 2147483648.0; expected a whole"),
        (lambda: pd.scale(value(2, element=i8), bias=-129.0), "`bias` is -129.0; .* from -128 to 127 for a tensor"),
        (lambda: pd.scale(value(2, element=ui8), scale=-1.0), "`scale` is -1.0; .* from 0 to 255 for a tensor of ui8"),
        (lambda: pd.scale(value(2, element=i64), bias=2.0**63), r"`bias` is 9.2.*e\+18; .* 9223372036854775807"),
        (lambda: pd.scale(value(2, element=i32), bias=math.inf), "`bias` is inf; expected a whole number from"),
        (lambda: pd.fill(value(2, element=i8), value=200.0), "pd.fill: attribute `value` is 200.0; .* -128 to 127 for"),
        (lambda: pd.fill(value(2, element=i32), value=math.nan), "`value` is nan; expected a whole number from"),
        (lambda: pd.softplus(value(2), beta=0.0), "attribute `beta` is 0"),
        (lambda: pd.cast(value(2), dtype=VTensorType((), f32)), "attribute `dtype` is .*; expected a scalar type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()


def test_the_result_is_a_value_only_if_all_operands_are():
    tensor = Block([VTensorType((2,), f32).to_tensor()]).args[0]
    assert pd.relu(tensor).out.type is tensor.type
    assert pd.add(tensor, value(2)).out.type is tensor.type
    assert pd.add(value(2), value(2)).out.type is VTensorType((2,), f32)
