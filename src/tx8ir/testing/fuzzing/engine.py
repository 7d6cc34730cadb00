"""The engine: rounds of tasks, and a corpus of the programs that were worth keeping.

A round is a list of tasks that the seed and the rounds before decide. Its tasks may run side by side in an executor;
what they found is merged in their order, so that the same seed finds the same with and without one. In a round each
source has its share (see `work.SourceName`); the programs that the pass changed, or that got further in it than any
before, are edited in the next one.
"""

from __future__ import annotations

import importlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeAlias

import attrs

from tx8ir.core import Program
from tx8ir.testing.cases import small_scope
from tx8ir.testing.cases.corpus import fragments
from tx8ir.testing.cases.mutation import templates
from tx8ir.testing.cases.stored import StoredProgram
from tx8ir.testing.passes.counterexample import Counterexample, Failure, PassLike
from tx8ir.testing.passes.coverage import MAX_EVENTS, Point, Tracer, count_reached, never_run
from tx8ir.testing.passes.observe import NumericGuarantee
from tx8ir.testing.passes.preserve import reduce_counterexample

from .result import FuzzCoverage, FuzzResult
from .session import Session
from .work import Found, Kept, Outcome, SourceName, Task, crash, work

FuzzProgress: TypeAlias = Callable[[FuzzResult], object]
"""Told after each round of what there is so far."""

_SHARES: tuple[tuple[SourceName, int, int], ...] = (
    # the source, how many tasks of it a round has, and how many programs are in each
    ("pattern", 3, 16),
    ("templates", 2, 24),
    ("small", 1, 100),
    ("grown", 2, 25),
    ("neighbours", 2, 40),
    ("mutants", 3, 25),
    ("drawn", 1, 4),
)
_FRESH: frozenset[SourceName] = frozenset({"pattern", "templates", "small", "grown"})
_LEAST, _MOST, _PRIOR = 0.3, 2.5, 100
"""The sources that edit no program: the share of each grows with how many of its programs the pass changes, in
proportion to those of all of them, and the share of those that know little of the pass shrinks. Before so many programs
were tried, they count half."""
_GIVEN, _TOGETHER = 20, 5
"""How many of the caller's programs are in a round, and in a task."""
_CORPUS = 400
"""How many programs are kept; of more, those go that were edited most."""
_DRAWN_AFTER = 6
"""The rounds in which Hypothesis draws nothing yet."""
_ALIKE = 4
"""How many programs of one shape are kept."""
_PARENTS = 6
"""How many programs of the corpus a task edits."""


def fuzz(
    pass_: PassLike,
    *,
    seconds: float = 60.0,
    examples: int | None = None,
    seed: int = 0,
    programs: Iterable[Program] | None = None,
    guarantee: NumericGuarantee | None = None,
    changed: float = 0.0,
    executor: Executor | None = None,
    failures: int = 1,
    reduce: bool = True,
    progress: FuzzProgress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> FuzzResult:
    """Looks for a program that a pass gets wrong; needs nothing but the pass.

    The pass is read first: its patterns, the operations and numbers that its code names. Programs come from there, from
    all small programs of these operations one by one, from fragments of networks, at random, and from editing those
    that the pass changed or that got further in its code than any before. Each that the pass changes is judged
    (`judge`): does it do the same twice, is the program valid, does it survive printing, does it keep its answers.

    Args:
        pass_: a pass, a pipeline, or a function; see `PassLike`.
        seconds: when to stop. What is found first is the same however fast the machine is; how much is tried is not.
        examples: how many programs to try, instead: then nothing depends on a clock.
        seed: decides what is tried.
        programs: what to try instead of all that: an iterable, or a Hypothesis strategy (`programs.tensor_programs`),
            from which `examples` are drawn, 100 by default; fewer than 1,000 are the same ones in every run.
        guarantee: what the pass is held to; without it, to its own guarantee, and functions to
        `NumericGuarantee.BITWISE`.
        changed: the part of the programs, 0 to 1, that it must change at least to count as tested.
        executor: where the tasks of a round run, side by side; without one, here, one after the other. Processes must
            be able to import the pass.
        failures: stop after so many different counterexamples.
        reduce: make counterexamples as small as possible.
        progress: told after each round.
        clock: what tells the seconds; `time.process_time` where other work slows the machine down.

    Raises:
        TypeError: no pass; or one that another process cannot be given.
    """
    session = Session(pass_, guarantee)
    if executor is not None and not isinstance(executor, ThreadPoolExecutor):
        session.require_picklable()
    engine = _Engine(session, seed, changed, executor, failures, reduce, clock)
    if programs is None:
        rounds = engine.rounds(examples)
    else:
        rounds = engine.given(_drawn(programs, 100 if examples is None else examples))
        seconds = float("inf")
    deadline = float("inf") if examples is not None else clock() + seconds
    for tasks in rounds:
        if engine.round(tasks, deadline) or clock() >= deadline:
            break
        if progress is not None:
            progress(engine.result())
    return engine.result()


@attrs.define(eq=False)
class _Entry:
    """A program of the corpus, how often it was edited, and how many of its neighbours were looked at: None for all."""

    kept: Kept
    uses: int = 0
    edits: int | None = 0

    @property
    def weight(self) -> float:
        """How likely it is taken next: what the pass changes ten times as often, and small ones more often."""
        value = (10.0 if self.kept.is_changed else 1.0) * (2.0 if self.kept.points else 1.0)
        return value / (1 + self.uses) / (4 + len(self.kept.shape))


def _in_proportion(changed: int, tried: int, all_changed: int, all_tried: int) -> float:
    """The part that a pass changes of some programs by that of all, between bounds."""
    overall = (all_changed + 1) / (all_tried + _PRIOR)
    own = (changed + _PRIOR * overall) / (tried + _PRIOR)
    return min(_MOST, max(_LEAST, own / overall))


class _Engine:
    def __init__(
        self,
        session: Session,
        seed: int,
        required: float,
        executor: Executor | None,
        failures: int,
        reduce: bool,
        clock: Callable[[], float],
    ) -> None:
        self.session = session
        self.required = required
        self.corpus: list[_Entry] = []
        self.reached: frozenset[Point] = frozenset()
        self.counterexamples: list[Counterexample] = []
        self._seed = seed
        self._executor = executor
        self._failures = failures
        self._reduce = reduce
        self._clock = clock
        self._has_templates = bool(templates(session.material))
        self._totals = Outcome()
        self._tried: Counter[SourceName] = Counter()
        self._changed: Counter[SourceName] = Counter()
        self._rounds = 0
        self._start: small_scope.Position | None = None
        self._small_is_through = False
        self._shapes: Counter[tuple[str, ...]] = Counter()
        self._texts: set[str] = set()
        self._evaluated: set[tuple[str, ...]] = set()
        self._features: set[int] = set()
        self._crashes: set[tuple[str, int, str]] = set()

    # --- rounds ----------------------------------------------------------------------------------------------------

    def given(self, programs: Iterator[Program]) -> Iterator[list[Task]]:
        """The tasks for programs that the caller has."""
        travels = self._executor is not None and not isinstance(self._executor, ThreadPoolExecutor)
        while batch := [StoredProgram.of(p) if travels else p for p in islice(programs, _GIVEN)]:
            parts = [tuple(batch[i : i + _TOGETHER]) for i in range(0, len(batch), _TOGETHER)]
            yield [Task(self.session, "given", self._seed, len(p), p, reached=self.reached) for p in parts]

    def rounds(self, examples: int | None) -> Iterator[list[Task]]:
        """The tasks of each round, until there were so many programs."""
        while examples is None or self._totals.tried < examples:
            yield self._cut(self._next_round(), examples)

    def _next_round(self) -> list[Task]:
        rng = random.Random(f"{self._seed}:{self._rounds}")
        scale = min(1.0, (self._rounds + 1) / 4)
        tasks: list[Task] = []
        evaluated, features = frozenset(self._evaluated), frozenset(self._features)
        failures = frozenset(self._crashes)
        taken: set[int] = set()
        for source, number, count in _SHARES:
            if (source == "pattern" and not (self.session.source.rules or self.session.shapes)) or (
                source == "small" and self._small_is_through
            ):
                source = "grown"
            if source == "templates" and not self._has_templates:
                number = self._rounds % 2
            elif source == "drawn" and (self._rounds < _DRAWN_AFTER or self._rounds % 3):
                continue  # the first time takes seconds, and each program as long as ten others
            for _ in range(number):
                task = Task(
                    self.session,
                    source,
                    rng.randrange(1 << 62),
                    max(1, int(count * scale * self._yield(source))),
                    reached=self.reached,
                    evaluated=evaluated,
                    features=features,
                    failures=failures,
                )
                if source == "templates":
                    task = attrs.evolve(task, yields=self._yields_of_templates())
                elif source == "small":
                    task = attrs.evolve(task, start=self._start)
                elif source in ("neighbours", "mutants"):
                    entry = self._unseen(taken) if source == "neighbours" else None
                    parents = (
                        self._parents(rng) if source == "mutants" else () if entry is None else (entry.kept.program,)
                    )
                    if not parents:
                        continue
                    offset = 0 if entry is None else entry.edits or 0
                    task = attrs.evolve(task, programs=parents, offset=offset)
                tasks.append(task)
        if not self._rounds:
            known = fragments(self.session.direction)
            tasks.append(Task(self.session, "fragments", rng.randrange(1 << 62), len(known), known))
        # Interleaved, so that a budget that ends early cuts all sources alike.
        order = sorted(range(len(tasks)), key=lambda i: _place(tasks, i))
        return [tasks[i] for i in order]

    def _yield(self, source: SourceName) -> float:
        """How much of its share a source gets."""
        if source not in _FRESH:
            return 1.0
        changed, tried = (sum(count[s] for s in _FRESH) for count in (self._changed, self._tried))
        found = _in_proportion(self._changed[source], self._tried[source], changed, tried)
        return max(1.0, found) if source in ("pattern", "templates") else found

    def _yields_of_templates(self) -> dict[str, float]:
        """How often programs of each template are drawn."""
        tried = self._totals.templates
        changed = {name: self._totals.wirings[name] for name in tried}
        return {
            name: _in_proportion(changed[name], tried[name], sum(changed.values()), tried.total()) for name in tried
        }

    def _cut(self, tasks: Sequence[Task], examples: int | None) -> list[Task]:
        """The tasks, as far as the budget goes."""
        if examples is None:
            return list(tasks)
        left = examples - self._totals.tried
        cut: list[Task] = []
        for task in tasks:
            if left > 0:
                cut.append(attrs.evolve(task, count=min(task.count, left)))
                left -= task.count
        return cut

    def _unseen(self, taken: set[int]) -> _Entry | None:
        """The best program whose neighbours were not all looked at yet."""
        left = [entry for entry in self.corpus if entry.edits is not None and id(entry) not in taken]
        if not left:
            return None
        best = max(left, key=lambda entry: entry.weight / (1 + (entry.edits or 0) / 40))
        taken.add(id(best))
        return best

    def _parents(self, rng: random.Random) -> tuple[StoredProgram, ...]:
        if not self.corpus:
            return ()
        weights = [entry.weight for entry in self.corpus]
        chosen = rng.choices(self.corpus, weights, k=_PARENTS)
        for entry in chosen:
            entry.uses += 1
        return tuple(entry.kept.program for entry in chosen)

    def round(self, tasks: Sequence[Task], deadline: float) -> bool:
        """Does the tasks; whether that was enough."""
        futures: list[Future[Outcome]] = []
        if self._executor is not None:
            futures = [self._executor.submit(work, task) for task in tasks]
        enough = False
        for number, task in enumerate(tasks):
            outcome = futures[number].result() if futures else work(task)
            self._merge(task, outcome)
            enough = len(self.counterexamples) >= self._failures
            if enough or self._clock() >= deadline:
                break
        for future in futures:
            future.cancel()
        self._rounds += 1
        return enough

    # --- merging ---------------------------------------------------------------------------------------------------

    def _merge(self, task: Task, outcome: Outcome) -> None:
        totals = self._totals
        totals.tried += outcome.tried
        totals.changed += outcome.changed
        self._tried[task.source] += outcome.tried
        self._changed[task.source] += outcome.changed
        for name, programs in outcome.applied.items():  # `+=` would leave out what was applied nowhere
            totals.applied[name] += programs
        totals.skipped += outcome.skipped
        totals.runs += outcome.runs
        totals.ops += outcome.ops
        totals.wirings += outcome.wirings
        totals.templates += outcome.templates
        totals.regions += outcome.regions
        for name, values in outcome.attributes.items():
            totals.attributes.setdefault(name, set()).update(values)
        if task.source == "small":
            if outcome.stop is None:
                self._small_is_through = True
            else:
                self._start = outcome.stop
        self.reached |= outcome.reached
        self._evaluated |= outcome.evaluated
        self._features |= outcome.features
        if task.source == "neighbours":
            for entry in self.corpus:
                if entry.kept.program is task.programs[0]:
                    entry.edits = outcome.edits
        for kept in outcome.kept:
            new = kept.points - self.reached
            self.reached |= new
            if (
                new or (kept.is_changed and self._shapes[kept.shape] < _ALIKE)
            ) and kept.program.text not in self._texts:
                self._shapes[kept.shape] += 1
                self._texts.add(kept.program.text)
                self.corpus.append(_Entry(attrs.evolve(kept, points=new)))
        if len(self.corpus) > _CORPUS:
            self.corpus = sorted(self.corpus, key=lambda entry: -entry.weight)[:_CORPUS]
        if outcome.found is not None:
            self._blame(task, outcome.found)

    def _blame(self, task: Task, found: Found) -> None:
        stages = self.session.stages
        known = crash(found.kind, found.stage, found.message)
        if known is not None:
            if known in self._crashes:
                return
            self._crashes.add(known)
        failure = Failure(found.stage, stages[found.stage], found.kind, found.message, found.inputs, found.after)
        program = found.program if isinstance(found.program, Program) else found.program.program()
        example = Counterexample(program, stages, failure, self.session.guarantee, found_at=found.stage)
        if self._reduce:
            watch = Tracer(self.session.source.files, MAX_EVENTS // 10).run
            example = reduce_counterexample(example, task.seed & 0xFFFF, watch=watch)
        signature = _signature(example)
        if signature not in map(_signature, self.counterexamples):
            self.counterexamples.append(example)

    def result(self) -> FuzzResult:
        """What there is so far."""
        totals, source = self._totals, self.session.source
        coverage = FuzzCoverage(
            dict(totals.ops.most_common()),
            dict(totals.wirings.most_common()),
            {name: len(values) for name, values in sorted(totals.attributes.items())},
            dict(totals.regions.most_common()),
            *count_reached(source.codes, self.reached),
            never_run(source.codes, self.reached),
        )
        return FuzzResult(
            ", ".join(stage.name for stage in self.session.stages),
            self.session.guarantees,
            totals.tried,
            totals.changed,
            totals.runs,
            totals.skipped,
            self._rounds,
            tuple(self.counterexamples),
            coverage,
            self.required,
            dict(totals.applied),
        )


def _signature(found: Counterexample) -> tuple[str, ...]:
    """What tells counterexamples apart: what is wrong, and the operations."""
    ops = sorted({op.name for op in found.program.main.walk()})
    return (found.failure.kind, found.failure.stage.name, *ops)


def _place(tasks: Sequence[Task], index: int) -> tuple[int, int]:
    """Tasks by their number among those of their source."""
    source = tasks[index].source
    return sum(task.source == source for task in tasks[:index]), index


def _drawn(programs: Iterable[Program], examples: int) -> Iterator[Program]:
    """The programs of an iterable, or those drawn from a strategy, in order."""
    if hasattr(programs, "example"):  # a strategy of Hypothesis, which may not be installed
        drawing = importlib.import_module("tx8ir.testing.programs.drawing")
        yield from drawing.draw_programs(programs, examples)
        return
    for number, program in enumerate(programs):
        if number >= examples:
            return
        yield program
