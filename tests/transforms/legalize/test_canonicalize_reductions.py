"""Reductions become those of a matrix: which axis, which reshapes, when a transpose, and what stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from support.examples import with_examples
from tx8ir.core import DYNAMIC, Builder, Program, TensorType, Value, VTensorType, bf16, f32, i1, i32, i64, parse
from tx8ir.dialects import pd
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "canonicalize-reductions"


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


# Each: the shape, the axes, keepdim; the form, the matrix and the axis of it that is reduced, and the operations left.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], bool, str, tuple[int, int], int, list[str]]] = [
    ((2, 3, 4), (2,), False, "rows", (6, 4), 1, ["reshape", "sum", "reshape"]),
    ((2, 3, 4), (-1, 1), False, "rows", (2, 12), 1, ["reshape", "sum"]),
    ((2, 3, 1, 4), (3,), True, "rows", (6, 4), 1, ["reshape", "sum", "reshape"]),
    ((2, 3), (1,), True, "rows", (2, 3), 1, ["sum", "reshape"]),
    ((2, 3), (-1,), False, "rows", (2, 3), 1, ["sum"]),
    ((2, 3, 4, 1), (2,), False, "rows", (6, 4), 1, ["reshape", "sum", "reshape"]),  # the last long axis
    ((2, 1, 3), (1,), False, "rows", (6, 1), 1, ["reshape", "sum", "reshape"]),  # of one element each
    ((2, 3, 4), (0,), False, "columns", (2, 12), 0, ["reshape", "sum", "reshape"]),
    ((2, 3, 4), (1, 0), False, "columns", (6, 4), 0, ["reshape", "sum"]),
    ((1, 3, 4), (1,), True, "columns", (3, 4), 0, ["reshape", "sum", "reshape"]),
    ((2, 3), (), False, "all", (1, 6), 1, ["reshape", "sum", "reshape"]),
    ((5,), (0,), True, "all", (1, 5), 1, ["reshape", "sum"]),
    ((), (), False, "all", (1, 1), 1, ["reshape", "sum", "reshape"]),
    ((2, 1, 3), (0, 2), False, "all", (1, 6), 1, ["reshape", "sum"]),
    ((2, 3, 4), (1,), False, "others", (3, 8), 0, ["transpose", "reshape", "sum", "reshape"]),
    ((2, 3, 4), (0, 2), False, "others", (3, 8), 1, ["transpose", "reshape", "sum"]),
    ((2, 3, 4, 5), (1, 3), True, "others", (8, 15), 1, ["transpose", "reshape", "sum", "reshape"]),
]


@pytest.mark.parametrize(("shape", "axes", "keepdim", "form", "matrix", "axis", "left"), CASES)
def test_what_a_reduction_becomes(
    build, run, names, assert_same, shape, axes, keepdim: bool, form: str, matrix, axis: int, left: list[str]
) -> None:
    program: Program = build(lambda x: pd.sum(x, axis=axes, keepdim=keepdim), f(*shape))
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {f"reduction_of_{form}": 1}
    assert names(program) == [f"pd.{name}" for name in left]
    (made,) = (op for op in program.main.walk() if isinstance(op, pd.SumOp))
    assert (ranked(made.x).shape, made.axis, made.keepdim) == (matrix, (axis,), False)
    assert_same(before, program, tolerance=1e-6)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize(
    "body",
    [
        lambda x: pd.max(x, axis=(1,)),
        lambda x: pd.min(x, axis=(0, 2), keepdim=True),
        lambda x: pd.sum(pd.cast(x, dtype=i32), axis=(1,)),
        lambda x: pd.sum(pd.greater_than(x, pd.full(shape=(), value=0.0)), axis=(0, 2)),
        lambda x: pd.sum(pd.cast(x, dtype=i32), axis=(), dtype=f32),
        lambda x: pd.sum(x, axis=(1,), dtype=i64),
    ],
    ids=["max", "min", "sum of integers", "sum of truth values", "sum of integers as floats", "sum as integers"],
)
def test_kinds_and_element_types_that_keep_every_bit(build, run, assert_same, body) -> None:
    program: Program = build(body, f(2, 3, 4))
    before = program.clone()
    run(program, PASS)
    assert all(ranked(op.x).rank == 2 for op in program.main.walk() if hasattr(op, "keepdim"))
    assert_same(before, program)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (f(2, 3), lambda x: pd.sum(x, axis=(0,))),
        (f(1, 3), lambda x: pd.max(x, axis=(0,))),
        (TensorType((2, 3, 4), f32), lambda x: pd.mean(x, axis=(1,))),
        (f(DYNAMIC, 3, 4), lambda x: pd.mean(x, axis=(1,))),
        (f(2, 0, 4), lambda x: pd.sum(x, axis=(1,))),
        (f(2, 3, 4), lambda x: pd.softmax(x, axis=1)),
    ],
    ids=["columns", "one row", "a tensor", "a dynamic extent", "no elements", "no reduction"],
)
def test_what_stays(build, run, kind, body) -> None:
    program: Program = build(body, kind)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x4x5x3xf32>, %on: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "scf.if"(%on) ({
      %1 = "pd.mean"(%x) {axis = array<i64: 1, 2>, keepdim = false} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%1) : (!pd.vtensor<2x3xf32>) -> ()
    }, {
      %2 = "pd.max"(%x) {axis = array<i64: 0, 1, 2>, keepdim = true} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<1x1x1x3xf32>
      %3 = "pd.min"(%2) {axis = array<i64>, keepdim = false} : (!pd.vtensor<1x1x1x3xf32>) -> !pd.vtensor<f32>
      %4 = "pd.expand"(%3) {shape = array<i64: 2, 3>} : (!pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%4) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf32>
    return %0 : !pd.vtensor<2x3xf32>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {
        "reduction_of_others": 1,
        "reduction_of_columns": 1,
        "reduction_of_all": 1,
    }
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/canonicalize-reductions.mlir")


@pytest.mark.parametrize("axes", [(1,), (0, 2), (), (2,)])
def test_the_chip_agrees(build, run, axes: tuple[int, ...]) -> None:
    program: Program = build(lambda x: (pd.sum(x, axis=axes), pd.max(x, axis=axes, keepdim=True)), f(3, 5, 70))
    run(program, PASS)
    assert check(program).passed


def reduction(writer: Writer) -> Sequence[Value]:
    """A reduction over any axes, mostly one that is not canonical."""
    anything = writer.one_of([False, False, True])
    x = writer.value(lambda t: t.element is not i1 and (anything or (t.rank > 1 and isinstance(t, VTensorType))))
    if x is None:
        return ()
    rank = ranked(x).rank
    axes = tuple(axis for axis in range(rank) if writer.one_of([False, True]))
    ops: list[Any] = [pd.sum, pd.max, pd.min, pd.mean]
    op = writer.one_of(ops if ranked(x).element.is_float else ops[:3])
    with Builder.at_end(writer.block):
        return op(x, axis=axes, keepdim=writer.one_of([False, True])).results


INPUTS = [VTensorType((2, 3, 2), f32), VTensorType((3, 1, 2), bf16), VTensorType((2, 2, 3), i32)]
INPUTS += [TensorType((2, 3, 2), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[reduction], inputs=INPUTS)
    assert_preserves(PASS, programs=programs, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=1 / 2)
