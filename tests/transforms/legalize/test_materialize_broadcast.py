"""Implicit broadcasts become operations: what each operand becomes, on values, tensors and in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import DYNAMIC, Builder, Program, TensorType, Value, VTensorType, bf16, f16, f32, i1, i32, parse
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager
from tx8ir.rewriting.provenance import provenance
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, NUMBERS, Writer, ranked, tensor_programs

PASS = "materialize-broadcast"


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


# Each: argument types, the body, and the operations that are left.
CASES: list[tuple[str, tuple[Any, ...], Callable[..., Any], list[str]]] = [
    ("an extent of 1", (f(2, 3), f(2, 1)), lambda x, y: pd.add(x, y), ["pd.expand", "pd.add"]),
    ("both operands", (f(1, 3), f(2, 1)), lambda x, y: pd.divide(x, y), ["pd.expand", "pd.expand", "pd.divide"]),
    ("a missing axis", (f(2, 3), f(3)), lambda x, y: pd.maximum(y, x), ["pd.expand", "pd.maximum"]),
    ("a missing axis of extent 1", (f(1, 3), f(3)), lambda x, y: pd.add(x, y), ["pd.reshape", "pd.add"]),
    ("a scalar", (f(2, 3), f()), lambda x, y: pd.less_than(x, y), ["pd.expand", "pd.less_than"]),
    (
        "a choice",
        (VTensorType((3,), i1), f(2, 1), f()),
        lambda c, x, y: pd.where(c, x, y),
        ["pd.expand", "pd.expand", "pd.expand", "pd.where"],
    ),
    (
        "in place",
        (TensorType((2, 3), f32), TensorType((3,), f32)),
        lambda x, y: pd.add_(x, y),
        ["pd.expand", "pd.add_"],
    ),
    (
        "a tensor that only lacks an axis",  # not a view, which would share storage
        (TensorType((1, 3), f32), TensorType((3,), f32)),
        lambda x, y: pd.add(x, y),
        ["pd.expand", "pd.add"],
    ),
    ("no elements", (f(0, 3), f(3)), lambda x, y: pd.add(x, y), ["pd.expand", "pd.add"]),
]


@pytest.mark.parametrize(("kinds", "body", "left"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_operands_get_the_shape_of_the_result(build, run, names, assert_same, kinds, body, left: list[str]) -> None:
    program: Program = build(body, *kinds)
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == {"explicit_operands": 1}
    assert names(program) == left
    last = program.main.body.block.last_op.prev_op
    assert {ranked(value).shape for value in (*last.operands, *last.results)} == {ranked(last.results[0]).shape}
    assert_same(before, program)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize(
    ("kinds", "body"),
    [
        ((f(2, 3), f(2, 3)), lambda x, y: pd.add(x, y)),
        ((f(2, 3), f(3, 4)), lambda x, y: pd.matmul(x, y)),
        ((f(DYNAMIC, 3), f(3)), lambda x, y: pd.add(x, y)),
        ((TensorType((2, 3), f32), f(3)), lambda x, y: pd.set_value_(x, y, axes=(0,), starts=(0,), ends=(1,))),
    ],
    ids=["equal shapes", "not elementwise", "a dynamic result", "a write that is not elementwise"],
)
def test_what_stays(build, run, kinds, body) -> None:
    program: Program = build(body, *kinds)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def test_operands_of_one_element_can_be_left_out(build, run, names) -> None:
    def body(x: Value, y: Value, z: Value) -> Any:
        half = pd.full(shape=(1, 1), value=0.5)
        return pd.add(pd.multiply(pd.add(x, y), half), z)

    program = build(body, f(2, 3), f(), f(3))
    run(program, f"{PASS}{{scalars=false}}")
    assert names(program) == ["pd.full", "pd.add", "pd.multiply", "pd.expand", "pd.add"]


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x4x3xf32>, %s: !pd.vtensor<3xf32>, %on: !pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32> {
    %0 = "pd.multiply"(%x, %s) : (!pd.vtensor<2x4x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x4x3xf32>
    %1 = "scf.if"(%on) ({
      %2 = "pd.full"() {dtype = f32, shape = [], value = 0.5 : f64} : () -> !pd.vtensor<f32>
      %3 = "pd.add"(%2, %0) : (!pd.vtensor<f32>, !pd.vtensor<2x4x3xf32>) -> !pd.vtensor<2x4x3xf32>
      "scf.yield"(%3) : (!pd.vtensor<2x4x3xf32>) -> ()
    }, {
      "scf.yield"(%0) : (!pd.vtensor<2x4x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32>
    return %1 : !pd.vtensor<2x4x3xf32>
  }
}
"""


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"explicit_operands": 2}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/materialize-broadcast.mlir")


def test_new_operations_say_where_they_come_from(build, run) -> None:
    program = build(lambda x, y: pd.add(x, y), f(2, 3), f(3))
    run(program, PASS)
    made = provenance(program.main.body.block.first_op).made_by
    assert str(made) == "materialize-broadcast/explicit_operands"


def test_canonicalize_leaves_what_was_made_explicit(build, run, names) -> None:
    program = build(lambda x, y: pd.subtract(x, y), f(2, 3), f(3))
    run(program, f"{PASS},canonicalize,cse,dce")
    assert names(program) == ["pd.expand", "pd.subtract"]


def test_the_chip_agrees(build, run) -> None:
    program = build(lambda x, y, z: pd.multiply(pd.add(x, y), z), f(2, 6, 70), f(70), f(2, 1, 1))
    run(program, PASS)
    assert check(program).passed


def broadcast(writer: Writer) -> Sequence[Value]:
    """An elementwise operation on a value and part of it, stretched."""
    x = writer.value(lambda t: t.element is not i1 and t.num_elements > 1)
    if x is None:
        return ()
    kind = ranked(x)
    with Builder.at_end(writer.block):
        if writer.one_of([False, True]):
            axis = max(range(kind.rank), key=lambda axis: kind.shape[axis])
            y: Value = pd.slice(
                x, axes=(axis,), starts=(0,), ends=(1,), decrease_axis=writer.one_of([(), (0,)] if not axis else [()])
            ).out
        else:
            y = pd.full(shape=writer.one_of([(), (1,)]), value=writer.one_of(NUMBERS[:5]), dtype=kind.element).out
        if isinstance(kind, TensorType) and writer.one_of([False, True]):
            return pd.add_(x, y).results
        swap = writer.one_of([False, True])
        op: Any = writer.one_of([pd.add, pd.subtract, pd.maximum, pd.less_equal])
        return op(y, x).results if swap else op(x, y).results


INPUTS = [VTensorType((2, 3), f32), TensorType((2, 3), f32), VTensorType((2,), bf16), TensorType((2, 2), f16)]
INPUTS += [VTensorType((1, 2, 3), i32)]


@with_examples()
def test_generated_programs_keep_their_bits(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[broadcast], inputs=INPUTS)
    assert_preserves(PASS, programs=programs, examples=examples, guarantee=NumericGuarantee.BITWISE, changed=2 / 3)


@pytest.mark.parametrize("pipeline", ["materialize-broadcast", "canonicalize", "prepare"])
@pytest.mark.parametrize("exponent", [0.5, 2.0, -1.0, 3.0])
def test_a_power_has_the_same_bits_with_one_exponent_and_with_many(build, pipeline: str, exponent: float) -> None:
    numbers = np.float32([[-np.inf, 0.16661415, -2.6620145], [-0.0, -0.0005948478, 6.0]])

    def powers(x: Value) -> list[Value]:
        one = builtin.constant(value=np.float32(exponent)).result
        row = builtin.constant(value=np.full(3, exponent, np.float32)).result
        return [pd.elementwise_pow(x, one).out, pd.elementwise_pow(x, row).out, pd.pow(x, y=exponent).out]

    program = build(powers, VTensorType((2, 3), f32))
    inputs = {"arg0": numbers}
    before = evaluate(program, inputs)
    PassManager.parse(pipeline).run(program)
    after = evaluate(program, inputs)
    for name, wanted in before.items():
        np.testing.assert_array_equal(after[name].view(np.int32), wanted.view(np.int32))
        np.testing.assert_array_equal(wanted, before["result0"])
