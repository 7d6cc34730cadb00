"""The fuzzer: it finds what is wrong with passes that it knows nothing about, and the same every time."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tx8ir
from support.faulty import FAULTY
from tx8ir.core import Program, VTensorType
from tx8ir.dialects import pd
from tx8ir.rewriting import Rewriter, pattern, rewrite_greedily
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.testing import FuzzResult, assert_preserves, check, fuzz
from tx8ir.testing.cases.mutation import Material, all_templates, empty_program, from_template, instance_of_shape
from tx8ir.testing.cases.mutation.templates import Template
from tx8ir.testing.fuzzing.session import Session
from tx8ir.testing.guidance.extraction import read_pass

HARD = (
    "bias_broadcast_over_the_wrong_axis",
    "cancels_across_a_write",
    "casts_change_signs",
    "named_by_address",
    "does_not_end",
)
"""Passes that are wrong about few programs, which need thousands; and two that take their time for each, which are
found in `test_what_a_pass_may_not_do_besides_changing_answers`."""


@pytest.mark.parametrize("name", [name for name in FAULTY if name not in HARD])
def test_a_faulty_pass_is_found(name: str) -> None:
    found = fuzz(FAULTY[name], examples=2000, reduce=False)
    assert not found.passed, str(found)
    assert found.tested


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_pass_is_found_with_any_seed(name: str, seed: int) -> None:
    assert not fuzz(FAULTY[name], examples=10_000, seed=seed, reduce=False).passed


def test_the_counterexample_is_reduced_and_its_script_fails_in_the_same_way(tmp_path: Path) -> None:
    found = fuzz(FAULTY["clamp_bounds_exchanged"], examples=1000).counterexample
    assert found is not None
    assert found.operations <= 3
    script = tmp_path / "again.py"
    script.write_text(found.script)
    paths = f"{Path(tx8ir.__file__).parent.parent}:{Path(__file__).parents[2]}"
    again = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env={"PYTHONPATH": paths})
    assert "changes an answer" in again.stderr


@pattern(pd.Conv2dOp)
def relu_into_conv(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """relu(conv2d(x, w, b)) → one operation, which forgets b."""
    users = op.out.users
    if len(users) != 1 or not isinstance(users[0], pd.ReluOp) or not isinstance(op.out.type, VTensorType):
        return False
    attributes = {field.name: getattr(op, field.name) for field in op.definition.attributes}
    rewriter.replace(users[0], pd.fused_conv2d_add_act(op.input, op.filter, **attributes))
    return True


_x, _w, _b = Var("x"), Var("w"), Var("b")
FORGOTTEN_BIAS = {
    "function": relu_into_conv,
    "rule": Rule(
        "linear-relu",
        Node(pd.ReluOp, Node(pd.AddOp, Node(pd.MatmulOp, _x, _w), _b)),
        Make(pd.ReluOp, Make(pd.MatmulOp, _x, _w)),
    ),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", FORGOTTEN_BIAS)
def test_a_forgotten_bias_is_found_within_100_programs(name: str, seed: int) -> None:
    def fuse(program: Program) -> None:
        rewrite_greedily(program.module, [FORGOTTEN_BIAS[name]])

    found = fuzz(fuse, examples=100, seed=seed, reduce=False)
    assert not found.passed, str(found)


# --- what counts as changed


@pattern(pd.AddOp)
def too_careful(op: pd.AddOp, rewriter: Rewriter) -> bool:
    """Is never applied."""
    return False


@pattern(pd.AddOp)
def turned_round(op: pd.AddOp, rewriter: Rewriter) -> bool:
    """X + 1 → 1 + x, exactly, of equal types."""
    if (
        op.x.type is not op.y.type
        or not isinstance(op.y.defining_op, pd.FullOp)
        or isinstance(op.x.defining_op, pd.FullOp)
    ):
        return False
    rewriter.replace(op, pd.add(op.y, op.x))
    return True


DEAD_CODE = """
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %one = "pd.full"() {dtype = f32, shape = array<i64: 4>, value = 1.0} : () -> !pd.vtensor<4xf32>
    %0 = "pd.add"(%x, %one) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
}
"""


def test_what_the_driver_tidies_up_is_no_change_of_a_pass_whose_patterns_were_never_applied() -> None:
    def idle(program: Program) -> None:
        rewrite_greedily(program.module, [too_careful])

    found = fuzz(idle, examples=60)
    assert (found.changed, found.tested, found.applied) == (0, False, {"too_careful": 0})
    assert str(found).startswith("not tested: idle changed none of 60 programs")
    one = check(tx8ir.parse(DEAD_CODE), idle)
    assert (one.changed, one.is_own, one.applied) == (True, False, {"too_careful": 0})
    assert str(one).endswith("but no pattern was applied, only folding and dead operations")


def test_an_applied_pattern_counts_and_one_that_never_was_is_named() -> None:
    def turn(program: Program) -> None:
        rewrite_greedily(program.module, [too_careful, turned_round])

    found = fuzz(turn, programs=[tx8ir.parse(DEAD_CODE), tx8ir.parse(DEAD_CODE.replace("%x, %one", "%x, %x"))])
    assert (found.programs, found.changed, found.applied) == (2, 1, {"too_careful": 0, "turned_round": 1})
    assert str(found) == "2 programs keep their answers, 1 (50%) of them changed; never applied: too_careful"


def test_what_a_pass_does_besides_its_patterns_counts() -> None:
    def rename(program: Program) -> None:
        rewrite_greedily(program.module, [too_careful])
        for op in list(program.module.walk()):
            if isinstance(op, pd.AddOp) and op.x.type is op.y.type:
                op.set_operands([op.y, op.x])

    assert check(tx8ir.parse(DEAD_CODE), rename).is_own


# --- the same every time ---------------------------------------------------------------------------------------------


def shown(result: FuzzResult) -> tuple[Any, ...]:
    """What two runs must have in common."""
    found = result.counterexample
    text = None if found is None else (str(found.program), str(found.failure))
    return result.programs, result.changed, result.runs, dict(result.coverage.ops), result.coverage.reached, text


@pytest.mark.parametrize("pass_", ["cse", FAULTY["cast_there_and_back"]], ids=["right", "wrong"])
@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_finds_the_same(pass_: Any, make: Callable[[int], Any]) -> None:
    fuzz(pass_, examples=40, seed=3, reduce=False)  # tables that the pass fills once for each process are full then
    alone = fuzz(pass_, examples=40, seed=3, reduce=False)
    with make(2) as executor:
        together = fuzz(pass_, examples=40, seed=3, reduce=False, executor=executor)
    assert shown(alone) == shown(together)


def test_another_seed_tries_other_programs() -> None:
    assert shown(fuzz("cse", examples=40, seed=1)) != shown(fuzz("cse", examples=40, seed=2))


def test_a_pass_that_another_process_cannot_have_is_refused() -> None:
    def inner(program: Program) -> None:
        pass

    with ProcessPoolExecutor(1) as executor, pytest.raises(TypeError, match="inner cannot be sent to another process"):
        fuzz(inner, examples=10, executor=executor)


# --- what counts as tested -------------------------------------------------------------------------------------------


def test_a_pass_that_changes_nothing_is_not_tested() -> None:
    def idle(program: Program) -> None:
        pass

    result = fuzz(idle, examples=50)
    assert result.passed
    assert not result.tested
    assert str(result).startswith("not tested: idle changed none of 50 programs")
    with pytest.raises(AssertionError, match="not tested: idle changed none of 50 programs"):
        assert_preserves(idle, examples=50)


def test_a_right_pass_passes_and_says_what_was_tried() -> None:
    result = fuzz("cse", examples=150)
    assert result.passed
    assert result.tested
    assert result.changed > 10
    assert result.coverage.reached > 100
    assert sum(result.coverage.wirings.values()) > 3
    assert max(result.coverage.attributes.values()) > 5
    assert result.coverage.regions["func.func 0"] > 10
    assert "passed" in str(result.table)
    assert "programs keep their answers" in str(result)


def test_programs_may_be_given() -> None:
    programs = [tx8ir.parse(TWO_SUBTRACTIONS.replace("2x3", f"{n}x3")) for n in (1, 2, 4)]
    result = assert_preserves("cse", programs=programs, changed=1)
    assert (result.programs, result.changed) == (3, 3)


TWO_SUBTRACTIONS = """
module {
  func.func @main(%x: !pd.vtensor<2x3xf32>, %y: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.subtract"(%x, %y) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.subtract"(%x, %y) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %2 : !pd.vtensor<2x3xf32>
  }
}
"""


# --- each kind of failure --------------------------------------------------------------------------------------------


def test_what_a_pass_may_not_do_besides_changing_answers() -> None:
    calls: list[int] = []

    def remembers(program: Program) -> None:
        for op in [op for op in program.module.walk() if isinstance(op, pd.ReluOp)]:
            calls.append(1)
            op.replace_with(pd.abs(op.x) if False else op.x) if len(calls) % 2 else None

    def writes_weights(program: Program) -> None:
        for variable in program.weights.values():
            array = variable.data
            array[...] = 1  # pyright: ignore[reportIndexIssue]  an array

    kinds = {
        remembers: {"nondeterministic", "answer"},
        writes_weights: {"answer"},
        FAULTY["does_not_end"]: {"hang"},
        FAULTY["named_by_address"]: {"nondeterministic"},
    }
    for pass_, expected in kinds.items():
        found = fuzz(pass_, examples=600, reduce=False).counterexample
        assert found is not None, pass_
        assert found.failure.kind in expected


# --- reading a pass --------------------------------------------------------------------------------------------------


def test_operations_numbers_and_rules_are_read_from_a_pass() -> None:
    read = read_pass(FAULTY["average_of_padding"]).direction
    assert read.ops == {"pd.pool2d"}
    assert ("pooling_type", "avg") in read.attributes
    rules = read_pass(FAULTY["twice_a_value_of_any_constant"])
    assert [rule.name for rule in rules.rules] == ["double"]
    assert rules.direction.ops == {"pd.multiply", "pd.add"}
    assert 2.0 in rules.direction.numbers


def test_the_shape_that_code_asks_for_is_read_and_built() -> None:
    session = Session(FAULTY["cancels_across_a_write"], None)
    (shape,) = session.shapes
    built = [instance_of_shape(shape, random.Random(seed), session.material) for seed in range(20)]
    texts = [str(program) for program in built if program is not None]
    assert len(texts) > 10
    assert any(text.count("builtin.get_parameter") == 2 and "pd.subtract" in text for text in texts)


@pytest.mark.parametrize("template", all_templates(), ids=lambda t: t.__name__)
def test_a_template_mostly_writes_a_valid_program(template: Template) -> None:
    made = [from_template(template, empty_program(), random.Random(seed), Material()) for seed in range(20)]
    assert sum(program is not None for program in made) >= 15


def test_a_pass_that_cannot_be_read_is_no_error() -> None:
    assert read_pass(print).direction.ops == frozenset()
    namespace: dict[str, Any] = {}
    exec("def typed_in(program):\n    return 7.5", namespace)
    assert 7.5 in read_pass(namespace["typed_in"]).direction.numbers
