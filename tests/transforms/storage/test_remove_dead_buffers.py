"""Storage that nobody reads: what goes with it, and what others may still see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Program, TensorType, Value, VTensorType, bf16, f16, f32, i1, i32, parse
from tx8ir.dialects import builtin, pd
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "remove-dead-buffers"
V, T = VTensorType((2, 3), f32), TensorType((2, 3), f32)


def buffer(x: Any) -> Any:
    return builtin.to_tensor(x).out


def written(x: Value) -> Any:
    pd.relu_(buffer(x))
    return x


def written_through_a_view(x: Value) -> Any:
    row = pd.slice(buffer(x), axes=(0,), starts=(0,), ends=(1,))
    pd.scale_(pd.transpose(row, perm=(1, 0)), scale=2.0)
    return x


def written_with_a_computed_value(x: Value) -> Any:
    pd.add_(buffer(x), pd.exp(pd.multiply(x, x)))
    return x


def read_for_nothing(x: Value) -> Any:
    b = buffer(x)
    pd.relu_(b)
    pd.exp(builtin.to_vtensor(b))
    pd.add_(b, builtin.to_vtensor(b))
    return x


def written_to_another_that_is_dead(x: Value) -> Any:
    a, b = buffer(x), buffer(x)
    pd.relu_(a)
    pd.assign_(b, a)
    pd.add_(a, b)
    return x


def made_by_an_operation_on_a_tensor(x: Value) -> Any:
    total = pd.add(x, x)
    pd.fill_(total, value=0.0)
    return x


def in_a_list(x: Value) -> Any:
    both = builtin.combine([buffer(x), buffer(x)])
    pd.relu_(builtin.slice_(both, index=1).out)
    return x


# Each: the type of the input, the body, and the counts.
CASES: list[tuple[Any, Any, dict[str, int]]] = [
    (V, written, {"buffers": 1, "writes": 1}),
    (V, written_through_a_view, {"buffers": 1, "writes": 1, "operations": 2}),
    (V, written_with_a_computed_value, {"buffers": 1, "writes": 1, "operations": 2}),
    (V, read_for_nothing, {"buffers": 1, "writes": 2, "operations": 3}),
    (V, written_to_another_that_is_dead, {"buffers": 2, "writes": 3}),
    (T, made_by_an_operation_on_a_tensor, {"buffers": 1, "writes": 1}),
    (V, in_a_list, {"buffers": 2, "writes": 1, "operations": 2}),
    (T, written, {"buffers": 1, "writes": 1}),
    (V, lambda x: (x, buffer(x))[0], {"buffers": 1}),
]


@pytest.mark.parametrize(("kind", "body", "counts"), CASES)
def test_a_buffer_that_nobody_reads_goes(build, run, names, kind, body, counts: dict[str, int]) -> None:
    program: Program = build(body, kind)
    before = program.clone()
    assert run(program, PASS).stages[0].statistics == counts
    assert names(program) == []
    assert check(before, PASS, guarantee=NumericGuarantee.BITWISE).passed
    assert run(program, PASS).stages[0].statistics == {}


def read_at_last(x: Value) -> Any:
    b = buffer(x)
    pd.relu_(b)
    return builtin.to_vtensor(b)


def read_through_a_view(x: Value) -> Any:
    b = buffer(x)
    row = pd.slice(b, axes=(0,), starts=(1,), ends=(2,))
    pd.relu_(b)
    return builtin.to_vtensor(row)


def read_by_a_write_that_is_seen(x: Value) -> Any:
    a, b = buffer(x), buffer(x)
    pd.relu_(a)
    pd.add_(b, a)
    return builtin.to_vtensor(b)


def given_back(x: Value) -> Any:
    b = buffer(x)
    pd.relu_(b)
    return b


def an_input(x: Value) -> Any:
    pd.relu_(x)
    return pd.full(shape=(), value=1.0)


def a_view_of_an_input(x: Value) -> Any:
    pd.relu_(pd.slice(x, axes=(0,), starts=(0,), ends=(1,)))
    return pd.full(shape=(), value=1.0)


def a_parameter(x: Value) -> Any:
    pd.relu_(builtin.get_parameter(parameter="w", out=T).out)
    return x


def put_into_a_parameter(x: Value) -> Any:
    b = buffer(x)
    pd.relu_(b)
    builtin.set_parameter(b, parameter="w")
    return x


def a_feed(x: Value) -> Any:
    pd.relu_(pd.feed(feed_name="extra", out=T).out)
    return x


def fetched(x: Value) -> Any:
    b = buffer(x)
    pd.relu_(b)
    pd.fetch(b, fetch_name="b")
    return x


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (V, read_at_last),
        (V, read_through_a_view),
        (V, read_by_a_write_that_is_seen),
        (V, given_back),
        (T, an_input),
        (T, a_view_of_an_input),
        (V, a_parameter),
        (V, put_into_a_parameter),
        (V, a_feed),
        (V, fetched),
        (V, lambda x: (pd.exp(x), x)[1]),  # dead, but no buffer: dce's
        (T, lambda x: (pd.slice(x, axes=(0,), starts=(0,), ends=(1,)), x)[1]),
        (V, lambda x: (builtin.get_parameter(parameter="w", out=T), x)[1]),
    ],
)
def test_what_somebody_may_see_stays(build, run, kind, body) -> None:
    program: Program = build(body, kind, weights={"w": np.ones((2, 3), np.float32)}, mutable=["w"])
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %on: !pd.vtensor<i1>) -> !pd.vtensor<2xf32> {
    %dead = "builtin.to_tensor"(%x) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %live = "builtin.to_tensor"(%x) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %0 = "scf.if"(%on) ({
      %1 = "pd.exp"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %2 = "pd.add_"(%dead, %1) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
      %3 = "pd.add_"(%live, %1) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"(%x) : (!pd.vtensor<2xf32>) -> ()
    }, {
      %4 = "pd.assign_"(%dead, %live) : (!pd.tensor<2xf32>, !pd.tensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"(%x) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    "func.call"(%live) {callee = @twice} : (!pd.tensor<2xf32>) -> ()
    %5 = "builtin.to_vtensor"(%live) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    return %5 : !pd.vtensor<2xf32>
  }
  func.func @twice(%x: !pd.tensor<2xf32>) {
    %0 = "pd.add"(%x, %x) : (!pd.tensor<2xf32>, !pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %1 = "pd.relu_"(%0) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %2 = "pd.scale_"(%x) {bias = 0.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    return
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"buffers": 2, "writes": 3}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/remove-dead-buffers.mlir")
    assert check(parse(TEXT), PASS, guarantee=NumericGuarantee.BITWISE).passed


LOOP = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %n: !pd.vtensor<i1>) -> !pd.vtensor<i1> {
    %0 = "builtin.to_tensor"(%x) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %1, %2 = "scf.while"(%n, %0) ({
    ^bb0(%a: !pd.vtensor<i1>, %b: !pd.tensor<2xf32>):
      "scf.condition"(%a, %a, %b) : (!pd.vtensor<i1>, !pd.vtensor<i1>, !pd.tensor<2xf32>) -> ()
    }, {
    ^bb0(%a: !pd.vtensor<i1>, %b: !pd.tensor<2xf32>):
      %3 = "pd.relu_"(%b) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
      %4 = "pd.logical_not"(%a) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
      "scf.yield"(%4, %b) : (!pd.vtensor<i1>, !pd.tensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>, !pd.tensor<2xf32>) -> (!pd.vtensor<i1>, !pd.tensor<2xf32>)
    return %1 : !pd.vtensor<i1>
  }
}
"""


def test_a_buffer_that_a_loop_carries_stays(run) -> None:
    program = parse(LOOP)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def test_it_runs_inside_functions_too(run) -> None:
    program = parse(TEXT)
    run(program, f"func.func({PASS})")
    whole = parse(TEXT)
    run(whole, PASS)
    assert str(program) == str(whole)


def test_the_chip_computes_what_is_left(build, run) -> None:
    def body(x: Value) -> Any:
        pd.add_(buffer(x), x)
        return pd.exp(x)

    program: Program = build(body, VTensorType((4, 70), f32))
    run(program, PASS)
    assert check(program).passed


def scratch(writer: Writer) -> Sequence[Value]:
    """A buffer that is written, through views and other buffers too, and sometimes read."""
    x = writer.value(lambda t: t.element is not i1)
    if x is None:
        return ()
    kind = ranked(x)
    with Builder.at_end(writer.block):
        b: Value = builtin.to_tensor(x).out
        shown = pd.reshape(b, shape=(-1,)).out if writer.one_of([False, True]) else b
        pd.scale_(shown, scale=2.0)
        if writer.one_of([False, True]):
            pd.assign_(b, x)
        other = builtin.to_tensor(b).out
        pd.add_(other, b)
        return writer.one_of([[], [], [shown], [other], [builtin.to_vtensor(b).out]]) if kind.rank else []


INPUTS = [VTensorType((2, 3), f32), TensorType((2,), f16), VTensorType((2, 2), bf16), TensorType((3,), i32)]


@with_examples()
def test_generated_programs_keep_their_bits(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[scratch], inputs=INPUTS)
    assert_preserves(PASS, programs=programs, examples=examples, guarantee=NumericGuarantee.BITWISE, changed=1 / 2)
