"""Which values matter: something that others see depends on them."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import CallLike, Operation, Program, RegionBranch, Terminator, Value
from tx8ir.core.ir.region_branch import region_branch_around

from .dataflow import DataFlowSolver, SparseBackwardAnalysis
from .effects import DroppableKinds, is_droppable


class Liveness(SparseBackwardAnalysis[bool]):
    """A value is live when an operation with an effect uses it, or one that makes a live value does.

    What is given to a region, a block or a function is live when the argument that it becomes is. A condition of an
    operation with regions is live when a result of that operation is, or when something inside of it has an effect;
    that of a branch between blocks always is. A loop is taken to end.

    Calls, and operations of which nothing is known, have effects. Code that control cannot reach uses nothing. After
    MLIR's LivenessAnalysis.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds = DroppableKinds()
        self._deciding: dict[Operation, list[Value]] = {}
        self._needed: set[Operation] = set()
        self._have_effects: set[Operation] = set()

    def is_live(self, value: Value) -> bool:
        """Whether something that others see may depend on what `value` holds."""
        return value in self.states

    def has_effect(self, op: Operation) -> bool:
        """Whether others may see that `op`, an operation without regions that is not a terminator, runs."""
        return not is_droppable(op, self._kinds)

    def join(self, one: bool, other: bool) -> bool:
        return one

    def exit_state(self, value: Value) -> bool:
        return True

    def visit(self, op: Operation) -> None:
        if op in self._deciding:
            self._need(op)
        elif not op.regions:
            self.transfer(op)

    def transfer(self, op: Operation) -> None:
        has_effect = self.has_effect(op)
        if has_effect:
            self._need_around(op)
        if has_effect or any(result in self.states for result in op.results):
            self.use_operands(op)

    def use_operands(self, op: Operation) -> None:
        """Learn that all operands of `op` are live."""
        for value in op.operands:
            self.learn(value, True)

    def values_escape(self, values: Sequence[Value], op: Operation) -> None:
        super().values_escape(values, op)
        if Terminator not in op.info.traits:
            self._need_around(op)

    def called(self, call: Operation, function: Operation) -> None:
        super().called(call, function)
        self._need_around(call)

    def values_decide(self, values: Sequence[Value], op: Operation) -> None:
        if op.successors or CallLike in op.info.interfaces:
            super().values_decide(values, op)
            return
        around = op if RegionBranch in op.info.interfaces else None
        if around is None and region_branch_around(op) is not None:
            around = op.parent_op
        assert around is not None  # nothing else decides
        if around in self._needed:
            super().values_decide(values, op)
            return
        self._deciding.setdefault(around, []).extend(values)
        for result in around.results:
            if result in self.states:
                self._need(around)
                break
            self.depend(result, self, around)

    def _need(self, op: Operation) -> None:
        """Learn that it matters which regions of `op` run."""
        self._needed.add(op)
        for value in self._deciding.pop(op, ()):
            self.learn(value, True)

    def _need_around(self, op: Operation) -> None:
        around = op.parent_op
        while around is not None and around not in self._have_effects:
            self._have_effects.add(around)
            self._need(around)
            around = around.parent_op


def liveness(program: Program) -> Liveness:
    """What is live in a program, calls followed. O(operations + uses)."""
    solver = DataFlowSolver(program.module)
    found = solver.load(Liveness())
    solver.run()
    return found
