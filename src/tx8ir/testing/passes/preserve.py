"""Whether a pass preserves what programs compute: evaluate before and after, compare, reduce what differs.

    print(check(program, "canonicalize,cse,dce"))        # passes, a pipeline, or any function that changes a program

Inputs are drawn for the program (`inputs`): ordinary numbers, special ones, and both. What is compared, and how near,
is said by a `NumericGuarantee` (`observe`): each pass is held to its own, `Pass.guarantee`, against the program it was
given. The first pass of the pipeline that breaks its guarantee is the one named.
A program that fails is reduced, with its pipeline, to a `Counterexample` that prints as IR and as a script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, overload

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.compiler import CompileOptions
from tx8ir.core import Program, RankedTensor
from tx8ir.interpreter import EvaluationError
from tx8ir.support.screen import fitted
from tx8ir.support.table import Table
from tx8ir.target.chip import Target
from tx8ir.testing.chip import differential
from tx8ir.testing.chip.differential import CheckResult
from tx8ir.testing.inputs import InputSet, draw_inputs, input_sets
from tx8ir.testing.reduction.reduce import ReductionProgress, count_operations, reduce_inputs, reduce_program

from .counterexample import CheckedStage, Counterexample, Failure, PassLike, stages_of
from .judge import MAX_STEPS, Run, Verdict, judge, plainly
from .observe import NumericGuarantee, observe

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False, repr=False)
class PipelineCheck:
    """What `check(program, pipeline)` found.

    Attributes:
        stages: the passes, in order.
        guarantees: what each of them was held to.
        runs: on how many sets of inputs the program was evaluated.
        counterexample: the reduced failure, or None when every pass preserves the program.
        after: the program after the passes, up to the one that failed.
        changed: whether the passes changed its graph.
        is_own: whether some of that is their own, and not only folding and dead operations that the greedy driver
            tidied up while no pattern was applied.
        applied: how often each pattern was applied that a pass gave to the driver.
    """

    stages: tuple[CheckedStage, ...]
    guarantees: tuple[NumericGuarantee, ...]
    runs: int
    counterexample: Counterexample | None
    after: Program
    changed: bool
    is_own: bool
    applied: Mapping[str, int]

    @property
    def passed(self) -> bool:
        """Whether every pass preserves the program."""
        return self.counterexample is None

    @property
    def table(self) -> Table:
        """The passes, what each guarantees, and whether it keeps it."""
        failed = len(self.stages) if self.counterexample is None else self.counterexample.found_at
        verdicts = ("kept", "broken", "not tried")
        rows = [
            (stage.name, guarantee.value, verdicts[(index >= failed) + (index > failed)])
            for index, (stage, guarantee) in enumerate(zip(self.stages, self.guarantees, strict=True))
        ]
        return Table(f"answers on {self.runs} sets of inputs", ("pass", "guarantee", "answers"), tuple(rows))

    def __str__(self) -> str:
        if self.counterexample is not None:
            return str(self.counterexample)
        names = ", ".join(stage.name for stage in self.stages)
        guarantees = ", ".join(dict.fromkeys(guarantee.value for guarantee in self.guarantees))
        if not self.changed:
            return f"{names}: the program is left as it is"
        found = f"{names}: answers are the same ({guarantees}) on {self.runs} sets of inputs"
        return found if self.is_own else f"{found}; but no pattern was applied, only folding and dead operations"

    def __repr__(self) -> str:
        verdict = "passed" if self.counterexample is None else str(self.counterexample.failure).splitlines()[0]
        return fitted(f"<PipelineCheck of {len(self.stages)} passes: {verdict}>")

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
    target: Target | None = ...,
    seed: int = 0,
) -> CheckResult: ...


@overload
def check(
    program: Program,
    pipeline: PassLike,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    guarantee: NumericGuarantee | None = None,
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
    target: Target | None = None,
    guarantee: NumericGuarantee | None = None,
    seed: int = 0,
    reduce: bool = True,
    progress: ReductionProgress | None = None,
) -> CheckResult | PipelineCheck:
    """Checks what becomes of a program: on the chip, or in a pipeline.

    ``check(program)`` compiles the program, simulates it, and compares with the reference interpreter within the
    bound of `differential`.

    ``check(program, pipeline)`` runs the passes one by one on a copy, evaluates before and after each, and compares
    results, final contents of mutable variables, and final contents of inputs. The first pass that breaks the guarantee
    is named. `program` itself stays as it is.

    Args:
        program: a valid program.
        pipeline: see `PassLike`.
        inputs: by name; without them, drawn from `seed`.
        options: for a compiled program: how it is compiled.
        target: for a compiled program: for what; by default the target that it names.
        guarantee: for a pipeline: what each of its passes is held to; without it, to its own guarantee, and functions
        to
            `NumericGuarantee.BITWISE`.
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
    guarantees = tuple(guarantee or stage.guarantee for stage in stages)
    given = None if inputs is None else [InputSet("given", {name: np.asarray(array) for name, array in inputs.items()})]
    program.verify()
    verdict = judge(program, stages, guarantees, lambda: given or tuple(input_sets(program, seed)), evaluate=True)
    failure = verdict.failure
    counterexample = None
    if failure is not None:
        counterexample = Counterexample(program.clone(), stages, failure, guarantee, found_at=failure.index)
        if reduce:
            counterexample = reduce_counterexample(counterexample, seed, progress)
    return PipelineCheck(
        stages,
        guarantees,
        verdict.runs,
        counterexample,
        verdict.after,
        verdict.changed,
        verdict.is_own,
        verdict.applied,
    )


# --- reduction -----------------------------------------------------------------------------------------------------


def reduce_counterexample(
    found: Counterexample, seed: int = 0, progress: ReductionProgress | None = None, watch: Run = plainly
) -> Counterexample:
    """The same failure of a smaller program and a shorter pipeline; `watch` runs the passes (`judge`)."""
    kind, culprit = found.failure.kind, found.failure.stage.subject
    stages, failing = found.stages[: found.failure.index + 1], found.failure.inputs

    def guarantees_of(stages: tuple[CheckedStage, ...]) -> tuple[NumericGuarantee, ...]:
        return tuple(found.guarantee or stage.guarantee for stage in stages)

    def judged(
        program: Program, stages: tuple[CheckedStage, ...], inputs: Mapping[str, Array] | None, max_steps: int
    ) -> Verdict:
        guarantees = guarantees_of(stages)
        given = None if inputs is None else [InputSet("given", inputs)]
        return judge(
            program,
            stages,
            guarantees,
            lambda: given or tuple(input_sets(program, seed)),
            watch=watch,
            max_steps=max_steps,
        )

    precision = "f64" if guarantees_of(stages)[0] is NumericGuarantee.FORMATS else "native"
    max_steps = 100 + observe(found.program, failing, precision, max_steps=MAX_STEPS).steps

    def failure_of(
        program: Program, stages: tuple[CheckedStage, ...], *, only: Mapping[str, Array] | None = None
    ) -> Failure | None:
        sets = [only] if only is not None else [_fitted(program, failing, seed), None]
        for inputs in sets:
            try:
                failure = judged(program, stages, inputs, max_steps).failure
            except EvaluationError:
                continue
            if failure is not None and failure.kind == kind and failure.stage.subject is culprit:
                return failure
        return None

    def shorter(stages: tuple[CheckedStage, ...]) -> tuple[CheckedStage, ...]:
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
