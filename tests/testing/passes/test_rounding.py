"""How far results may be off after a pass that keeps values up to rounding."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.interpreter import EvaluationError
from tx8ir.target.formats import BF16, F16, F32, Format
from tx8ir.testing import NumericGuarantee, assert_preserves, check, draw_inputs, observe
from tx8ir.testing.passes.observe import difference
from tx8ir.testing.passes.perturbation import ulps
from tx8ir.testing.passes.rounding import rounding_allowances, rounding_difference

THROUGH_A_VARIABLE = """
module {
  func.func @main(%x: !pd.vtensor<3xf32>) -> (!pd.vtensor<f32>, !pd.vtensor<3xf32>) {
    %0 = "pd.sum"(%x) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<3xf32>) -> !pd.vtensor<f32>
    "builtin.set_parameter"(%0) {name = "w"} : (!pd.vtensor<f32>) -> ()
    %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<f32>
    %2 = "pd.relu"(%x) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    return %1, %2 : !pd.vtensor<f32>, !pd.vtensor<3xf32>
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
SOFTMAX = """
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.softmax"(%x) {axis = 0} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
}
"""


def test_what_was_rounded_on_its_way_through_a_variable_may_be_off() -> None:
    program = tx8ir.parse(THROUGH_A_VARIABLE)
    program.weights.add("w", np.float32(0), is_mutable=True)
    inputs = draw_inputs(program, 0)
    allowed = rounding_allowances(program, observe(program, inputs), inputs)
    assert allowed["result 'result0'"].bound > 0
    assert "result 'result1'" not in allowed  # relu rounds nothing


def test_a_sum_of_cancelling_terms_may_be_off_by_units_of_its_terms() -> None:
    program = tx8ir.parse(SUM)
    alike, cancelling = (
        rounding_allowances(program, observe(program, {"arg0": x}), {"arg0": x})["result 'result0'"]
        for x in (np.float32([1, 2, 3, 4]), np.float32([1e8, 1, -1e8, 1]))
    )
    assert 0 < alike.bound < 1e-4
    assert 1 < cancelling.bound < 1e3


def test_nothing_is_owed_where_the_program_itself_overflows() -> None:
    program = tx8ir.parse(SUM)
    x = np.float32([3e38, 3e38, -3e38, -3e38])
    allowed = rounding_allowances(program, observe(program, {"arg0": x}), {"arg0": x})["result 'result0'"]
    assert allowed.exact == 0
    assert not allowed.is_judged
    nan = np.float32([np.nan, 1, 2, 3])
    allowed = rounding_allowances(program, observe(program, {"arg0": nan}), {"arg0": nan}).get("result 'result0'")
    assert allowed is None  # has to stay a NaN


def naive_softmax(program: Program) -> None:
    """exp(x) / sum exp(x): equal but for rounding, until exp overflows."""
    for op in list(program.module.walk()):
        if isinstance(op, pd.SoftmaxOp):
            with Builder.before(op):
                e = pd.exp(op.x)
                new = pd.divide(e, pd.sum(e, axis=(0,), keepdim=True))
            op.replace_with(new)


def reversed_sum(program: Program) -> None:
    """Sums in another order."""
    for op in list(program.module.walk()):
        if isinstance(op, pd.SumOp):
            with Builder.before(op):
                parts = pd.split(op.x, sections=(1, 1, 1, 1), axis=0).results
                parts = [pd.reshape(p, shape=()) for p in parts]
                new = pd.add(pd.add(pd.add(parts[3], parts[2]), parts[1]), parts[0])
            op.replace_with(new)


def test_a_softmax_that_overflows_is_found_on_large_inputs() -> None:
    found = check(tx8ir.parse(SOFTMAX), naive_softmax, guarantee=NumericGuarantee.ROUNDING, reduce=False).counterexample
    assert found is not None
    assert found.failure.kind == "answer"


def test_a_sum_in_another_order_keeps_values_up_to_rounding() -> None:
    assert check(tx8ir.parse(SUM), reversed_sum, guarantee=NumericGuarantee.ROUNDING).passed
    assert not check(tx8ir.parse(SUM), reversed_sum, guarantee=NumericGuarantee.BITWISE, reduce=False).passed


NUMBERS = st.lists(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-3, 7.25, 1e8, -1e8, 3e38, -3e38, np.inf, np.nan]), min_size=4, max_size=4
)


@given(NUMBERS, st.sampled_from([0.0, 1e-7, -1e-6, 1e-3, 1.0, np.inf, np.nan]))
def test_as_few_perturbed_runs_as_it_takes_say_what_all_of_them_say(numbers: list[float], off: float) -> None:
    inputs = {"arg0": np.float32(numbers)}
    for program in map(tx8ir.parse, (SUM, SOFTMAX)):
        before = observe(program, inputs)
        with np.errstate(all="ignore"):
            results = {name: (y * np.float32(1 + off)).astype(y.dtype) for name, y in before.results.items()}
        after = attrs.evolve(before, results=results)
        allowed = {name: a.admits for name, a in rounding_allowances(program, before, inputs).items()}
        expected = difference(before, after, NumericGuarantee.ROUNDING, allowed)
        assert (rounding_difference(program, before, after, inputs) is None) == (expected is None)


@pytest.mark.parametrize("format", [F32, F16, BF16], ids=str)
def test_units_in_the_last_place_are_the_distance_to_the_next_number(format: Format) -> None:
    numbers = np.array([0.0, 1.0, 1.5, -3.0, 1e-3, 2.0 ** (2 - (1 << (format.exponent_bits - 1)) - 3), 1000.0])
    stored = numbers.astype(format.dtype)
    away = np.nextafter(stored, np.where(stored < 0, -np.inf, np.inf).astype(format.dtype))
    expected = np.abs(away.astype(np.float64) - stored.astype(np.float64))
    assert ulps(stored.astype(np.float64), format).tolist() == expected.tolist()


def test_a_constant_of_a_new_format_counts_where_one_that_had_it_goes_away() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<1x1x1xf32>, %m: !pd.vtensor<i1>) -> !pd.vtensor<1x1x1xf32> {
    %0 = "builtin.constant"() {value = dense<-0.13662207> : !pd.vtensor<1x1x1xf32>} : () -> !pd.vtensor<1x1x1xf32>
    %1 = "pd.scaled_dot_product_attention"(%x, %x, %0, %m) {is_causal = true}
        : (!pd.vtensor<1x1x1xf32>, !pd.vtensor<1x1x1xf32>, !pd.vtensor<1x1x1xf32>, !pd.vtensor<i1>)
        -> !pd.vtensor<1x1x1xf32>
    %2 = "pd.full"() {dtype = bf16, shape = array<i64: 1>, value = 2.0 : f64} : () -> !pd.vtensor<1xbf16>
    return %1 : !pd.vtensor<1x1x1xf32>
  }
}
""")
    inputs = {"arg0": np.zeros((1, 1, 1), np.float32), "arg1": np.array(True)}
    assert_preserves("auto-mixed-precision", program, inputs=inputs)


@pytest.mark.parametrize("off", [4, 9])
def test_a_cast_rounds_once(off: int) -> None:
    """What is cast in another place may be a few units off, not 9."""
    program = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<64xf32>) -> !pd.vtensor<64xf16> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<64xf32>) -> !pd.vtensor<64xf32>
    %1 = "pd.cast"(%0) {dtype = f16} : (!pd.vtensor<64xf32>) -> !pd.vtensor<64xf16>
    return %1 : !pd.vtensor<64xf16>
  }
}
""")
    inputs = {"arg0": np.linspace(-5, 10, 64, dtype=np.float32)}
    name, before = "result 'result0'", observe(program, inputs)
    allowance = rounding_allowances(program, before, inputs)[name]
    units = ulps(before.arrays()[name].astype(np.float64), F16)
    assert allowance.admits(before.arrays()[name] + off * units).all() == (off == 4)
    assert allowance.admits(before.arrays()[name] + off * units).any() == (off == 4)


def test_nothing_is_owed_where_the_largest_numbers_of_fp64_overflow() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<2x2x2xf64>) -> !pd.vtensor<2x2x2xf64> {
    %0 = "pd.matmul"(%x, %x) {transpose_y = true}
        : (!pd.vtensor<2x2x2xf64>, !pd.vtensor<2x2x2xf64>) -> !pd.vtensor<2x2x2xf64>
    %1 = "pd.scale"(%0) {scale = 1.0e-30 : f64} : (!pd.vtensor<2x2x2xf64>) -> !pd.vtensor<2x2x2xf64>
    %2 = "pd.softmax"(%1) {axis = -1 : i64} : (!pd.vtensor<2x2x2xf64>) -> !pd.vtensor<2x2x2xf64>
    %3 = "pd.matmul"(%2, %x) : (!pd.vtensor<2x2x2xf64>, !pd.vtensor<2x2x2xf64>) -> !pd.vtensor<2x2x2xf64>
    return %3 : !pd.vtensor<2x2x2xf64>
  }
}
""")
    inputs = {"arg0": np.array([np.zeros((2, 2)), [[-1.25, 0.0], [-np.finfo(np.float64).max, 0.0]]])}
    assert_preserves("recognize-attention", program, inputs=inputs)


WITHIN_BOTH_SIGNS = """
module {
  func.func @main(%x: !pd.vtensor<1x1x1x2xf32>) -> !pd.vtensor<1x1x1x1xf32> {
    %w = "builtin.constant"() {value = dense<0.5> : !pd.vtensor<1x1x1x2xf32>} : () -> !pd.vtensor<1x1x1x2xf32>
    %1 = "pd.conv2d"(%x, %w) {strides = array<i64: 1, 1>, paddings = array<i64: 0, 0>, padding_algorithm = "EXPLICIT",
        dilations = array<i64: 1, 1>, groups = 1 : i64, data_format = "NCHW", filter_format = "OIHW"}
        : (!pd.vtensor<1x1x1x2xf32>, !pd.vtensor<1x1x1x2xf32>) -> !pd.vtensor<1x1x1x1xf32>
    %m = "builtin.constant"() {value = dense<0.0> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %v = "builtin.constant"() {value = dense<0.0625> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %2 = "pd.batch_norm"(%1, %m, %v) {epsilon = 0.0 : f64, momentum = 0.9 : f64, data_format = "NCHW", is_test = true,
        use_global_stats = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
        : (!pd.vtensor<1x1x1x1xf32>, !pd.vtensor<1xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<1x1x1x1xf32>
    return %2 : !pd.vtensor<1x1x1x1xf32>
  }
}
"""


@pytest.mark.parametrize("numbers", [[3e38, -3e38], [3e38, -np.inf]])
def test_nothing_is_owed_where_scaled_terms_overflow(numbers: list[float]) -> None:
    """The factor of the batch norm, 4, is taken into the terms: 2 * 3e38 is infinite."""
    inputs = {"arg0": np.float32(numbers).reshape(1, 1, 1, 2)}
    assert_preserves("fuse-conv-bn", tx8ir.parse(WITHIN_BOTH_SIGNS), inputs=inputs)


def test_infinities_stay_where_scaled_terms_do_not_overflow() -> None:
    program = tx8ir.parse(WITHIN_BOTH_SIGNS)
    inputs = {"arg0": np.float32([3e37, -np.inf]).reshape(1, 1, 1, 2)}
    allowed = rounding_allowances(program, observe(program, inputs), inputs).get("result 'result0'")
    assert allowed is None or allowed.is_judged.all()


COUNTED = """
module {{
  func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {{
    %0 = "pd.full"() {{dtype = f32, shape = array<i64>, value = 0.0 : f64}} : () -> !pd.vtensor<f32>
    %1 = "pd.full"() {{dtype = f32, shape = array<i64>, value = {step} : f64}} : () -> !pd.vtensor<f32>
    %2 = "pd.full"() {{dtype = f32, shape = array<i64>, value = {end} : f64}} : () -> !pd.vtensor<f32>
    %3:2 = "scf.while"(%0, %x) ({{
    ^bb0(%i: !pd.vtensor<f32>, %a: !pd.vtensor<2xf32>):
      %4 = "pd.less_than"(%i, %2) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      "scf.condition"(%4, %i, %a) : (!pd.vtensor<i1>, !pd.vtensor<f32>, !pd.vtensor<2xf32>) -> ()
    }}, {{
    ^bb0(%i: !pd.vtensor<f32>, %a: !pd.vtensor<2xf32>):
      %5 = "pd.add"(%i, %1) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<f32>
      %6 = "pd.exp"(%a) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%5, %6) : (!pd.vtensor<f32>, !pd.vtensor<2xf32>) -> ()
    }}) : (!pd.vtensor<f32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<f32>, !pd.vtensor<2xf32>)
    return %3#1 : !pd.vtensor<2xf32>
  }}
}}
"""


def test_a_loop_that_counts_exactly_in_floats_is_judged() -> None:
    program = tx8ir.parse(COUNTED.format(step=0.5, end=1.0))
    inputs = {"arg0": np.float32([0.1, 0.7])}
    allowed = rounding_allowances(program, observe(program, inputs), inputs)["result 'result0'"]
    assert allowed.is_judged.all()
    assert (allowed.bound < 1e-4).all()


def test_a_loop_of_which_rounding_decides_how_often_it_runs_is_not_judged() -> None:
    program = tx8ir.parse(COUNTED.format(step=0.1, end=float(np.float32(0.1)) * 3))
    inputs = {"arg0": np.float32([0.1, 0.7])}
    with pytest.raises(EvaluationError, match="how often a loop runs"):
        rounding_allowances(program, observe(program, inputs), inputs)


def two_rounds(program: Program) -> None:
    """Lets every loop run a round less."""
    for op in list(program.module.walk()):
        if isinstance(op, pd.FullOp) and op.value == 3.0:
            op.set_attribute("value", 2.0)


def test_a_round_too_few_is_found_where_a_float_counts() -> None:
    program = tx8ir.parse(COUNTED.format(step=1.0, end=3.0))
    assert not check(program, two_rounds, guarantee=NumericGuarantee.ROUNDING, reduce=False).passed
