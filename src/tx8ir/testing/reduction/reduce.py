"""Delta debugging of programs: the smallest program found that still fails.

`reduce_program(program, fails)` tries smaller and smaller edits, each on a copy: fewer results, regions replaced by
what is inside them, operations dropped in chunks and then one by one (their results replaced by an operand, an argument
or a constant), fewer arguments and functions, smaller extents. An edit stays when the program is still valid and
`fails` still holds. It ends when no edit is left that does, so the result is minimal with respect to these edits.

After Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (IEEE TSE 28, 2002), with the
replacements of llvm-reduce and mlir-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import IrError, Operation, Program, Terminator, detached
from tx8ir.dialects import builtin, func

from .control_flow import (
    branch_to_first,
    branch_to_second,
    inline_call,
    inline_if_else,
    inline_if_then,
    leave_loop,
    merge_into_predecessor,
    narrowing,
    skip_while,
    unroll_while,
)
from .operations import (
    LEAVES,
    Edit,
    any_argument,
    drop_argument,
    drop_functions,
    drop_range,
    drop_variables,
    keep_results,
    merge_arguments,
    new_argument,
    ones,
    operand_number,
    replacing,
    return_only,
    return_operand,
    zeros,
)
from .tensor_types import extents, replace_extent


def count_operations(program: Program) -> int:
    """How many operations a reader sees: all but the module, its functions and their returns."""
    hidden = (builtin.ModuleOp, func.FuncOp, func.ReturnOp)
    return sum(not isinstance(op, hidden) for op in program.module.walk())


ReductionProgress: TypeAlias = Callable[[int, int], object]
"""Told of each smaller program that still fails: its operations, and how many programs were tried so far."""


def reduce_program(
    program: Program,
    fails: Callable[[Program], bool],
    *,
    max_trials: int = 1500,
    progress: ReductionProgress | None = None,
) -> Program:
    """A copy of `program`, reduced as far as `fails` still holds; with public names for all arguments and results.

    Args:
        program: a program that fails. It is not changed.
        fails: told of a valid program; whether it fails in the way that is looked for. What it raises counts as no.
        max_trials: how often `fails` is asked at most.
        progress: told of each step.
    """
    start = program.clone()
    main = start.main
    main.set_attribute("arg_names", tuple(start.inputs))
    main.set_attribute("result_names", tuple(start.outputs))
    return _Reduction(start, fails, max_trials, progress).run()


class _Reduction:
    def __init__(
        self,
        program: Program,
        fails: Callable[[Program], bool],
        max_trials: int,
        progress: ReductionProgress | None,
    ) -> None:
        self.program = program
        self.fails = fails
        self.max_trials = self.trials_left = max_trials
        self.progress = progress
        self.rounds = 0

    def run(self) -> Program:
        steps = (
            self.fewer_results,
            self.earlier_results,
            self.fewer_operations,
            self.flatter,
            self.narrower,
            self.simpler_operations,
            self.fewer_arguments,
            self.smaller_extents,
            self.another_result,
        )
        size = -1
        while size != (size := len(str(self.program))) and self.trials_left > 0:
            for step in steps:
                step()
        return self.program

    def attempt(self, edit: Edit, *, flattens: bool = False, drops: bool = False) -> bool:
        """Keeps the edit of a copy if that is valid and still fails.

        With `flattens` it must leave less control flow and may add a few operations, else it may add none; with `drops`
        it must leave fewer.
        """
        if self.trials_left <= 0:
            return False
        candidate = self.program.clone()
        try:
            with detached():
                if not edit(candidate):
                    return False
            if flattens and not _control(candidate) < _control(self.program):
                return False
            if count_operations(candidate) > count_operations(self.program) + _SLACK * flattens - drops:
                return False
            candidate.verify()
        except IrError:
            return False
        self.trials_left -= 1
        try:
            failing = self.fails(candidate)
        except Exception:  # another failure than the one looked for
            return False
        if failing:
            self.program = candidate
            if self.progress is not None:
                self.progress(count_operations(candidate), self.max_trials - self.trials_left)
        return failing

    # --- the steps -------------------------------------------------------------------------------------------------

    def fewer_results(self) -> None:
        """One result alone, else without each in turn; none at all where only effects matter."""
        count = len(self.program.outputs)
        if not count or self.attempt(lambda p: keep_results(p, ())):
            return
        if any(self.attempt(lambda p, i=i: keep_results(p, (i,))) for i in range(count) if count > 1):
            return
        for i in reversed(range(count)):
            kept = [k for k in range(len(self.program.outputs)) if k != i]
            self.attempt(lambda p, kept=kept: keep_results(p, kept))

    def earlier_results(self) -> None:
        """What a result is computed of, in its place."""
        for i in range(len(self.program.outputs)):
            while any(self.attempt(lambda p, i=i, k=k: return_operand(p, i, k)) for k in range(3)):
                pass

    def another_result(self) -> None:
        """One value alone as the result: seen at once, not by what it decides. In the first rounds only, so that
        results do not take turns.
        """
        self.rounds += 1
        if self.rounds <= _ROUNDS_OF_RESULTS:
            positions = range(len(list(self.program.module.walk())))
            any(self.attempt(lambda p, at=position: return_only(p, at)) for position in positions)

    def flatter(self) -> None:
        """Regions, calls and branches replaced by what they would run."""
        edits = (inline_if_then, inline_if_else, skip_while, unroll_while, inline_call, branch_to_first,
                 branch_to_second, merge_into_predecessor)  # fmt: skip
        position = 0
        while position < len(ops := list(self.program.module.walk())):
            kind = ops[position]
            if not kind.regions and not kind.successors and not isinstance(kind, func.CallOp):
                position += 1
                continue
            if not any(self.attempt(_at(position, edit), flattens=True) for edit in edits):
                self.attempt(_at(position, leave_loop))
                position += 1

    def narrower(self) -> None:
        """Fewer values carried by loops, given by branches, passed to functions, held by lists; fewer blocks."""
        position = 0
        while position < len(ops := list(self.program.module.walk())):
            edits = list(narrowing(ops[position]))
            if not any(self.attempt(_at(position, edit)) for edit in edits):
                position += 1

    def fewer_operations(self) -> None:
        """Chunks of operations dropped, from halves down to single ones, the last first."""
        size = max(1, count_operations(self.program) // 2)
        while True:
            end = len(list(self.program.module.walk()))
            while end > 0:
                start = max(0, end - size)
                self.attempt(lambda p, start=start, end=end: drop_range(p, start, end), drops=True)
                end = min(start, len(list(self.program.module.walk())))
            if size == 1:
                return
            size //= 2

    def simpler_operations(self) -> None:
        """Single operations replaced by each operand, by an argument, and by constants."""
        position = 0
        while position < len(ops := list(self.program.module.walk())):
            op = ops[position]
            if op.regions or op.has_trait(Terminator) or not op.results:
                position += 1
                continue
            choices = [operand_number(k) for k in range(len(op.operands))] + [any_argument, new_argument]
            if not isinstance(op, LEAVES):
                choices += [zeros, ones]
            drops = isinstance(op, LEAVES)
            if not any(self.attempt(_at(position, replacing(choice)), drops=drops) for choice in choices):
                position += 1

    def fewer_arguments(self) -> None:
        """Arguments of `main` made one; those that nothing uses, other functions and variables dropped."""
        for index in reversed(range(1, len(self.program.inputs))):
            self.attempt(lambda p, index=index: merge_arguments(p, index))
        self.attempt(drop_functions)
        self.attempt(drop_variables)
        for index in reversed(range(len(self.program.inputs))):
            self.attempt(lambda p, index=index: drop_argument(p, index))

    def smaller_extents(self) -> None:
        """Each extent replaced, everywhere, by 1, or else by 2."""
        for extent in sorted(extents(self.program), reverse=True):
            for smaller in (1, 2):
                if smaller < extent and self.attempt(lambda p, e=extent, s=smaller: replace_extent(p, e, s)):
                    break


_ROUNDS_OF_RESULTS = 3

_SLACK = 10
"""How many operations the copy of a body may add."""


def _control(program: Program) -> int:
    """How many operations have regions, go to other blocks or call."""
    return sum(bool(op.regions or op.successors) or isinstance(op, func.CallOp) for op in program.module.walk())


def _at(position: int, edit: Callable[[Program, Operation], bool]) -> Edit:
    """The edit, of the operation at a position of the walk."""

    def apply(program: Program) -> bool:
        for number, op in enumerate(program.module.walk()):
            if number == position:
                return edit(program, op)
        return False

    return apply


# --- inputs --------------------------------------------------------------------------------------------------------


def reduce_inputs(
    inputs: dict[str, NDArray[Any]], fails: Callable[[dict[str, NDArray[Any]]], bool], *, max_trials: int = 300
) -> dict[str, NDArray[Any]]:
    """Inputs with as many numbers as possible replaced by 0, 1, 2 or 0.5, where `fails` still holds.

    Whole arrays first, then single numbers; `max_trials` bounds how often `fails` is asked.
    """
    current = dict(inputs)
    trials = 0
    for name, array in inputs.items():
        for places, number in _simpler(array):
            changed = np.array(current[name])
            changed[places] = number
            if trials >= max_trials or np.array_equal(changed, current[name]):
                continue
            trials += 1
            candidate = {**current, name: changed}
            if fails(candidate):
                current = candidate
    return current


def _simpler(array: NDArray[Any]) -> Iterator[tuple[Any, float]]:
    places = [..., *np.ndindex(array.shape)] if array.ndim else [...]
    for place in places:
        for number in (0.5, 2, 1, 0) if array.dtype.kind not in "iub" else (2, 1, 0):
            if array.dtype.kind != "b" or number < 2:
                yield place, number
