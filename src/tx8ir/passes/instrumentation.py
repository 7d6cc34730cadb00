"""What can watch a pipeline: time, operation counts, text, verification, differences, statistics.

timing = Timing()
PassManager.parse("canonicalize,func.func(cse,dce)").run(program, instruments=[timing, PrintAfterChange(print)])
print(timing)
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import attrs

from tx8ir.core import IrError, Operation, Program, print_op, verify
from tx8ir.support.screen import fitting_repr

from .base import PassError
from .executor import Instrumentation, PassRun

Write: TypeAlias = Callable[[str], object]
"""What takes text: `print`, or the `append` of a list."""

_Key: TypeAlias = tuple[tuple[tuple[str, int], ...], str]


class _Rows:
    """Identifies the passes of a pipeline: equal passes at different places are different rows, all runs of one nested
    pass the same.
    """

    def __init__(self) -> None:
        self._around: list[tuple[str, int]] = []

    def enter(self, run: PassRun) -> _Key:
        self._around.append((run.stage.title, run.index))
        return tuple(self._around), run.text

    def leave(self) -> None:
        self._around.pop()


@attrs.frozen
class PassTime:
    """How long a pass took.

    Attributes:
        text: the pass, with its options.
        depth: how many nests are around it.
        runs: how often it ran.
        seconds: of all runs.
    """

    __repr__ = fitting_repr

    text: str
    depth: int
    runs: int
    seconds: float


class Timing(Instrumentation):
    """How long each pass took, summed over the operations that a nest runs it on. `str(timing)` is a table."""

    def __init__(self) -> None:
        self._rows = _Rows()
        self._seconds: dict[_Key, list[float]] = {}
        self._open: list[_Key] = []

    def before_pass(self, run: PassRun) -> None:
        key = self._rows.enter(run)
        self._open.append(key)
        self._seconds.setdefault(key, [])

    def after_pass(self, run: PassRun) -> None:
        self._rows.leave()
        self._seconds[self._open.pop()].append(run.seconds)

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        self._rows.leave()
        self._open.pop()

    @property
    def rows(self) -> tuple[PassTime, ...]:
        """The passes, in the order of the pipeline."""
        return tuple(
            PassTime(text, len(path) - 1, len(times), sum(times)) for (path, text), times in self._seconds.items()
        )

    @property
    def seconds(self) -> float:
        """Of the whole pipeline, verification and instrumentation not counted."""
        return sum(row.seconds for row in self.rows if row.depth == 0)

    def __str__(self) -> str:
        total = self.seconds
        lines = [f"{'time':>12}  {'share':>6}  {'runs':>5}  pass"]
        for row in self.rows:
            share = row.seconds / total if total else 0.0
            lines.append(f"{row.seconds * 1e3:9.3f} ms  {share:6.1%}  {row.runs:5}  {'  ' * row.depth}{row.text}")
        return "\n".join([*lines, f"{total * 1e3:9.3f} ms  {1:6.1%}         total"])


@attrs.frozen
class OpCountChange:
    """How many operations of each name there were before and after one run of a pass, and where it ran."""

    __repr__ = fitting_repr

    text: str
    place: str
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def delta(self) -> dict[str, int]:
        """What changed: name to difference, by name."""
        names = sorted({*self.before, *self.after})
        changes = {name: self.after.get(name, 0) - self.before.get(name, 0) for name in names}
        return {name: n for name, n in changes.items() if n}

    def __str__(self) -> str:
        place = f" in {self.place}" if self.place else ""
        delta = ", ".join(f"{name} {n:+d}" for name, n in self.delta.items())
        before, after = sum(self.before.values()), sum(self.after.values())
        return f"{self.text}{place}: {before} -> {after} operations{f' ({delta})' if delta else ''}"


class OpCounts(Instrumentation):
    """Counts operations by name before and after each pass; O(operations) each time."""

    def __init__(self) -> None:
        self.changes: list[OpCountChange] = []
        self._before: list[Counter[str]] = []

    def before_pass(self, run: PassRun) -> None:
        self._before.append(count_operations(run.root))

    def after_pass(self, run: PassRun) -> None:
        before = self._before.pop()
        self.changes.append(OpCountChange(run.text, run.place, before, count_operations(run.root)))

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        self._before.pop()

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes))


def count_operations(root: Operation) -> Counter[str]:
    """The operations inside `root`, itself not counted, by name."""
    counts = Counter(op.name for op in root.walk())
    counts[root.name] -= 1
    return +counts


def _header(what: str, run: PassRun) -> str:
    return f"// -----// {what} {run.text}{f' in {run.place}' if run.place else ''} //----- //"


class PrintAfterAll(Instrumentation):
    """Writes the operation that a pass worked on after each pass, and after one that failed.

    Args:
        write: takes each text, header included.
    """

    def __init__(self, write: Write = print) -> None:
        self.write = write

    def after_pass(self, run: PassRun) -> None:
        if not run.is_nest:
            self.write(f"{_header('IR after', run)}\n{print_op(run.root)}\n")

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        if not run.is_nest:
            self.write(f"{_header('IR after the failure of', run)}\n{print_op(run.root)}\n")


class PrintAround(Instrumentation):
    """Writes the operation that a pass works on before and after passes of some names.

    Args:
        write: takes each text, header included.
        before: names of passes; None: all.
        after: names of passes.
    """

    def __init__(
        self, write: Write = print, *, before: Collection[str] | None = (), after: Collection[str] = ()
    ) -> None:
        self.write = write
        self.before = before
        self.after = after

    def before_pass(self, run: PassRun) -> None:
        if not run.is_nest and (self.before is None or _is_named(run, self.before)):
            self.write(f"{_header('IR before', run)}\n{print_op(run.root)}\n")

    def after_pass(self, run: PassRun) -> None:
        if not run.is_nest and _is_named(run, self.after):
            self.write(f"{_header('IR after', run)}\n{print_op(run.root)}\n")


def _is_named(run: PassRun, names: Collection[str]) -> bool:
    return any(name in names for name in (run.stage.name, *run.stage.aliases))


class _Comparing(Instrumentation):
    """Has the text before each pass at hand when it is done; O(text) each time."""

    def __init__(self) -> None:
        self._before: list[str] = []

    def before_pass(self, run: PassRun) -> None:
        if not run.is_nest:
            self._before.append(print_op(run.root))

    def after_pass(self, run: PassRun) -> None:
        if not run.is_nest:
            before, after = self._before.pop(), print_op(run.root)
            if before != after:
                self.changed(run, before, after)

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        if not run.is_nest:
            self._before.pop()

    def changed(self, run: PassRun, before: str, after: str) -> None:
        """Called after a pass that changed the text."""
        raise NotImplementedError


class PrintAfterChange(_Comparing):
    """Writes the operation that a pass worked on after each pass that changed it.

    Args:
        write: takes each text, header included.
    """

    def __init__(self, write: Write = print) -> None:
        super().__init__()
        self.write = write

    def changed(self, run: PassRun, before: str, after: str) -> None:
        self.write(f"{_header('IR after', run)}\n{after}\n")


@attrs.frozen
class PassDiff:
    """What one run of a pass changed, as a unified diff of the text."""

    __repr__ = fitting_repr

    text: str
    place: str
    diff: str

    def __str__(self) -> str:
        return self.diff


class IrDiff(_Comparing):
    """Collects, and writes, what each pass changed, as unified diffs of the text.

    Args:
        write: takes each diff; None: they are only collected in `diffs`.
        context: unchanged lines around each change.
    """

    def __init__(self, write: Write | None = None, *, context: int = 3) -> None:
        super().__init__()
        self.write = write
        self.context = context
        self.diffs: list[PassDiff] = []

    def changed(self, run: PassRun, before: str, after: str) -> None:
        place = f" in {run.place}" if run.place else ""
        lines = difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"before {run.text}{place}",
            f"after {run.text}{place}",
            lineterm="",
            n=self.context,
        )
        self.diffs.append(PassDiff(run.text, run.place, "\n".join(lines)))
        if self.write is not None:
            self.write(self.diffs[-1].diff)


class Statistics(Instrumentation):
    """What the passes counted: `counts[pass name][what]`, summed over all runs of passes of that name."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}

    def after_pass(self, run: PassRun) -> None:
        if not run.is_nest:
            self.counts.setdefault(run.stage.name, Counter()).update(run.stage.statistics)

    def __str__(self) -> str:
        lines: list[str] = []
        for name, counts in self.counts.items():
            lines.append(name)
            lines.extend(f"{n:8}  {what}" for what, n in sorted(counts.items()))
        return "\n".join(lines)


class VerifyEach(Instrumentation):
    """Verifies the program before the first pass, and after each pass what it worked on.

    Raises `PassError`, which names the pass that left an invalid program.
    """

    def before_pipeline(self, program: Program) -> None:
        _verify(program.module, "the program is invalid before the first pass", None)

    def after_pass(self, run: PassRun) -> None:
        if run.is_nest and run.path:
            return  # the nest around it verifies what is around, too
        root = run.program.module if run.is_nest else run.root
        _verify(root, f"the program is invalid after pass '{run.stage.title}'", run.stage.title)


def _verify(root: Operation, what: str, pass_name: str | None) -> None:
    try:
        verify(root)
    except IrError as error:
        raise PassError(f"{what}: {error.message}", pass_name=pass_name, op=error.op) from error
