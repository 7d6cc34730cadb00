"""What the judge lets pass, and what not: numbers at the ends of fp64, constants in other formats, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir
from tx8ir.core import (
    Builder,
    DenseAttr,
    FunctionType,
    Program,
    ScalarType,
    StrAttr,
    UnsupportedError,
    VTensorType,
    bf16,
    f16,
    f32,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import EvaluationError
from tx8ir.testing import NumericGuarantee, check, check_outputs, observe
from tx8ir.testing.cases import small_scope
from tx8ir.testing.guidance.direction import Direction
from tx8ir.testing.passes.rounding import Allowance, makes_nan, rounding_allowances, with_moved_numbers

Array: TypeAlias = NDArray[Any]

EXP_BY_SUM = """
module {
  func.func @main(%x: !pd.vtensor<1x1xf64>) -> !pd.vtensor<1x1xf64> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<1x1xf64>) -> !pd.vtensor<1x1xf64>
    %1 = "pd.sum"(%0) {axis = array<i64: 1>, keepdim = false} : (!pd.vtensor<1x1xf64>) -> !pd.vtensor<1xf64>
    %2 = "pd.reciprocal"(%1) : (!pd.vtensor<1xf64>) -> !pd.vtensor<1xf64>
    %3 = "pd.multiply"(%0, %2) : (!pd.vtensor<1x1xf64>, !pd.vtensor<1xf64>) -> !pd.vtensor<1x1xf64>
    return %3 : !pd.vtensor<1x1xf64>
  }
}
"""
RECIPROCAL = """
module {
  func.func @main(%x: !pd.vtensor<3xf32>) -> !pd.vtensor<3xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %1 = "pd.reciprocal"(%x) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %2 = "pd.multiply"(%0, %1) : (!pd.vtensor<3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    return %2 : !pd.vtensor<3xf32>
  }
}
"""
SCALED_KEYS = """
module {
  func.func @main(%q: !pd.vtensor<1x2xf32>, %v: !pd.vtensor<1x1xf32>) -> !pd.vtensor<1x1xf32> {
    %0 = "builtin.constant"() {value = dense<[0.0]> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %1 = "pd.multiply"(%0, %q) : (!pd.vtensor<1xf32>, !pd.vtensor<1x2xf32>) -> !pd.vtensor<1x2xf32>
    %2 = "pd.matmul"(%q, %1) {transpose_x = false, transpose_y = true}
      : (!pd.vtensor<1x2xf32>, !pd.vtensor<1x2xf32>) -> !pd.vtensor<1x1xf32>
    %3 = "pd.softmax"(%2) {axis = -1 : i64} : (!pd.vtensor<1x1xf32>) -> !pd.vtensor<1x1xf32>
    %4 = "pd.matmul"(%3, %v) {transpose_x = false, transpose_y = false}
      : (!pd.vtensor<1x1xf32>, !pd.vtensor<1x1xf32>) -> !pd.vtensor<1x1xf32>
    return %4 : !pd.vtensor<1x1xf32>
  }
}
"""
CONSTANTS = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "builtin.constant"() {value = dense<[0.1, 0.3]> : !pd.vtensor<2xf32>} : () -> !pd.vtensor<2xf32>
    %1 = "pd.multiply"(%x, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %2 = "builtin.constant"() {value = dense<[0.5, 3.0]> : !pd.vtensor<2xf32>} : () -> !pd.vtensor<2xf32>
    %3 = "pd.multiply"(%x, %2) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %1, %3 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
}
"""
SUM = """
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<f32> {
    %0 = "pd.sum"(%x) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<4xf32>) -> !pd.vtensor<f32>
    return %0 : !pd.vtensor<f32>
  }
}
"""
WIDE_INPUT = """
module {
  func.func @main(%x: !pd.vtensor<1x1xui64>) -> !pd.vtensor<1x1xui64> {
    return %x : !pd.vtensor<1x1xui64>
  }
}
"""
WRITTEN_INPUT = """
module {
  func.func @main(%x: !pd.tensor<2xi64>) {
    %0 = "pd.scale_"(%x) {bias = 1.0 : f64, bias_after_scale = true, scale = 1.0 : f64}
      : (!pd.tensor<2xi64>) -> !pd.tensor<2xi64>
    return
  }
}
"""


def allowance(text: str, x: Array) -> Allowance | None:
    program = tx8ir.parse(text)
    return rounding_allowances(program, observe(program, {"arg0": x}), {"arg0": x}).get("result 'result0'")


def stored(format: ScalarType, change: float = 1.0) -> Callable[[Program], None]:
    """A function that stores constants in a format, times a number."""

    def store(program: Program) -> None:
        for op in list(program.module.walk()):
            if isinstance(op, builtin.ConstantOp):
                value = op.attributes["value"]
                assert isinstance(value, DenseAttr)
                number = (value.value * change).astype(format.dtype)
                with Builder.before(op):
                    new = pd.cast(builtin.constant(value=number), dtype=f32)
                op.replace_with(new)

    return store


def test_nothing_is_owed_where_fp64_ends_on_the_way() -> None:
    """exp(x) / sum exp(x) is 1; in fp64 it is NaN, which is not an exact result."""
    assert check(tx8ir.parse(EXP_BY_SUM), "recognize-softmax", inputs={"arg0": np.full((1, 1), 1e14)}).passed
    found = allowance(EXP_BY_SUM, np.full((1, 1), 1e14))
    assert found is not None
    assert not found.is_judged
    found = allowance(EXP_BY_SUM, np.full((1, 1), -1e14))  # 0 / 0 in fp64
    assert found is not None
    assert not found.is_judged


def test_a_pass_may_take_it_that_no_nan_arises() -> None:
    """Of a row with an infinity, exp(x) / sum exp(x) makes NaN and zeros, softmax(x) NaN."""
    text = EXP_BY_SUM.replace("1x1x", "1x2x")
    inputs = {"arg0": np.array([[np.inf, 1.0]])}
    assert check(tx8ir.parse(text), "recognize-softmax", inputs=inputs).passed
    assert not check(tx8ir.parse(text), "recognize-softmax", inputs=inputs, guarantee=NumericGuarantee.ROUNDING).passed
    assert makes_nan(tx8ir.parse(text), inputs)
    assert not makes_nan(tx8ir.parse(text), {"arg0": np.array([[np.nan, 1.0]])})  # it was there before
    beside = {"arg0": np.array([[np.nan, 1.0], [1.0, np.inf]])}
    assert makes_nan(tx8ir.parse(text.replace("1x2x", "2x2x").replace("<1xf64>", "<2xf64>")), beside)


def test_infinities_and_nan_that_are_exact_have_to_stay_beside_numbers_that_round() -> None:
    found = allowance(RECIPROCAL, np.float32([0.0, np.nan, 1.5]))
    assert found is not None
    assert found.is_judged.all()
    assert found.admits(np.float32([np.inf, np.nan, np.exp(1.5) / 1.5])).all()
    assert found.admits(np.float32([-np.inf, np.inf, 0.0])).tolist() == [False, False, False]
    assert found.admits(np.float32([1.0, 1.0, np.nan])).tolist() == [False, False, False]


def test_attention_does_not_overflow_where_scaled_keys_do_not() -> None:
    inputs = {"arg0": np.float32([[1.8446742974197924e19, -9.2e18]]), "arg1": np.float32([[1.0]])}
    assert check(tx8ir.parse(SCALED_KEYS), "recognize-attention", inputs=inputs).passed


@pytest.mark.parametrize("format", [bf16, f16], ids=str)
def test_formats_of_constants_may_change_and_their_values_as_far_as_these_round(format: ScalarType) -> None:
    program = tx8ir.parse(CONSTANTS)
    assert check(program, stored(format), guarantee=NumericGuarantee.FORMATS).passed
    assert not check(program, stored(format, 1.25), guarantee=NumericGuarantee.FORMATS, reduce=False).passed
    assert not check(program, stored(f32, 1.00001), guarantee=NumericGuarantee.FORMATS, reduce=False).passed
    assert not check(program, stored(format), guarantee=NumericGuarantee.ROUNDING, reduce=False).passed


def test_nothing_is_owed_where_terms_of_a_sum_overflow_in_another_order() -> None:
    """BLAS may hide it: 3e38 * -3e38 is infinite in f32, and no NaN beside -inf in fp64."""
    found = allowance(SUM, np.float32([3e38, -3e38, 3e38, -3e38]))
    assert found is not None
    assert not found.is_judged
    found = allowance(SUM, np.float32([1e30, -np.inf, 1.0, 2.0]))
    assert found is None or found.is_judged


def test_whole_numbers_of_inputs_fit_into_new_formats() -> None:
    inputs = {"arg0": np.array([[2**64 - 1]], np.uint64)}
    assert check(tx8ir.parse(WIDE_INPUT), "convert-dtype", inputs=inputs).passed


def test_constants_that_fit_into_the_new_format_have_to_stay() -> None:
    text = CONSTANTS.replace("0.1, 0.3", "0.25, 0.5")
    assert check(tx8ir.parse(text), stored(bf16), guarantee=NumericGuarantee.FORMATS).passed
    assert not check(
        tx8ir.parse(text), stored(bf16, 1 + 2**-7), guarantee=NumericGuarantee.FORMATS, reduce=False
    ).passed


def test_a_pass_may_refuse_a_program_and_leave_it_as_it_is() -> None:
    program = tx8ir.parse(WRITTEN_INPUT)
    assert check(program, "convert-element-types").passed

    def refuses_too_late(program: Program) -> None:
        program.main.set_attribute("seen", StrAttr("yes"))
        raise UnsupportedError("not this one")

    found = check(program, refuses_too_late, reduce=False).counterexample
    assert found is not None
    assert found.failure.kind == "error"


def test_small_programs_of_a_direction_leave_out_samples_that_no_operation_takes() -> None:
    direction = Direction(ops=frozenset({"pd.softmax"}), attributes=(("axis", (-1, 1, 1, 1)),))
    assert next(small_scope.programs(direction)).ops == ("pd.softmax",)


CENTRED_BY_MORE_ROWS = """
module {
  func.func @main(%x: !pd.vtensor<1x1xf32>) -> !pd.vtensor<2x1xf32> {
    %0 = "pd.mean"(%x) {axis = array<i64>, keepdim = false} : (!pd.vtensor<1x1xf32>) -> !pd.vtensor<f32>
    %1 = "pd.expand"(%0) {shape = array<i64: 2, 1>} : (!pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %2 = "pd.subtract"(%x, %1) : (!pd.vtensor<1x1xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %3 = "pd.rms_norm"(%2, %1) {begin_norm_axis = 0 : i64, epsilon = 1.0e-06 : f64}
      : (!pd.vtensor<2x1xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    return %3 : !pd.vtensor<2x1xf32>
  }
}
"""
OVERFLOWING = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "pd.multiply"(%x, %x) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.subtract"(%0, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %1 : !pd.vtensor<2xf32>
  }
}
"""


def test_a_mean_that_has_more_rows_than_what_it_centres_is_no_layer_norm() -> None:
    assert check(tx8ir.parse(CENTRED_BY_MORE_ROWS), "recognize-layer-norm").passed


def test_compiled_numbers_are_not_compared_where_the_program_overflows() -> None:
    program, inputs = tx8ir.parse(OVERFLOWING), {"arg0": np.float32([1e30, 1.0])}
    right, wrong = (
        check_outputs(program, inputs, {"result0": np.float32(numbers)}) for numbers in ([np.nan, 0.0], [np.nan, 1.0])
    )
    assert right.passed
    assert not wrong.passed


def test_a_pass_over_formats_may_take_it_that_sums_fit() -> None:
    text = """module { func.func @main(%0: !pd.vtensor<2xi32>) -> !pd.vtensor<i64> {
        %1 = "pd.sum"(%0) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<2xi32>) -> !pd.vtensor<i64>
        return %1 : !pd.vtensor<i64> } }"""
    program = tx8ir.parse(text)
    assert check(program, "convert-dtype", inputs={"arg0": np.int32([2**31 - 1, 1])}).passed
    assert check(program, "convert-dtype", inputs={"arg0": np.int32([2**30, 1])}).passed


def test_a_pass_over_formats_may_take_it_that_nothing_wraps() -> None:
    text = """module { func.func @main(%0: !pd.vtensor<ui64>, %1: !pd.vtensor<ui64>) -> !pd.vtensor<ui64> {
        %2 = "pd.subtract"(%0, %1) : (!pd.vtensor<ui64>, !pd.vtensor<ui64>) -> !pd.vtensor<ui64>
        return %2 : !pd.vtensor<ui64> } }"""
    inputs = {"arg0": np.array(0, np.uint64), "arg1": np.array(1, np.uint64)}
    assert check(tx8ir.parse(text), "convert-dtype", inputs=inputs).passed


def test_where_a_sum_cancels_a_reciprocal_may_be_infinite() -> None:
    text = """module { func.func @main(%0: !pd.vtensor<2x4xf64>) -> !pd.vtensor<2x2xf64> {
        %1 = "pd.matmul"(%0, %0) {transpose_x = false, transpose_y = true} :
            (!pd.vtensor<2x4xf64>, !pd.vtensor<2x4xf64>) -> !pd.vtensor<2x2xf64>
        %2 = "pd.reciprocal"(%1) : (!pd.vtensor<2x2xf64>) -> !pd.vtensor<2x2xf64>
        return %2 : !pd.vtensor<2x2xf64> } }"""
    big = -1.3510798882111488e16
    x = np.array([[0.0, -1.0, big, 1.0], [0.0, big, 1.0, 1.0]])
    assert check(tx8ir.parse(text), "split-large-ops{max-extent=4,max-channels=2}", inputs={"arg0": x}).passed


def test_a_batch_norm_whose_terms_overflow_is_left_open() -> None:
    large = np.float32([3.4028234663852886e38])
    one = np.float32([1.0])
    program = tx8ir.Program.empty()
    main = func.FuncOp(sym_name="main", function_type=FunctionType((VTensorType((1, 1, 1, 1), f32),), ()))
    program.body.append(main)
    with Builder.at_end(main.body.block):
        mean, scale = builtin.constant(value=one).out, builtin.constant(value=large).out
        made = pd.batch_norm(main.body.block.args[0], mean, mean, scale, mean)
        func.ReturnOp([made.results[0]])
    main.set_attribute("function_type", FunctionType(main.function_type.inputs, (made.results[0].type,)))
    x = np.float32([[[[1.5]]]])
    assert check(program, "unfuse-bn", inputs={"arg0": x}).passed


# --- formats that become fewer ---------------------------------------------------------------------------------------

CAST_TWICE = """
module {
  func.func @main(%x: !pd.vtensor<1xf32>) -> !pd.vtensor<1xi32> {
    %0 = "pd.cast"(%x) {dtype = i64} : (!pd.vtensor<1xf32>) -> !pd.vtensor<1xi64>
    %1 = "pd.cast"(%0) {dtype = i32} : (!pd.vtensor<1xi64>) -> !pd.vtensor<1xi32>
    return %1 : !pd.vtensor<1xi32>
  }
}
"""


def test_a_format_that_replaces_a_wider_one_need_not_hold_more_even_where_values_go_away() -> None:
    """The two casts become one: no value more has the narrower type than before."""
    large = {"arg0": np.array([2.0**65], np.float32)}
    found = check(tx8ir.parse(CAST_TWICE), "convert-element-types", inputs=large)
    assert found.changed
    assert found.passed, found.counterexample


def test_constants_are_not_moved_so_that_they_cancel() -> None:
    """Two of equal weight, of which each is off by as much as the other in every run."""
    program = tx8ir.parse(CONSTANTS.replace("[0.1, 0.3]", "[0.1, -0.1]"))
    sums = []
    for seed in range(1, 5):
        moved = with_moved_numbers(program, (bf16.format,), seed)
        constant = next(op for op in moved.module.walk() if isinstance(op, builtin.ConstantOp))
        sums.append(float(constant.value.value.astype(np.float64).sum()))
    assert all(abs(total) > 1e-6 for total in sums)


CANCELLING_IN_FP64 = """
module {
  func.func @main(%x: !pd.vtensor<1x2x3x3xf32>) -> !pd.vtensor<1x3x2x2xf32> {
    %0 = "pd.full"() {dtype = f32, shape = array<i64: 3, 2, 2, 2>, value = 0.001 : f64} : () -> !pd.vtensor<3x2x2x2xf32>
    %1 = "pd.fused_conv2d_add_act"(%x, %0) {activation = "relu", data_format = "NCHW", dilations = array<i64: 1, 1>,
        filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>,
        strides = array<i64: 1, 1>}
        : (!pd.vtensor<1x2x3x3xf32>, !pd.vtensor<3x2x2x2xf32>) -> !pd.vtensor<1x3x2x2xf32>
    return %1 : !pd.vtensor<1x3x2x2xf32>
  }
}
"""


def test_sums_that_lose_terms_in_fp64_may_do_so_otherwise() -> None:
    """What fp64 loses of 0.001 * (largest - largest + 1) is another number for each constant."""
    x = np.zeros((1, 2, 3, 3), np.float32)
    largest = np.finfo(np.float32).max
    x[0, 0, 1, 1], x[0, 1, 1, 0], x[0, 1, 2, 0] = -largest, largest, 1.0
    assert check(tx8ir.parse(CANCELLING_IN_FP64), "auto-mixed-precision", inputs={"arg0": x}).passed


POWER_OF_A_TINY_NUMBER = """
module {
  func.func @main(%x: !pd.vtensor<1xf64>) -> !pd.vtensor<1xf64> {
    %0 = "builtin.constant"() {value = dense<-5.0e-324> : !pd.vtensor<1xf64>} : () -> !pd.vtensor<1xf64>
    %1 = "pd.elementwise_pow"(%x, %0) : (!pd.vtensor<1xf64>, !pd.vtensor<1xf64>) -> !pd.vtensor<1xf64>
    return %1 : !pd.vtensor<1xf64>
  }
}
"""


def test_a_constant_may_vanish_in_a_new_format() -> None:
    """(-1.5) to the power of a tiny number is a NaN, to the power of 0 it is 1."""
    found = check(tx8ir.parse(POWER_OF_A_TINY_NUMBER), "convert-element-types", inputs={"arg0": np.array([-1.5])})
    assert found.changed
    assert found.passed, found.counterexample


def test_a_variable_may_hold_integers_that_a_new_format_does_not() -> None:
    program = tx8ir.parse("""
module {
  func.func @main() -> !pd.vtensor<1xui64> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<1xui64>
    return %0 : !pd.vtensor<1xui64>
  }
}
""")
    program.weights.add("w", np.array([2**62 + 1], np.uint64), is_mutable=True)
    found = check(program, "convert-dtype", inputs={})
    assert found.changed
    assert found.passed, found.counterexample


SIX_ROUNDINGS = """
module {
  func.func @main(%x: !pd.vtensor<1x3xf32>) -> !pd.vtensor<1x1xf32> {
    %0 = "builtin.constant"() {value = dense<[[0.18895574], [-0.6855821], [0.14202482]]> : !pd.vtensor<3x1xf32>}
        : () -> !pd.vtensor<3x1xf32>
    %1 = "pd.matmul"(%x, %0) {transpose_x = false, transpose_y = false}
        : (!pd.vtensor<1x3xf32>, !pd.vtensor<3x1xf32>) -> !pd.vtensor<1x1xf32>
    return %1 : !pd.vtensor<1x1xf32>
  }
}
"""


def test_constants_that_cancel_in_the_first_runs_are_moved_more_often() -> None:
    program = tx8ir.parse(SIX_ROUNDINGS)
    for scale in (1.0, 1.3, 1.7, 2.3):
        x = np.float32([[25165824.0, 8388608.0 * scale, -8388608.0]])
        assert check(program, stored(bf16), guarantee=NumericGuarantee.FORMATS, inputs={"arg0": x}).passed


def test_a_program_that_lacks_what_it_reads_is_not_judged_though_no_run_comes_by() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%more: !pd.vtensor<i1>) {
    "scf.while"() ({
      "scf.condition"(%more) : (!pd.vtensor<i1>) -> ()
    }, {
      %0 = "builtin.get_parameter"() {name = "missing"} : () -> !pd.vtensor<f32>
      "scf.yield"() : () -> ()
    }) : () -> ()
    return
  }
}
""")
    with pytest.raises(EvaluationError, match="'missing', which the program's weights do not have"):
        check(program, "loop-invariant-motion", inputs={"arg0": np.array(False)})
