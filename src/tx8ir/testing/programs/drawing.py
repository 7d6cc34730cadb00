"""Drawing programs from a strategy, outside of a Hypothesis test."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tx8ir.core import Program
from tx8ir.testing.reduction.reduce import count_operations

_BATCH = 10
_REPEATABLE_BELOW = 1000
"""Runs of fewer programs than this draw the same programs every time: they are the tests of every day."""


def for_each_program(
    programs: SearchStrategy[Program], examples: int, visit: Callable[[Program], object], *, start: int | None = None
) -> None:
    """Draws so many programs and visits each; they are the same for the same `start`.

    Without `start`, fewer than 1,000 are the same in every run. Hypothesis draws ten at a time: after the first ten
    examples of a run it mostly varies those it has, five variants of one, which for programs are nearly the same ones.
    The first of each ten is the simplest program of all; programs without an operation are visited once only. Failures
    are not shrunk: `assert_preserves` knows programs.
    """
    for program in draw_programs(programs, examples, start=start):
        visit(program)


def draw_programs(programs: SearchStrategy[Program], examples: int, *, start: int | None = None) -> Iterator[Program]:
    """The same programs as they are drawn, ten by ten."""
    if start is None:
        start = 0 if examples < _REPEATABLE_BELOW else random.SystemRandom().randrange(1 << 32)
    visited, empty = 0, 0
    for batch in range(examples):  # enough, and an end for a strategy of empty programs only
        drawn: list[Program] = []
        draw_batch(programs, start + batch, drawn.append)
        for program in drawn:
            size = count_operations(program)
            empty += not size
            if empty < 2 or size:
                yield program
                visited += 1
                if visited >= examples:
                    return


def draw_batch(programs: SearchStrategy[Program], number: int, visit: Callable[[Program], object]) -> None:
    """Draws about ten programs, the same for the same number, and visits each."""

    @seed(number)
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
        visit(program)

    run: Any = draw
    run()
