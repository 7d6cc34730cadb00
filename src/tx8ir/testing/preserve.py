"""Whether a pass preserves what programs compute: evaluate before and after, compare, reduce what differs.

    assert_preserves("cse", program)                     # one pass, a pipeline, or any function that changes a program
    print(check(program, "canonicalize,cse,dce"))        # the same as a result to look at

Inputs are drawn for the program (`inputs`): ordinary numbers, special ones, and both. What is compared, and how near,
is said by a `Promise` (`observe`). The first pass of the pipeline after which anything differs is the one named.
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
from tx8ir.executable import CompileOptions
from tx8ir.interpreter import EvaluationError, Precision
from tx8ir.target.chip import TX8, Target

from . import differential
from .counterexample import Counterexample, Failure, PassLike, Stage, stages_of
from .differential import CheckResult
from .inputs import FLAVOURS, draw_inputs
from .observe import Allowance, Observation, Promise, difference, observe, rounding_allowances
from .reduce import count_operations, reduce_inputs, reduce_program

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class PipelineCheck:
    """What `check(program, pipeline)` found.

    Attributes:
        stages: the passes, in order.
        runs: on how many sets of inputs the program was evaluated.
        promise: what was compared.
        counterexample: the reduced failure, or None when every pass preserves the program.
        after: the program after the passes, up to the one that failed.
        changed: whether the passes changed its graph.
    """

    stages: tuple[Stage, ...]
    runs: int
    promise: Promise
    counterexample: Counterexample | None
    after: Program
    changed: bool

    @property
    def passed(self) -> bool:
        """Whether every pass preserves the program."""
        return self.counterexample is None

    def __str__(self) -> str:
        if self.counterexample is not None:
            return str(self.counterexample)
        names = ", ".join(stage.name for stage in self.stages)
        return f"{names}: answers are the same ({self.promise.value}) on {self.runs} sets of inputs"


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
    promise: Promise = Promise.BITS,
    seed: int = 0,
    reduce: bool = True,
) -> PipelineCheck: ...


def check(
    program: Program,
    pipeline: PassLike | None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    options: CompileOptions = CompileOptions(),
    target: Target = TX8,
    promise: Promise = Promise.BITS,
    seed: int = 0,
    reduce: bool = True,
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
        promise: for a pipeline: what its passes promise to keep.
        seed: of the inputs.
        reduce: for a pipeline: make a failing program and its pipeline as small as possible.

    Raises:
        EvaluationError: the program itself cannot be evaluated, on any of the inputs.
        VerifyError: the program itself is invalid.
    """
    if pipeline is None:
        return differential.check(program, inputs, options=options, target=target, seed=seed)
    stages = stages_of(pipeline)
    given = None if inputs is None else {name: np.asarray(array) for name, array in inputs.items()}
    runs = _runs(program, given, promise, seed)
    after = program.clone()
    failure = _first_failure(after, stages, runs, promise)
    changed = structurally_equal(program.module, after.module) is not None
    counterexample = None
    if failure is not None:
        counterexample = Counterexample(program.clone(), stages, failure, promise)
        if reduce:
            counterexample = _reduce(counterexample, seed)
    return PipelineCheck(stages, len(runs), promise, counterexample, after, changed)


def assert_preserves(
    pass_: PassLike,
    program: Program,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    promise: Promise = Promise.BITS,
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


@attrs.frozen(eq=False)
class _Run:
    """What the program does on some inputs, before any pass."""

    inputs: Mapping[str, Array]
    before: Observation
    allowances: Mapping[str, Allowance]


_LONGER = 10
"""How many times as many operations a program may evaluate after a pass, and some: else it does not end."""


def _runs(
    program: Program, given: Mapping[str, Array] | None, promise: Promise, seed: int, max_steps: int = 10_000_000
) -> list[_Run]:
    """The program on each set of inputs that it can be evaluated on."""
    program.verify()
    flavours = FLAVOURS[:1] if promise is Promise.ROUNDING else FLAVOURS
    sets = [given] if given is not None else [draw_inputs(program, seed, flavour) for flavour in flavours]
    runs: list[_Run] = []
    error: EvaluationError | None = None
    for inputs in sets:
        try:
            before = observe(program, inputs, _precision(promise), max_steps=max_steps)
            allowances: Mapping[str, Allowance] = {}
            if promise is Promise.ROUNDING:
                allowances = rounding_allowances(program, before, inputs)
        except EvaluationError as caught:
            error = caught
        else:
            runs.append(_Run(inputs, before, allowances))
    if error is not None and not runs:
        raise error
    return runs


def _first_failure(working: Program, stages: tuple[Stage, ...], runs: list[_Run], promise: Promise) -> Failure | None:
    """Runs the passes on `working` until one breaks the promise, and says how."""
    for index, stage in enumerate(stages):

        def failure(kind: Any, message: str, run: _Run, cause: Exception | None = None) -> Failure:
            return Failure(index, stage, kind, message, run.inputs, _shown(working), cause)  # noqa: B023  used at once

        try:
            stage.run(working)
        except Exception as error:
            return failure("error", f"{type(error).__name__}: {error}", runs[0], error)
        try:
            working.verify()
        except IrError as error:
            return failure("invalid", error.message, runs[0], error)
        for run in runs:
            try:
                limit = _LONGER * (run.before.steps + 10)
                after = observe(working, run.inputs, _precision(promise), max_steps=limit)
            except EvaluationError as error:
                return failure("evaluation", error.message, run, error)
            found = difference(run.before, after, promise, run.allowances)
            if found is not None:
                return failure("answer", str(found), run)
    return None


def _precision(promise: Promise) -> Precision:
    return "fp64" if promise is Promise.FORMATS else "native"


def _shown(program: Program) -> str:
    try:
        return str(program)
    except Exception as error:
        return f"(cannot be printed: {error})"


# --- reduction -----------------------------------------------------------------------------------------------------


def _reduce(found: Counterexample, seed: int) -> Counterexample:
    """The same failure of a smaller program and a shorter pipeline."""
    kind, culprit = found.failure.kind, found.failure.stage.subject
    max_steps = 100 + max(run.before.steps for run in _runs(found.program, found.failure.inputs, found.promise, seed))
    stages, program, failing = found.stages[: found.failure.index + 1], found.program, found.failure.inputs

    def failure_of(
        program: Program, stages: tuple[Stage, ...], *, only: Mapping[str, Array] | None = None
    ) -> Failure | None:
        sets = [only] if only is not None else [_fitted(program, failing, seed), None]
        for inputs in sets:
            try:
                runs = _runs(program, inputs, found.promise, seed, max_steps)
            except EvaluationError:
                continue
            failure = _first_failure(program.clone(), stages, runs, found.promise)
            if failure is not None and failure.kind == kind and failure.stage.subject is culprit:
                return failure
        return None

    def shorter(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        for index in reversed(range(len(stages) - 1)):
            without = (*stages[:index], *stages[index + 1 :])
            if failure_of(program, without) is not None:
                stages = without
        return stages

    stages = shorter(stages)
    program = reduce_program(program, lambda p: failure_of(p, stages) is not None)
    stages = shorter(stages)
    failure = failure_of(program, stages)
    if failure is None:  # it fails on the inputs it was found with only
        return attrs.evolve(found, original=(count_operations(found.program), len(found.stages)))
    simplest = reduce_inputs(dict(failure.inputs), lambda inputs: failure_of(program, stages, only=inputs) is not None)
    failure = failure_of(program, stages, only=simplest) or failure
    original = (count_operations(found.program), len(found.stages))
    return Counterexample(program, stages, failure, found.promise, original)


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
