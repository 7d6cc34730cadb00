"""`main` takes and gives values: feeds, fetches and tensors at the boundary of a program."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import check

T, V = "!pd.tensor<2x8xf32>", "!pd.vtensor<2x8xf32>"
TRAINED = f"""
module {{
  func.func @main(%x: {T}) -> {T} attributes {{arg_names = ["x"], result_names = ["y"]}} {{
    %0 = "pd.feed"() {{col = 0 : i64, name = "scale"}} : () -> {V}
    %1 = "pd.feed"() {{col = 1 : i64, name = "state"}} : () -> {T}
    %2 = "pd.add_"(%1, %0) : ({T}, {V}) -> {T}
    "pd.fetch"(%2) {{col = 0 : i64, name = "early"}} : ({T}) -> ()
    %3 = "pd.relu_"(%x) : ({T}) -> {T}
    %4 = "pd.multiply_"(%1, %3) : ({T}, {T}) -> {T}
    %5 = "pd.feed"() {{col = 1 : i64, name = "state"}} : () -> {V}
    "pd.fetch"(%5) {{col = 1 : i64, name = "late"}} : ({V}) -> ()
    return %3 : {T}
  }}
}}
"""


def test_feeds_follow_the_arguments_and_fetches_the_results(golden) -> None:
    program = tx8ir.parse(TRAINED)
    report = PassManager.parse("value-signature").run(program)
    assert dict(report.stages[0].statistics) == {"feeds": 3, "fetches": 2, "arguments": 1, "results": 1}
    golden(f"// before{TRAINED}\n// value-signature\n{program}", "lowering/value-signature.mlir")
    again = program.clone()
    assert dict(PassManager.parse("value-signature").run(again).stages[0].statistics) == {}
    assert str(again) == str(program)


def test_outputs_stay_and_inputs_are_no_longer_written() -> None:
    program = tx8ir.parse(TRAINED)
    lowered = program.clone()
    PassManager.parse("value-signature").run(lowered)
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal((2, 8), np.float32) for name in ("x", "scale", "state")}
    before, after = evaluate(program, inputs), evaluate(lowered, inputs)
    assert list(lowered.inputs) == ["x", "scale", "state"]
    assert list(lowered.outputs) == ["y", "early", "late"]
    for name, array in after.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_program_with_feeds_and_storage_compiles_and_the_chip_agrees() -> None:
    program = tx8ir.parse(TRAINED)
    executable = tx8ir.compile(program)
    assert [port.name for port in executable.signature.inputs] == ["x", "scale", "state"]
    assert [port.name for port in executable.signature.outputs] == ["y", "early", "late"]
    assert check(program).passed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "scale"', 'name = "x"', "the feed 'x' has the name of an argument of main"),
        ('"late"', '"y"', "the program has an output 'y' already"),
        (
            f'%5 = "pd.feed"() {{col = 1 : i64, name = "state"}} : () -> {V}',
            '%5 = "pd.feed"() {col = 1 : i64, name = "state"} : () -> !pd.vtensor<3xf32>',
            r"the feed 'state' is !pd\.vtensor<3xf32> here and !pd\.vtensor<2x8xf32> before",
        ),
        (
            f'    "pd.fetch"(%5) {{col = 1 : i64, name = "late"}} : ({V}) -> ()\n',
            f'    %6 = "func.call"(%x) {{callee = @main}} : ({T}) -> {T}\n',
            "main is called inside the program",
        ),
    ],
)
def test_what_cannot_be_a_signature_is_an_error_and_changes_nothing(old: str, new: str, message: str) -> None:
    assert old in TRAINED
    text = TRAINED.replace(old, new)
    if "3xf32" in new:
        text = text.replace(f'"late"}} : ({V})', '"late"} : (!pd.vtensor<3xf32>)')
    program = tx8ir.parse(text)
    before = str(program)
    with pytest.raises(PassError, match=message):
        PassManager.parse("value-signature").run(program)
    assert str(program) == before


def test_a_feed_inside_a_branch_is_an_error() -> None:
    program = tx8ir.parse(
        f"""
module {{
  func.func @main(%c: !pd.vtensor<i1>) -> {V} {{
    %0 = "scf.if"(%c) ({{
      %1 = "pd.feed"() {{col = 0 : i64, name = "a"}} : () -> {V}
      "scf.yield"(%1) : ({V}) -> ()
    }}, {{
      %2 = "pd.feed"() {{col = 1 : i64, name = "b"}} : () -> {V}
      "scf.yield"(%2) : ({V}) -> ()
    }}) : (!pd.vtensor<i1>) -> {V}
    return %0 : {V}
  }}
}}
"""
    )
    with pytest.raises(PassError, match=r"pd\.feed has to be in the first block of main"):
        PassManager.parse("value-signature").run(program)
