"""Random programs draw every operation that has samples, and evaluate without error."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

import tx8ir
from support.examples import with_examples
from tx8ir.core import Program
from tx8ir.interpreter import evaluate
from tx8ir.testing.cases.small_scope import sampled_ops
from tx8ir.testing.inputs import FLAVOURS, draw_inputs
from tx8ir.testing.programs import EVERYTHING, LOWERABLE, VALUES, Features, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

WITH_SUMS = attrs.evolve(EVERYTHING, sums=True)


@functools.cache
def drawn(features: Features, count: int) -> Sequence[Program]:
    programs: list[Program] = []
    for_each_program(tensor_programs(features), count, programs.append)
    return programs


def names(programs: Sequence[Program]) -> set[str]:
    return {op.name for program in programs for op in program.module.walk()}


def test_three_hundred_programs_have_nine_of_ten_operations() -> None:
    sampled = {op.name for op in sampled_ops()}
    assert len(names(drawn(WITH_SUMS, 300)) & sampled) >= 0.9 * len(sampled)


@pytest.mark.nightly
def test_two_thousand_programs_have_every_operation() -> None:
    assert {op.name for op in sampled_ops()} <= names(drawn(WITH_SUMS, 2000))


def test_drawn_programs_are_the_same_whatever_modules_are_loaded(tmp_path: Path) -> None:
    """Hypothesis collects the constants of the modules that are loaded, and draws them where they fit."""
    (tmp_path / "full_of_constants.py").write_text("\n".join(f"x{n} = {n}" for n in range(1000)))
    (tmp_path / "empty.py").write_text("")
    paths = f"{Path(tx8ir.__file__).parents[1]}:{tmp_path}"

    def texts(module: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}\n{_DRAW_THIRTY}"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={"PYTHONPATH": paths},
        )
        return done.stdout

    assert texts("full_of_constants") == texts("empty") != ""


_DRAW_THIRTY = """
from tx8ir.core import f32
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import draw_programs

def large_number(writer):
    return [writer.filled((), writer.number(0, 1_000_000), f32)]

print(*draw_programs(tensor_programs(EVERYTHING, steps=[large_number]), 30))
"""


@with_examples(25, 2000)
@pytest.mark.parametrize("features", [WITH_SUMS, EVERYTHING, VALUES], ids=["sums", "everything", "values"])
def test_programs_evaluate_on_all_inputs(features: Features, examples: int) -> None:
    for program in drawn(features, examples):
        for flavour in FLAVOURS:
            evaluate(program, draw_inputs(program, 1, flavour))


def test_what_sums_floats_is_drawn_with_sums_only() -> None:
    """Also attention, convolutions and normalisations; integers may be summed."""
    ordered = {"pd.softmax", "pd.mean", "pd.layer_norm", "pd.rms_norm", "pd.scaled_dot_product_attention"}
    assert not names(drawn(EVERYTHING, 50)) & ordered
    assert names(drawn(WITH_SUMS, 300)) >= ordered


def test_values_have_no_storage() -> None:
    assert not any(name.endswith("_") or name == "builtin.to_tensor" for name in names(drawn(VALUES, 50)))


def test_without_samples_only_the_steps_write() -> None:
    assert not names(drawn(LOWERABLE, 50)) & {"pd.conv2d", "pd.layer_norm", "pd.embedding", "pd.pad"}
