"""Softmax: the forms that become one operation, those that do not and why, and generated programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Operation, Program, TensorType, Value, VTensorType, bf16, f16, f32, parse
from tx8ir.dialects import pd
from tx8ir.interpreter import evaluate
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.testing import NumericGuarantee, assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.testing.programs.exporter_forms import Forms, by_number, leave
from tx8ir.transforms.recognize.softmax import plain_softmax, safe_softmax

PASS = "recognize-softmax"
T = VTensorType((2, 3, 3), f32)


@pytest.mark.parametrize("safe", [True, False], ids=["safe", "plain"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_every_form_becomes_one_operation(build, run, names, assert_same, safe: bool, axis: int) -> None:
    for number in range(0, 500, 7):
        forms = Forms(by_number(number))
        program: Program = build(lambda a, forms=forms: forms.softmax(a, axis, safe=safe), T)
        before = program.clone()
        assert run(program, PASS).stages[0].statistics == {f"{'safe' if safe else 'plain'}-softmax": 1}, str(before)
        assert names(program) == ["pd.softmax"], str(before)
        made = program.main.body.block.first_op
        assert isinstance(made, pd.SoftmaxOp)
        assert made.axis == axis % 3
        assert_same(before, program, tolerance=1e-6)


def test_the_first_axis_needs_not_be_kept(build, run, names) -> None:
    def body(x: Value) -> Operation:
        powers = pd.exp(pd.subtract(x, pd.max(x, axis=(0,))))
        return pd.divide(powers, pd.sum(powers, axis=(0,)))

    program = build(body, VTensorType((4, 3), f32))
    run(program, PASS)
    assert names(program) == ["pd.softmax"]


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x4xf32>) -> (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) {
    %0 = "pd.max"(%x) {axis = [-1], keepdim = false} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.unsqueeze"(%0) {axis = [1]} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2x1xf32>
    %2 = "pd.subtract"(%x, %1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "pd.exp"(%2) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %4 = "pd.sum"(%3) {axis = [1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.divide"(%3, %4) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %6 = "pd.exp"(%5) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %7 = "pd.sum"(%6) {axis = [0], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<1x4xf32>
    %8 = "pd.reciprocal"(%7) : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %9 = "pd.multiply"(%8, %6) : (!pd.vtensor<1x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %5, %9 : !pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>
  }
}
"""


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"safe-softmax": 1, "plain-softmax": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/recognize-softmax.mlir")
    after = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == after


def plain(x: Value, axes: tuple[int, ...] = (1,), sum_of: Callable[[Value], Value] = lambda e: e) -> Operation:
    powers = pd.exp(x).out
    return pd.divide(powers, pd.sum(sum_of(powers), axis=axes, keepdim=True))


def safe(x: Value, *, of_max: Value | None = None, max_axis: int = 1) -> Operation:
    return plain(pd.subtract(x, pd.max(x if of_max is None else of_max, axis=(max_axis,), keepdim=True)).out)


def used(x: Value) -> list[Operation]:
    powers = pd.exp(x)
    total = pd.sum(powers, axis=(1,), keepdim=True)
    return [pd.divide(powers, total), pd.log(total)]


def transposed(x: Value) -> Operation:
    """A square matrix divided by the sums of the other axis."""
    powers = pd.exp(x)
    return pd.divide(powers, pd.sum(powers, axis=(1,)))


M = VTensorType((3, 3), f32)
NEAR_MISSES: dict[str, tuple[Any, Callable[..., Any], str]] = {
    "two axes": (M, lambda x: plain(x, (0, 1)), "expected one axis for all reductions, found sum over [0, 1]"),
    "the sum of another value": (
        M,
        lambda x: plain(x, sum_of=lambda e: pd.exp(e).out),
        "expected the same pd.exp in both places, found pd.exp",
    ),
    "sums along rows": (M, transposed, "expected the reduced axes, with extent 1, found shape [3]"),
    "storage": (TensorType((3, 3), f32), plain, "expected values (vtensors) only, found !pd.tensor<3x3xf32>"),
    "a used sum": (M, used, "expected inner values that nothing else uses, found a use of pd.sum by pd.log"),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_softmax_stays_and_says_why(build, run, name: str) -> None:
    kind, body, reason = NEAR_MISSES[name]
    program: Program = build(body, kind)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before
    division = next(op for op in program.main.body.block if isinstance(op, pd.DivideOp))
    explanations = [str(m) for m in explain(plain_softmax, division).mismatches]
    assert any(reason in text for text in explanations), explanations


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda x, y: safe(x, of_max=y), "'x': expected the same value in both places"),
        (lambda x, y: safe(x, max_axis=0), "expected one axis for all reductions, found max over [0], sum over [1]"),
    ],
)
def test_another_shift_stays_outside(build, run, names, body, reason: str) -> None:
    """Softmax of the shifted value is right whatever it was shifted by."""
    program: Program = build(body, M, M)
    division = program.main.body.block.terminator.prev_op
    assert reason in "\n".join(str(m) for m in explain(safe_softmax, division).mismatches)
    assert run(program, PASS).stages[0].statistics == {"plain-softmax": 1}
    assert names(program) == ["pd.max", "pd.subtract", "pd.softmax"]


def test_what_becomes_of_overflow(build, run) -> None:
    """As the docstring of the pass says."""
    program: Program = build(plain, VTensorType((4, 2), f32))
    rows = np.array([[100.0, 20.0], [-200.0, -200.0], [np.inf, 0.0], [-np.inf, 0.0]], np.float32)
    (name,) = program.inputs
    (before,) = evaluate(program, {name: rows}).values()
    np.testing.assert_array_equal(before, np.float32([[np.nan, 0], [np.nan, np.nan], [np.nan, 0], [0, 1]]))
    run(program, PASS)
    (after,) = evaluate(program, {name: rows}).values()
    np.testing.assert_allclose(after, [[1, np.exp(-80)], [0.5, 0.5], [np.nan, np.nan], [0, 1]], rtol=1e-5)


def softmax(writer: Writer) -> Sequence[Value]:
    """One of the forms, of a value that does not overflow."""
    x = writer.value(lambda t: t.element.is_float and isinstance(t, VTensorType) and t.rank > 0)
    if x is None:
        return ()
    forms = Forms.drawn(writer, ranked(x).element)
    with Builder.at_end(writer.block):
        x = pd.minimum(pd.maximum(x, forms.full(-5.0)), forms.full(5.0)).out
        made = forms.softmax(x, writer.one_of(range(ranked(x).rank)), safe=writer.one_of([True, False]))
    return leave(writer, made)


PROGRAMS = tensor_programs(
    attrs.evolve(EVERYTHING, parameters=False),
    steps=[softmax],
    inputs=[T, VTensorType((3, 2), bf16), VTensorType((3,), f16)],
)


@with_examples()
def test_generated_programs_keep_their_answers(examples: int) -> None:
    assert_preserves(PASS, programs=PROGRAMS, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=9 / 10)
