"""Attention: the forms that become one operation, those that do not and why, gpt2, and generated programs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Operation, Program, TensorType, Value, VTensorType, bf16, f32, i1, parse, scalar_type_of
from tx8ir.dialects import builtin, pd
from tx8ir.frontends import onnx
from tx8ir.interpreter import evaluate
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.rewriting.provenance import provenance
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs
from tx8ir.testing.programs.exporter_forms import Forms, by_number, leave
from tx8ir.transforms.recognize.attention import attention

PASS = "recognize-attention"
RECOGNIZERS = "recognize-gelu,recognize-softmax,recognize-layer-norm,recognize-rms-norm,recognize-attention"
GPT2 = Path(__file__).parents[2] / "data" / "models" / "gpt2" / "model.onnx"

Q, K, V = (VTensorType(shape, f32) for shape in ((2, 2, 5, 4), (2, 2, 3, 4), (2, 2, 3, 6)))
BIAS, VISIBLE = VTensorType((5, 3), f32), VTensorType((2, 1, 5, 3), i1)


def only(program: Program) -> pd.ScaledDotProductAttentionOp:
    """The one attention of the program."""
    (found,) = (op for op in program.main.body.block if isinstance(op, pd.ScaledDotProductAttentionOp))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mask", ["none", "bias", "visible"])
@pytest.mark.parametrize("nan_to_zero", [False, True])
def test_every_form_becomes_one_operation(build, run, names, assert_same, mask: str, nan_to_zero: bool) -> None:
    for number in range(0, 2000, 13):
        forms = Forms(by_number(number))

        def body(q: Value, k: Value, v: Value, b: Value, m: Value, forms: Forms = forms) -> Value:
            return forms.attention(
                q, k, v,
                scale=0.25,
                bias=b if mask == "bias" else None,
                visible=m if mask == "visible" else None,
                masked_score=-1e9,
                nan_to_zero=nan_to_zero,
            )  # fmt: skip

        program: Program = build(body, Q, K, V, BIAS, VISIBLE)
        before = program.clone()
        assert run(program, PASS).stages[0].statistics == {"attention": 1}, str(before)
        assert names(program) == ["pd.scaled_dot_product_attention"], str(before)
        made = only(program)
        assert made.scale == pytest.approx(0.25, rel=1e-7)
        assert made.nan_to_zero is nan_to_zero
        assert made.masked_score == (-1e9 if mask == "visible" else -math.inf)
        assert_same(before, program, tolerance=1e-6)


TYPES = {
    "!query": "!pd.vtensor<1x2x4x8xf32>",
    "!scores": "!pd.vtensor<1x2x4x4xf32>",
    "!mask": "!pd.vtensor<1x2x4x4xi1>",
}
TEXT = """
module {
  func.func @main(%q: !query, %k: !pd.vtensor<1x4x2x8xf32>, %v: !query, %hidden: !pd.vtensor<4x4xi1>) -> !query {
    %0 = "pd.transpose"(%k) {perm = [0, 2, 3, 1]} : (!pd.vtensor<1x4x2x8xf32>) -> !pd.vtensor<1x2x8x4xf32>
    %1 = "pd.matmul"(%q, %0) {transpose_x = false, transpose_y = false} : (!query, !pd.vtensor<1x2x8x4xf32>) -> !scores
    %root = "builtin.constant"() {value = dense<2.828427> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %2 = "pd.divide"(%1, %root) : (!scores, !pd.vtensor<f32>) -> !scores
    %minimum = "builtin.constant"() {value = dense<-3.4028235e+38> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %3 = "pd.where"(%hidden, %minimum, %2) : (!pd.vtensor<4x4xi1>, !pd.vtensor<f32>, !scores) -> !scores
    %4 = "pd.softmax"(%3) {axis = -1 : i64} : (!scores) -> !scores
    %5 = "pd.isnan"(%4) : (!scores) -> !mask
    %zero = "builtin.constant"() {value = dense<0.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %6 = "pd.where"(%5, %zero, %4) : (!mask, !pd.vtensor<f32>, !scores) -> !scores
    %7 = "pd.matmul"(%6, %v) {transpose_x = false, transpose_y = false} : (!scores, !query) -> !query
    return %7 : !query
  }
}
"""


def test_the_text_before_and_after(run, golden, assert_same) -> None:
    program = parse(re.sub("|".join(TYPES), lambda name: TYPES[name[0]], TEXT))
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {"attention": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/recognize-attention.mlir")
    assert_same(before, program, tolerance=1e-6)
    after = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == after


@pytest.mark.slow
def test_a_model_is_recognised(run, cycles) -> None:
    """What `torch.onnx` makes of gpt2: two layers, each with attention, a gelu and layer norms already in one piece."""
    program = onnx.load(GPT2)
    before = program.clone()
    stages = run(program, RECOGNIZERS).stages
    assert {name: n for stage in stages for name, n in stage.statistics.items()} == {
        "gelu-tanh": 2,
        "attention": 2,
        "causal": 2,
    }

    def operations(program: Program) -> Counter[str]:
        return Counter(op.name for op in program.main.walk() if op.name.startswith("pd."))

    assert operations(before).total() == 98
    assert operations(program).total() == 64
    assert operations(before) - operations(program) == {
        "pd.add": 6, "pd.isnan": 2, "pd.matmul": 4, "pd.multiply": 12, "pd.pow": 2, "pd.reshape": 4, "pd.softmax": 2,
        "pd.tanh": 2, "pd.transpose": 2, "pd.where": 2,
    }  # fmt: skip
    ids = {"input_ids": np.arange(16).reshape(1, 16)}
    wanted, found = evaluate(before, ids)["logits"], evaluate(program, ids)["logits"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * float(np.abs(wanted).max()))
    assert cycles(program) <= cycles(before)


# --- causal masks

TRIANGLE = np.tri(3, 4, dtype=np.bool_)
LOW = float(np.finfo(np.float32).min)


def masked(mask: np.ndarray[Any, Any], *, mutable: bool = False, build: Callable[..., Program]) -> Program:
    """Attention of three queries to four keys under a mask that is a parameter."""
    element = f32 if mask.dtype == np.bool_ else scalar_type_of(mask.dtype)
    kind = VTensorType(mask.shape, i1 if mask.dtype == np.bool_ else element)
    queries, keys = VTensorType((2, 3, 4), element), VTensorType((2, 4, 4), element)

    def body(q: Value, k: Value, v: Value) -> Operation:
        read = builtin.get_parameter(parameter="mask", out=kind).out
        return pd.scaled_dot_product_attention(q, k, v, read, scale=0.5, nan_to_zero=True)

    return build(body, queries, keys, keys, weights={"mask": mask}, mutable=["mask"] if mutable else [])


@pytest.mark.parametrize(
    ("mask", "score"),
    [
        (TRIANGLE, -math.inf),
        (TRIANGLE[None], -math.inf),
        (np.where(TRIANGLE, 0, -np.inf).astype(np.float32), -math.inf),
        (np.where(np.stack([TRIANGLE] * 2), 0, LOW).astype(np.float32), LOW),
        (np.where(TRIANGLE, 0, -np.inf).astype(bf16.dtype), -math.inf),
        (np.where(TRIANGLE, 0, -3e38).astype(bf16.dtype), float(np.float32(-3e38).astype(bf16.dtype))),
        (np.where(TRIANGLE, 0, -65504.0).astype(np.float16), -65504.0),
    ],
    ids=["chosen", "chosen, of rank 3", "added", "added, nearly infinite", "bf16", "nearly infinite in bf16", "f16"],
)
def test_a_constant_mask_that_hides_later_keys_becomes_an_attribute(
    build, run, names, assert_same, mask, score: float
) -> None:
    program = masked(mask, build=build)
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {"causal": 1}
    assert names(program) == ["pd.scaled_dot_product_attention"]
    made = only(program)
    assert (made.is_causal, made.attn_mask, made.masked_score) == (True, None, score)
    assert (made.scale, made.nan_to_zero) == (0.5, True)
    assert str(provenance(made).made_by) == "recognize-attention/causal"
    assert_same(before, program)


@pytest.mark.parametrize(
    ("mask", "mutable"),
    [
        (TRIANGLE, True),
        (~TRIANGLE, False),
        (np.tri(3, 4, 1, dtype=np.bool_), False),
        (np.ones((3, 1), np.bool_), False),
        (np.where(TRIANGLE, 0, -1e4).astype(np.float32), False),
        (np.where(TRIANGLE, 0, -1e4).astype(bf16.dtype), False),
        (np.where(TRIANGLE, 0.5, -np.inf).astype(np.float32), False),
        (np.where(TRIANGLE, 0, [-np.inf, -np.inf, -np.inf, LOW]).astype(np.float32), False),
    ],
    ids=[
        "it may be written",
        "earlier keys",
        "one key more",
        "stretched",
        "not low enough",
        "nor in bf16",
        "not 0",
        "two scores",
    ],
)
def test_other_masks_stay_operands(build, run, mask, mutable: bool) -> None:
    program = masked(mask, mutable=mutable, build=build)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before


# --- what stays


def plain(
    q: Value,
    k: Value,
    v: Value,
    *,
    transposed: Callable[[Value], Value] = lambda k: pd.transpose(k, perm=(0, 1, 3, 2)).out,
    scaled: Callable[[Value], Any] = lambda s: s,
    axis: int = -1,
    filling: float = 0.0,
) -> Operation:
    scores = scaled(pd.matmul(q, transposed(k)).out)
    weights = pd.softmax(scores, axis=axis).out
    if filling:
        weights = pd.where(pd.isnan(weights), full(filling), weights).out
    return pd.matmul(weights, v)


def full(value: float, *shape: int) -> Value:
    return pd.full(shape=shape, value=value, dtype=f32).out


def used(q: Value, k: Value, v: Value) -> list[Operation]:
    weights = pd.softmax(pd.matmul(q, k, transpose_y=True))
    return [pd.matmul(weights, v), pd.exp(weights)]


def other_batch(k: Value) -> Value:
    """The transposed key, its batch axes exchanged by the reshapes."""
    merged = pd.transpose(pd.reshape(k, shape=(4, 3, 4)), perm=(0, 2, 1))
    return pd.reshape(merged, shape=(1, 4, 4, 3)).out


SQUARE = VTensorType((2, 2, 3, 3), f32)
TALL = VTensorType((4, 1, 5, 4), f32)
NEAR_MISSES: dict[str, tuple[tuple[Any, ...], Callable[..., Any], str]] = {
    "softmax over queries": (
        (SQUARE, SQUARE, SQUARE),
        lambda q, k, v: plain(q, k, v, axis=2),
        "expected softmax over the last axis, found axis 2 of !pd.vtensor<2x2x3x3xf32>",
    ),
    "a key that is not transposed": (
        (SQUARE, SQUARE, SQUARE),
        lambda q, k, v: plain(q, k, v, transposed=lambda k: k),
        "kind: expected pd.transpose, found an argument",
    ),
    "a factor for each head": (
        (Q, K, V, VTensorType((2, 1, 1), f32)),
        lambda q, k, v, s: plain(q, k, v, scaled=lambda scores: pd.multiply(scores, s)),
        "'scores_factor': expected a constant whose elements are one number",
    ),
    "a divisor of 0": (
        (Q, K, V),
        lambda q, k, v: plain(q, k, v, scaled=lambda scores: pd.divide(scores, full(0.0))),
        "'scores_divisor': expected a number other than 0, found 0.0",
    ),
    "a scale with an offset": (
        (Q, K, V),
        lambda q, k, v: plain(q, k, v, scaled=lambda scores: pd.scale(scores, scale=0.5, bias=1.0)),
        "attribute 'bias': expected 0.0, found 1.0",
    ),
    "a factor that stretches": (
        (VTensorType((5, 4), f32), VTensorType((3, 4), f32), V),
        lambda q, k, v: pd.matmul(
            pd.softmax(pd.multiply(pd.matmul(q, k, transpose_y=True), full(0.5, 2, 2, 5, 3))), v
        ),
        "expected a factor that does not stretch, found !pd.vtensor<2x2x5x3xf32>",
    ),
    "a mask that stretches": (
        (VTensorType((5, 4), f32), VTensorType((3, 4), f32), V, VTensorType((2, 2, 5, 3), f32)),
        lambda q, k, v, m: pd.matmul(pd.softmax(pd.add(pd.matmul(q, k, transpose_y=True), m)), v),
        "expected a mask that does not stretch the scores, found !pd.vtensor<2x2x5x3xf32> of !pd.vtensor<5x3xf32>",
    ),
    "other batch axes": (
        (TALL, K, VTensorType((3, 6), f32)),
        lambda q, k, v: plain(q, k, v, transposed=other_batch),
        "expected batch axes put back as they were, found [4, 4, 3] to [1, 4, 4, 3]",
    ),
    "NaN becomes 1": (
        (Q, K, V),
        lambda q, k, v: plain(q, k, v, filling=1.0),
        "operand: expected 0.0, found 1.0",
    ),
    "used weights": ((Q, K, V), used, "inner values that nothing else uses, found a use of pd.softmax by pd.exp"),
    "storage": (
        (TensorType((2, 2, 5, 4), f32), K, V),
        plain,
        "expected values (vtensors) only, found !pd.tensor<2x2x5x3xf32> in pd.matmul",
    ),
    "a vector": (
        (VTensorType((4,), f32), VTensorType((3, 4), f32), VTensorType((3, 6), f32)),
        lambda q, k, v: plain(q, k, v, transposed=lambda k: pd.transpose(k, perm=(1, 0)).out),
        "expected matrices, found !pd.vtensor<4xf32>, !pd.vtensor<4x3xf32>",
    ),
    "a value read transposed": (
        (Q, K, VTensorType((2, 2, 6, 3), f32)),
        lambda q, k, v: pd.matmul(pd.softmax(pd.matmul(q, k, transpose_y=True)), v, transpose_y=True),
        "attribute 'transpose_y': expected False, found True",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_attention_stays_and_says_why(build, run, name: str) -> None:
    kinds, body, reason = NEAR_MISSES[name]
    program: Program = build(body, *kinds)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before
    root = [op for op in program.main.body.block if isinstance(op, pd.MatmulOp)][-1]
    explanations = [str(m) for m in explain(attention, root).mismatches]
    assert any(reason in text for text in explanations), explanations


def test_a_mask_that_is_stretched_is_fine(build, run, names) -> None:
    program: Program = build(
        lambda q, k, v, m: plain(q, k, v, scaled=lambda scores: pd.add(m, scores)), Q, K, V, VTensorType((3,), f32)
    )
    run(program, PASS)
    assert names(program) == ["pd.scaled_dot_product_attention"]


@pytest.mark.parametrize("form", range(4))
def test_the_chip_agrees_and_is_not_slower(build, run, cycles, form: int) -> None:
    shapes = ((4, 32, 16), (4, 64, 16), (4, 64, 16), (32, 64))

    def body(q: Value, k: Value, v: Value, b: Value) -> Value:
        return Forms(by_number(form)).attention(q, k, v, scale=0.25, bias=b, nan_to_zero=form % 2 == 0)

    program: Program = build(body, *(VTensorType(shape, f32) for shape in shapes))
    before = cycles(program)
    run(program, PASS)
    assert check(program).passed
    assert cycles(program) <= before


def attend(writer: Writer) -> Sequence[Value]:
    """One of the forms, of values of the types it needs."""
    query, key, value = (writer.value_of(kind) for kind in (Q, K, V))
    forms = Forms.drawn(writer, f32)
    mask = writer.one_of(["none", "bias", "visible"])
    with Builder.at_end(writer.block):
        query, key, value = (
            pd.minimum(pd.maximum(x, forms.full(-3.0)), forms.full(3.0)).out for x in (query, key, value)
        )
    visible = writer.parameter(VISIBLE) if mask == "visible" else None
    bias = writer.parameter(BIAS) if mask == "bias" else None
    with Builder.at_end(writer.block):
        made = forms.attention(
            query, key, value,
            scale=writer.one_of([0.5, 0.25, 1.0, -2.0]),
            bias=bias,
            visible=visible,
            masked_score=writer.one_of([-1e9, -math.inf]),
            nan_to_zero=writer.one_of([False, True]),
        )  # fmt: skip
    return leave(writer, made)


PROGRAMS = tensor_programs(attrs.evolve(EVERYTHING, parameters=False), max_ops=8, steps=[attend], inputs=[Q, K, V])


@with_examples()
def test_generated_programs_keep_their_answers(examples: int) -> None:
    assert_preserves(PASS, programs=PROGRAMS, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=9 / 10)


SCALED_TWICE = """module {{ func.func @main(%x: !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32> {{
      %0 = "pd.scale"(%x) {{bias = 0.0 : f64, bias_after_scale = true, scale = {scale} : f64}}
        : (!pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
      %1 = "pd.matmul"(%x, %0) {{transpose_x = false, transpose_y = true}}
        : (!pd.vtensor<2x2xf32>, !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
      %2 = "pd.scale"(%1) {{bias = 0.0 : f64, bias_after_scale = true, scale = {scale} : f64}}
        : (!pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
      %3 = "pd.softmax"(%2) {{axis = -1 : i64}} : (!pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
      %4 = "pd.matmul"(%3, %x) {{transpose_x = false, transpose_y = false}}
        : (!pd.vtensor<2x2xf32>, !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
      return %4 : !pd.vtensor<2x2xf32>
    }} }}"""


def test_scales_that_overflow_together_stay_apart() -> None:
    """With an infinite scale, scores of 0 would become NaN."""
    program = parse(SCALED_TWICE.format(scale="1.0e+20"))
    assert assert_preserves(PASS, program, inputs={"arg0": np.zeros((2, 2), np.float32)}).changed


def test_scales_that_vanish_together_stay_apart() -> None:
    """With a scale of 0, all scores would be equal."""
    x = np.array([[1e19, 0.0], [0.0, 1e19]], np.float32)
    assert assert_preserves(PASS, parse(SCALED_TWICE.format(scale="1.0e-23")), inputs={"arg0": x * 1e3}).passed


def test_a_query_that_vanishes_when_it_is_scaled_meets_an_infinite_key() -> None:
    program = parse("""module { func.func @main(
        %q: !pd.vtensor<1x1xf32>, %k: !pd.vtensor<2x1xf32>, %v: !pd.vtensor<2x1xf32>)
        -> !pd.vtensor<1x1xf32> {
      %0 = "pd.matmul"(%q, %k) {transpose_x = false, transpose_y = true}
        : (!pd.vtensor<1x1xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<1x2xf32>
      %1 = "pd.scale"(%0) {bias = 0.0 : f64, bias_after_scale = true, scale = 1.0e-30 : f64}
        : (!pd.vtensor<1x2xf32>) -> !pd.vtensor<1x2xf32>
      %2 = "pd.softmax"(%1) {axis = -1 : i64} : (!pd.vtensor<1x2xf32>) -> !pd.vtensor<1x2xf32>
      %3 = "pd.matmul"(%2, %v) {transpose_x = false, transpose_y = false}
        : (!pd.vtensor<1x2xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<1x1xf32>
      return %3 : !pd.vtensor<1x1xf32>
    } }""")
    inputs = {"arg0": [[1e-30]], "arg1": [[-np.inf], [1.0]], "arg2": [[2.0], [3.0]]}
    assert assert_preserves(PASS, program, inputs={n: np.float32(x) for n, x in inputs.items()}).changed
