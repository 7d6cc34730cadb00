"""Layer normalisation: the forms that become one operation, those that do not and why, and generated programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Operation, Program, TensorType, Value, VTensorType, bf16, f16, f32, parse
from tx8ir.dialects import builtin, pd
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.testing.programs.exporter_forms import Forms, by_number, leave
from tx8ir.transforms.recognize.layer_norm import layer_norm, layer_norm_bias, layer_norm_scale

PASS = "recognize-layer-norm"
T = VTensorType((2, 3, 4), f32)


def only(program: Program) -> pd.LayerNormOp:
    """The one layer norm of the program."""
    (found,) = (op for op in program.main.body.block if isinstance(op, pd.LayerNormOp))
    return found


@pytest.mark.parametrize("axes", [(2,), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize(("scaled", "shifted"), [(False, False), (True, False), (False, True), (True, True)])
def test_every_form_becomes_one_operation(
    build, run, names, assert_same, axes: tuple[int, ...], scaled: bool, shifted: bool
) -> None:
    weight = VTensorType(T.shape[axes[0] :], f32)
    for number in range(0, 300_000, 7919):
        forms = Forms(by_number(number))

        def body(x: Value, w: Value, b: Value, forms: Forms = forms) -> Value:
            return forms.layer_norm(x, axes, epsilon=1e-5, scale=w if scaled else None, bias=b if shifted else None)

        program: Program = build(body, T, weight, weight)
        before = program.clone()
        run(program, PASS)
        assert names(program) == ["pd.layer_norm"], str(before)
        made = only(program)
        assert (made.begin_norm_axis, made.scale is not None, made.bias is not None) == (axes[0], scaled, shifted)
        assert made.epsilon == pytest.approx(1e-5, rel=1e-7)
        assert_same(before, program, tolerance=1e-6)


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x4xf32>, %w: !pd.vtensor<1x4xf32>, %b: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.mean"(%x) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %1 = "pd.subtract"(%x, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "pd.pow"(%1) {y = 2.0 : f64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "pd.mean"(%2) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %epsilon = "builtin.constant"() {value = dense<1.0e-05> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %4 = "pd.add"(%3, %epsilon) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.sqrt"(%4) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %6 = "pd.divide"(%1, %5) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %7 = "pd.multiply"(%6, %w) : (!pd.vtensor<2x4xf32>, !pd.vtensor<1x4xf32>) -> !pd.vtensor<2x4xf32>
    %8 = "pd.add"(%b, %7) : (!pd.vtensor<4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %8 : !pd.vtensor<2x4xf32>
  }
}
"""


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    statistics = run(program, PASS).stages[0].statistics
    assert statistics == {"layer-norm": 1, "layer-norm-scale": 1, "layer-norm-bias": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/recognize-layer-norm.mlir")
    after = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == after


def test_a_layer_norm_of_a_frontend_takes_over_a_bias(build, run, names) -> None:
    program: Program = build(
        lambda x, w, b: pd.add(pd.layer_norm(x, scale=w, begin_norm_axis=-1), b), T, *[VTensorType((4,), f32)] * 2
    )
    assert run(program, PASS).stages[0].statistics == {"layer-norm-bias": 1}
    assert only(program).begin_norm_axis == -1


@pytest.mark.parametrize(
    "order", ["recognize-rms-norm,recognize-layer-norm", "recognize-layer-norm,recognize-rms-norm"]
)
def test_the_recognizers_agree_in_either_order(build, run, names, order: str) -> None:
    def body(x: Value, w: Value) -> Value:
        return Forms(lambda n: 0).layer_norm(x, (2,), epsilon=1e-5, scale=w)

    program: Program = build(body, T, VTensorType((4,), f32))
    run(program, order)
    assert names(program) == ["pd.layer_norm"]
    assert only(program).scale is not None


def plain(
    x: Value,
    *,
    axes: tuple[int, ...] = (2,),
    variance_axes: tuple[int, ...] | None = None,
    of: Value | None = None,
    power: float = 2.0,
    root: float = 0.5,
) -> Operation:
    centred = pd.subtract(x, pd.mean(x if of is None else of, axis=axes, keepdim=True))
    variance = pd.mean(pd.pow(centred, y=power), axis=variance_axes or axes, keepdim=True)
    return pd.divide(centred, pd.pow(pd.scale(variance, bias=1e-5), y=root))


def epsilon_outside(x: Value) -> Operation:
    centred = pd.subtract(x, pd.mean(x, axis=(2,), keepdim=True))
    deviation = pd.sqrt(pd.mean(pd.square(centred), axis=(2,), keepdim=True))
    return pd.divide(centred, pd.scale(deviation, bias=1e-5))


def difference_of_squares(x: Value) -> Operation:
    mean = pd.mean(x, axis=(2,), keepdim=True)
    variance = pd.subtract(pd.mean(pd.square(x), axis=(2,), keepdim=True), pd.square(mean))
    return pd.divide(pd.subtract(x, mean), pd.sqrt(pd.scale(variance, bias=1e-5)))


def used(x: Value) -> list[Operation]:
    mean = pd.mean(x, axis=(2,), keepdim=True)
    centred = pd.subtract(x, mean)
    variance = pd.mean(pd.square(centred), axis=(2,), keepdim=True)
    return [pd.divide(centred, pd.sqrt(pd.scale(variance, bias=1e-5))), pd.log(variance)]


def mutable_epsilon(x: Value) -> Operation:
    centred = pd.subtract(x, pd.mean(x, axis=(2,), keepdim=True))
    variance = pd.mean(pd.square(centred), axis=(2,), keepdim=True)
    epsilon = builtin.get_parameter(parameter="epsilon", out=VTensorType((), f32))
    return pd.divide(centred, pd.sqrt(pd.add(variance, epsilon)))


NEAR_MISSES: dict[str, tuple[Any, Callable[..., Any], str]] = {
    "an inner axis": (
        T,
        lambda x: plain(x, axes=(1,)),
        "expected means over the same trailing axes, found mean over [1] of 3 axes, variance over [1] of 3 axes",
    ),
    "different axes": (
        T,
        lambda x: plain(x, variance_axes=(1, 2)),
        "expected means over the same trailing axes, found mean over [2] of 3 axes, variance over [1, 2] of 3 axes",
    ),
    "the mean of another value": (T, lambda x: plain(x, of=pd.exp(x).out), "'x': expected the same value in both"),
    "a fourth moment": (T, lambda x: plain(x, power=4.0), "attribute 'y': expected 2.0, found 4.0"),
    "a cubic root": (T, lambda x: plain(x, root=1 / 3), "attribute 'y': expected 0.5, found 0.3333333333333333"),
    "epsilon after the root": (T, epsilon_outside, "kind: expected pd.sqrt, found pd.scale"),
    "a difference of squares": (T, difference_of_squares, "found pd.subtract"),
    "a used variance": (T, used, "expected inner values that nothing else uses, found a use of pd.mean by pd.log"),
    "storage": (TensorType(T.shape, f32), plain, "expected values (vtensors) only, found !pd.tensor<2x3x4xf32>"),
    "an epsilon that may be written": (
        T,
        mutable_epsilon,
        "'epsilon': expected a constant whose elements are one number",
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_layer_norm_stays_and_says_why(build, run, name: str) -> None:
    kind, body, reason = NEAR_MISSES[name]
    program: Program = build(body, kind, weights={"epsilon": np.float32(1e-5).reshape(())}, mutable=["epsilon"])
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before
    root = next(op for op in program.main.body.block if isinstance(op, pd.DivideOp))
    explanations = [str(m) for m in explain(layer_norm, root).mismatches]
    assert any(reason in text for text in explanations), explanations


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((), "expected 'weight' of the normalised shape, found !pd.vtensor<f32>, [4] normalised"),
        ((3, 1), "expected 'weight' of the normalised shape, found !pd.vtensor<3x1xf32>, [4] normalised"),
        ((3, 4), "expected 'weight' of the normalised shape, found !pd.vtensor<3x4xf32>, [4] normalised"),
        ((5, 1, 1, 4), "expected 'weight' of the normalised shape, found !pd.vtensor<5x1x1x4xf32>, [3, 4] normalised"),
    ],
    ids=str,
)
def test_a_factor_of_another_shape_stays_a_product(build, run, shape: tuple[int, ...], reason: str) -> None:
    program: Program = build(lambda x, w: pd.multiply(plain(x), w), T, VTensorType(shape, f32))
    root = program.main.body.block.terminator.prev_op
    assert run(program, PASS).stages[0].statistics == {"layer-norm": 1}
    assert any(reason in str(m) for m in explain(layer_norm_scale, root).mismatches)


def test_a_second_bias_stays_a_sum(build, run) -> None:
    w = VTensorType((4,), f32)
    program: Program = build(lambda x, b, c: pd.add(pd.add(pd.layer_norm(x, begin_norm_axis=2), b), c), T, w, w)
    root = program.main.body.block.terminator.prev_op
    assert run(program, PASS).stages[0].statistics == {"layer-norm-bias": 1}
    assert "expected no bias, found bias" in str(explain(layer_norm_bias, root))


def test_a_scale_behind_the_bias_stays_a_product(build, run) -> None:
    program: Program = build(
        lambda x, w: pd.multiply(pd.layer_norm(x, bias=w, begin_norm_axis=2), w), T, VTensorType((4,), f32)
    )
    root = program.main.body.block.terminator.prev_op
    assert run(program, PASS).stages[0].statistics == {}
    assert "expected neither scale nor bias, found bias" in str(explain(layer_norm_scale, root))


def test_the_square_of_a_norm_is_no_scale(build, run) -> None:
    def body(x: Value) -> Operation:
        norm = pd.layer_norm(x, begin_norm_axis=0)
        return pd.multiply(norm, norm)

    program: Program = build(body, T)
    assert run(program, PASS).stages[0].statistics == {}


def test_a_scale_that_is_written_later_is_read_where_it_was(build, run, assert_same) -> None:
    """The weight is a value: what was read stays what it was."""

    def body(x: Value) -> list[Operation]:
        w = builtin.get_parameter(parameter="w", out=VTensorType((4,), f32))
        norm = plain(x)
        builtin.set_parameter(pd.exp(w), parameter="w")
        return [pd.multiply(norm, w)]

    program: Program = build(body, T, weights={"w": np.float32([1, 2, 3, 4])}, mutable=["w"])
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {"layer-norm": 1, "layer-norm-scale": 1}
    assert_same(before, program, tolerance=1e-6)


def test_the_chip_agrees_and_is_faster(build, run, cycles) -> None:
    def body(x: Value, w: Value, b: Value) -> Value:
        return Forms(lambda n: 0).layer_norm(x, (2,), epsilon=1e-5, scale=w, bias=b)

    weight = VTensorType((70,), f32)
    program: Program = build(body, VTensorType((2, 6, 70), f32), weight, weight)
    before = cycles(program)
    run(program, PASS)
    assert check(program).passed
    assert cycles(program) < before


def norm(writer: Writer) -> Sequence[Value]:
    """One of the forms, with or without weights."""
    x = writer.value(lambda t: t.element.is_float and isinstance(t, VTensorType) and t.rank > 0)
    if x is None:
        return ()
    kind = ranked(x)
    begin = writer.one_of(range(kind.rank - 1, -1, -1))
    forms = Forms.drawn(writer, kind.element)
    shape = (1,) * writer.one_of([0, begin]) + kind.shape[begin:]
    weights = [
        writer.parameter(VTensorType(shape, kind.element)) if writer.one_of([True, False]) else None for _ in range(2)
    ]
    with Builder.at_end(writer.block):
        x = pd.minimum(pd.maximum(x, forms.full(-20.0)), forms.full(20.0)).out
        axes = tuple(range(begin, kind.rank))
        made = forms.layer_norm(x, axes, epsilon=1e-3, scale=weights[0], bias=weights[1])
    return leave(writer, made)


PROGRAMS = tensor_programs(
    attrs.evolve(EVERYTHING, parameters=False),
    steps=[norm],
    inputs=[T, VTensorType((3, 2), bf16), VTensorType((3,), f16)],
)


@with_examples()
def test_generated_programs_keep_their_answers(examples: int) -> None:
    assert_preserves(PASS, programs=PROGRAMS, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=9 / 10)
