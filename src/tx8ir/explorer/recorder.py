"""Watches a compilation: the text after every pass, and which operation each line is."""

from __future__ import annotations

import inspect
import re
from typing import Any, Final

from tx8ir.core import FileLocation, IrError, Location, NamedLocation, Operation, OpResult, Program, Value, print_op
from tx8ir.passes import Instrumentation, Pass, PassRun
from tx8ir.rewriting import RewritePattern
from tx8ir.rewriting.declarative import Rule
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.rewriting.provenance import provenance

from .model import IrOp, Miss, PassRecord, Rewrite, Text

SOURCE_FILE: Final = "<source>"
"""The file of the locations that number the operations of the source program; lines count from 1."""

_VALUE: Final = re.compile(r"%[\w$.-]+(?:#[0-9]+)?")
_NO_OPERATION: Final = ("}", "^", "//")
_EXPLAINED: Final = 40
"""Operations of one kind that a pattern is explained for, after each pass."""
_COPIED: Final = 60_000
"""Operations that the explanations of one pass may copy, about: a pattern that is a function is tried on a copy of the
program."""


def number_operations(program: Program) -> None:
    """Gives every operation of `program` a location of its own, which passes carry along: its number and its name."""
    for number, op in enumerate(program.module.walk()):
        place: Location = FileLocation(SOURCE_FILE, number + 1, 1)
        name = op.location.name
        op.location = place if name is None else NamedLocation(name, place)


class Table:
    """Numbers for things, in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, thing: Any) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))

    @property
    def things(self) -> tuple[Any, ...]:
        return tuple(self.numbers)


class Recorder(Instrumentation):
    """Keeps every stage of one pipeline whose program `number_operations` has prepared.

    Each pass costs O(operations), and for passes with patterns what their explanations cost, which is bounded.
    """

    def __init__(self) -> None:
        self.names = Table()
        self.lines = Table()
        self.texts: list[Text] = []
        self.passes: list[PassRecord] = []
        self._ops = Table()
        self._forms = Table()
        self._traits: dict[int, IrOp] = {}
        self._latest = ""

    @property
    def ops(self) -> tuple[IrOp, ...]:
        """Every operation that a text has, by its number."""
        return tuple(self._traits[number] for number in range(len(self._ops.numbers)))

    def number(self, op: Operation) -> int:
        """The number of an operation; -1 when no text has it."""
        return self._ops.numbers.get(op, -1)

    def sources(self, op: Operation) -> tuple[int, ...]:
        """The source operations that `op` stands for."""
        return tuple(dict.fromkeys(n for place in provenance(op).sources if (n := _number_of(place)) is not None))

    # -- hooks ----------------------------------------------------------------------------------------------------

    def before_pipeline(self, program: Program) -> None:
        self._record(program)

    def after_pass(self, run: PassRun) -> None:
        if run.path:
            return
        known = len(self._ops.numbers)
        changed = self._record(run.program)
        stage = run.stage
        self.passes.append(
            PassRecord(
                name=stage.title,
                text=run.text,
                doc=_first_sentence(stage),
                seconds=run.seconds,
                after=len(self.texts) - 1,
                changed=changed,
                statistics=dict(stage.statistics),
                rewrites=self._rewrites(stage, known) if changed else (),
                misses=self._misses(stage, run.program),
            )
        )

    # -- texts ----------------------------------------------------------------------------------------------------

    def record(self, program: Program) -> None:
        """Adds the text of a program that no pass is run on."""
        self._record(program)

    def _record(self, program: Program) -> bool:
        """Adds the text of `program` unless it is that of the stage before; whether it was added."""
        ops = list(program.module.walk())
        for op in ops:
            self._note(op)
        text = print_op(program.module)
        if text == self._latest:
            return False
        self._latest = text
        lines: list[int] = []
        owners: list[int] = []
        forms: list[int] = []
        upcoming = iter(ops)
        for line in text.split("\n"):
            stripped = line.lstrip()
            op = None if stripped.startswith(_NO_OPERATION) else next(upcoming, None)
            lines.append(self.lines(line))
            owners.append(-1 if op is None else self._ops(op))
            reads = () if op is None else tuple(map(self._value, op.operands))
            forms.append(self._forms((_VALUE.sub("%", stripped), reads)))
        self.texts.append(Text(tuple(lines), tuple(owners), tuple(forms)))
        return True

    def _note(self, op: Operation) -> None:
        steps = tuple(self.names(str(step)) for step in provenance(op).steps)
        self._traits[self._ops(op)] = IrOp(op.name, steps, self.sources(op))

    def _value(self, value: Value) -> tuple[int, int]:
        if isinstance(value, OpResult):
            return self._ops(value.owner), value.index
        block = value.parent_block
        owner = None if block is None else block.parent_op
        return (-1 if owner is None else self._ops(owner)), getattr(value, "index", 0)

    # -- rewrites -------------------------------------------------------------------------------------------------

    def _rewrites(self, stage: Pass, known: int) -> tuple[Rewrite, ...]:
        """The patterns that made the operations from number `known` on, and those that only took some away."""
        made: dict[str, list[int]] = {}
        for number in range(known, len(self._ops.numbers)):
            steps = self._traits[number].steps
            by, _, pattern = (self.names.things[steps[-1]] if steps else "").partition("/")
            made.setdefault(pattern if by == stage.name and pattern else stage.name, []).append(number)
        patterns = {pattern.name for pattern in stage.patterns()}
        counts = {name: n for name, n in stage.statistics.items() if name in patterns or name in made}
        names = dict.fromkeys([*counts, *made])
        return tuple(Rewrite(n, counts.get(n, len(made.get(n, ()))), tuple(made.get(n, ()))) for n in names)

    def _misses(self, stage: Pass, program: Program) -> tuple[Miss, ...]:
        """Why the patterns of a pass match no more: each reason once, with one of the operations and their number."""
        found: dict[tuple[str, ...], tuple[int, int]] = {}
        patterns = stage.patterns()
        if not patterns:
            return ()
        by_kind: dict[type[Operation], list[Operation]] = {}
        size = 0
        for op in program.module.walk():
            size += 1
            if op.parent is not None:
                by_kind.setdefault(op.__class__, []).append(op)
        copies = max(1, _COPIED // size)
        for pattern in patterns:
            copied = not isinstance(pattern, Rule)
            for kind, ops in by_kind.items():
                if not pattern.fits(kind):
                    continue
                tried = ops[: min(_EXPLAINED, copies) if copied else _EXPLAINED]
                copies -= len(tried) if copied else 0
                for op in tried:
                    reason = _reason(pattern, op)
                    if reason is not None:
                        first, count = found.get((pattern.name, *reason), (self._ops(op), 0))
                        found[(pattern.name, *reason)] = first, count + 1
        return tuple(Miss(key[0], op, count, *key[1:]) for key, (op, count) in found.items())


def _reason(pattern: RewritePattern[Any], op: Operation) -> tuple[str, str, str, str] | None:
    try:
        failure = explain(pattern, op).failure
    except IrError:
        return None  # what a pattern refuses is for the pass to say
    if failure is None:
        return None
    return failure.place, failure.constraint, failure.expected, failure.found


def _number_of(place: Location) -> int | None:
    """The number of the source operation that a location names."""
    if isinstance(place, NamedLocation):
        place = place.child
    if isinstance(place, FileLocation) and place.file == SOURCE_FILE:
        return place.line - 1
    return None


def _first_sentence(stage: Pass) -> str:
    paragraph = inspect.cleandoc(type(stage).__doc__ or "").partition("\n\n")[0]
    return re.split(r"(?<=[.:])\s", " ".join(paragraph.split()))[0].rstrip(":")
