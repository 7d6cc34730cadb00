"""Whether a pass preserves what programs compute: evaluate before and after, compare, reduce what differs.

    assert_preserves("cse", program)                     # one pass, a pipeline, or any function that changes a program
    print(check(program, "canonicalize,cse,dce"))        # the same as a result to look at

Inputs are drawn for the program (`inputs`): ordinary numbers, special ones, and both. What is compared, and how near,
is said by a `Promise` (`observe`): each pass is held to its own, `Pass.promise`, against the program it was given.
The first pass of the pipeline that breaks its promise is the one named.
A program that fails is reduced, with its pipeline, to a `Counterexample` that prints as IR and as a script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, overload

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.core import IrError, Program, RankedTensor
from tx8ir.core.equality import structurally_equal
from tx8ir.core.table import Table
from tx8ir.executable import CompileOptions
from tx8ir.interpreter import EvaluationError, Precision
from tx8ir.target.chip import TX8, Target

from . import differential
from .counterexample import Counterexample, Failure, Kind, PassLike, Stage, stages_of
from .differential import CheckResult
from .inputs import FLAVOURS, draw_inputs
from .observe import Allowance, Observation, Promise, difference, observe, rounding_allowances
from .reduce import ReductionProgress, count_operations, reduce_inputs, reduce_program

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False, repr=False)
class PipelineCheck:
    """What `check(program, pipeline)` found.

    Attributes:
        stages: the passes, in order.
        promises: what each of them was held to.
        runs: on how many sets of inputs the program was evaluated.
        counterexample: the reduced failure, or None when every pass preserves the program.
        after: the program after the passes, up to the one that failed.
        changed: whether the passes changed its graph.
    """

    stages: tuple[Stage, ...]
    promises: tuple[Promise, ...]
    runs: int
    counterexample: Counterexample | None
    after: Program
    changed: bool

    @property
    def passed(self) -> bool:
        """Whether every pass preserves the program."""
        return self.counterexample is None

    @property
    def table(self) -> Table:
        """The passes, what each promises, and whether it keeps it."""
        failed = len(self.stages) if self.counterexample is None else self.counterexample.found_at
        verdicts = ("kept", "broken", "not tried")
        rows = [
            (stage.name, promise.value, verdicts[(index >= failed) + (index > failed)])
            for index, (stage, promise) in enumerate(zip(self.stages, self.promises, strict=True))
        ]
        return Table(f"answers on {self.runs} sets of inputs", ("pass", "promise", "answers"), tuple(rows))

    def __str__(self) -> str:
        if self.counterexample is not None:
            return str(self.counterexample)
        names = ", ".join(stage.name for stage in self.stages)
        promises = ", ".join(dict.fromkeys(promise.value for promise in self.promises))
        return f"{names}: answers are the same ({promises}) on {self.runs} sets of inputs"

    def __repr__(self) -> str:
        verdict = "passed" if self.counterexample is None else str(self.counterexample.failure).splitlines()[0]
        return f"<PipelineCheck of {len(self.stages)} passes: {verdict}>"

    def _repr_html_(self) -> str:
        found = self.counterexample
        return self.table.to_html() + ("" if found is None else found._repr_html_())  # pyright: ignore[reportPrivateUsage]  # IPython's name


@overload
def check(
    program: Program,
    pipeline: None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: CompileOptions = ...,
    target: Target = ...,
    seed: int = 0,
) -> CheckResult: ...


@overload
def check(
    program: Program,
    pipeline: PassLike,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    promise: Promise | None = None,
    seed: int = 0,
    reduce: bool = True,
    progress: ReductionProgress | None = None,
) -> PipelineCheck: ...


def check(
    program: Program,
    pipeline: PassLike | None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: CompileOptions = CompileOptions(),
    target: Target = TX8,
    promise: Promise | None = None,
    seed: int = 0,
    reduce: bool = True,
    progress: ReductionProgress | None = None,
) -> CheckResult | PipelineCheck:
    """Checks what becomes of a program: on the chip, or in a pipeline.

    ``check(program)`` compiles the program, simulates it, and compares with the reference interpreter within the
    bound of `differential`.

    ``check(program, pipeline)`` runs the passes one by one on a copy, evaluates before and after each, and compares
    results, final contents of mutable variables, and final contents of inputs. The first pass that breaks the promise
    is named. `program` itself stays as it is.

    Args:
        program: a valid program.
        pipeline: see `PassLike`.
        inputs: by name; without them, drawn from `seed`.
        options: for a compiled program: how it is compiled.
        target: for a compiled program: for what.
        promise: for a pipeline: what each of its passes is held to; without it, to its own promise, and functions to
            `Promise.BITS`.
        seed: of the inputs.
        reduce: for a pipeline: make a failing program and its pipeline as small as possible.
        progress: for a reduction, which may take minutes: told of each smaller program that still fails.

    Raises:
        EvaluationError: the program itself cannot be evaluated, on any of the inputs.
        VerifyError: the program itself is invalid.
    """
    if pipeline is None:
        return differential.check(program, inputs, options=options, target=target, seed=seed)
    stages = stages_of(pipeline)
    promises = tuple(promise or stage.promise for stage in stages)
    given = None if inputs is None else {name: np.asarray(array) for name, array in inputs.items()}
    runs = _runs(program, given, promises, seed)
    after = program.clone()
    failure = _first_failure(after, stages, promises, runs)
    changed = structurally_equal(program.module, after.module) is not None
    counterexample = None
    if failure is not None:
        counterexample = Counterexample(program.clone(), stages, failure, promise, found_at=failure.index)
        if reduce:
            counterexample = _reduce(counterexample, seed, progress)
    return PipelineCheck(stages, promises, len(runs), counterexample, after, changed)


def assert_preserves(
    pass_: PassLike,
    program: Program,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    promise: Promise | None = None,
    seed: int = 0,
    reduce: bool = True,
) -> PipelineCheck:
    """Asserts that a pass or pipeline preserves what a program computes; see `check` for the arguments and the result.

    Raises:
        AssertionError: it does not. The text says which pass changes which answer, on which inputs, and holds the
            reduced program and a script that fails in the same way.
    """
    result = check(program, pass_, inputs=inputs, promise=promise, seed=seed, reduce=reduce)
    found = result.counterexample
    if found is not None:
        error = AssertionError(f"{found}\n\nto run it again:\n\n{found.script}")
        raise error from found.failure.cause
    return result


# --- runs ----------------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class _Run:
    """The program, as far as the pipeline has come, on some inputs.

    Attributes:
        inputs: these.
        is_ordinary: whether they are small finite numbers, on which rounding can be bounded.
        seen: what the program does, by the precision it is evaluated in, as far as it was asked for.
        allowances: how far results may be off after the next pass.
    """

    inputs: Mapping[str, Array]
    is_ordinary: bool
    seen: dict[Precision, Observation] = attrs.field(factory=dict[Precision, Observation])
    allowances: Mapping[str, Allowance] = attrs.field(factory=dict[str, Allowance])

    def prepare(self, program: Program, promise: Promise, max_steps: int) -> Observation:
        """What the program does before a pass with that promise. Raises EvaluationError when it cannot be evaluated."""
        precision = _precision(promise)
        if precision not in self.seen:
            self.seen[precision] = observe(program, self.inputs, precision, max_steps=max_steps)
        before = self.seen[precision]
        is_rounded = promise is Promise.ROUNDING
        self.allowances = rounding_allowances(program, before, self.inputs) if is_rounded else {}
        return before


_LONGER = 10
"""How many times as many operations a program may evaluate after a pass, and each that it has once more: a pass may
write much, but a program that evaluates more does not end."""
_MAX_STEPS = 10_000_000


def _runs(
    program: Program,
    given: Mapping[str, Array] | None,
    promises: tuple[Promise, ...],
    seed: int,
    max_steps: int = _MAX_STEPS,
) -> list[_Run]:
    """The program on each set of inputs that it can be evaluated on, and that the first pass can be judged on."""
    program.verify()
    first = promises[0] if promises else Promise.BITS
    rounded_only = set(promises) == {Promise.ROUNDING}
    flavours = FLAVOURS[:1] if rounded_only else FLAVOURS
    sets = [given] if given is not None else [draw_inputs(program, seed, flavour) for flavour in flavours]
    runs: list[_Run] = []
    error: EvaluationError | None = None
    for index, inputs in enumerate(sets):
        run = _Run(inputs, is_ordinary=not index)
        try:
            run.prepare(program, Promise.BITS if first is Promise.ROUNDING else first, max_steps)
        except EvaluationError as caught:
            error = caught
        else:
            runs.append(run)
    if error is not None and not runs:
        raise error
    return runs


def _first_failure(
    working: Program, stages: tuple[Stage, ...], promises: tuple[Promise, ...], runs: list[_Run]
) -> Failure | None:
    """Runs the passes on `working` until one breaks its promise, and says how.

    Each is compared with the program it was given, so that promises of different kinds can follow each other.
    """
    for index, (stage, promise) in enumerate(zip(stages, promises, strict=True)):

        def failure(kind: Kind, message: str, run: _Run, cause: Exception | None = None) -> Failure:
            return Failure(index, stage, kind, message, run.inputs, _shown(working), cause)  # noqa: B023  used at once

        judged: list[tuple[_Run, Observation]] = []
        for run in runs:
            if run.is_ordinary or promise is not Promise.ROUNDING:
                try:
                    judged.append((run, run.prepare(working, promise, _MAX_STEPS)))
                except EvaluationError:
                    continue  # not in the precision that this promise is about
        try:
            stage.run(working)
        except Exception as error:
            return failure("error", f"{type(error).__name__}: {error}", runs[0], error)
        try:
            working.verify()
        except IrError as error:
            return failure("invalid", error.message, runs[0], error)
        for run in runs:
            run.seen = {}
        for run, before in judged:
            try:
                limit = _LONGER * (before.steps + 10) + count_operations(working)
                after = observe(working, run.inputs, _precision(promise), max_steps=limit)
            except EvaluationError as error:
                return failure("evaluation", error.message, run, error)
            found = difference(before, after, promise, run.allowances)
            if found is not None:
                return failure("answer", str(found), run)
            run.seen[_precision(promise)] = after
    return None


def _precision(promise: Promise) -> Precision:
    return "fp64" if promise is Promise.FORMATS else "native"


def _shown(program: Program) -> str:
    try:
        return str(program)
    except Exception as error:
        return f"(cannot be printed: {error})"


# --- reduction -----------------------------------------------------------------------------------------------------


def _reduce(found: Counterexample, seed: int, progress: ReductionProgress | None) -> Counterexample:
    """The same failure of a smaller program and a shorter pipeline."""
    kind, culprit = found.failure.kind, found.failure.stage.subject
    stages, failing = found.stages[: found.failure.index + 1], found.failure.inputs

    def promises_of(stages: tuple[Stage, ...]) -> tuple[Promise, ...]:
        return tuple(found.promise or stage.promise for stage in stages)

    first = _runs(found.program, failing, promises_of(stages), seed)
    max_steps = 100 + max(seen.steps for run in first for seen in run.seen.values())

    def failure_of(
        program: Program, stages: tuple[Stage, ...], *, only: Mapping[str, Array] | None = None
    ) -> Failure | None:
        sets = [only] if only is not None else [_fitted(program, failing, seed), None]
        promises = promises_of(stages)
        for inputs in sets:
            try:
                runs = _runs(program, inputs, promises, seed, max_steps)
            except EvaluationError:
                continue
            failure = _first_failure(program.clone(), stages, promises, runs)
            if failure is not None and failure.kind == kind and failure.stage.subject is culprit:
                return failure
        return None

    def shorter(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        for index in reversed(range(len(stages) - 1)):
            without = (*stages[:index], *stages[index + 1 :])
            if failure_of(program, without) is not None:
                stages = without
        return stages

    program = found.program
    stages = shorter(stages)
    program = reduce_program(program, lambda p: failure_of(p, stages) is not None, progress=progress)
    stages = shorter(stages)
    failure = failure_of(program, stages)
    original = (count_operations(found.program), len(found.stages))
    if failure is None:  # it fails on the inputs it was found with only
        return attrs.evolve(found, original=original)
    simplest = reduce_inputs(dict(failure.inputs), lambda inputs: failure_of(program, stages, only=inputs) is not None)
    failure = failure_of(program, stages, only=simplest) or failure
    return attrs.evolve(found, program=program, stages=stages, failure=failure, original=original)


def _fitted(program: Program, given: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """`given` as inputs of a reduced program: cut to smaller extents, drawn where there are none."""
    inputs = draw_inputs(program, seed)
    for name, type_ in program.inputs.items():
        array = given.get(name)
        if isinstance(type_, RankedTensor) and array is not None and array.ndim == type_.rank:
            cut = array[tuple(slice(0, extent) for extent in inputs[name].shape)]
            if cut.shape == inputs[name].shape and cut.dtype == inputs[name].dtype:
                inputs[name] = cut
    return inputs
