"""Variables that a program changes become arguments and results of `main`, and say the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tx8ir
from support.examples import with_examples
from tx8ir.backend.lowering.lift_state import state_argument, state_of
from tx8ir.core import Program
from tx8ir.interpreter import EvaluationError, Interpreter
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import check
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program
from tx8ir.testing.programs.storage import combined_parameters, in_place, read, write_parameter

V, T = "!pd.vtensor<2x8xf32>", "!pd.tensor<2x8xf32>"
COUNTING = f"""
module {{
  func.func @step(%x: {V}) {{
    %0 = "builtin.get_parameter"() {{name = "count"}} : () -> {T}
    %1 = "pd.add_"(%0, %x) : ({T}, {V}) -> {T}
    return
  }}
  func.func @main(%x: {V}) -> {V} attributes {{arg_names = ["x"], result_names = ["y"]}} {{
    func.call @step(%x) : ({V}) -> ()
    %0 = "builtin.get_parameter"() {{name = "rate"}} : () -> {V}
    %1 = "builtin.get_parameter"() {{name = "count"}} : () -> {V}
    %2 = "pd.multiply"(%0, %1) : ({V}, {V}) -> {V}
    "builtin.set_parameter"(%2) {{name = "count"}} : ({V}) -> ()
    %3 = "builtin.get_combine_parameter"() {{names = ["kept", "count"]}} : () -> !builtin.list<{T}, {T}>
    %4, %5 = "builtin.split"(%3) : (!builtin.list<{T}, {T}>) -> ({T}, {T})
    %6 = "pd.add"(%4, %5) : ({T}, {T}) -> {T}
    "builtin.set_combine_parameter"(%3) {{names = ["count", "kept"]}} : (!builtin.list<{T}, {T}>) -> ()
    %7 = "builtin.to_vtensor"(%6) : ({T}) -> {V}
    return %7 : {V}
  }}
}}
"""


def counting() -> Program:
    program = tx8ir.parse(COUNTING)
    rng = np.random.default_rng(1)
    for name in ("kept", "count", "rate"):
        program.weights.add(name, rng.standard_normal((2, 8), np.float32))
    program.recompute_mutability()
    return program


def test_variables_that_change_are_arguments_and_results(golden) -> None:
    program = counting()
    assert list(state_of(program)) == ["kept", "count"]
    report = PassManager.parse("value-signature,lift-state").run(program)
    program.verify()
    assert dict(report.stages[1].statistics) == {"written": 2}
    golden(f"// before{COUNTING}\n// value-signature,lift-state\n{program}", "lowering/lift-state.mlir")
    again = program.clone()
    assert dict(PassManager.parse("lift-state").run(again).stages[0].statistics) == {}
    assert str(again) == str(program)


def compare(program: Program, inputs: dict[str, np.ndarray]) -> None:
    """Outputs and variables are those of the interpreter, before and after lifting."""
    lifted = program.clone()
    PassManager.parse("value-signature,lift-state").run(lifted)
    state = state_of(program)
    held = {state_argument(name): np.array(program.weights[name].numpy()) for name in state}
    expected = program.clone()
    for name in state:
        expected.weights[name].data = np.array(program.weights[name].numpy())
    outputs = Interpreter(expected).run(inputs)
    found = Interpreter(lifted).run({**inputs, **held})
    for name, array in outputs.items():
        np.testing.assert_array_equal(found.pop(name), array, err_msg=name)
    for name in state:
        array = found.pop(state_argument(name), held[state_argument(name)])
        np.testing.assert_array_equal(array, expected.weights[name].numpy(), err_msg=name)
    assert not found


def test_outputs_and_variables_are_as_before() -> None:
    compare(counting(), {"x": np.random.default_rng(0).standard_normal((2, 8), np.float32)})


@with_examples(every_day=60)
def test_generated_programs_are_as_before(examples: int) -> None:
    counts = Counter[str]()

    def visit(program: Program) -> None:
        if not state_of(program):
            counts["without state"] += 1
            return
        try:
            compare(program, draw_inputs(program))
            counts["compared"] += 1
        except EvaluationError:
            counts["failed in the interpreter"] += 1
        except PassError as error:
            counts[f"refused by {error.pass_name}" if "not inlined" not in str(error) else "not inlined"] += 1

    for_each_program(
        tensor_programs(EVERYTHING, steps=[read, write_parameter, combined_parameters, in_place]), examples, visit
    )
    assert counts["compared"] > examples / 4, counts
    assert "refused by lift-state" not in counts


def test_the_chip_leaves_in_variables_what_the_interpreter_does() -> None:
    result = check(counting())
    assert {output.output for output in result.outputs} == {"y", "state:kept", "state:count"}
    assert result.passed


def test_what_only_other_programs_write_is_read_anew_in_every_run() -> None:
    program = tx8ir.parse(f"""
module {{
  func.func @main() -> {V} attributes {{result_names = ["y"]}} {{
    %0 = "builtin.get_parameter"() {{name = "w"}} : () -> {V}
    return %0 : {V}
  }}
}}
""")
    program.weights.add("w", np.zeros((2, 8), np.float32), is_mutable=True)
    executable = tx8ir.compile(program)
    assert not executable.run()["y"].any()
    executable.state["w"].data = np.ones((2, 8), np.float32)
    assert executable.run()["y"].all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COUNTING.replace('"kept"', '"missing"'), "writes the variable 'missing', which the program's weight store"),
        (COUNTING.replace('["x"]', '["state:count"]'), "input 'state:count' has the name that a variable gets"),
        (
            COUNTING.replace("    return\n", f"    func.call @step(%x) : ({V}) -> ()\n    return\n"),
            r"accesses a variable that changes \(count\) in a function that is not inlined",
        ),
    ],
)
def test_what_cannot_be_lifted_says_why(text: str, message: str) -> None:
    program = tx8ir.parse(text)
    for name in ("kept", "count", "rate"):
        program.weights.add(name, np.zeros((2, 8), np.float32), is_mutable=True)
    with pytest.raises(PassError, match=message):
        tx8ir.compile(program)
