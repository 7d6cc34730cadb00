"""What is accepted as an input, and how each precision treats formats."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tx8ir
from tx8ir.interpreter import EvaluationError, Interpreter, evaluate


def identity(type_):
    return tx8ir.parse(
        f'func.func @main(%x: {type_}) -> {type_} attributes {{arg_names = ["x"], result_names = ["y"]}} {{\n'
        f"  return %x : {type_}\n}}"
    )


def through(type_, array, precision="native"):
    return evaluate(identity(type_), {"x": array}, precision)["y"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"missing input 'x'; the program takes x: !pd\.vtensor<2x\?xf32>"),
        ({"x": np.zeros((2, 3)), "z": 1}, r"unknown input 'z'; the program takes x: !pd\.vtensor<2x\?xf32>"),
        ({"x": np.zeros((3, 3))}, r"input 'x' has shape \[3, 3\]; expected \[2, \?\]"),
        ({"x": np.zeros(2)}, r"input 'x' has shape \[2\]; expected \[2, \?\]"),
        (
            {"x": np.zeros((2, 3), np.int64)},
            r"input 'x' has dtype int64; expected float32 for f32, or another of float64, float32, float16, bfloat16",
        ),
        ({"x": np.zeros((2, 3), bool)}, "input 'x' has dtype bool; expected float32"),
    ],
)
def test_inputs_that_do_not_fit_are_named(inputs, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(identity("!pd.vtensor<2x?xf32>"), inputs)


@pytest.mark.parametrize(
    ("element", "array", "message"),
    [
        ("i32", np.array([0, 2**31]), r"input 'x'\[1\] is 2147483648; expected -2147483648 to 2147483647 for i32"),
        ("ui8", np.array([-1, 0]), r"input 'x'\[0\] is -1; expected 0 to 255 for ui8"),
        ("i32", np.array([0.0, 1.0]), "input 'x' has dtype float64; expected int32 for i32, or integers in its range"),
        ("i32", np.array([True, False]), "input 'x' has dtype bool; expected int32"),
        ("i1", np.array([0, 1]), "input 'x' has dtype int64; expected bool for i1"),
    ],
)
def test_integers_out_of_range_and_other_kinds_are_refused(element, array, message):
    with pytest.raises(EvaluationError, match=message):
        through(f"!pd.vtensor<2x{element}>", array)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_integers_in_range_convert(dtype):
    result = through("!pd.vtensor<3xi32>", np.array([0, 1, 100], dtype))
    assert (result.tolist(), result.dtype) == ([0, 1, 100], np.int32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_floats_convert(dtype):
    assert through("!pd.vtensor<2xf32>", np.array([0.5, -2.0], dtype)).tolist() == [0.5, -2.0]


def test_lists_and_scalars_are_arrays():
    assert through("!pd.vtensor<2xf32>", [0.5, 1.0]).tolist() == [0.5, 1.0]
    assert through("!pd.vtensor<i64>", 3).item() == 3


def test_a_float_input_is_rounded_once_to_the_declared_format():
    # Through float32, 1 + 2^-8 + 2^-40 would become the tie 1 + 2^-8 and round to 1.
    above_tie = np.array([1 + 2**-8 + 2**-40])
    assert through("!pd.vtensor<1xbf16>", above_tie).tolist() == [1 + 2**-7]
    assert through("!pd.vtensor<1xbf16>", above_tie, "fp64").tolist() == above_tie.tolist()


@given(x=hnp.arrays(np.float64, 4, elements=st.floats(width=64)))
def test_fp64_rounds_nothing(x):
    result = through("!pd.vtensor<4xbf16>", x, "fp64")
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, x)


CHAIN = """
func.func @main(%x: !pd.vtensor<4x{0}>) -> !pd.vtensor<4x{0}> attributes {{arg_names = ["x"], result_names = ["y"]}} {{
  %0 = "pd.multiply"(%x, %x) : (!pd.vtensor<4x{0}>, !pd.vtensor<4x{0}>) -> !pd.vtensor<4x{0}>
  %1 = "pd.add"(%0, %x) : (!pd.vtensor<4x{0}>, !pd.vtensor<4x{0}>) -> !pd.vtensor<4x{0}>
  return %1 : !pd.vtensor<4x{0}>
}}
"""


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@given(x=hnp.arrays(np.float32, 4, elements=st.floats(-100, 100, width=16)))
def test_native_rounds_after_every_operation(element, x):
    dtype = tx8ir.core.ScalarType.of(element).dtype
    x = x.astype(dtype)

    def rounded(wide):  # x*x and x*x + x are exact in float64 for these formats and ranges
        return wide.astype(np.float32).astype(dtype).astype(np.float64)

    wide = x.astype(np.float64)
    expected = rounded(rounded(wide * wide) + wide)
    result = evaluate(tx8ir.parse(CHAIN.format(element)), {"x": x})["y"]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float64), expected)


def test_tf32_results_have_ten_mantissa_bits():
    x = np.float32([1 + 2**-10, 1 + 2**-11, 3.0, 1 / 3])
    result = evaluate(tx8ir.parse(CHAIN.format("tf32")), {"x": x})["y"]
    assert result.dtype == np.float32
    assert not np.any(result.view(np.uint32) & 0x1FFF)


def test_f64_stays_f64_in_native():
    x = np.array([1 / 3, 1e-300, 2.0, 0.0])
    result = evaluate(tx8ir.parse(CHAIN.format("f64")), {"x": x})["y"]
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, x * x + x)


def test_infinities_and_nan_are_values_not_warnings(recwarn):
    program = tx8ir.parse(CHAIN.format("f32"))
    result = evaluate(program, {"x": np.float32([np.inf, -np.inf, np.nan, 1e30])})["y"]
    assert result[0] == np.inf
    assert result[3] == np.inf
    assert np.isnan(result[1])
    assert np.isnan(result[2])
    assert not recwarn.list


def test_the_observer_sees_every_operation_in_the_working_precision():
    seen = []
    interpreter = Interpreter(
        tx8ir.parse(CHAIN.format("bf16")), observer=lambda op, results: seen.append((op.name, results[0].dtype.name))
    )
    interpreter.run({"x": np.zeros(4)})
    assert seen == [("pd.multiply", "float32"), ("pd.add", "float32")]


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="precision is 'fp32'; expected 'native' or 'f64'"):
        Interpreter(identity("!pd.vtensor<1xf32>"), "fp32")


def test_a_variable_takes_what_its_format_can_hold_of_fp64():
    program = tx8ir.parse("""module {
      func.func @main(%x: !pd.vtensor<2xf32>) -> () {
        %y = "pd.square"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        "builtin.set_parameter"(%y) {name = "w"} : (!pd.vtensor<2xf32>) -> ()
        return
      }
    }""")
    program.weights.add("w", np.zeros(2, np.float32), is_mutable=True)
    interpreter = Interpreter(program, "fp64")
    interpreter.run({"arg0": np.array([2.0**100, 3.0])})
    assert interpreter.parameters["w"].tolist() == [2.0**200, 9.0]
    assert program.weights["w"].numpy().tolist() == [np.inf, 9.0]
