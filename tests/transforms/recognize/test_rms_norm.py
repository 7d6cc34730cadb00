"""Root mean square norms: the forms that become one operation, those that do not and why, and generated programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Operation, Program, TensorType, Value, VTensorType, bf16, f16, f32, f64, parse
from tx8ir.dialects import builtin, pd
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.testing.programs.exporter_forms import Forms, by_number, leave
from tx8ir.transforms.recognize.rms_norm import rms_norm, rms_norm_inner_scale, rms_norm_scale

PASS = "recognize-rms-norm"
T = VTensorType((2, 3, 4), f32)


@pytest.mark.parametrize("axes", [(2,), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_every_form_becomes_one_operation(build, run, names, assert_same, axes: tuple[int, ...], scaled: bool) -> None:
    for number in range(0, 100_000, 1777):
        forms = Forms(by_number(number))

        def body(x: Value, w: Value, forms: Forms = forms) -> Value:
            return forms.rms_norm(x, axes, epsilon=1e-6, weight=w if scaled else None)

        program: Program = build(body, T, VTensorType(T.shape[axes[0] :], f32))
        before = program.clone()
        run(program, PASS)
        assert names(program) == ["pd.rms_norm"], str(before)
        made = program.main.body.block.first_op
        assert isinstance(made, pd.RmsNormOp)
        assert (made.begin_norm_axis, made.norm_weight is not None) == (axes[0], scaled)
        assert made.epsilon == pytest.approx(1e-6, rel=1e-7)
        assert_same(before, program, tolerance=1e-6)


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x4xf32>, %w: !pd.vtensor<1x4xf32>) -> !pd.vtensor<2x4xf32> {
    %two = "builtin.constant"() {value = dense<2.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %0 = "pd.elementwise_pow"(%x, %two) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
    %1 = "pd.mean"(%0) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %epsilon = "builtin.constant"() {value = dense<1.0e-06> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %2 = "pd.add"(%1, %epsilon) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %3 = "pd.sqrt"(%2) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %4 = "pd.reciprocal"(%3) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.multiply"(%x, %4) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %6 = "pd.multiply"(%w, %5) : (!pd.vtensor<1x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %6 : !pd.vtensor<2x4xf32>
  }
}
"""


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"rms-norm": 1, "rms-norm-scale": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/recognize-rms-norm.mlir")
    after = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == after


def plain(
    x: Value, *, axes: tuple[int, ...] = (2,), of: Value | None = None, exponent: float = 2.0, root: float = -0.5
) -> Operation:
    mean = pd.mean(pd.pow(x if of is None else of, y=exponent), axis=axes, keepdim=True)
    return pd.multiply(x, pd.pow(pd.scale(mean, bias=1e-6), y=root))


def sum_of_squares(x: Value, divisor: float = 0.0) -> Operation:
    """The norm of vectors, not the root mean square."""
    total = pd.sum(pd.square(x), axis=(2,), keepdim=True).out
    if divisor:
        total = pd.divide(total, pd.full(shape=(), value=divisor, dtype=f32)).out
    return pd.multiply(x, pd.rsqrt(pd.scale(total, bias=1e-6)))


def used(x: Value) -> list[Operation]:
    square = pd.square(x)
    mean = pd.mean(square, axis=(2,), keepdim=True)
    return [pd.multiply(x, pd.rsqrt(pd.scale(mean, bias=1e-6))), pd.log(square)]


def mutable_epsilon(x: Value) -> Operation:
    epsilon = builtin.get_parameter(parameter="epsilon", out=VTensorType((), f32))
    return pd.multiply(x, pd.rsqrt(pd.add(pd.mean(pd.square(x), axis=(2,), keepdim=True), epsilon)))


NEAR_MISSES: dict[str, tuple[Any, Callable[..., Any], str]] = {
    "an inner axis": (
        T,
        lambda x: plain(x, axes=(1,)),
        "expected means over the same trailing axes, found mean over [1] of 3 axes",
    ),
    "the mean of another value": (T, lambda x: plain(x, of=pd.exp(x).out), "'x': expected the same value in both"),
    "a third moment": (T, lambda x: plain(x, exponent=3.0), "attribute 'y': expected 2.0, found 3.0"),
    "another root": (T, lambda x: plain(x, root=-1.0), "attribute 'y': expected -0.5, found -1.0"),
    "a sum": (T, sum_of_squares, "kind: expected pd.mean, found pd.sum"),
    "a sum divided by another number": (
        T,
        lambda x: sum_of_squares(x, 3.0),
        "expected sums divided by the number of elements, found mean is 0.33333333 times the sum of 4",
    ),
    "a used square": (T, used, "expected inner values that nothing else uses, found a use of pd.square by pd.log"),
    "storage": (TensorType(T.shape, f32), plain, "expected values (vtensors) only, found !pd.tensor<2x3x4xf32>"),
    "an epsilon that may be written": (
        T,
        mutable_epsilon,
        "'epsilon': expected a constant whose elements are one number",
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_rms_norm_stays_and_says_why(build, run, name: str) -> None:
    kind, body, reason = NEAR_MISSES[name]
    program: Program = build(body, kind, weights={"epsilon": np.float32(1e-6).reshape(())}, mutable=["epsilon"])
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before
    root = next(op for op in program.main.body.block if isinstance(op, pd.MultiplyOp))
    explanations = [str(m) for m in explain(rms_norm, root).mismatches]
    assert any(reason in text for text in explanations), explanations


def test_a_factor_of_another_shape_stays_a_product(build, run) -> None:
    program: Program = build(lambda x, w: pd.multiply(plain(x), w), T, VTensorType((3, 1), f32))
    root = program.main.body.block.terminator.prev_op
    assert run(program, PASS).stages[0].statistics == {"rms-norm": 1}
    reason = "expected 'weight' of the normalised shape, found !pd.vtensor<3x1xf32>, [4] normalised"
    assert any(reason in str(m) for m in explain(rms_norm_scale, root).mismatches)


def test_a_second_weight_stays_a_product(build, run) -> None:
    w = VTensorType((4,), f32)
    program: Program = build(lambda x, v, w: pd.multiply(pd.rms_norm(x, v), w), T, w, w)
    assert run(program, PASS).stages[0].statistics == {}
    root = program.main.body.block.terminator.prev_op
    assert "expected no weight, found !pd.vtensor<4xf32>" in str(explain(rms_norm_scale, root))


def test_the_chip_agrees_and_is_not_slower(build, run, cycles) -> None:
    def body(x: Value, w: Value) -> Value:
        return Forms(lambda n: 0).rms_norm(x, (2,), epsilon=1e-6, weight=w)

    program: Program = build(body, VTensorType((2, 6, 70), f32), VTensorType((70,), f32))
    before = cycles(program)
    run(program, PASS)
    assert check(program).passed
    assert cycles(program) <= before


def norm(writer: Writer) -> Sequence[Value]:
    """One of the forms, with or without a weight."""
    # of one element the norm is 1 or -1 but for epsilon, and what comes after cancels
    x = writer.value(lambda t: t.element.is_float and isinstance(t, VTensorType) and t.num_elements > 1)
    if x is None:
        return ()
    kind = ranked(x)
    begin = writer.one_of([axis for axis in range(kind.rank) if np.prod(kind.shape[axis:]) > 1])
    forms = Forms.drawn(writer, kind.element)
    shape = (1,) * writer.one_of([0, begin]) + kind.shape[begin:]
    weight = writer.parameter(VTensorType(shape, kind.element)) if writer.one_of([True, False]) else None
    with Builder.at_end(writer.block):
        x = pd.minimum(pd.maximum(x, forms.full(-20.0)), forms.full(20.0)).out
        made = forms.rms_norm(x, tuple(range(begin, kind.rank)), epsilon=1e-3, weight=weight)
    return leave(writer, made)


PROGRAMS = tensor_programs(
    attrs.evolve(EVERYTHING, parameters=False),
    steps=[norm],
    inputs=[T, VTensorType((3, 2), bf16), VTensorType((3,), f16)],
)


@with_examples()
def test_generated_programs_keep_their_answers(examples: int) -> None:
    assert_preserves(PASS, programs=PROGRAMS, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=9 / 10)


def test_a_factor_of_no_elements_stays_a_product() -> None:
    """In the shape of a reshape, 0 stands for the extent that there was."""
    program = parse("""module { func.func @main(%x: !pd.vtensor<1x0x1x1xf32>) -> !pd.vtensor<1x0x1x1xf32> {
      %0 = "pd.rms_norm"(%x) {begin_norm_axis = 1 : i64, epsilon = 1.0e-06 : f64}
        : (!pd.vtensor<1x0x1x1xf32>) -> !pd.vtensor<1x0x1x1xf32>
      %1 = "pd.multiply"(%0, %x) : (!pd.vtensor<1x0x1x1xf32>, !pd.vtensor<1x0x1x1xf32>) -> !pd.vtensor<1x0x1x1xf32>
      return %1 : !pd.vtensor<1x0x1x1xf32>
    } }""")
    assert not assert_preserves(PASS, program).changed


def test_a_weight_times_x_stays_without_an_epsilon(build, run) -> None:
    """Of 5e-324 times a half nothing is left, and 0 times the reciprocal root of 0 is NaN; 5e-324 times it is not."""
    kind = VTensorType((2,), f64)

    def body(x: Value, w: Value) -> Operation:
        inverse = pd.rsqrt(pd.mean(pd.square(x), axis=(0,), keepdim=True))
        return pd.multiply(pd.multiply(x, w), inverse)

    program: Program = build(body, kind, kind)
    inputs = dict(zip(program.inputs, (np.array([-5e-324, 0.0]), np.array([-0.25, 1.0])), strict=True))
    assert_preserves(PASS, program, inputs=inputs)
    root = program.main.body.block.terminator.prev_op
    reasons = [str(m) for m in explain(rms_norm_inner_scale, root).mismatches]
    assert any("expected an epsilon above 0, found 0 in the format of the result" in text for text in reasons), reasons
