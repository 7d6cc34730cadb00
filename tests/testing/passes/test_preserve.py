"""The oracle for passes: what it compares, whom it blames, how small failures get; and every pass of the library."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

import tx8ir
from tx8ir.core import Builder, Program, Value, VTensorType, f32
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.interpreter import EvaluationError
from tx8ir.testing import NumericGuarantee, assert_preserves, check, draw_inputs, observe
from tx8ir.testing.inputs import FLAVOURS
from tx8ir.testing.programs import LOWERABLE, VALUES, Level, Writer, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

SUBTRACT = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %y: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.subtract"(%0, %y) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %2 = "pd.exp"(%1) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %2 : !pd.vtensor<2xf32>
  }
}
"""
WRITES = """
module {
  func.func @main(%x: !pd.tensor<2xf32>) {
    %0 = "pd.exp_"(%x) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    return
  }
}
"""
LOOP = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %zero = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %0:2 = "scf.while"(%zero, %x) ({
    ^bb0(%i: !pd.vtensor<i32>, %a: !pd.vtensor<2xf32>):
      %two = "pd.full"() {dtype = i32, shape = array<i64>, value = 2.0 : f64} : () -> !pd.vtensor<i32>
      %more = "pd.less_than"(%i, %two) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      "scf.condition"(%more, %i, %a) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%j: !pd.vtensor<i32>, %b: !pd.vtensor<2xf32>):
      %one = "pd.full"() {dtype = i32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<i32>
      %next = "pd.add"(%j, %one) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %c = "pd.tanh"(%b) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%next, %c) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    return %0#1 : !pd.vtensor<2xf32>
  }
}
"""
SWAPPING = """
from typing import ClassVar

import attrs

from tx8ir.dialects import pd
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class Swap(Pass):
    name: ClassVar[str] = "swap-operands"

    def run(self, program):
        for op in program.module.walk():
            if isinstance(op, pd.SubtractOp):
                op.set_operands([op.y, op.x])
"""


def swap_operands(program: Program) -> None:
    for op in program.module.walk():
        if isinstance(op, pd.SubtractOp):
            op.set_operands([op.y, op.x])


def drop_writes(program: Program) -> None:
    for op in list(program.module.walk()):
        if isinstance(op, pd.InplaceOp):
            op.replace_with(op.operands[0])


def test_a_pass_that_keeps_every_answer_passes() -> None:
    again = '    %3 = "pd.exp"(%1) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>\n'
    again += '    %4 = "pd.add"(%2, %3) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>\n    return %4'
    result = check(tx8ir.parse(SUBTRACT.replace("    return %2", again)), "canonicalize,cse,dce")
    assert result.passed
    assert result.runs > 50
    assert str(result) == f"canonicalize, cse, dce: answers are the same (bitwise) on {result.runs} sets of inputs"


def test_the_first_pass_that_changes_an_answer_is_named_and_program_and_pipeline_are_reduced() -> None:
    found = check(tx8ir.parse(SUBTRACT), ["canonicalize", swap_operands, "dce"]).counterexample
    assert found is not None
    assert found.failure.kind == "answer"
    assert [stage.name for stage in found.stages] == ["swap_operands"]
    assert found.operations == 1
    assert found.original == (3, 3)


def test_final_contents_of_inputs_are_compared() -> None:
    with pytest.raises(AssertionError, match=r"pass 'drop_writes' changes an answer: input '\w+'"):
        assert_preserves(drop_writes, tx8ir.parse(WRITES))


def test_a_pass_that_raises_or_leaves_an_invalid_program_fails() -> None:
    def raises(program: Program) -> None:
        raise KeyError("no such thing")

    def breaks(program: Program) -> None:
        program.main.body.block.terminator.erase()

    for run, kind in ((raises, "error"), (breaks, "invalid")):
        found = check(tx8ir.parse(SUBTRACT), run, reduce=False).counterexample
        assert found is not None
        assert found.failure.kind == kind


def test_a_loop_that_no_longer_ends_fails() -> None:
    def forever(program: Program) -> None:
        for op in program.module.walk():
            if isinstance(op, scf.ConditionOp):
                with Builder.before(op):
                    op.set_operand(0, pd.full(shape=(), value=1.0, dtype=tx8ir.core.i1).out)

    found = check(tx8ir.parse(LOOP), forever).counterexample
    assert found is not None
    assert found.failure.kind == "evaluation"


def test_signs_of_zero_count_where_they_are_guaranteed() -> None:
    def add_zero(program: Program) -> None:
        argument = program.main.body.block.args[0]
        with Builder.at_start(program.main.body.block):
            same = pd.add(argument, pd.full(shape=(), value=0.0))
        program.main.body.block.terminator.set_operands([same.out])

    text = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    return %x : !pd.vtensor<2xf32>
  }
}
"""
    inputs = {"arg0": np.array([-0.0, 1.0], np.float32)}
    assert not check(tx8ir.parse(text), add_zero, inputs=inputs).passed
    assert check(tx8ir.parse(text), add_zero, inputs=inputs, guarantee=NumericGuarantee.VALUES).passed


def test_a_sum_in_another_order_is_within_rounding_and_another_sum_is_not() -> None:
    text = """
module {
  func.func @main(%x: !pd.vtensor<64xf32>) -> !pd.vtensor<f32> {
    %0 = "pd.sum"(%x) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<64xf32>) -> !pd.vtensor<f32>
    return %0 : !pd.vtensor<f32>
  }
}
"""

    def in_halves(program: Program, scale: float = 1.0) -> None:
        for op in list(program.module.walk()):
            if isinstance(op, pd.SumOp):
                with Builder.before(op):
                    low, high = pd.split(op.x, sections=(32, 32)).outs
                    parts = [pd.sum(v, axis=(0,)) for v in (low, high)]
                    new = pd.scale(pd.add(*parts), scale=scale)
                op.replace_with(new)

    inputs = {"arg0": np.random.default_rng(3).standard_normal(64).astype(np.float32)}
    assert check(tx8ir.parse(text), in_halves, guarantee=NumericGuarantee.ROUNDING).passed
    assert not check(
        tx8ir.parse(text), lambda p: in_halves(p, 1.0001), guarantee=NumericGuarantee.ROUNDING, inputs=inputs
    ).passed


def test_each_pass_is_held_to_its_own_guarantee_against_the_program_it_is_given() -> None:
    pipeline = "convert-dtype{dtype=bf16},cse"
    result = check(tx8ir.parse(SUBTRACT), pipeline)
    assert result.guarantees == (NumericGuarantee.FORMATS, NumericGuarantee.BITWISE)
    assert result.passed
    assert "answers are the same (formats, bitwise)" in str(result)
    found = check(tx8ir.parse(SUBTRACT), pipeline, guarantee=NumericGuarantee.BITWISE).counterexample
    assert found is not None
    assert found.failure.stage.name == "convert-dtype{dtype=bf16}"
    assert "guarantee=NumericGuarantee.BITWISE" in found.script


def test_checks_and_counterexamples_show_in_notebooks() -> None:
    result = check(tx8ir.parse(SUBTRACT), ["canonicalize", swap_operands, "dce"])
    assert str(result.table).splitlines()[2:] == [
        "  canonicalize   bitwise    kept",
        "  swap_operands  bitwise    broken",
        "  dce            bitwise    not tried",
    ]
    assert repr(result).startswith("<PipelineCheck of 3 passes: pass 'swap_operands' changes an answer")
    found = result.counterexample
    assert found is not None
    assert repr(found).startswith("<Counterexample of 1 operation and 1 pass: pass 'swap_operands' ")
    html = result._repr_html_()
    for part in ("not tried", "pd.subtract", "<details>", "assert_preserves(swap_operands, program, inputs=inputs)"):
        assert part in html


def test_the_script_of_a_counterexample_fails_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "swapping.py").write_text(SWAPPING, encoding="utf-8")
    (tmp_path / "search.py").write_text(
        f"import tx8ir, swapping\nfrom tx8ir.testing import check\n"
        f"print(check(tx8ir.parse('''{SUBTRACT}'''), 'cse,swap-operands').counterexample.script)\n",
        encoding="utf-8",
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    made = subprocess.run([sys.executable, tmp_path / "search.py"], capture_output=True, text=True, env=env)
    assert made.returncode == 0, made.stderr
    (tmp_path / "failing.py").write_text(made.stdout, encoding="utf-8")
    ran = subprocess.run([sys.executable, tmp_path / "failing.py"], capture_output=True, text=True, env=env)
    assert ran.returncode == 1
    assert "AssertionError: pass 'swap-operands' changes an answer" in ran.stderr


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(scf.IfOp, marks=pytest.mark.nightly),
        pd.InplaceOp,
        *(
            pytest.param(kind, marks=pytest.mark.nightly)
            for kind in (
                scf.WhileOp,
                cf.CondBranchOp,
                func.CallOp,
                builtin.CombineOp,
                builtin.MakeDictOp,
                builtin.GetCombineParameterOp,
                builtin.SetParameterOp,
                pd.FeedOp,
                pd.FetchOp,
            )
        ),
    ],
    ids=lambda kind: kind.__name__,
)
def test_programs_have_every_feature_and_shrink(kind: type) -> None:
    quick = settings(
        max_examples=500, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    has = find(
        tensor_programs(max_ops=8), lambda p: any(isinstance(op, kind) for op in p.module.walk()), settings=quick
    )
    assert sum(1 for _ in has.module.walk()) <= 16


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(tensor_programs())
def test_programs_can_be_evaluated_and_printed(program: Program) -> None:
    for flavour in FLAVOURS:
        observe(program, draw_inputs(program, 0, flavour))
    assert str(tx8ir.parse(str(program))) == str(program)


@pytest.mark.parametrize("level", ["tx8be", "layouts", "groups", "placed"])
def test_backend_graphs_can_be_evaluated(level: Level) -> None:
    programs: list[Program] = []
    for_each_program(tensor_programs(LOWERABLE, level=level, max_ops=6), 8, programs.append)
    for program in programs:
        assert any(op.name.startswith("tx8be.") for op in program.module.walk())
        observe(program, draw_inputs(program))


def test_a_program_that_cannot_be_evaluated_is_no_counterexample() -> None:
    text = """
module {
  func.func @main(%x: !pd.vtensor<2xi32>) -> !pd.vtensor<2xi32> {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.divide"(%x, %0) : (!pd.vtensor<2xi32>, !pd.vtensor<i32>) -> !pd.vtensor<2xi32>
    return %1 : !pd.vtensor<2xi32>
  }
}
"""
    with pytest.raises(EvaluationError, match="an integer is divided by 0"):
        check(tx8ir.parse(text), "cse")


# --- given programs --------------------------------------------------------------------------------------------------


def two_additions(writer: Writer) -> Sequence[Value]:
    """The same addition twice, of a value and a parameter."""
    x = writer.value(lambda t: t is VTensorType((2, 3), f32))
    if x is None:
        return ()
    y = writer.parameter(VTensorType((2, 3), f32))
    with Builder.at_end(writer.block):
        return [pd.add(x, y).out, pd.add(x, y).out]


def test_fuzzing_counts_the_programs_that_a_pass_changes() -> None:
    programs = tensor_programs(steps=[two_additions], inputs=[VTensorType((2, 3), f32)], max_ops=4)
    found = assert_preserves("cse", programs=programs, examples=20, changed=0.9)
    assert found.programs == 20
    assert str(found) == "20 programs keep their answers, 20 (100%) of them changed"


def test_a_pass_with_nothing_to_do_fails() -> None:
    with pytest.raises(AssertionError, match="not tested: <lambda> changed none of 10 programs"):
        assert_preserves(lambda program: None, programs=tensor_programs(max_ops=2), examples=10)
    with pytest.raises(AssertionError, match=r"too little to do: 40 programs .* of them changed; at least 90%"):
        assert_preserves("dce", programs=tensor_programs(max_ops=4), examples=40, changed=0.9)


def test_fuzzing_finds_the_pass_that_changes_an_answer() -> None:
    def subtract(writer: Writer) -> Sequence[Value]:
        x = writer.value(lambda t: t is VTensorType((2,), f32))
        if x is None:
            return ()
        y = writer.parameter(VTensorType((2,), f32))
        with Builder.at_end(writer.block):
            return pd.subtract(x, y).results

    programs = tensor_programs(VALUES, steps=[subtract], inputs=[VTensorType((2,), f32)], max_ops=4)
    with pytest.raises(AssertionError, match="pass 'swap_operands' changes an answer"):
        assert_preserves(swap_operands, programs=programs, examples=20)


# --- no false alarm


@pytest.mark.parametrize("is_mutable", [False, True])
@pytest.mark.parametrize("pipeline", ["prepare", "to-value-semantics,canonicalize,cse,dce,to-inplace", "constant-fold"])
def test_weights_that_were_added_to_parsed_text_and_are_read_as_storage(pipeline: str, is_mutable: bool) -> None:
    program = tx8ir.parse("""
    module {
      func.func @main(%x: !pd.tensor<2x4xf32>) -> !pd.tensor<2x3xf32> {
        %w = "builtin.get_parameter"() {name = "w"} : () -> !pd.tensor<4x3xf32>
        %0 = "pd.matmul"(%x, %w) : (!pd.tensor<2x4xf32>, !pd.tensor<4x3xf32>) -> !pd.tensor<2x3xf32>
        %1 = "pd.relu"(%0) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
        return %1 : !pd.tensor<2x3xf32>
      }
    }
    """)
    program.weights.add("w", np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), is_mutable=is_mutable)
    assert check(program, pipeline).passed


def test_indices_and_masks_get_inputs_that_the_program_takes() -> None:
    program = tx8ir.parse("""
    module {
      func.func @main(%i: !pd.vtensor<2x5xi64>, %m: !pd.vtensor<2x5x1xi1>, %t: !pd.vtensor<7x4xf32>)
          -> !pd.vtensor<2x5x4xf32> {
        %0 = "pd.embedding"(%i, %t) : (!pd.vtensor<2x5xi64>, !pd.vtensor<7x4xf32>) -> !pd.vtensor<2x5x4xf32>
        %z = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<f32>
        %1 = "pd.where"(%m, %0, %z)
          : (!pd.vtensor<2x5x1xi1>, !pd.vtensor<2x5x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x5x4xf32>
        return %1 : !pd.vtensor<2x5x4xf32>
      }
    }
    """)
    found = check(program, "prepare")
    assert found.passed
    assert found.runs == 17, "all sets of inputs are within the table"
    assert check(program).passed


def test_a_check_says_when_it_shows_nothing() -> None:
    program = tx8ir.parse(
        "module { func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> { return %x : !pd.vtensor<2xf32> } }"
    )
    assert str(check(program, "cse,dce")) == "cse, dce: the program is left as it is"
