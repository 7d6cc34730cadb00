"""Pieces of work: some programs from one source, each judged. What comes out depends on the task alone."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
from numpy.typing import NDArray

from tx8ir.core import IrError, Op, Program, RankedTensor, detached
from tx8ir.interpreter import EvaluationError
from tx8ir.testing.cases import small_scope
from tx8ir.testing.cases.mutation import (
    Template,
    all_templates,
    empty_program,
    feature_pairs,
    from_template,
    grow_program,
    instance,
    instance_of_shape,
    mutate,
    neighbours,
    templates,
    with_equal_extents,
)
from tx8ir.testing.cases.stored import StoredProgram
from tx8ir.testing.inputs import InputSet, input_sets, some_input_sets
from tx8ir.testing.passes.counterexample import Kind
from tx8ir.testing.passes.coverage import Point, Tracer
from tx8ir.testing.passes.judge import MAX_STEPS, WORK, Verdict, judge
from tx8ir.testing.reduction.tensor_types import extents

from .session import Session

SourceName: TypeAlias = Literal[
    "given", "fragments", "small", "pattern", "templates", "grown", "neighbours", "mutants", "drawn"
]
"""Where programs come from: the caller; the corpus of fragments of networks; the enumeration of small programs; the
rules of the pass, and the shapes that its code asks for; templates with control flow, storage and variables; operations
put on each other at random; all small edits of one program, or some of several, that were worth keeping; Hypothesis."""

HAS_HYPOTHESIS = importlib.util.find_spec("hypothesis") is not None
_MAX_STEPS, _WORK = 1000, 1500
"""A program that evaluates more operations is left out: an edit may have made a loop that does not end; and how many
are evaluated in all its runs, before it is tried on fewer sets of inputs."""
_EQUAL = 0.3
"""How many of the small programs, and of those of a shape, are tried with equal extents, too."""
_FIRST_SETS = 3
"""Sets of inputs that every program is evaluated on: ordinary numbers, special ones among them, and those that it names
itself."""
_MORE_SETS = 7
"""How many of the others a program is evaluated on that is like one that was evaluated on all."""
_LARGE = 8
"""Programs of more operations, with the traits of their types, are evaluated on some sets of inputs from the start."""
_PRINTED = 0.2
"""How many of the programs that a pass changed are printed and parsed; also those with other operations than before."""
_VALUE = 60
"""Values of attributes are told apart by so many characters."""
_EDITS = 6
"""For one neighbour that is tried, so many are looked at, at most."""
_NEW_PAIRS = 3
"""A program that the pass changes is kept when it has so many new pairs of features."""
_MORE_RUNS = 2
"""How often a program that got the pass further than any before is judged again, on other inputs."""


@attrs.frozen(eq=False)
class Task:
    """A piece of work.

    Attributes:
        session: the pass.
        source: where the programs come from.
        seed: decides all that is drawn; of inputs only, where programs are given.
        count: how many programs.
        programs: those that are judged, or edited.
        start: where the enumeration goes on.
        reached: what of the pass has run before.
        evaluated: the shapes of programs that were evaluated on all inputs before.
        features: pairs of features of programs that were tried before; neighbours that have no other are left out.
        failures: what crashes are known, which are not news; see `crash`.
        offset: how many edits of the one program were made before.
        yields: by the name of a template, how often programs of it are drawn, in proportion to others.
    """

    session: Session
    source: SourceName
    seed: int
    count: int
    programs: tuple[StoredProgram | Program, ...] = ()
    start: small_scope.Position | None = None
    reached: frozenset[Point] = frozenset()
    evaluated: frozenset[tuple[str, ...]] = frozenset()
    features: frozenset[int] = frozenset()
    failures: frozenset[tuple[str, int, str]] = frozenset()
    offset: int = 0
    yields: Mapping[str, float] = attrs.field(factory=dict[str, float])


@attrs.frozen(eq=False)
class Kept:
    """A program that is worth more: the pass changed it, or got further in it.

    Attributes:
        program: it.
        points: what of the pass ran for the first time.
        is_changed: whether the pass changed it.
        shape: its operations, and how many extents it has, by which alike programs are told.
    """

    program: StoredProgram
    points: frozenset[Point]
    is_changed: bool
    shape: tuple[str, ...]


@attrs.frozen(eq=False)
class Found:
    """A program that the pass got wrong.

    Attributes:
        number: which one of the task.
        program: it; as it was given, where it was.
        kind: what is wrong.
        message: the same in words.
        stage: which pass of the pipeline.
        inputs: the inputs that it shows on.
        after: the text of the program after the pass.
    """

    number: int
    program: StoredProgram | Program
    kind: Kind
    message: str
    stage: int
    inputs: Mapping[str, NDArray[Any]]
    after: str


@attrs.define(eq=False)
class Outcome:
    """What came out of a task.

    Attributes:
        tried: how many programs the pass was run on.
        changed: how many of them it changed, by more than tidying up (`Verdict.is_own`).
        applied: in how many of them each pattern was applied.
        skipped: how many could not be evaluated.
        runs: on how many sets of inputs programs were evaluated before and after.
        kept: programs that are worth more.
        ops: how often each operation was in a program that the pass changed.
        wirings: how often each wiring of small programs, and each template, was.
        templates: how many programs of each template the pass was run on.
        attributes: the values that attributes had in programs that the pass changed, by operation and name.
        regions: how often each region or successor was entered in such a program.
        reached: what of the pass ran for the first time, for programs that are not kept.
        found: a program that the pass got wrong.
        stop: where the enumeration stopped; None when it had nothing left.
        evaluated: shapes of programs that were evaluated on all inputs.
        features: pairs of features of programs that the pass changed.
        edits: how many edits of the one program were made; None when there are no more.
    """

    tried: int = 0
    changed: int = 0
    applied: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    skipped: int = 0
    runs: int = 0
    kept: list[Kept] = attrs.field(factory=list[Kept])
    ops: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    wirings: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    templates: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    attributes: dict[str, set[str]] = attrs.field(factory=dict[str, set[str]])
    regions: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    reached: frozenset[Point] = frozenset()
    found: Found | None = None
    stop: small_scope.Position | None = None
    evaluated: set[tuple[str, ...]] = attrs.field(factory=set[tuple[str, ...]])
    features: set[int] = attrs.field(factory=set[int])
    edits: int | None = None


def crash(kind: Kind, stage: int, message: str) -> tuple[str, int, str] | None:
    """By which crashes are known: what is wrong but for numbers and names; None where only answers are wrong."""
    if kind in ("answer", "nondeterministic"):
        return None
    return kind, stage, _VARYING.sub("_", message)[:80]


_VARYING = re.compile(r"[0-9]+|'[^']*'|%[^ ]*|[(<{\[].*")


def work(task: Task) -> Outcome:
    """Does a task, until it is done or the pass gets a program wrong."""
    return _Worker(task).run()


class _Worker:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.session = task.session
        self.rng = random.Random(task.seed)
        self.tracer = Tracer(self.session.source.files, reached=set(task.reached))
        self.outcome = Outcome()
        self._shapes: set[tuple[str, ...]] = set()
        self._evaluated: set[tuple[str, ...]] = set(task.evaluated)
        self._features: set[int] = set(task.features)
        self._printed: set[str] = set()

    def run(self) -> Outcome:
        sources: Mapping[SourceName, Any] = {
            "given": self._given,
            "fragments": self._given,
            "small": self._small,
            "pattern": self._instances,
            "templates": self._templates,
            "grown": self._grown,
            "neighbours": self._neighbours,
            "mutants": self._mutants,
            "drawn": self._drawn,
        }
        programs: Iterator[tuple[Program, str]] = sources[self.task.source]()
        for program, wiring in programs:
            self._consider(program, wiring)
            if self.outcome.found is not None or self.outcome.tried >= self.task.count:
                break
        return self.outcome

    # --- judging ---------------------------------------------------------------------------------------------------

    def _consider(self, program: Program, wiring: str) -> None:
        outcome = self.outcome
        outcome.tried += 1
        verdict = self._judge(program)
        if verdict is None:
            outcome.skipped += 1
            return
        new = self.tracer.newest
        outcome.changed += verdict.is_own
        for name, times in verdict.applied.items():
            outcome.applied[name] += times > 0
        shape: tuple[str, ...] = ()
        if verdict.changed:
            shape = _shape(program)
            outcome.ops.update(dict.fromkeys((op.name for op in program.main.walk()), 1))
            outcome.wirings[wiring] += bool(wiring)
            outcome.regions.update(verdict.entered)
            for op in program.module.walk():
                for field in op.definition.attributes if isinstance(op, Op) else ():
                    value = repr(getattr(op, field.name))
                    outcome.attributes.setdefault(f"{op.name}.{field.name}", set()).add(value[:_VALUE])
        is_new_shape = verdict.changed and shape not in self._shapes
        failure = verdict.failure
        if failure is not None and crash(failure.kind, failure.index, failure.message) in self.task.failures:
            outcome.reached |= new
            return
        if verdict.changed and failure is None and self.task.source != "given":
            pairs = feature_pairs(program, self.session.material.direction.ops)
            is_new_shape |= len(pairs - self._features) >= _NEW_PAIRS
            self._features |= pairs
            outcome.features |= pairs
        if verdict.failure is None and (new or is_new_shape) and self.task.source == "given":
            outcome.reached |= new
        elif verdict.failure is None and (new or is_new_shape):
            self._shapes.add(shape)
            outcome.kept.append(Kept(StoredProgram.of(program), new, verdict.changed, shape))
            for _ in range(_MORE_RUNS * bool(new) * verdict.changed):
                again = self._judge(program)
                verdict = again or verdict
                if verdict.failure is not None:
                    break
        failure = verdict.failure
        if failure is not None:
            outcome.reached |= new
            stored = program if self.task.source == "given" else StoredProgram.of(program)
            outcome.found = Found(
                outcome.tried - 1, stored, failure.kind, failure.message, failure.index, failure.inputs, failure.after
            )

    def _judge(self, program: Program) -> Verdict | None:
        """None for a program that cannot be evaluated."""
        is_given = self.task.source == "given"
        seed = self.task.seed if is_given else self.rng.randrange(1 << 30)
        stages, guarantees = self.session.stages, self.session.guarantees
        try:
            verdict = judge(
                program,
                stages,
                guarantees,
                lambda: self._sets(program, seed),
                watch=self.tracer.run,
                max_steps=MAX_STEPS if is_given else _MAX_STEPS,
                work=WORK if is_given else _WORK,
                has_text=is_given or self._is_new_text(program),
            )
        except (EvaluationError, IrError):
            if is_given:
                raise
            return None
        self.outcome.runs += verdict.runs
        return verdict

    def _is_new_text(self, program: Program) -> bool:
        """Whether it has operations of which no program was printed and parsed in this task, or is one of a share."""
        names = {op.name for op in program.module.walk()}
        is_new = not names <= self._printed
        self._printed |= names
        return is_new or self.rng.random() < _PRINTED

    def _sets(self, program: Program, seed: int) -> Sequence[InputSet]:
        """All sets of inputs for the first program of a shape, some for those that are like it."""
        shape = _shape(program)
        if shape in self._evaluated or len(shape) > _LARGE:
            return some_input_sets(program, seed, _FIRST_SETS, _MORE_SETS)
        self._evaluated.add(shape)
        self.outcome.evaluated.add(shape)
        return tuple(input_sets(program, seed))

    # --- sources ---------------------------------------------------------------------------------------------------

    def _given(self) -> Iterator[tuple[Program, str]]:
        return ((program, "") for program in _read(self.task.programs))

    def _small(self) -> Iterator[tuple[Program, str]]:
        candidates = self.session.small_programs(self.task.start)
        for candidate in candidates:
            self.outcome.stop = candidate.position
            if self.outcome.tried + 1 >= self.task.count:
                self.session.keep_small_programs(self.outcome.stop, candidates)
            yield candidate.program, candidate.wiring
            if self.rng.random() < _EQUAL and self.outcome.tried + 1 < self.task.count:
                equal = with_equal_extents(candidate.program, self.rng, self.session.material)
                if equal is not None:
                    yield equal, candidate.wiring

    def _instances(self) -> Iterator[tuple[Program, str]]:
        """Programs that the rules of the pass match, or of the shapes that its code asks for; half of them edited."""
        rules, shapes, material = self.session.source.rules, self.session.shapes, self.session.material
        ways = [*(functools.partial(instance, rule) for rule in rules)]
        ways += [functools.partial(instance_of_shape, shape) for shape in shapes]
        for number in range(self.task.count if ways else 0):
            way = ways[(self.task.seed + number) % len(ways)]
            program = way(self.rng, material)
            if program is not None and self.rng.random() < _EQUAL:
                program = with_equal_extents(program, self.rng, material) or program
            if program is not None and number % 3 == 2:
                program = mutate(program, self.rng, material) or program
            if program is not None:
                yield program, ""

    def _templates(self) -> Iterator[tuple[Program, str]]:
        material = self.session.material
        wanted = templates(material)
        for _ in range(self.task.count):
            chosen = wanted if wanted and self.rng.random() < 0.9 else all_templates()
            template = self.rng.choices(chosen, [self.task.yields.get(named(t), 1.0) for t in chosen])[0]
            program = from_template(template, empty_program(), self.rng, material)
            if program is not None and self.rng.random() < 0.2:
                program = mutate(program, self.rng, material) or program
            if program is not None:
                self.outcome.templates[named(template)] += 1
                yield program, named(template)

    def _grown(self) -> Iterator[tuple[Program, str]]:
        for _ in range(self.task.count):
            program = grow_program(empty_program(), self.rng, self.session.material)
            if program is not None:
                yield program, ""

    def _neighbours(self) -> Iterator[tuple[Program, str]]:
        """Small edits of a program, but for those that show nothing that was not seen before."""
        wanted = self.session.material.direction.ops
        for parent in _read(self.task.programs):
            order = random.Random(zlib.crc32(str(parent).encode()))
            self.outcome.edits = self.task.offset
            for number, program in neighbours(parent, order, self.session.material, self.task.offset):
                self.outcome.edits = number + 1
                if number - self.task.offset > _EDITS * self.task.count:
                    return
                pairs = feature_pairs(program, wanted)
                if pairs <= self._features:
                    continue
                self._features |= pairs
                self.outcome.features |= pairs
                yield program, ""
            self.outcome.edits = None

    def _mutants(self) -> Iterator[tuple[Program, str]]:
        parents = _read(self.task.programs)
        if not parents:
            return
        material = attrs.evolve(self.session.material, donors=parents)
        for number in range(self.task.count):
            mutant = mutate(parents[number % len(parents)], self.rng, material)
            if mutant is not None:
                yield mutant, ""

    def _drawn(self) -> Iterator[tuple[Program, str]]:
        if not HAS_HYPOTHESIS:
            return
        drawn: Sequence[Program] = importlib.import_module("tx8ir.testing.fuzzing.drawn").draw(
            self.rng.randrange(1 << 30), (self.task.count + 1) // 2, self.session.guarantees
        )
        for program in drawn:
            yield program, ""
            with detached():
                mutant = mutate(program, self.rng, self.session.material)
            if mutant is not None:
                yield mutant, ""


def named(template: Template) -> str:
    """What programs of a template are counted by."""
    return template.__name__.replace("_", " ")


def _read(programs: Iterable[StoredProgram | Program]) -> tuple[Program, ...]:
    return tuple(_parsed(p) if isinstance(p, StoredProgram) else p for p in programs)


@functools.lru_cache(maxsize=512)
def _parsed(stored: StoredProgram) -> Program:
    """The program; it is copied before anything changes it."""
    return stored.program()


def _shape(program: Program) -> tuple[str, ...]:
    """The operations of a program, how many extents differ, and its element types, by which alike programs are told."""
    values = [r for op in program.main.walk() for r in (*op.operands, *op.results)]
    elements = sorted({str(v.type.element) for v in values if isinstance(v.type, RankedTensor)})
    return (*sorted(op.name for op in program.main.walk()), f"{len(extents(program))} extents", *elements)
