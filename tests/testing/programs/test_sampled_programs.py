"""Random programs draw every operation that has samples, and evaluate without error."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import pytest

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


@with_examples(50, 2000)
@pytest.mark.parametrize("features", [WITH_SUMS, EVERYTHING, VALUES], ids=["sums", "everything", "values"])
def test_programs_evaluate_on_all_inputs(features: Features, examples: int) -> None:
    for program in drawn(features, examples):
        for flavour in FLAVOURS:
            evaluate(program, draw_inputs(program, 1, flavour))


def test_what_sums_floats_is_drawn_with_sums_only() -> None:
    """Also attention, convolutions and normalisations; integers may be summed."""
    ordered = {"pd.softmax", "pd.mean", "pd.layer_norm", "pd.rms_norm", "pd.scaled_dot_product_attention"}
    assert not names(drawn(EVERYTHING, 50)) & ordered
    assert names(drawn(WITH_SUMS, 600)) >= ordered


def test_values_have_no_storage() -> None:
    assert not any(name.endswith("_") or name == "builtin.to_tensor" for name in names(drawn(VALUES, 50)))


def test_without_samples_only_the_steps_write() -> None:
    assert not names(drawn(LOWERABLE, 50)) & {"pd.conv2d", "pd.layer_norm", "pd.embedding", "pd.pad"}
