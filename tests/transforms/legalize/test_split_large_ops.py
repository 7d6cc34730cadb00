"""Operations beyond a machine's limits: into which pieces, how they are joined, and what has no pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import with_examples
from tx8ir.core import Builder, Program, RankedTensor, TensorType, Value, VTensorType, bf16, f16, f32, i32, parse
from tx8ir.dialects import pd
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.transforms.legalize.split_large_ops import pieces

PASS = "split-large-ops"
SMALL = f"{PASS}{{max-operands=3,max-extent=4,max-channels=4}}"


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


@given(extent=st.integers(1, 100), largest=st.integers(1, 100))
def test_pieces_are_few_and_alike(extent: int, largest: int) -> None:
    found = pieces(extent, largest)
    sizes = [end - start for start, end in found]
    assert [place for start, end in found for place in range(start, end)] == list(range(extent))
    assert len(found) == -(-extent // largest)
    assert 1 <= min(sizes) <= max(sizes) <= min(largest, min(sizes) + 1)


def kinds(program: Program, kind: type) -> list[Any]:
    return [op for op in program.main.walk() if isinstance(op, kind)]


def assert_within_limits(program: Program, *, operands: int = 3, extent: int = 4, channels: int = 4) -> None:
    """What the pass guarantees."""
    for op in kinds(program, pd.ConcatOp):
        assert len(op.operands) <= operands
    for op in kinds(program, pd.SplitOp):
        assert len(op.results) <= operands
    for op in kinds(program, pd.MatmulOp):
        m, n = op.out_axes
        shape = ranked(op.out).shape
        batch = shape[: len(shape) - (m is not None) - (n is not None)]
        assert np.prod(batch) <= extent
        assert m is None or shape[m] <= extent
        assert n is None or shape[n] <= channels
        assert ranked(op.x).shape[op.x_axes[1]] <= channels
    for op in kinds(program, ConvolutionOp):
        outputs, inputs, _, _ = op.filter_shape
        shape = ranked(op.input).shape
        space = shape[2:] if op.data_format == "NCHW" else shape[1:3]
        assert max(shape[0], *space) <= extent
        assert max(outputs, inputs * op.groups) <= channels


def small_numbers(program: Program, seed: int) -> dict[str, Any]:
    """Whole numbers whose products and sums every format holds."""
    rng = np.random.default_rng(seed)
    return {n: rng.integers(-2, 3, kind.shape).astype(kind.element.dtype) for n, kind in program.inputs.items()}


# Each: the types of the inputs, the body, and the counts.
CASES: list[tuple[str, tuple[VTensorType, ...], Callable[..., Any], dict[str, int]]] = [
    ("concat of 4", (f(2), f(2)), lambda x, y: pd.concat([x, y, x, y]), {"concat_tree": 1}),
    ("concat of 10", (f(1, 2), f(3, 2)), lambda x, y: pd.concat([x, y] * 5), {"concat_tree": 2}),
    ("split in 4", (f(2, 4),), lambda x: pd.split(x, sections=(1, 1, 1, 1), axis=1).outs, {"split_tree": 1}),
    ("split in 10", (f(16),), lambda x: pd.split(x, sections=(2, 1, 3, 1, 1, -1, 0, 1, 2, 1)).outs, {"split_tree": 2}),
    (
        "split in nothing and more",
        (f(5),),
        lambda x: pd.split(x, sections=(1, 0, 0, -1), axis=-1).outs,
        {"split_tree": 1},
    ),
    ("M", (f(9, 3), f(3, 2)), pd.matmul, {"matmul_m": 1}),
    ("M, transposed", (f(3, 9), f(3, 2)), lambda x, y: pd.matmul(x, y, transpose_x=True), {"matmul_m": 1}),
    ("M, of batches", (f(2, 9, 3), f(3, 2)), pd.matmul, {"matmul_m": 1}),
    ("M, with a vector", (f(9, 3), f(3)), pd.matmul, {"matmul_m": 1}),
    ("N", (f(3, 3), f(3, 6)), pd.matmul, {"matmul_n": 1}),
    ("N, transposed", (f(3, 3), f(6, 3)), lambda x, y: pd.matmul(x, y, transpose_y=True), {"matmul_n": 1}),
    ("N, with a vector", (f(3), f(3, 6)), pd.matmul, {"matmul_n": 1}),
    ("K", (f(3, 9), f(9, 2)), pd.matmul, {"matmul_k": 1}),
    (
        "K, transposed",
        (f(9, 3), f(2, 9)),
        lambda x, y: pd.matmul(x, y, transpose_x=True, transpose_y=True),
        {"matmul_k": 1},
    ),
    ("K, of vectors", (f(9), f(9)), pd.matmul, {"matmul_k": 1}),
    ("M, N and K", (f(5, 6), f(6, 7)), pd.matmul, {"matmul_m": 1, "matmul_n": 2, "matmul_k": 4}),
    ("batches", (f(5, 2, 3), f(5, 3, 2)), pd.matmul, {"matmul_batch": 1}),
    ("batches of one side", (f(5, 2, 3), f(3, 2)), pd.matmul, {"matmul_batch": 1}),
    ("batches of several axes", (f(3, 2, 2, 3), f(3, 2, 3, 2)), pd.matmul, {"matmul_batch": 1}),
    ("batches that broadcast", (f(1, 5, 2, 3), f(3, 1, 3, 2)), pd.matmul, {"matmul_batch": 4, "concat_tree": 0}),
    ("batches with a vector", (f(5, 2, 3), f(3)), pd.matmul, {"matmul_batch": 1}),
]


@pytest.mark.parametrize(("inputs", "body", "counts"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("element", [f32, bf16, i32], ids=str)
def test_pieces_of_joins_and_products(build, run, inputs, body, counts: dict[str, int], element) -> None:
    program: Program = build(body, *[kind.with_element(element) for kind in inputs])
    before = program.clone()
    assert run(program, SMALL).stages[0].statistics == {what: n for what, n in counts.items() if n}
    assert_within_limits(program)
    for seed in range(3):
        result = check(before, SMALL, inputs=small_numbers(before, seed), guarantee=NumericGuarantee.BITWISE)
        assert result.passed, str(result)
    text = str(program)
    assert run(program, SMALL).stages[0].statistics == {}
    assert str(program) == text


def conv(x: Any, w: Any, b: Any = None, **attributes: Any) -> Any:
    return pd.conv2d(x, w, b, **attributes)


def last(x: Any, w: Any, b: Any = None, **attributes: Any) -> Any:
    return pd.conv2d(x, w, b, data_format="NHWC", filter_format="HWOI", **attributes)


# Each: shapes of image, filter and bias; the body, and the counts.
CONVOLUTIONS: list[tuple[str, tuple[tuple[int, ...], ...], Callable[..., Any], dict[str, int]]] = [
    ("images", ((5, 1, 3, 3), (2, 1, 2, 2), (2,)), conv, {"conv_batch": 1}),
    ("outputs", ((1, 2, 3, 3), (9, 2, 2, 2), (9,)), conv, {"conv_outputs": 1}),
    ("outputs, NHWC", ((1, 3, 3, 2), (2, 2, 9, 2), (9,)), last, {"conv_outputs": 1}),
    ("inputs", ((1, 9, 3, 3), (2, 9, 2, 2), (2,)), conv, {"conv_inputs": 1}),
    ("inputs, NHWC, no bias", ((1, 3, 3, 9), (2, 2, 2, 9)), last, {"conv_inputs": 1}),
    ("rows", ((1, 1, 9, 3), (1, 1, 2, 2)), conv, {"conv_rows": 1}),
    ("columns, NHWC", ((1, 3, 9, 1), (2, 2, 1, 1), (1,)), last, {"conv_columns": 1}),
    ("rows and columns", ((1, 1, 6, 7), (1, 1, 3, 2)), conv, {"conv_rows": 1, "conv_columns": 2}),
    (
        "rows with padding",
        ((1, 1, 9, 3), (1, 1, 3, 3)),
        lambda x, w: conv(x, w, paddings=(1, 2, 1, 1)),
        {"conv_rows": 1},
    ),
    (
        "rows with steps and gaps",
        ((1, 1, 11, 3), (1, 1, 2, 2)),
        lambda x, w: conv(x, w, strides=(3, 1), dilations=(2, 1), paddings=(2, 1, 0, 0)),
        {"conv_rows": 1},
    ),
    ("rows, SAME", ((1, 1, 9, 3), (1, 1, 3, 3)), lambda x, w: conv(x, w, padding_algorithm="SAME"), {"conv_rows": 1}),
    (
        "rows between wide padding",
        ((1, 1, 5, 2), (1, 1, 1, 1)),
        lambda x, w: conv(x, w, paddings=(6, 5, 1, 0)),
        {"conv_rows": 2},
    ),
    ("groups", ((1, 6, 3, 3), (6, 2, 2, 2), (6,)), lambda x, w, b: conv(x, w, b, groups=3), {"conv_groups": 1}),
    (
        "large groups",
        ((1, 10, 3, 3), (4, 5, 2, 2)),
        lambda x, w: conv(x, w, groups=2),
        {"conv_groups": 1, "conv_inputs": 2},
    ),
    (
        "each channel on its own",
        ((1, 7, 3, 3), (7, 1, 2, 2), (7,)),
        lambda x, w, b: pd.depthwise_conv2d(x, w, b, groups=7),
        {"conv_groups": 1},
    ),
    (
        "with an activation, outputs",
        ((1, 2, 3, 3), (5, 2, 2, 2), (5,)),
        lambda x, w, b: pd.fused_conv2d_add_act(x, w, b),
        {"conv_outputs": 1},
    ),
    (
        "with an activation, inputs",
        ((1, 5, 3, 3), (2, 5, 2, 2), (2,)),
        lambda x, w, b: pd.fused_conv2d_add_act(x, w, b),
        {"conv_inputs": 1},
    ),
]


@pytest.mark.parametrize(
    ("shapes", "body", "counts"), [case[1:] for case in CONVOLUTIONS], ids=[case[0] for case in CONVOLUTIONS]
)
@pytest.mark.parametrize("element", [f32, bf16, i32], ids=str)
def test_pieces_of_convolutions(build, run, shapes, body, counts: dict[str, int], element) -> None:
    program: Program = build(body, *[VTensorType(shape, element) for shape in shapes])
    before = program.clone()
    name = f"{PASS}{{max-extent=4,max-channels=4}}"
    assert run(program, name).stages[0].statistics == counts
    assert_within_limits(program, operands=64)
    for seed in range(3):
        result = check(before, name, inputs=small_numbers(before, seed), guarantee=NumericGuarantee.VALUES)
        assert result.passed, str(result)
    text = str(program)
    assert run(program, name).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize("element", [f16, bf16], ids=str)
@pytest.mark.parametrize("what", ["matmul", "conv"])
def test_partial_sums_of_narrow_formats_are_kept_in_fp32(build, run, what: str, element) -> None:
    shapes = ((2, 300), (300, 2)) if what == "matmul" else ((1, 300, 2, 2), (2, 300, 1, 1))
    body = pd.matmul if what == "matmul" else pd.conv2d
    program: Program = build(lambda x, y: body(x, y), *[VTensorType(shape, element) for shape in shapes])
    before = program.clone()
    name = f"{PASS}{{max-channels=32}}"
    run(program, name)
    assert {ranked(op.out).element for op in kinds(program, pd.AddOp)} == {f32}
    assert len(kinds(program, pd.AddOp)) == 9
    rng = np.random.default_rng(0)
    inputs = {n: rng.standard_normal(kind.shape).astype(kind.element.dtype) for n, kind in before.inputs.items()}
    assert check(before, name, inputs=inputs, guarantee=NumericGuarantee.ROUNDING).passed


@pytest.mark.parametrize(
    ("inputs", "body"),
    [
        ((f(4, 4), f(4, 4)), lambda x, y: pd.concat([pd.matmul(x, y), x, y])),
        ((TensorType((9, 3), f32), f(3, 3)), lambda x, y: pd.matmul(x, y)),
        ((TensorType((2,), f32),), lambda x: pd.concat([x] * 4)),
        ((TensorType((4,), f32),), lambda x: pd.split(x, sections=(1, 1, 1, 1)).outs),
        ((f(1, 1, 9, 1), f(1, 1, 5, 1)), lambda x, y: pd.conv2d(x, y)),
        ((f(1, 1, 9, 1), f(1, 1, 2, 1)), lambda x, y: pd.conv2d(x, y, dilations=(4, 1))),
    ],
    ids=["small enough", "a tensor", "tensors", "views of storage", "a large filter", "a filter with large gaps"],
)
def test_what_stays(build, run, inputs, body) -> None:
    program: Program = build(body, *inputs)
    text = str(program)
    assert run(program, SMALL).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("max-operands=1", r"'max_operands' must be > 1: 1"),
        ("max-extent=0", r"'max_extent' must be > 0: 0"),
        ("max-channels=-1", r"'max_channels' must be > 0: -1"),
    ],
)
def test_limits_that_nothing_keeps_are_refused(options: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        PassManager.parse(f"{PASS}{{{options}}}")


def test_only_sums_are_split_when_the_compiler_cuts_the_rest(build, run) -> None:
    def body(x: Value, y: Value, z: Value) -> Any:
        return pd.matmul(x, y), pd.conv2d(z, z, paddings=(1, 1)), pd.concat([x] * 4)

    program: Program = build(body, f(9, 6), f(6, 7), f(5, 6, 6, 6))
    name = f"{PASS}{{max-operands=3,max-extent=4,max-channels=4,joins=false}}"
    assert run(program, name).stages[0].statistics == {"matmul_k": 1, "conv_inputs": 1, "concat_tree": 1}


def test_the_limits_are_those_of_the_machine(build, run) -> None:
    program: Program = build(lambda x, y, z: (pd.matmul(x, y), pd.concat([z] * 200)), f(2, 16385), f(16385, 3), f(1, 2))
    assert run(program, PASS).stages[0].statistics == {"matmul_k": 1, "concat_tree": 1}
    assert_within_limits(program, operands=64, extent=4096, channels=16384)


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x10xbf16>, %y: !pd.vtensor<10x6xbf16>) -> !pd.vtensor<4x6xbf16> {
    %0 = "pd.matmul"(%x, %y) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x10xbf16>, !pd.vtensor<10x6xbf16>) -> !pd.vtensor<2x6xbf16>
    %1, %2, %3, %4 = "pd.split"(%0) {axis = 1 : i64, sections = array<i64: 1, 2, 2, 1>} : (!pd.vtensor<2x6xbf16>) -> (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>)
    %5 = "pd.concat"(%4, %3, %2, %1) {axis = 1 : i64} : (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>) -> !pd.vtensor<2x6xbf16>
    %6 = "pd.concat"(%5, %0) {axis = 0 : i64} : (!pd.vtensor<2x6xbf16>, !pd.vtensor<2x6xbf16>) -> !pd.vtensor<4x6xbf16>
    return %6 : !pd.vtensor<4x6xbf16>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    name = f"{PASS}{{max-operands=3,max-channels=8}}"
    assert run(program, name).stages[0].statistics == {"matmul_k": 1, "split_tree": 1, "concat_tree": 1}
    golden(f"// before\n{before}\n\n// {name}\n{program}", "transforms/split-large-ops.mlir")


@pytest.mark.slow
def test_the_chip_agrees(build, run) -> None:
    def body(x: Value, w: Value, v: Value) -> Any:
        y = pd.conv2d(x, w, paddings=(1, 1))
        return pd.matmul(pd.reshape(y, shape=(6, 48)), v), pd.concat([x] * 5)

    program: Program = build(body, f(1, 6, 8, 6), f(6, 6, 3, 3), f(48, 10))
    run(program, f"{PASS}{{max-operands=3,max-extent=6,max-channels=4}}")
    assert_within_limits(program, operands=3, extent=6, channels=4)
    assert check(program).passed


def joins(writer: Writer) -> Sequence[Value]:
    """A concat of many values, or a split into many."""
    x = writer.value(lambda t: t.rank > 0 and isinstance(t, VTensorType))
    if x is None:
        return ()
    axis = writer.one_of(range(ranked(x).rank))
    with Builder.at_end(writer.block):
        joined = pd.concat([x] * writer.one_of([4, 5, 10]), axis=axis).out
        sections = (1,) * (writer.one_of([3, 4]) - 1)
        return pd.split(joined, sections=(*sections, -1), axis=axis).results


def products(writer: Writer) -> Sequence[Value]:
    """A product or a convolution, mostly beyond the limits of `TINY`."""

    def fits(t: RankedTensor) -> bool:  # in a few pieces
        return t.element in (f32, bf16, i32) and t.rank >= 2 and max(t.shape) <= 6 and isinstance(t, VTensorType)

    x = writer.value(fits)
    if x is None:
        return ()
    kind = ranked(x)
    if kind.rank == 4 and writer.one_of([True, False]):
        c, groups = kind.shape[1], writer.one_of([1, kind.shape[1]])
        weight = writer.parameter(VTensorType((2 * groups, c // groups, 2, 1), kind.element))
        stride, pad = writer.one_of([1, 2]), writer.one_of([1, 2, 0])
        with Builder.at_end(writer.block):
            return pd.conv2d(x, weight, groups=groups, strides=(stride, 1), paddings=(max(pad, 1), pad)).results
    with Builder.at_end(writer.block):
        return pd.matmul(x, x, transpose_y=True).results


INPUTS = [VTensorType((3, 5), f32), VTensorType((3, 2, 3), bf16), VTensorType((1, 3, 4, 3), f32)]
INPUTS += [VTensorType((1, 2, 5, 2), i32), TensorType((3, 3), f32)]
TINY = f"{PASS}{{max-operands=3,max-extent=4,max-channels=2}}"


@with_examples()
def test_generated_joins_keep_their_bits(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[joins], inputs=INPUTS[:2])
    assert_preserves(
        f"{PASS}{{max-operands=3}}",
        programs=programs,
        examples=examples,
        guarantee=NumericGuarantee.BITWISE,
        changed=2 / 3,
    )


@with_examples()
def test_generated_products_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[products], inputs=INPUTS)
    assert_preserves(TINY, programs=programs, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=2 / 3)
