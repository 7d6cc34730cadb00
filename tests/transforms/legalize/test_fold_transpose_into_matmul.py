"""Transposes around matrix products become flags: which go, what is left of others, and what stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Program, TensorType, Value, VTensorType, bf16, f32, i32, parse
from tx8ir.dialects import pd
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "fold-transpose-into-matmul"
SWAP = (1, 0)


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def t(x: Any, *perm: int) -> Any:
    return pd.transpose(x, perm=perm or SWAP)


# Each: the pattern, argument types, the body, and the operations that are left.
CASES: list[tuple[str, str, tuple[VTensorType, ...], Callable[..., Any], list[str]]] = [
    ("left", "matmul_of_transpose", (f(2, 3), f(2, 4)), lambda x, y: pd.matmul(t(x), y), ["pd.matmul"]),
    ("right", "matmul_of_transpose", (f(2, 3), f(4, 3)), lambda x, y: pd.matmul(x, t(y)), ["pd.matmul"]),
    ("both", "matmul_of_transpose", (f(3, 2), f(4, 3)), lambda x, y: pd.matmul(t(x), t(y)), ["pd.matmul"]),
    (
        "already a flag",
        "matmul_of_transpose",
        (f(2, 3), f(3, 4)),
        lambda x, y: pd.matmul(t(x), y, transpose_x=True),
        ["pd.matmul"],
    ),
    (
        "negative axes",
        "matmul_of_transpose",
        (f(2, 5, 3), f(5, 4)),
        lambda x, y: pd.matmul(t(x, 0, -1, -2), y),
        ["pd.matmul"],
    ),
    (
        "the last axis stays last: rows are copied whole",
        "matmul_of_transpose",
        (f(2, 5, 3), f(4, 2, 3)),
        lambda x, y: pd.matmul(x, t(y, 1, 2, 0)),
        ["pd.transpose", "pd.matmul"],
    ),
    (
        "batches regrouped",
        "matmul_of_reshaped_transpose",
        (f(2, 3, 5, 4), f(6, 2, 4)),
        lambda x, y: pd.matmul(x, pd.reshape(t(y, 0, 2, 1), shape=(2, 3, 4, 2))),
        ["pd.reshape", "pd.matmul"],
    ),
    (
        "batches regrouped, of a transpose that does more",
        "matmul_of_reshaped_transpose",
        (f(4, 3, 2, 5), f(6, 4, 3)),
        lambda x, y: pd.matmul(pd.reshape(t(x, 1, 2, 3, 0), shape=(6, 5, 4)), y),
        ["pd.transpose", "pd.reshape", "pd.matmul"],
    ),
    (
        "an axis of one added",
        "matmul_of_reshaped_transpose",
        (f(2, 3), f(1, 2, 4)),
        lambda x, y: pd.matmul(pd.reshape(t(x), shape=(1, 3, 2)), y),
        ["pd.reshape", "pd.matmul"],
    ),
    ("behind", "transpose_of_matmul", (f(2, 3), f(3, 4)), lambda x, y: t(pd.matmul(x, y)), ["pd.matmul"]),
    (
        "behind, with flags",
        "transpose_of_matmul",
        (f(3, 2), f(3, 4)),
        lambda x, y: t(pd.matmul(x, y, transpose_x=True)),
        ["pd.matmul"],
    ),
    (
        "behind, of batches that broadcast",
        "transpose_of_matmul",
        (f(2, 1, 5, 3), f(4, 3, 2)),
        lambda x, y: t(pd.matmul(x, y), 0, 1, 3, 2),
        ["pd.matmul"],
    ),
    (
        "behind, with a transpose that does more",
        "transpose_of_matmul",
        (f(2, 4, 5, 3), f(3, 2)),
        lambda x, y: t(pd.matmul(x, y), 1, 0, 3, 2),
        ["pd.matmul", "pd.transpose"],
    ),
    (
        "behind, with a transpose that moves rows before batches",
        "transpose_of_matmul",
        (f(2, 4, 5, 3), f(3, 2)),
        lambda x, y: t(pd.matmul(x, y), 0, 3, 1, 2),
        ["pd.matmul", "pd.transpose"],
    ),
    (
        "behind batches regrouped, with a transpose that does more",
        "transpose_of_reshaped_matmul",
        (f(6, 5, 3), f(3, 2)),
        lambda x, y: t(pd.reshape(pd.matmul(x, y), shape=(2, 3, 5, 2)), 3, 0, 1, 2),
        ["pd.matmul", "pd.reshape", "pd.transpose"],
    ),
    (
        "behind batches regrouped",
        "transpose_of_reshaped_matmul",
        (f(6, 5, 3), f(3, 2)),
        lambda x, y: t(pd.reshape(pd.matmul(x, y), shape=(2, 3, 5, 2)), 0, 1, 3, 2),
        ["pd.matmul", "pd.reshape"],
    ),
]


@pytest.mark.parametrize(("name", "kinds", "body", "left"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("element", [f32, bf16, i32], ids=str)
def test_a_transpose_becomes_a_flag(build, run, names, name: str, kinds, body, left: list[str], element) -> None:
    program: Program = build(body, *[kind.with_element(element) for kind in kinds])
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {name: 1}
    assert names(program) == left
    whole = {argument: np.round(array) for argument, array in check_inputs(before).items()}
    assert check(
        before, PASS, inputs=whole, guarantee=NumericGuarantee.BITWISE
    ).passed  # small whole numbers: sums are exact
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def check_inputs(program: Program) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(-3, 4, kind.shape).astype(kind.element.dtype) for name, kind in program.inputs.items()}


def kept_transpose(x: Value, y: Value) -> Any:
    moved = t(y, 1, 2, 0)
    return pd.matmul(x, moved), moved


def kept_product(x: Value, y: Value) -> Any:
    product = pd.matmul(x, y)
    return t(product), product


@pytest.mark.parametrize(
    ("kinds", "body"),
    [
        ((f(2, 5, 3), f(4, 2, 3)), kept_transpose),
        ((f(2, 3), f(3, 4)), kept_product),
        ((f(2, 5, 3), f(3, 4)), lambda x, y: t(pd.matmul(x, y), 1, 0, 2)),
        ((f(2, 5, 3), f(3, 4)), lambda x, y: t(pd.matmul(x, y), 1, 2, 0)),
        ((f(2, 3, 5), f(5, 4)), lambda x, y: pd.matmul(t(x, 1, 0, 2), y)),
        (
            (
                f(2, 5, 3),
                f(
                    3,
                ),
            ),
            lambda x, y: t(pd.matmul(x, y)),
        ),
        ((f(2, 3), f(3, 2)), lambda x, y: pd.matmul(pd.reshape(t(x), shape=(2, 3)), y)),
        ((TensorType((2, 3), f32), f(2, 4)), lambda x, y: pd.matmul(t(x), y)),
        ((TensorType((2, 3), f32), f(3, 4)), lambda x, y: t(pd.matmul(x, y))),
    ],
    ids=[
        "a transpose with another reader",
        "a product with another reader",
        "batch axes exchanged after",
        "batches made columns after",
        "batch axes exchanged before",
        "a vector",
        "a reshape of matrices",
        "a view of storage before",
        "a view of storage after",
    ],
)
def test_what_stays(build, run, kinds, body) -> None:
    program: Program = build(body, *kinds)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def test_a_transpose_with_two_readers_that_take_it_whole_goes(build, run, names) -> None:
    def body(x: Value, y: Value) -> Any:
        moved = t(y)
        return pd.matmul(x, moved), pd.matmul(moved, x)

    program = build(body, f(3, 3), f(3, 3))
    run(program, PASS)
    assert names(program) == ["pd.matmul", "pd.matmul"]


LOOP = """
module {
  func.func @main(%n: !pd.vtensor<i1>, %x: !pd.vtensor<3x4xf32>, %y: !pd.vtensor<2x3x4xf32>) -> (!pd.vtensor<4x4xf32>, !pd.vtensor<i1>) {
    %0 = "pd.matmul"(%x, %x) {transpose_x = true, transpose_y = false} : (!pd.vtensor<3x4xf32>, !pd.vtensor<3x4xf32>) -> !pd.vtensor<4x4xf32>
    %1 = "pd.transpose"(%y) {perm = array<i64: 1, 2, 0>} : (!pd.vtensor<2x3x4xf32>) -> !pd.vtensor<3x4x2xf32>
    %2 = "scf.while"(%n) ({
    ^bb0(%a: !pd.vtensor<i1>):
      "scf.condition"(%a, %a) : (!pd.vtensor<i1>, !pd.vtensor<i1>) -> ()
    }, {
    ^bb0(%a: !pd.vtensor<i1>):
      %3 = "pd.transpose"(%0) {perm = array<i64: 1, 0>} : (!pd.vtensor<4x4xf32>) -> !pd.vtensor<4x4xf32>
      %4 = "pd.matmul"(%3, %1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x4xf32>, !pd.vtensor<3x4x2xf32>) -> !pd.vtensor<3x4x2xf32>
      %5 = "pd.max"(%4) {axis = array<i64>, keepdim = false} : (!pd.vtensor<3x4x2xf32>) -> !pd.vtensor<f32>
      %6 = "pd.isnan"(%5) : (!pd.vtensor<f32>) -> !pd.vtensor<i1>
      "scf.yield"(%6) : (!pd.vtensor<i1>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    return %0, %2 : !pd.vtensor<4x4xf32>, !pd.vtensor<i1>
  }
}
"""  # noqa: E501  (as it is printed)


def test_nothing_moves_into_a_loop(run) -> None:
    program = parse(LOOP)
    run(program, PASS)
    (loop,) = (op for op in program.main.walk() if op.name == "scf.while")
    assert [op.name for op in loop.regions[1].block][:2] == ["pd.matmul", "pd.max"]
    assert "pd.transpose" in [op.name for op in program.main.body.block]  # what is left of %1


TEXT = """
module {
  func.func @main(%q: !pd.vtensor<1x16x64xf32>, %k: !pd.vtensor<1x16x64xf32>) -> !pd.vtensor<4x16x16xf32> {
    %0 = "pd.reshape"(%q) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %2 = "pd.reshape"(%k) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %3 = "pd.transpose"(%2) {perm = array<i64: 0, 2, 3, 1>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %4 = "pd.reshape"(%1) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %5 = "pd.reshape"(%3) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %6 = "pd.matmul"(%4, %5) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x16x16xf32>, !pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %7 = "pd.transpose"(%6) {perm = array<i64: 0, 2, 1>} : (!pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    return %7 : !pd.vtensor<4x16x16xf32>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"matmul_of_reshaped_transpose": 1, "transpose_of_matmul": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/fold-transpose-into-matmul.mlir")


def test_the_chip_agrees(build, run) -> None:
    def body(x: Value, y: Value) -> Any:
        return t(pd.matmul(t(x, 0, 2, 1), t(y)), 0, 2, 1)

    program = build(body, f(2, 70, 9), f(20, 70))
    run(program, PASS)
    assert check(program).passed


def product(writer: Writer) -> Sequence[Value]:
    """A product of matrices, one of them or the result transposed, with a reshape between now and then."""
    x = writer.value(lambda kind: kind.element in (f32, bf16, i32) and kind.rank >= 2)
    if x is None:
        return ()
    kind = ranked(x)
    swap = (*range(kind.rank - 2), kind.rank - 1, kind.rank - 2)
    between = writer.one_of([False, False, True])
    with Builder.at_end(writer.block):
        moved: Value = pd.transpose(x, perm=swap).out
        if between:
            moved = pd.reshape(moved, shape=(1, *ranked(moved).shape)).out
        if writer.one_of([True, False]):
            return pd.matmul(x, moved).results if writer.one_of([True, False]) else pd.matmul(moved, x).results
        result: Value = pd.matmul(x, x, transpose_y=True).out
        if between:
            result = pd.reshape(result, shape=(1, *ranked(result).shape)).out
        rank = ranked(result).rank
        perm = [*range(rank - 2), rank - 1, rank - 2]
        if writer.one_of([False, True]):
            perm.insert(0, perm.pop())
        return pd.transpose(result, perm=tuple(perm)).results


INPUTS = [VTensorType((2, 3), f32), VTensorType((2, 1, 3, 2), bf16), VTensorType((2, 2), i32)]
INPUTS += [TensorType((2, 3), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[product], inputs=INPUTS)
    assert_preserves(PASS, programs=programs, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=1 / 3)
