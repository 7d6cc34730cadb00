"""The document of `tx8ir fuzz --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from tx8ir.core.schema import Natural
from tx8ir.testing import FuzzResult
from tx8ir.testing.fuzzing.result import FuzzCoverage
from tx8ir.testing.passes.counterexample import Counterexample


@attrs.frozen
class CounterexampleData:
    """A program that a pass gets wrong, reduced.

    culprit: the pass of the pipeline that is at fault.
    kind: what is wrong: answer, error, invalid, evaluation, nondeterministic, text or hang.
    message: the same in words.
    program: the program, as text; `after` is what the pass made of it, as far as it got.
    operations: how many it has.
    script: the file with a script that fails in the same way.
    """

    culprit: str
    kind: str
    message: str
    program: str
    after: str
    operations: Natural
    script: str

    @classmethod
    def of(cls, found: Counterexample, script: str) -> CounterexampleData:
        """The data of a counterexample whose script is in that file."""
        failure = found.failure
        return cls(
            failure.stage.name,
            failure.kind,
            failure.message,
            str(found.program),
            failure.after,
            found.operations,
            script,
        )


@attrs.frozen
class FuzzedPassData:
    """What was found of a pass.

    subject: what was asked for: a pass, a pipeline or a Python object.
    verdict: a pass that changed no program was not tested.
    guarantees: what its steps were held to.
    programs, changed: how many programs it was run on, and how many of them it changed.
    applied: in how many programs each pattern was applied, of those that the pass gives to the greedy driver.
    runs: on how many sets of inputs these were evaluated before and after.
    skipped: how many programs could not be evaluated on any inputs that were drawn.
    """

    subject: str
    verdict: Literal["passed", "wrong", "not tested"]
    guarantees: tuple[str, ...]
    programs: Natural
    changed: Natural
    applied: Mapping[str, Natural]
    runs: Natural
    skipped: Natural
    rounds: Natural
    coverage: FuzzCoverage
    counterexamples: tuple[CounterexampleData, ...]

    @classmethod
    def of(cls, subject: str, result: FuzzResult, scripts: tuple[str, ...]) -> FuzzedPassData:
        """The data of a result whose counterexamples have these scripts."""
        return cls(
            subject,
            "wrong" if not result.passed else "passed" if result.tested else "not tested",
            tuple(guarantee.value for guarantee in result.guarantees),
            result.programs,
            result.changed,
            dict(result.applied),
            result.runs,
            result.skipped,
            result.rounds,
            result.coverage,
            tuple(map(CounterexampleData.of, result.counterexamples, scripts)),
        )


@attrs.frozen
class FuzzDocument:
    """What `tx8ir fuzz` found, for each pass in the order given."""

    passes: tuple[FuzzedPassData, ...]
    format: Literal["tx8ir-fuzz"] = "tx8ir-fuzz"
    version: Natural = 1
