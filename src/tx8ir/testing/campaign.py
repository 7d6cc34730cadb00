"""Many generated programs through one pass (needs the extra `test`)."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tx8ir.core import Program

from .counterexample import PassLike
from .observe import Promise
from .preserve import assert_preserves

_DERANDOMIZED_BELOW = 1000
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


def campaign(
    pass_: PassLike,
    programs: SearchStrategy[Program],
    *,
    examples: int = 100,
    promise: Promise = Promise.BITS,
    changed: float = 0.0,
) -> Campaign:
    """Asserts that a pass preserves what generated programs compute, and that it had something to do in them.

    Below 1,000 examples the programs are the same in every run. For a step of your own that writes what the pass looks
    for, see `programs.tensor_programs`.

    Args:
        pass_: a pass, a pipeline, or a function; see `preserve.PassLike`.
        programs: usually of `programs.tensor_programs`.
        examples: how many programs.
        promise: what the pass promises to keep.
        changed: the part of the programs, 0 to 1, that it must change at least.

    Raises:
        AssertionError: a program computes something else after the pass (see `assert_preserves`), or the pass changed
            too few.
    """
    counts = {"programs": 0, "changed": 0}
    # Programs take long to draw and differ in size, which is what the health checks are about. Failures are shrunk
    # by `assert_preserves`, which knows programs; Hypothesis would only draw more of them.
    config = settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.large_base_example,
        ],
        derandomize=examples < _DERANDOMIZED_BELOW,
        database=None,
    )

    @config
    @given(programs)
    def preserved(program: Program) -> None:
        found = assert_preserves(pass_, program, promise=promise)
        counts["programs"] += 1
        counts["changed"] += found.changed

    run: Any = preserved
    run()
    result = Campaign(**counts)
    if result.changed < changed * result.programs:
        raise AssertionError(f"the pass has too little to do: {result}; at least {changed:.0%} expected")
    return result
