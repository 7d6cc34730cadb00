"""Finding the first step of a pipeline that makes a program wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import ArrayLike

from tx8ir.core import Location, Operation, Program, print_op
from tx8ir.core.location import UNKNOWN
from tx8ir.interpreter import evaluate
from tx8ir.rewriting.actions import Action, ActionHandler, ActionKind
from tx8ir.support.screen import fitting_repr

from .manager import PassManager

Oracle: TypeAlias = Callable[[Program], bool]
"""Says whether a program is right. It may change what it is given."""


@attrs.frozen(eq=False)
class WrongStep:
    """The first step after which a program is wrong.

    Attributes:
        index: its number among the steps that are tried, from 1.
        total: how many are tried when all are taken.
        kind, name: what it is: a pass, a pattern or a fold.
        operation: the text of the operation it was tried on, before it.
        location: where that comes from.
        before: the text of the program after all steps before it.
        after: the text of the program after it.
        error: what running or asking about the program raised, if that is what is wrong.
    """

    __repr__ = fitting_repr

    index: int
    total: int
    kind: ActionKind
    name: str
    operation: str
    location: Location
    before: str
    after: str
    error: Exception | None

    def __str__(self) -> str:
        what = "a fold" if self.kind == "fold" else f"{self.kind} '{self.name}'"
        place = f", at {self.location}" if self.location.is_known else ""
        shown = self.operation.split("\n", 1)[0]
        lines = [f"step {self.index} of {self.total}, {what}, is the first that makes the program wrong{place}:"]
        lines.append(f"  {shown}")
        if self.error is not None:
            lines.append(f"  {type(self.error).__name__}: {self.error}")
        return "\n".join(lines)


def find_wrong_step(program: Program, manager: PassManager, is_right: Oracle) -> WrongStep | None:
    """The first step of a pipeline, by halves, after which a program is wrong; None where it is right in the end.

    A step is a pass that is run, a pattern that is tried, or a fold. With the first n steps taken and all others left
    out, the program is asked about; an exception, of the pipeline or of `is_right`, counts as wrong. Where right and
    wrong alternate, it is one of the steps at which right becomes wrong. The program itself is left as it is.

    Cost: as many runs of the pipeline as the number of steps has bits.

    Args:
        program: what the pipeline runs on, right as it is.
        manager: the pipeline.
        is_right: asked about copies; `same_results` makes one from the reference interpreter.

    Raises:
        ValueError: the program is wrong before any step.
    """
    trial = _Trial(program, manager, is_right)
    everything = trial.run(None)
    if everything.is_right:
        return None
    if not trial.run(0).is_right:
        raise ValueError("the program is wrong before the first step, so no step is to blame")
    right, wrong = 0, everything.steps
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if trial.run(middle).is_right:
            right = middle
        else:
            wrong = middle
    before, after = trial.run(right), trial.run(wrong)
    found = after.last
    assert found is not None  # it is the step with the number `wrong`
    return WrongStep(
        wrong,
        everything.steps,
        found.kind,
        found.name,
        after.shown,
        after.location,
        before.text,
        after.text,
        after.error,
    )


def same_results(program: Program, inputs: Mapping[str, ArrayLike], *, rtol: float = 0.0, atol: float = 0.0) -> Oracle:
    """An oracle: a program is right when the reference interpreter computes for it what it computes for `program`.

    Args:
        program: which is right; evaluated once, now.
        inputs: an array for each of its inputs.
        rtol, atol: how far a number may be off, as in `numpy.isclose`; NaN equals NaN. By default not at all.
    """
    expected = evaluate(_copy(program), inputs)

    def is_right(other: Program) -> bool:
        found = evaluate(other, inputs)
        return list(found) == list(expected) and all(
            found[name].shape == array.shape
            and np.allclose(found[name].astype(np.float64), array.astype(np.float64), rtol, atol, equal_nan=True)
            for name, array in expected.items()
        )

    return is_right


@attrs.define(eq=False)
class _Outcome(ActionHandler):
    """One run: takes the first steps, and keeps what the last one of them was tried on."""

    limit: int | None
    steps: int = 0
    last: Action | None = None
    shown: str = ""
    location: Location = UNKNOWN
    text: str = ""
    is_right: bool = False
    error: Exception | None = None

    def should_run(self, action: Action) -> bool:
        self.steps += 1
        if self.steps == self.limit:
            self.last, self.shown, self.location = action, _shown(action.op), action.op.location
        return self.limit is None or self.steps <= self.limit


@attrs.frozen(eq=False)
class _Trial:
    program: Program
    manager: PassManager
    is_right: Oracle

    def run(self, limit: int | None) -> _Outcome:
        """What becomes of a copy of the program when the first steps are taken; all of them for None."""
        outcome, program = _Outcome(limit), _copy(self.program)
        try:
            with outcome.active():
                self.manager.run(program, verify_each=False)
            outcome.text = print_op(program.module)
            program.verify()
            outcome.is_right = self.is_right(program)
        except Exception as error:
            outcome.error = error
            outcome.text = outcome.text or _shown(program.module)
        return outcome


def _copy(program: Program) -> Program:
    return Program(program.module.clone(), program.weights.copy())


def _shown(op: Operation) -> str:
    try:
        return print_op(op)
    except Exception as error:  # what a broken pass leaves may not be printable
        return f"<{op.name}, which cannot be printed: {error}>"
