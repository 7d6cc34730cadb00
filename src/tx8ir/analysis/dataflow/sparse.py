"""Sparse analyses: a state for each value, which travels along uses."""

# The innermost loops go along chains of uses and blocks.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from tx8ir.core import Block, Operation, Value

from .base import DataFlowAnalysis

StateT = TypeVar("StateT")


class Returned(NamedTuple):
    """What a function returns: it stands between its returns and its calls, so that not each knows each."""

    function: Operation
    place: int


Anchor: TypeAlias = "Value | Returned"
"""What has a state."""


class _SparseAnalysis(DataFlowAnalysis, Generic[StateT]):
    """What both directions have in common: states, and where they flow."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[Anchor, StateT] = {}
        self._flows: dict[Anchor, list[Anchor]] = {}
        self._dependents: dict[Anchor, dict[tuple[DataFlowAnalysis, Operation], None]] = {}

    @abstractmethod
    def join(self, one: StateT, other: StateT) -> StateT:
        """What is known where either may be; `one` itself when that says all that `other` does."""

    @abstractmethod
    def transfer(self, op: Operation) -> None:
        """Learn what an operation without control flow says; some state that it reads may not be known yet."""

    def visit(self, op: Operation) -> None:
        if not op._regions:  # otherwise control flow that nothing is known of
            self.transfer(op)

    def state(self, value: Value) -> StateT | None:
        """What is known of a value; None before anything is, and for what is never reached."""
        return self.states.get(value)

    def depend(self, value: Value, analysis: DataFlowAnalysis, op: Operation) -> None:
        """Let `analysis` visit `op` when what is known of the value changes."""
        self._dependents.setdefault(value, {})[analysis, op] = None

    def learn(self, anchor: Anchor, state: StateT) -> None:
        """Join what may hold of a value into what is known of it, and visit what that changes."""
        states = self.states
        work = [(anchor, state)]
        while work:
            anchor, state = work.pop()
            if anchor in states:
                known = states[anchor]
                state = self.join(known, state)
                if state is known:
                    continue
                state = self.widened(anchor, known, state)
            states[anchor] = state
            if not isinstance(anchor, Returned):
                self._push_readers(anchor)
            if anchor in self._dependents:
                for analysis, op in self._dependents[anchor]:
                    analysis.push(op)
            if anchor in self._flows:
                work += [(target, state) for target in self._flows[anchor]]

    def widened(self, anchor: Anchor, known: StateT, state: StateT) -> StateT:
        """A state above `state`, such that it cannot grow forever. For lattices of bounded height `state` itself."""
        return state

    def flow(self, source: Anchor, target: Anchor) -> None:
        """From now on what is known of the source may hold of the target."""
        self._flows.setdefault(source, []).append(target)
        if source in self.states:
            self.learn(target, self.states[source])

    def flows(self) -> dict[Anchor, list[Anchor]]:
        """For each target of `flow` its sources."""
        found: dict[Anchor, list[Anchor]] = {}
        for source, targets in self._flows.items():
            for target in targets:
                found.setdefault(target, []).append(source)
        return found

    @abstractmethod
    def _push_readers(self, value: Value) -> None:
        """Visit the operations that read the state of a value."""


class SparseForwardAnalysis(_SparseAnalysis[StateT]):
    """States go from operands to results: what a value may be; `transfer` learns about results.

    Values of which nothing is known have no state; `learn` moves a state up, by `join`.
    """

    @abstractmethod
    def entry_state(self, value: Value) -> StateT:
        """What holds of a value about which nothing can be known."""

    def block_reached(self, block: Block) -> None:
        kinds = self.solver.dead_code.kinds
        for op in block:
            if op._results and not kinds[op.__class__]:
                self.push(op)

    def give_up(self, values: Sequence[Value]) -> None:
        """Learn that nothing can be known of these values."""
        for value in values:
            self.learn(value, self.entry_state(value))

    def values_enter(self, values: Sequence[Value]) -> None:
        self.give_up(values)

    def values_forwarded(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            self.flow(source, target)

    def called(self, call: Operation, function: Operation) -> None:
        for index, result in enumerate(call.results):
            self.flow(Returned(function, index), result)

    def returned(self, function: Operation, end: Operation) -> None:
        for index, value in enumerate(end.operands):
            self.flow(value, Returned(function, index))

    def _push_readers(self, value: Value) -> None:
        kinds, reached = self.solver.dead_code.kinds, self.solver.reached
        queued, work = self._queued, self._work
        use = value._first_use
        while use is not None:
            op = use._owner
            if op not in queued and op._parent in reached and not kinds[op.__class__]:
                queued.add(op)
                work.append(op)
            use = use._next


class SparseBackwardAnalysis(_SparseAnalysis[StateT]):
    """States go from results to operands: how a value may be used; `transfer` learns about operands.

    What nothing says otherwise of has no state. Only code that control may reach uses a value.
    """

    @abstractmethod
    def exit_state(self, value: Value) -> StateT:
        """What holds of a value that goes where the solver does not see."""

    @abstractmethod
    def transfer(self, op: Operation) -> None:
        """Learn about the operands of an operation without control flow. Some result may have no state yet."""

    def block_reached(self, block: Block) -> None:
        kinds = self.solver.dead_code.kinds
        op = block.last_op
        while op is not None:
            if not kinds[op.__class__]:
                self.push(op)
            op = op.prev_op

    def values_escape(self, values: Sequence[Value], op: Operation) -> None:
        for value in values:
            self.learn(value, self.exit_state(value))

    def values_decide(self, values: Sequence[Value], op: Operation) -> None:
        for value in values:
            self.learn(value, self.exit_state(value))

    def values_forwarded(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            self.flow(target, source)

    def called(self, call: Operation, function: Operation) -> None:
        for index, result in enumerate(call.results):
            self.flow(result, Returned(function, index))

    def returned(self, function: Operation, end: Operation) -> None:
        for index, value in enumerate(end.operands):
            self.flow(Returned(function, index), value)

    def _push_readers(self, value: Value) -> None:
        op = value.defining_op
        if op is not None and not self.solver.dead_code.kinds[op.__class__]:
            self.push(op)
