"""What the alias analysis answers, against what programs do: generated programs run with an eye on their storage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from numpy.typing import NDArray

from tx8ir.analysis import AliasAnalysis
from tx8ir.core import Operation, Program, Value
from tx8ir.interpreter import EvaluationError, Interpreter
from tx8ir.interpreter.storage import Storage, TensorRef
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.passes.observe import NumericGuarantee, difference, observe
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program
from tx8ir.testing.programs.storage import in_place
from tx8ir.testing.programs.views import tensor_view


def storages_in(value: Any) -> Iterator[Storage]:
    """The storages that a runtime value holds."""
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, TensorRef):
            yield item.storage
        elif isinstance(item, tuple):
            work += item
        elif isinstance(item, dict):
            work += item.values()


class Watched(Interpreter):
    """Checks the analysis against every moment of a run.

    After each operation: values of one activation that hold one storage may alias. At each write: the operation, and
    each operation around it or calling it, may write every value there that holds the storage.
    """

    def __init__(self, program: Program, analysis: AliasAnalysis) -> None:
        super().__init__(program)
        self.analysis = analysis
        self.frames: list[Any] = []
        self.changed: list[Storage] = []
        self.aliases = self.writes = 0

    def _resume(self, frames: Any, results: Any) -> None:
        self.frames = frames
        super()._resume(frames, results)

    def _enter(self, request: Any, values: Any) -> Any:
        frame = super()._enter(request, values)
        if not self.frames:
            self.frames = [frame]
        return frame

    def _start(self, step: Any, *given: Any) -> Any:
        outcome = super()._start(step, *given)
        for storage in self.changed:
            self._written(step.op, storage)
        self.changed.clear()
        return outcome

    def _written(self, op: Operation, storage: Storage) -> None:
        self.writes += 1
        ops = [frame.waiting.op for frame in self.frames[:-1]] + [op]
        for frame, writer in zip(self.frames, ops, strict=True):
            for value, held in frame.values.items():
                if any(found is storage for found in storages_in(held)):
                    assert self.analysis.may_write(writer, value), f"{writer} writes {value}"
                    assert self.analysis.is_written(value), f"{writer} writes {value}"

    def _finish(self, frame: Any, step: Any, results: Any) -> None:
        super()._finish(frame, step, results)
        holding: dict[Storage, list[Value]] = {}
        for value, held in frame.values.items():
            for storage in set(storages_in(held)):
                holding.setdefault(storage, []).append(value)
        for values in holding.values():
            for a, b in itertools.combinations(values, 2):
                self.aliases += 1
                assert self.analysis.may_alias(a, b), f"{a} and {b} hold one storage"


def watch(program: Program) -> Watched:
    watched = Watched(Program(program.module, program.weights.copy()), AliasAnalysis(program))
    write = TensorRef.write

    def noted(tensor: TensorRef, content: NDArray[Any]) -> None:
        watched.changed.append(tensor.storage)
        write(tensor, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TensorRef, "write", noted)
        watched.run(draw_inputs(program, 0))
    return watched


def swappable(program: Program, analysis: AliasAnalysis) -> Sequence[tuple[Operation, Operation]]:
    """Neighbours that may change places and that touch storage, so that it matters."""
    found: list[tuple[Operation, Operation]] = []
    for op in program.module.walk():
        following = op.next_op if op.parent is not None else None
        if following is None or op.name == "func.func" or not analysis.can_swap(op, following):
            continue
        if not (analysis.effects(op).none and analysis.effects(following).none):
            found.append((op, following))
    return found


def check_swaps(program: Program, limit: int) -> int:
    """Swaps neighbours one pair at a time; how many pairs there were to swap."""
    inputs = draw_inputs(program, 0)
    before = observe(program, inputs)
    pairs = swappable(program, AliasAnalysis(program))[:limit]
    for first, second in pairs:
        first.move_after(second)
        after = observe(program, inputs)
        assert difference(before, after, NumericGuarantee.BITWISE) is None, f"{second} went before {first}"
        first.move_before(second)
    return len(pairs)


def check_programs(examples: int) -> dict[str, int]:
    """Watches that many programs; how much there was to see."""
    seen = {"programs": 0, "aliases": 0, "writes": 0, "swaps": 0}

    def check(program: Program) -> None:
        try:
            watched = watch(program)
        except EvaluationError:
            return  # an index out of range
        seen["programs"] += 1
        seen["aliases"] += watched.aliases
        seen["writes"] += watched.writes
        seen["swaps"] += check_swaps(program, 4)

    for_each_program(tensor_programs(EVERYTHING, steps=[in_place, tensor_view]), examples, check)
    return seen


@pytest.mark.slow
def test_what_aliases_may_alias_what_writes_may_write_and_what_may_swap_does() -> None:
    seen = check_programs(60)
    assert seen["programs"] > 50
    assert seen["aliases"] > 1000
    assert seen["writes"] > 50
    assert seen["swaps"] > 30


@pytest.mark.nightly
def test_it_does_in_many_programs() -> None:
    assert check_programs(2000)["programs"] > 1800
