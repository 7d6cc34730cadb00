"""The document of `tx8ir opt --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import attrs

from tx8ir.core.schema import Natural, NonNegative
from tx8ir.passes.instrumentation import OpCounts, Statistics, Timing

if TYPE_CHECKING:
    from tx8ir.testing.passes.preserve import PipelineCheck


@attrs.frozen
class PassTimeData:
    """How long a pass took, summed over the operations that a nest ran it on.

    text: the pass with its options.
    depth: how many nests are around it.
    """

    text: str
    depth: Natural
    runs: Natural
    seconds: NonNegative


@attrs.frozen
class OpCountData:
    """How many operations of each name there were before and after one run of a pass.

    place: the operation that it ran inside; empty for the whole program.
    """

    text: str
    place: str
    before: Mapping[str, Natural]
    after: Mapping[str, Natural]


@attrs.frozen
class CheckedPassData:
    """Whether a pass kept the answers."""

    text: str
    guarantee: str
    answers: Literal["kept", "broken", "not tried"]


@attrs.frozen
class CheckedProgramData:
    """What `--check` found for a program.

    runs: on how many sets of inputs it was evaluated.
    changed: whether the passes changed it.
    counterexample: the failure, reduced, as text; null when there is none.
    script: a Python script that fails in the same way.
    """

    passed: bool
    runs: Natural
    changed: bool
    passes: tuple[CheckedPassData, ...]
    counterexample: str | None
    script: str | None

    @classmethod
    def of(cls, found: PipelineCheck) -> CheckedProgramData:
        """The data of a check."""
        example = found.counterexample
        return cls(
            found.passed,
            found.runs,
            found.changed,
            tuple(CheckedPassData(*row) for row in found.table.rows),  # pyright: ignore[reportArgumentType]  # its words
            None if example is None else str(example),
            None if example is None else example.script,
        )


@attrs.frozen
class OptDocument:
    """What `tx8ir opt` reports besides the program. A report that was not asked for is null.

    pipeline: what was run, as text.
    timing: with `--timing`, of each pass.
    statistics: with `--statistics`, what the passes counted: by name of the pass, then of the count.
    op_counts: with `--op-counts`, of each run of a pass.
    checks: with `--check`, of each program of the input.
    """

    pipeline: str
    timing: tuple[PassTimeData, ...] | None
    statistics: Mapping[str, Mapping[str, Natural]] | None
    op_counts: tuple[OpCountData, ...] | None
    checks: tuple[CheckedProgramData, ...] | None
    format: Literal["tx8ir-opt"] = "tx8ir-opt"
    version: Natural = 1

    @classmethod
    def of(
        cls,
        pipeline: str,
        timing: Timing | None,
        statistics: Statistics | None,
        op_counts: OpCounts | None,
        checks: tuple[PipelineCheck, ...] | None,
    ) -> OptDocument:
        """The document of what was watched."""
        return cls(
            pipeline,
            None
            if timing is None
            else tuple(PassTimeData(row.text, row.depth, row.runs, row.seconds) for row in timing.rows),
            None if statistics is None else {name: dict(counts) for name, counts in statistics.counts.items()},
            None
            if op_counts is None
            else tuple(
                OpCountData(change.text, change.place, dict(change.before), dict(change.after))
                for change in op_counts.changes
            ),
            None if checks is None else tuple(map(CheckedProgramData.of, checks)),
        )
