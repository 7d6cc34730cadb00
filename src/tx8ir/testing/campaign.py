"""Many generated programs through one pass (needs the extra `test`)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tx8ir.core import Program

from .counterexample import PassLike
from .observe import Promise
from .preserve import assert_preserves
from .reduce import count_operations

_BATCH = 10
_REPEATABLE_BELOW = 1000
"""Campaigns smaller than this draw the same programs every time: they are the tests of every day."""


@attrs.frozen
class Campaign:
    """What a campaign has shown.

    Attributes:
        programs: how many programs kept their answers.
        changed: how many of these the pass changed.
    """

    programs: int
    changed: int

    def __str__(self) -> str:
        share = self.changed / max(1, self.programs)
        return f"{self.programs} programs keep their answers, {self.changed} ({share:.0%}) of them changed"


def for_each_program(programs: SearchStrategy[Program], examples: int, visit: Callable[[Program], object]) -> None:
    """Draws so many programs and visits each; below 1,000 they are the same in every run.

    Hypothesis draws ten at a time: after the first ten examples of a run it mostly varies those it has, five variants
    of one, which for programs are nearly the same ones. The first of each ten is the simplest program of all; programs
    without an operation are visited once only. Failures are not shrunk: `assert_preserves` knows programs.
    """
    start = 0 if examples < _REPEATABLE_BELOW else random.SystemRandom().randrange(1 << 32)
    visited, empty = 0, 0

    def visit_once(program: Program) -> None:
        nonlocal visited, empty
        empty += not count_operations(program)
        if visited < examples and (empty < 2 or count_operations(program)):
            visited += 1
            visit(program)

    for batch in range(examples):  # enough, and an end for a strategy of empty programs only
        if visited >= examples:
            break

        @seed(start + batch)
        @settings(
            max_examples=_BATCH,
            deadline=None,
            phases=[Phase.generate],
            # Programs take long to draw and differ in size, which is what these are about.
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
                HealthCheck.filter_too_much,
            ],
            database=None,
        )
        @given(programs)
        def draw(program: Program) -> None:
            visit_once(program)

        run: Any = draw
        run()


def campaign(
    pass_: PassLike,
    programs: SearchStrategy[Program],
    *,
    examples: int = 100,
    promise: Promise | None = None,
    changed: float = 0.0,
) -> Campaign:
    """Asserts that a pass preserves what generated programs compute, and that it had something to do in them.

    Below 1,000 examples the programs are the same in every run. For a step of your own that writes what the pass looks
    for, see `programs.tensor_programs`.

    Args:
        pass_: a pass, a pipeline, or a function; see `preserve.PassLike`.
        programs: usually of `programs.tensor_programs`.
        examples: how many programs.
        promise: what the pass is held to; without it, to its own promise.
        changed: the part of the programs, 0 to 1, that it must change at least.

    Raises:
        AssertionError: a program computes something else after the pass (see `assert_preserves`), or the pass changed
            too few.
    """
    counts = {"programs": 0, "changed": 0}

    def preserved(program: Program) -> None:
        found = assert_preserves(pass_, program, promise=promise)
        counts["programs"] += 1
        counts["changed"] += found.changed

    for_each_program(programs, examples, preserved)
    result = Campaign(**counts)
    if result.changed < changed * result.programs:
        raise AssertionError(f"the pass has too little to do: {result}; at least {changed:.0%} expected")
    return result
