"""Pipelines: read from text, printed back, run over a program.

    PassManager.parse("canonicalize,func.func(cse,dce){max-iterations=4},nhwc").run(program)

`text` has the grammar. Only options that differ from their default are printed, so
`PassManager.parse(str(manager)) == manager`. Passes are defined with what `base` has, watched with what
`instrumentation` has.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from typing import cast

import attrs

from tx8ir.core import Program
from tx8ir.support.screen import fitted, fitting_repr

from .base import Pass, PassError
from .executor import Instrumentation, OnStage, PassExecutor, StageReport
from .instrumentation import VerifyEach
from .reproducer import CrashReproducer
from .snapshot import Snapshot
from .text import parse_pipeline

__all__ = ["RollbackScope", "PassManager", "PipelineReport"]


class RollbackScope(enum.Enum):
    """What a failure takes back: the pass that failed, or the whole pipeline."""

    PASS = "pass"
    PIPELINE = "pipeline"


@attrs.frozen
class PipelineReport:
    """The stages of one `PassManager.run`, in order."""

    __repr__ = fitting_repr

    stages: tuple[StageReport, ...]

    @property
    def seconds(self) -> float:
        """Wall time of all passes, without verification."""
        return sum(stage.seconds for stage in self.stages)

    def __str__(self) -> str:
        rows: list[str] = []
        work = [(0, stage) for stage in reversed(self.stages)]
        while work:
            depth, stage = work.pop()
            counts = ", ".join(f"{what} {n}" for what, n in stage.statistics.items())
            indented = "  " * depth + stage.text
            rows.append(f"{stage.seconds * 1e3:10.2f} ms  {indented}{f'  ({counts})' if counts else ''}")
            work.extend((depth + 1, inner) for inner in reversed(stage.nested))
        return "\n".join(rows)


def _as_passes(passes: object) -> tuple[Pass, ...]:
    """The passes of a pipeline. Raises `PassError` for what is none, the text of a pipeline above all."""
    if isinstance(passes, str):
        raise PassError(f"PassManager takes passes; a text is read by PassManager.parse({passes!r})")
    if isinstance(passes, Pass):
        raise PassError(f"PassManager takes a sequence of passes: PassManager([{passes}])")
    found = tuple(cast("Iterable[object]", passes))
    for one in found:
        if isinstance(one, str):
            text = ",".join(map(str, found))
            raise PassError(f"PassManager takes passes, not {one!r}: names are read by PassManager.parse({text!r})")
        if isinstance(one, type) and issubclass(one, Pass):
            raise PassError(f"PassManager takes passes, not their class {one.__name__}: {one.__name__}() is one")
        if not isinstance(one, Pass):
            raise PassError(f"PassManager takes passes, not {one!r}")
    return cast("tuple[Pass, ...]", found)


@attrs.frozen
class PassManager:
    """A pipeline: passes run one after the other over a whole program, nests inside each operation of a kind.

    >>> PassManager.parse("canonicalize,func.func(cse)").run(program)
    """

    passes: tuple[Pass, ...] = attrs.field(converter=_as_passes)

    @classmethod
    def parse(cls, text: str) -> PassManager:
        """The pipeline that `text` describes. Raises `PassError` for a syntax error, an unknown pass or option, a bad
        value.
        """
        return cls(parse_pipeline(text))

    def __str__(self) -> str:
        return ",".join(str(p) for p in self.passes)

    def __repr__(self) -> str:
        return fitted(f"PassManager.parse({str(self)!r})")

    def run(
        self,
        program: Program,
        *,
        verify_each: bool = True,
        on_stage: OnStage | None = None,
        instruments: Sequence[Instrumentation] = (),
        atomic: RollbackScope | None = None,
        crash_reproducer: str | os.PathLike[str] | None = None,
        local_reproducer: bool = False,
    ) -> PipelineReport:
        """Runs every pass over `program`, in place.

        Args:
            program: what is changed.
            verify_each: verify the program before the first pass and after each one.
            on_stage: called as `on_stage(pass, program, seconds)` after each pass (and its verification) at the top.
            instruments: what watches, called in this order, after the verification.
            atomic: when a pass fails, in whatever way, leave the program and its variables as they were before that
                pass, or before the pipeline. The passes then work on a copy of the module, which becomes
                `program.module` when they are done: O(operations) for each pass, or once. Data of variables is not
                copied: passes replace it and do not write into it.
            crash_reproducer: a file that is written when a pass fails: program and pipeline, to run them again
                (`read_reproducer`, `tx8ir opt --run-reproducer`).
            local_reproducer: write only the pass that failed, with the program right before it.

        Raises `PassError`, which names the pass, when a pass raises `IrError` or leaves an invalid program. Any other
        exception is a bug of the pass: it propagates with a note that names the pass.
        """
        watching = [*([VerifyEach()] if verify_each else []), *instruments]
        if crash_reproducer is not None:
            watching.insert(
                0, CrashReproducer(crash_reproducer, str(self), verify_each=verify_each, local=local_reproducer)
            )
        for instrument in watching:
            instrument.before_pipeline(program)
        engine = PassExecutor(program, watching, str(self), on_stage)
        if atomic is RollbackScope.PASS:
            stages = [report for index in range(len(self.passes)) for report in self._run_one(engine, index)]
        else:
            with Snapshot.around(program, active=atomic is RollbackScope.PIPELINE):
                stages = engine.run(self.passes, program.module)
        for instrument in watching:
            instrument.after_pipeline(program)
        return PipelineReport(tuple(stages))

    def _run_one(self, engine: PassExecutor, index: int) -> list[StageReport]:
        with Snapshot.around(engine.program, active=True):
            engine.analyses.invalidate()  # they are about the operations of the module that was copied
            return engine.run(self.passes, engine.program.module, only=index)
