"""One program through the passes of a pipeline: what each did to it, and the first that did it wrong.

A pass is right about a program when

- it ends, raises nothing, and leaves a valid program; or raises `UnsupportedError` and leaves it as it is;
- it does the same to an equal copy (a pass that depends on addresses, or remembers the last program, does not);
- what it leaves is the same program after printing and parsing;
- it leaves what is not its own as it is: the numbers of the program it was given a copy of;
- the program then does what its guarantee says (`observe`).

Evaluating is what costs most, so a pass that leaves a program as it is ends the matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    IrError,
    MappedTensor,
    ParameterAccess,
    Program,
    RankedTensor,
    ScalarType,
    UnsupportedError,
    parse,
)
from tx8ir.core.ir.equality import structurally_equal
from tx8ir.interpreter import EvaluationError, Precision
from tx8ir.rewriting import rewrite_greedily
from tx8ir.rewriting.log import RewriteLog, logged_rewrites
from tx8ir.testing.inputs import InputSet
from tx8ir.testing.reduction.reduce import count_operations

from .counterexample import CheckedStage, Failure, Kind
from .coverage import MAX_EVENTS, TooManySteps
from .observe import NumericGuarantee, Observation, ObservedProgram, difference
from .rounding import exceeds, format_difference, is_inside, makes_nan, narrower, rounding_difference

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[[Callable[[], object]], object]
"""Runs a pass: calls it, and may watch it (`coverage.Tracer.run`)."""

LONGER = 10
"""How many times as many operations a program may evaluate after a pass, and each that it has once more: a pass may
write much, but a program that evaluates more does not end."""
MAX_STEPS = 10_000_000
WORK, _FEWEST = 20_000, 8
"""A program that loops so long that evaluating it takes more operations than that is tried on fewer sets of inputs, but
not fewer than these."""
_COPIED = 1 << 20
"""Variables of at most so many bytes are copied for the pass, so that it cannot write into what is compared."""


@attrs.frozen(eq=False)
class Verdict:
    """What the passes did to a program.

    Attributes:
        failure: the first that is wrong, or None.
        changed: whether they changed anything.
        is_own: whether some of that is their own: not all is folding and dead operations that the greedy driver tidied
            up while it applied none of the patterns that it was given.
        applied: how often each pattern was applied that a pass gave to the driver.
        runs: on how many sets of inputs the program could be evaluated; 0 when that was not needed.
        after: the program after the passes, up to the one that failed.
        entered: the regions and successors of the program that runs have entered; see `ObservedProgram.entered`.
    """

    failure: Failure | None
    changed: bool
    runs: int
    after: Program
    entered: frozenset[str] = frozenset()
    is_own: bool = False
    applied: Mapping[str, int] = attrs.field(factory=dict[str, int])


def plainly(action: Callable[[], object]) -> None:
    """Runs a pass unwatched."""
    action()


def judge(
    program: Program,
    stages: Sequence[CheckedStage],
    guarantees: Sequence[NumericGuarantee],
    sets: Callable[[], Sequence[InputSet]],
    *,
    watch: Run = plainly,
    evaluate: bool = False,
    max_steps: int = MAX_STEPS,
    work: int = WORK,
    has_text: bool = True,
) -> Verdict:
    """Runs the passes on copies of `program` until one is wrong.

    Each is compared with the program it was given, so that guarantees of different kinds can follow each other.

    Args:
        program: a valid program; it is not changed.
        stages: the passes.
        guarantees: what each of them is held to.
        sets: what to evaluate on; asked for when the first pass has changed something.
        watch: how a pass is run.
        evaluate: evaluate the program in any case.
        max_steps: how many operations it may evaluate.
        work: how many in all runs together, once there are eight.
        has_text: print and parse what the passes leave, too.

    Raises:
        EvaluationError: the program itself cannot be evaluated, on any of the inputs.
    """
    oracle = _Oracle(program, stages, guarantees, sets, max_steps, work, has_text=has_text)
    if evaluate:
        oracle.references()
    failure = None
    for index in range(len(stages)):
        failure = oracle.judge(index, watch)
        if failure is not None:
            break
    if failure is not None:
        oracle.references()
    changed = oracle.changed or failure is not None
    is_own = oracle.is_own or failure is not None
    return Verdict(failure, changed, len(oracle.runs or ()), oracle.after, oracle.entered, is_own, dict(oracle.applied))


@attrs.define(eq=False)
class _Reference:
    """What the program does on one set of inputs, as far as the pipeline has come.

    Attributes:
        given: the inputs.
        seen: what it does, by the precision it is evaluated in, as far as it was asked for.
    """

    given: InputSet
    seen: dict[Precision, Observation] = attrs.field(factory=dict[Precision, Observation])

    def difference(
        self, before: Program, after: Program, guarantee: NumericGuarantee, earlier: Observation, later: Observation
    ) -> str | None:
        """What the guarantee does not allow to differ, or None; None too where rounding decides whether a loop ends."""
        found = difference(earlier, later, guarantee)
        if found is not None and guarantee not in (NumericGuarantee.BITWISE, NumericGuarantee.VALUES):
            inputs, max_steps = self.given.arrays, LONGER * (earlier.steps + 10)
            try:
                if guarantee is NumericGuarantee.NO_NANS and makes_nan(before, inputs, max_steps=max_steps):
                    return None
                if guarantee is NumericGuarantee.FORMATS:
                    narrower = _new_integers(before, after)
                    if narrower and exceeds(before, inputs, narrower, max_steps=max_steps):
                        return None  # such a pass may take it that what is computed fits
                    found = format_difference(before, after, earlier, later, inputs, max_steps=max_steps)
                else:
                    found = rounding_difference(before, earlier, later, inputs, guarantee, max_steps=max_steps)
            except EvaluationError:
                return None
        return None if found is None else str(found)


class _Oracle:
    """A program before and after the passes."""

    def __init__(
        self,
        program: Program,
        stages: Sequence[CheckedStage],
        guarantees: Sequence[NumericGuarantee],
        sets: Callable[[], Sequence[InputSet]],
        max_steps: int,
        work: int,
        *,
        has_text: bool,
    ) -> None:
        self.program = self.before = self.after = program
        self.stages = stages
        self.guarantees = guarantees
        self.changed = self.is_own = False
        self.applied = Counter[str]()
        self.entered: frozenset[str] = frozenset()
        self.runs: list[_Reference] | None = None
        self._sets = sets
        self._max_steps = max_steps
        self._work = work
        self._has_text = has_text
        self._observed: dict[Precision, ObservedProgram] = {}  # the program before the pass

    def references(self) -> list[_Reference]:
        """The program, as it was given, on each set of inputs that it can be evaluated on."""
        if self.runs is not None:
            return self.runs
        _require_variables(self.program)
        first = self.guarantees[0] if self.guarantees else NumericGuarantee.BITWISE
        self.runs = []
        error: EvaluationError | None = None
        steps = 0
        for given in self._sets():
            if steps > self._work and (error is not None or len(self.runs) >= _FEWEST):
                break
            run = _Reference(given)
            try:
                self._look(run, first)
                self.runs.append(run)
            except EvaluationError as caught:
                error = caught
            steps += self._observed[_precision(first)].steps
        if error is not None and not self.runs:
            raise error
        observed = self._observed.get(_precision(first))
        self.entered = observed.entered() if observed is not None else frozenset()
        return self.runs

    def _look(self, run: _Reference, guarantee: NumericGuarantee) -> Observation:
        """What the program does before a pass with that guarantee. Raises EvaluationError when it fails."""
        precision = _precision(guarantee)
        if precision not in run.seen:
            if precision not in self._observed:
                self._observed[precision] = ObservedProgram(self.before, precision)
            run.seen[precision] = self._observed[precision].observe(run.given.arrays, max_steps=self._max_steps)
        return run.seen[precision]

    def judge(self, index: int, watch: Run) -> Failure | None:
        """Runs one pass, and says what is wrong with it."""
        stage = self.stages[index]

        def failure(
            kind: Kind, message: str, inputs: Mapping[str, Array] | None = None, cause: Exception | None = None
        ) -> Failure:
            runs = self.references()
            inputs = (runs[0].given.arrays if runs else {}) if inputs is None else inputs
            return Failure(index, stage, kind, message, inputs, _shown(self.after), cause)

        self.after = _own_copy(self.before)
        try:
            with logged_rewrites() as log:
                watch(lambda: stage.run(self.after))
        except TooManySteps:
            return failure("hang", f"it does not end within {MAX_EVENTS} steps")
        except Exception as error:
            if _is_refusal(error) and same_programs(self.before, self.after):
                self.after = self.before
                return None
            return failure("error", f"{type(error).__name__}: {error}", None, error)
        self.applied.update(log.applied)
        if same_programs(self.before, self.after):
            self.after = self.before
            return None
        self.changed = True
        self.is_own |= not (log.is_idle and self._is_tidied(log))
        try:
            self.after.verify()
        except IrError as error:
            return failure("invalid", error.message, None, error)
        message = self._differs_again(stage)
        if message is not None:
            return failure("nondeterministic", message)
        message = text_differs(self.after) if self._has_text else None
        if message is not None and text_differs(self.before) is None:
            return failure("text", message)
        guarantee = self.guarantees[index]
        observed = ObservedProgram(self.after, _precision(guarantee))
        longest = count_operations(self.after)
        narrower = _new_integers(self.before, self.after) if guarantee is NumericGuarantee.FORMATS else ()
        for run, earlier in self._judged(guarantee):
            if narrower and not all(is_inside(array, narrower) for array in run.given.arrays.values()):
                continue  # a pass may change the formats of integers, for numbers that they hold
            try:
                limit = LONGER * (earlier.steps + 10) + longest
                later = observed.observe(run.given.arrays, max_steps=limit, variables=earlier.variables)
            except EvaluationError as error:
                return failure("evaluation", error.message, run.given.arrays, error)
            found = run.difference(self.before, self.after, guarantee, earlier, later)
            if found is not None:
                return failure("answer", found, run.given.arrays)
            run.seen[_precision(guarantee)] = later
        self.before = self.after
        self._observed = {_precision(guarantee): observed}
        return None

    def _judged(self, guarantee: NumericGuarantee) -> list[tuple[_Reference, Observation]]:
        """What the program did before the pass, on the inputs that the guarantee can be judged on."""
        judged: list[tuple[_Reference, Observation]] = []
        for run in self.references():
            try:
                earlier = self._look(run, guarantee)
                judged.append((run, earlier))
            except EvaluationError:
                pass  # not in the precision that this guarantee is about
            run.seen = {}
        return judged

    def _is_tidied(self, log: RewriteLog) -> bool:
        """Whether the driver makes the same of the program without any pattern."""
        tidied = _own_copy(self.before)
        rewrite_greedily(tidied.module, (), fold=log.folds, drop_dead=log.drops_dead)
        return same_programs(tidied, self.after)

    def _differs_again(self, stage: CheckedStage) -> str | None:
        """How a second run on an equal program ends otherwise, or None."""
        again = _own_copy(self.before)
        try:
            stage.run(again)
        except Exception as error:
            return f"the second time, on an equal program, it raises {type(error).__name__}: {error}"
        found = structurally_equal(self.after.module, again.module)
        if found is not None:
            return f"an equal program becomes another one the second time; {found}"
        return None if _same_weights(self.after, again) else "equal variables become other ones the second time"


def _require_variables(program: Program) -> None:
    """Raises EvaluationError for a variable that is read and not there: a pass may let a run come by where none did."""
    for op in program.module.walk():
        access = op.interface(ParameterAccess)
        for name in access.parameter_reads() if access is not None else ():
            if name not in program.weights:
                raise EvaluationError(f"{op.name} reads variable {name!r}, which the program's weights do not have", op)


def _is_refusal(error: Exception) -> bool:
    """Whether a pass says that it does not take the program; a pipeline has that error as a cause."""
    return isinstance(error, UnsupportedError) or isinstance(error.__cause__, UnsupportedError)


def _new_integers(before: Program, after: Program) -> tuple[ScalarType, ...]:
    """The integer types that values may have got by a pass."""
    return narrower(Counter(_integers(before)), Counter(_integers(after)), lambda element: element.format.bits)


def _integers(program: Program) -> Iterator[ScalarType]:
    for op in program.module.walk():
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *arguments):
            if isinstance(value.type, RankedTensor) and value.type.element.format.is_integer:
                yield value.type.element


def _precision(guarantee: NumericGuarantee) -> Precision:
    return "f64" if guarantee is NumericGuarantee.FORMATS else "native"


def _shown(program: Program) -> str:
    try:
        return str(program)
    except Exception as error:
        return f"(cannot be printed: {error})"


# --- programs ------------------------------------------------------------------------------------------------------


def same_programs(a: Program, b: Program) -> bool:
    """Whether graphs and variables are equal."""
    return structurally_equal(a.module, b.module) is None and _same_weights(a, b)


def _same_weights(a: Program, b: Program) -> bool:
    if tuple(a.weights) != tuple(b.weights):
        return False
    for name, ours in a.weights.items():
        theirs = b.weights[name]
        if ours.type is not theirs.type or ours.is_mutable != theirs.is_mutable:
            return False
        if ours.data is not theirs.data and ours.numpy().tobytes() != theirs.numpy().tobytes():
            return False
    return True


def _own_copy(program: Program) -> Program:
    """A copy whose small variables are copies, too; those that were one array still are."""
    copy = program.clone()
    copied: dict[int, Any] = {}
    for variable in copy.weights.values():
        if not isinstance(variable.data, MappedTensor) and variable.nbytes <= _COPIED:
            variable.data = copied.setdefault(id(variable.data), np.array(variable.numpy()))
    return copy


def text_differs(program: Program) -> str | None:
    """How the program differs from what its text says, or None."""
    try:
        again = parse(str(program))
        again.verify()
    except Exception as error:
        return f"its text cannot be read: {type(error).__name__}: {error}"
    found = structurally_equal(program.module, again.module)
    return None if found is None else f"its text is another program; {found}"
