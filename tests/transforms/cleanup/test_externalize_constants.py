"""Large constants become variables: which, under which names, and that equal ones are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Program, Value, VTensorType, bf16, f16, f32, i1, i32, parse
from tx8ir.dialects import builtin, pd
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs

PASS = "externalize-constants"
ALL = f"{PASS}{{inline-bytes=0}}"


def constant(*shape: int, start: int = 0, element: Any = f32) -> Any:
    return builtin.constant(
        value=np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape).astype(element.dtype)
    )


def names_read(program: Program) -> list[str]:
    return [op.parameter for op in program.module.walk() if isinstance(op, builtin.GetParameterOp)]


@pytest.mark.parametrize(
    ("bytes_", "variables"),
    [(0, ["constant", "constant_1"]), (24, ["constant"]), (95, ["constant"]), (96, [])],
)
def test_what_has_more_bytes_than_stay_inline_becomes_a_variable(
    build, run, assert_same, bytes_: int, variables
) -> None:
    program: Program = build(lambda x: (pd.add(x, constant(2, 3, 4)), constant(2, 3)), VTensorType((2, 3, 4), f32))
    before = program.clone()
    report = run(program, f"{PASS}{{inline-bytes={bytes_}}}")
    assert report.stages[0].statistics.get("variables", 0) == len(variables)
    assert names_read(program) == list(program.weights) == variables
    assert not any(variable.is_mutable for variable in program.weights.values())
    assert_same(before, program)
    text = str(program)
    assert run(program, f"{PASS}{{inline-bytes={bytes_}}}").stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize("element", [f32, f16, bf16, i32, i1], ids=str)
def test_every_element_type_keeps_its_bits(build, run, element) -> None:
    values = constant(2, 5, element=element).value.value
    program: Program = build(lambda x: (x, builtin.constant(value=values)), VTensorType((1,), f32))
    run(program, ALL)
    assert program.weights["constant"].type is VTensorType((2, 5), element)
    assert program.weights["constant"].numpy().tobytes() == values.tobytes()


def test_equal_data_is_one_variable_and_other_data_or_types_another(build, run) -> None:
    def body(x: Value) -> Any:
        zeros = builtin.constant(value=np.float32([1.0, 0.0]))
        return x, constant(4), constant(4), constant(2, 2), constant(4, start=1), zeros, builtin.constant(
            value=np.float32([1.0, -0.0])
        )  # fmt: skip

    program: Program = build(body, VTensorType((1,), f32))
    assert run(program, ALL).stages[0].statistics == {"constants": 6, "variables": 5}
    zeros, *fours = names_read(program)[:3]
    assert (zeros, fours) == ("constant", ["constant_1", "constant_1"])
    assert names_read(program)[3:] == ["constant_2", "constant_3", "constant_4"]


def test_a_name_that_is_taken_is_not_used_again(build, run) -> None:
    program: Program = build(
        lambda x: (x, constant(4)), VTensorType((1,), f32), weights={"table": np.ones(1, np.float32)}
    )
    run(program, f"{PASS}{{inline-bytes=0,stem=table}}")
    assert list(program.weights) == ["table", "table_1"]


def test_a_constant_gives_its_name_to_its_variable(run) -> None:
    program = parse(TEXT, keep_names=True)
    run(program, ALL)
    assert names_read(program)[0] == "table"


@pytest.mark.parametrize(
    "value", [np.full(1000, 0.5, np.float32), np.zeros((0, 4), np.float32)], ids=["splat", "empty"]
)
def test_what_is_held_as_one_element_or_none_stays(build, run, value) -> None:
    program: Program = build(lambda x: (x, builtin.constant(value=value)), VTensorType((1,), f32))
    text = str(program)
    assert run(program, ALL).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [("inline-bytes=-1", r"'inline_bytes' must be >= 0: -1"), ('stem=""', r"Length of 'stem' must be >= 1: 0")],
)
def test_options_that_mean_nothing_are_refused(options: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        PassManager.parse(f"{PASS}{{{options}}}")


TEXT = """
module {
  func.func @main(%on: !pd.vtensor<i1>) -> !pd.vtensor<2x4xf32> {
    %table = "builtin.constant"() {value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : !pd.vtensor<2x4xf32>} : () -> !pd.vtensor<2x4xf32>
    %0 = "scf.if"(%on) ({
      %1 = "builtin.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
      %2 = "pd.add"(%table, %1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }, {
      %3 = "func.call"(%table) {callee = @scaled} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%3) : (!pd.vtensor<2x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4xf32>
    return %0 : !pd.vtensor<2x4xf32>
  }
  func.func @scaled(%x: !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
    %1 = "pd.multiply"(%x, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, ALL).stages[0].statistics == {"constants": 3, "variables": 2}
    held = "\n".join(f"// {name}: {variable.numpy().tolist()}" for name, variable in program.weights.items())
    golden(f"// before\n{before}\n\n// {ALL}\n{program}\n{held}", "transforms/externalize-constants.mlir")


def test_folding_goes_on_with_what_was_externalized(build, run, names) -> None:
    program: Program = build(lambda x: pd.add(x, pd.exp(constant(2, 3, 4))), VTensorType((2, 3, 4), f32))
    run(program, f"{ALL},constant-fold")
    assert names(program) == ["builtin.get_parameter", "pd.add"]


def test_the_chip_agrees(build, run) -> None:
    program: Program = build(lambda x: pd.matmul(x, constant(4, 70, start=-140)), VTensorType((5, 4), f32))
    run(program, ALL)
    assert check(program).passed


def data(writer: Writer) -> Sequence[Value]:
    """Arithmetic with a constant of several different elements."""
    x = writer.value(lambda t: t.element is not i1)
    if x is None:
        return ()
    kind: Any = x.type
    values = np.arange(writer.one_of([2, 3, 4])) - writer.one_of([0, 1])
    shape = (len(values),) + (1,) * max(1, kind.rank)
    with Builder.at_end(writer.block):
        made = builtin.constant(value=values.reshape(shape).astype(kind.element.dtype))
        return writer.one_of([pd.add, pd.multiply, pd.maximum])(x, made).results


@with_examples()
def test_generated_programs_keep_their_bits(examples: int) -> None:
    assert_preserves(
        ALL,
        programs=tensor_programs(EVERYTHING, steps=[data]),
        examples=examples,
        guarantee=NumericGuarantee.BITWISE,
        changed=1 / 2,
    )
