"""Dense analyses: a state for each point of the program, between any two operations."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from tx8ir.core import Block, CallLike, Operation

from .base import DataFlowAnalysis, Point

StateT = TypeVar("StateT")


class _Exit(NamedTuple):
    """Where all returns of a function meet, and its calls go on: so that not each knows each."""

    function: Operation


_Anchor: TypeAlias = "Operation | Block | _Exit"


class _DenseAnalysis(DataFlowAnalysis, Generic[StateT]):
    """What both directions have in common: states, and where they go beside from operation to operation."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[_Anchor, StateT] = {}
        self._ways: dict[_Anchor, list[_Anchor]] = {}
        self._opaque: set[Operation] = set()

    @abstractmethod
    def join(self, one: StateT, other: StateT) -> StateT:
        """What is known where either may be; `one` itself when that says all that `other` does."""

    @abstractmethod
    def transfer(self, op: Operation, state: StateT) -> StateT:
        """What holds on the other side of an operation.

        Asked of an operation with regions, or of a call, only when the solver does not see where control goes in it.
        """

    @abstractmethod
    def before(self, op: Operation) -> StateT | None:
        """What holds right before an operation; None when control does not come there."""

    @abstractmethod
    def after(self, op: Operation) -> StateT | None:
        """What holds right after an operation; None when control does not come there."""

    @abstractmethod
    def _input(self, op: Operation) -> StateT | None:
        """What holds on the side of an operation that is visited first."""

    @abstractmethod
    def _learned(self, point: Point, state: StateT) -> None:
        """Go on from a point whose state has changed."""

    def visit(self, op: Operation) -> None:
        state = self._input(op)
        if state is None:
            return
        if _is_crossed(op) or op in self._opaque:
            self._learn(op, self.transfer(op, state))
        else:
            self._follow(op, state)

    def _learn(self, anchor: _Anchor, state: StateT) -> None:
        """Join what may hold at a point into what is known of it."""
        states = self._states
        if anchor in states:
            known = states[anchor]
            state = self.join(known, state)
            if state is known:
                return
        states[anchor] = state
        if isinstance(anchor, _Exit):
            self._follow(anchor, state)
        else:
            self._learned(anchor, state)

    def _follow(self, anchor: _Anchor, state: StateT) -> None:
        for target in self._ways.get(anchor, ()):
            self._learn(target, state)

    def _add_way(self, source: _Anchor, target: _Anchor, state: StateT | None) -> None:
        self._ways.setdefault(source, []).append(target)
        if state is not None:
            self._learn(target, state)

    def _make_opaque(self, op: Operation) -> None:
        self._opaque.add(op)
        self.push(op)


class DenseForwardAnalysis(_DenseAnalysis[StateT]):
    """States go with control: what holds when control is at a point, whichever way it came."""

    @abstractmethod
    def entry_state(self, block: Block) -> StateT:
        """What holds at the start of a block that control enters from where the solver does not see."""

    def before(self, op: Operation) -> StateT | None:
        return self._input(op)

    def after(self, op: Operation) -> StateT | None:
        return self._states.get(op)

    def _input(self, op: Operation) -> StateT | None:
        previous = op.prev_op
        if previous is not None:
            return self._states.get(previous)
        return self._states.get(op.parent) if op.parent is not None else None

    def _learned(self, point: Point, state: StateT) -> None:
        following = point.first_op if isinstance(point, Block) else point.next_op
        if following is not None:
            self.push(following)
        elif not isinstance(point, Block):
            self._follow(point, state)

    def block_reached(self, block: Block) -> None:
        if block.first_op is not None:
            self.push(block.first_op)

    def control_enters(self, target: Point) -> None:
        if isinstance(target, Block):
            self._learn(target, self.entry_state(target))
        else:
            self._make_opaque(target)

    def control_forwarded(self, source: Operation, target: Point) -> None:
        self._add_way(source, target, self._states.get(source) if _is_crossed(source) else self._input(source))

    def called(self, call: Operation, function: Operation) -> None:
        end = _Exit(function)
        self._add_way(end, call, self._states.get(end))

    def returned(self, function: Operation, end: Operation) -> None:
        self._add_way(end, _Exit(function), self._states.get(end))


class DenseBackwardAnalysis(_DenseAnalysis[StateT]):
    """States go against control: what holds of all that may happen from a point on.

    Where control never leaves a loop, nothing is known of the points in it.
    """

    @abstractmethod
    def exit_state(self, op: Operation) -> StateT:
        """What holds after a terminator from which control goes where the solver does not see."""

    def before(self, op: Operation) -> StateT | None:
        return self._states.get(op)

    def after(self, op: Operation) -> StateT | None:
        return self._input(op)

    def _input(self, op: Operation) -> StateT | None:
        following = op.next_op
        if following is not None:
            return self._states.get(following)
        return self._states.get(op.parent) if op.parent is not None else None

    def _learned(self, point: Point, state: StateT) -> None:
        previous = point.last_op if isinstance(point, Block) else point.prev_op
        if previous is not None:
            self.push(previous)
            return
        start = point if isinstance(point, Block) else point.parent
        if start is not None:
            self._follow(start, state)

    def block_reached(self, block: Block) -> None:
        if block.last_op is not None:
            self.push(block.last_op)

    def control_escapes(self, source: Operation) -> None:
        if _is_crossed(source) and source.parent is not None:
            self._learn(source.parent, self.exit_state(source))
        else:
            self._make_opaque(source)

    def control_forwarded(self, source: Operation, target: Point) -> None:
        end = _end_of(source)
        if isinstance(target, Block):
            first = target.first_op
            self._add_way(target, end, self._states.get(first if first is not None else target))
        else:
            self._add_way(target, end, self._input(target))

    def called(self, call: Operation, function: Operation) -> None:
        self._add_way(call, _Exit(function), self._input(call))

    def returned(self, function: Operation, end: Operation) -> None:
        exit = _Exit(function)
        self._add_way(exit, _end_of(end), self._states.get(exit))


def _is_crossed(op: Operation) -> bool:
    """Whether control goes through `op`, not into it: it has no regions and calls nothing."""
    return not op.regions and CallLike not in op.info.interfaces


def _end_of(source: Operation) -> Point:
    """Where control is when it leaves a source: at the end of the block of a terminator, or before what it enters."""
    if _is_crossed(source) and source.parent is not None:
        return source.parent
    return source
