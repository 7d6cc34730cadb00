"""Running a pipeline: the nest, which runs passes inside each operation of a kind, and the engine behind both."""

from __future__ import annotations

import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Final

import attrs

from tx8ir.analysis import AnalysisManager
from tx8ir.core import IrError, IsolatedFromAbove, Operation, Program, default_context, detached, structurally_equal
from tx8ir.rewriting.actions import should_run
from tx8ir.support.screen import fitting_repr

from .base import OperationPass, Pass, PassError
from .options import option, print_value

ANY: Final = "any"
"""The kind of a nest that runs inside every isolated operation."""

_MODULE: Final = "builtin.module"
_MAX_DEPTH: Final = 32


@attrs.define
class PassRun:
    """One run of one pass on one operation, as instrumentation sees it.

    Attributes:
        stage: the pass, with the counters of this run.
        text: the pass as printed in the pipeline.
        program: the program that is changed.
        root: the operation the pass works on: the module, or an operation that a nest runs on.
        path: the kinds of the nests around the pass, outermost first.
        index: the place of the pass among those next to it, from 0.
        seconds: wall time of the pass, without verification and instrumentation; 0 before it has run.
    """

    stage: Pass
    text: str
    program: Program
    root: Operation
    path: tuple[str, ...]
    index: int
    seconds: float = 0.0

    @property
    def is_nest(self) -> bool:
        """Whether `stage` is a nest, whose passes have runs of their own."""
        return isinstance(self.stage, NestedPassManager)

    @property
    def place(self) -> str:
        """Where it runs: `` for the module, `func.func @main`, `tx8be.Group`."""
        return "" if self.root is self.program.module else describe_root(self.root)


def describe_root(op: Operation) -> str:
    """An operation by kind and, when it has one, symbol: `func.func @main`."""
    symbol = op.attributes.get("sym_name")
    return op.name if symbol is None else f"{op.name} @{symbol.value}"


class Instrumentation:
    """Watches a pipeline. The hooks do nothing here; a subclass overrides those it needs.

    Hooks of several instruments are called in the order the instruments are given. `instrumentation` has the usual
    ones.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def before_pipeline(self, program: Program) -> None:
        """Called once, before the first pass."""

    def before_pass(self, run: PassRun) -> None:
        """Called before each pass, for a nest before the passes in it."""

    def after_pass(self, run: PassRun) -> None:
        """Called after each pass that did not fail, for a nest after the passes in it."""

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        """Called when a pass, or the verification after it, raised; the program is what the failure left."""

    def after_pipeline(self, program: Program) -> None:
        """Called once, after the last pass, when none failed."""


@attrs.frozen
class StageReport:
    """What one pass of a pipeline did.

    Attributes:
        name: the name of the pass; of a nest, the kind of operation.
        text: the pass as printed.
        seconds: wall time; of a nest, of the passes in it.
        statistics: what the pass counted; a nest counts `operations` (that it ran on) and `iterations` (when it may
            repeat).
        nested: of a nest, its passes, each with the sums over all operations.
    """

    __repr__ = fitting_repr

    name: str
    text: str
    seconds: float
    statistics: Mapping[str, int]
    nested: tuple[StageReport, ...] = ()


OnStage = Callable[[Pass, Program, float], None]


def _at_least_one(_: object, field: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise ValueError(f"'{field.name.replace('_', '-')}' must be >= 1, not {value}")


@attrs.frozen
class NestedPassManager(Pass):
    """Passes that run inside each operation of one kind: `func.func(cse,dce)`.

    The operations are those directly inside the one that the nest itself runs on; at the top of a pipeline this is the
    module, and the kind `builtin.module` is the module itself. `any` is every isolated operation. All passes run on one
    operation before the next one's turn. A named pipeline that is one nest goes by its name in reports.

    Attributes:
        kind: the name of an operation that is `IsolatedFromAbove`, or `any`.
        passes: `OperationPass`es and nests; of the module also passes on whole programs.
        max_iterations: with more than one, the passes are repeated on an operation until they leave it as it was, so
            often at most (each repetition compares with a copy: O(operations)).

    Raises:
        PassError: the kind is unknown or not isolated, or a pass cannot work inside it.
    """

    __repr__ = fitting_repr

    STRUCTURE: ClassVar[tuple[str, ...]] = ("kind", "passes")
    """The fields that are written before the braces."""

    name: ClassVar[str] = "nest"

    kind: str = ANY
    passes: tuple[Pass, ...] = ()
    max_iterations: int = option(
        1, "repeat the passes on an operation until nothing changes, at most this many times", validator=_at_least_one
    )

    def __attrs_post_init__(self) -> None:
        if self.kind != ANY:
            cls = default_context().op_class(self.kind)
            if cls is None:
                raise PassError(f"no operation is named '{self.kind}'", pass_name=self.kind)
            if IsolatedFromAbove not in cls.info.traits:
                raise PassError(
                    f"passes cannot be nested in '{self.kind}', which may use values from outside: it is not "
                    "IsolatedFromAbove",
                    pass_name=self.kind,
                )
        for inner in self.passes:
            if isinstance(inner, NestedPassManager):
                if inner.depth >= _MAX_DEPTH:
                    raise PassError(f"more than {_MAX_DEPTH} nested pipelines", pass_name=self.kind)
                whole = [p.name for p in inner.passes if not isinstance(p, (OperationPass, NestedPassManager))]
                if whole:
                    raise PassError(
                        f"pass '{whole[0]}' works on whole programs; it cannot be nested in '{inner.kind}' inside "
                        f"'{self.kind}'",
                        pass_name=whole[0],
                    )
            elif not isinstance(inner, OperationPass):
                if self.kind != _MODULE:
                    raise PassError(
                        f"pass '{inner.name}' works on whole programs; it cannot be nested in '{self.kind}'",
                        pass_name=inner.name,
                    )
            elif inner.anchor is not None and inner.anchor != self.kind:
                raise PassError(
                    f"pass '{inner.name}' works on '{inner.anchor}'; it cannot be nested in '{self.kind}'",
                    pass_name=inner.name,
                )

    @property
    def depth(self) -> int:
        """How many nests are inside one another, this one included."""
        return 1 + max((inner.depth for inner in self.passes if isinstance(inner, NestedPassManager)), default=0)

    @property
    def title(self) -> str:
        return self._written_as or self.kind

    def anchors(self, op: Operation) -> list[Operation]:
        """The operations that the nest runs on when it runs on `op`."""
        if op.parent is None and op.name == self.kind:
            return [op]
        inside = [inner for region in op.regions for block in region.blocks for inner in block]
        if self.kind == ANY:
            return [inner for inner in inside if IsolatedFromAbove in inner.info.traits]
        return [inner for inner in inside if inner.name == self.kind]

    def run(self, program: Program) -> None:
        PassExecutor(program).run((self,), program.module)

    def __str__(self) -> str:
        if self._written_as:
            return self._written_as
        options = f"{{max-iterations={print_value(self.max_iterations)}}}" if self.max_iterations != 1 else ""
        return f"{self.kind}({','.join(map(str, self.passes))}){options}"


attrs.resolve_types(NestedPassManager)


class PassExecutor:
    """Runs passes over one program.

    Args:
        program: what is changed.
        instruments: what watches.
        text: the whole pipeline, for the notes on errors.
        on_stage: called after each pass at the top.
    """

    def __init__(
        self,
        program: Program,
        instruments: Sequence[Instrumentation] = (),
        text: str = "",
        on_stage: OnStage | None = None,
    ) -> None:
        self.program = program
        self.instruments = instruments
        self.text = text
        self.on_stage = on_stage
        self.analyses = AnalysisManager({})

    def run(
        self, passes: Sequence[Pass], root: Operation, path: tuple[str, ...] = (), *, only: int | None = None
    ) -> list[StageReport]:
        """Runs `passes`, or the one with index `only`, on `root` one after the other."""
        reports: list[StageReport] = []
        for index, configured in enumerate(passes):
            if only is not None and index != only:
                continue
            # Fresh counters, so that one pipeline may run several times, also in threads.
            stage = attrs.evolve(configured)
            object.__setattr__(stage, "_written_as", configured._written_as)  # pyright: ignore[reportPrivateUsage]
            object.__setattr__(stage, "_analyses", self.analyses)
            run = PassRun(stage, str(configured), self.program, root, path, index)
            for instrument in self.instruments:
                instrument.before_pass(run)
            nested: tuple[StageReport, ...] = ()
            try:
                if isinstance(stage, NestedPassManager):
                    nested = self._run_nest(stage, root, path)
                    run.seconds = sum(report.seconds for report in nested)
                else:
                    self._run_pass(run, len(passes))
                for instrument in self.instruments:
                    instrument.after_pass(run)
            except BaseException as error:
                for instrument in self.instruments:
                    instrument.after_failed_pass(run, error)
                raise
            reports.append(StageReport(stage.title, run.text, run.seconds, dict(stage.statistics), nested))
            if self.on_stage is not None and not path:
                self.on_stage(stage, self.program, run.seconds)
        return reports

    def _run_pass(self, run: PassRun, count: int) -> None:
        stage, root = run.stage, run.root
        if not should_run("pass", stage.name, root):
            return
        start = time.perf_counter()
        try:
            with detached():  # passes construct detached operations, whatever builder is active here
                if isinstance(stage, OperationPass) and run.path:
                    stage.run_on(root, self.program)
                else:
                    stage.run(self.program)
        except PassError as error:
            if error.pass_name is not None:
                raise
            raise PassError(f"pass '{stage.name}': {error.message}", pass_name=stage.name, op=error.op) from error
        except IrError as error:
            raise PassError(f"pass '{stage.name}': {error.message}", pass_name=stage.name, op=error.op) from error
        except Exception as error:
            where = f"({run.index + 1} of {count}){f' in {run.place}' if run.place else ''}"
            error.add_note(f"while running pass '{run.text}' {where} of pipeline '{self.text or stage}'")
            raise
        run.seconds = time.perf_counter() - start
        self.analyses.invalidate(stage.preserves, within=root if run.path else None)

    def _run_nest(self, nest: NestedPassManager, root: Operation, path: tuple[str, ...]) -> tuple[StageReport, ...]:
        inside = (*path, nest.kind)
        runs: list[list[StageReport]] = []
        for anchor in nest.anchors(root):
            if anchor is not root and anchor.parent is None:
                continue  # a pass on an earlier one has removed it
            nest.count("operations")
            for iteration in range(nest.max_iterations):
                before = anchor.clone() if nest.max_iterations > 1 else None
                runs.append(self.run(nest.passes, anchor, inside))
                if nest.max_iterations > 1:
                    nest.count("iterations")
                if before is not None and iteration + 1 < nest.max_iterations and _same(before, anchor):
                    break
        return _summed(nest.passes, runs)


def _same(before: Operation, after: Operation) -> bool:
    return structurally_equal(before, after) is None


def _summed(passes: Iterable[Pass], runs: Sequence[Sequence[StageReport]]) -> tuple[StageReport, ...]:
    """One report for each pass: the sums over all runs."""
    return tuple(
        _sum_of(StageReport(configured.title, str(configured), 0.0, {}), [run[i] for run in runs], configured)
        for i, configured in enumerate(passes)
    )


def _sum_of(empty: StageReport, parts: Sequence[StageReport], configured: Pass) -> StageReport:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.statistics)
    nested = (
        _summed(configured.passes, [part.nested for part in parts]) if isinstance(configured, NestedPassManager) else ()
    )
    return attrs.evolve(
        empty, seconds=sum(p.seconds for p in parts), statistics=types.MappingProxyType(dict(counts)), nested=nested
    )
