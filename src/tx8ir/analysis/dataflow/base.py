"""What the solver asks of an analysis, and tells it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from tx8ir.core import Attribute, Block, Operation, Region, Value

if TYPE_CHECKING:
    from .solver import DataFlowSolver

Point: TypeAlias = "Operation | Block"
"""A place in the program: of a forward analysis after the operation, or at the start of the block; of a backward one
before the operation, or at the end of the block."""


class NotYet:
    """What a value is of which nothing is known yet: it may still turn out to be a constant."""


NOT_YET: Final = NotYet()


class FlowEvents:
    """What an analysis is told while control and values are followed. The methods are for an analysis to define."""

    def initialize(self) -> None:
        """Called once, before anything is reached."""

    def finish(self) -> None:
        """Called once, when nothing changes any more: states may be made more precise, for those who ask later."""

    def block_reached(self, block: Block) -> None:
        """Control may enter `block`."""

    def values_forwarded(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """Control may go where each of `targets` becomes what the source at its place is."""

    def returned(self, function: Operation, end: Operation) -> None:
        """`end` returns its operands from `function`, which is called from operations that are told by `called`."""

    def called(self, call: Operation, function: Operation) -> None:
        """`call` may run `function`, and its results become what that returns."""

    def values_enter(self, values: Sequence[Value]) -> None:
        """Values that come from where the solver does not see: arguments of entries, results of unknown calls."""

    def values_made(self, values: Sequence[Value], op: Operation, region: Region | None) -> None:
        """Arguments of a region, or (None) results, that `op` makes itself when control goes there, as a counter."""
        self.values_enter(values)

    def values_escape(self, values: Sequence[Value], op: Operation) -> None:
        """Values that go where the solver does not see, by `op`: what a public function returns, say."""

    def values_decide(self, values: Sequence[Value], op: Operation) -> None:
        """Values by which the control flow of `op` decides where to go."""

    def control_forwarded(self, source: Operation, target: Point) -> None:
        """Control may go from a source to a target.

        Args:
            source: a terminator, after which control goes on elsewhere; or an operation with regions or a call, before
                which it does.
            target: a block that control enters; or an operation with regions or a call, which control leaves.
        """

    def control_enters(self, target: Point) -> None:
        """Control may come to a block, or out of an operation, from where the solver does not see."""

    def control_escapes(self, source: Operation) -> None:
        """Control may go where the solver does not see: from a return, or into an operation, by its regions."""


class DataFlowAnalysis(FlowEvents, ABC):
    """One analysis of a solver: visits operations, and is told where control and values go.

    What it concludes must hold for all that it was told so far, and only grow with more of it.
    """

    solver: DataFlowSolver

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __init__(self) -> None:
        self._work: deque[Operation] = deque()
        self._queued: set[Operation] = set()

    def push(self, op: Operation) -> None:
        """Visit `op` (again), if it is known to run."""
        if op not in self._queued and op.parent in self.solver.reached:
            self._queued.add(op)
            self._work.append(op)

    def drain(self) -> None:
        """Visit operations until the worklist is empty."""
        work, queued, visit = self._work, self._queued, self.visit
        while work:
            op = work.popleft()
            queued.discard(op)
            visit(op)

    @property
    def is_done(self) -> bool:
        """Whether the worklist is empty."""
        return not self._work

    @abstractmethod
    def visit(self, op: Operation) -> None:
        """Conclude what `op` says about the states around it, from those states as they are now."""


class DecidingAnalysis(ABC):
    """An analysis that may know constants, by which control decides."""

    @abstractmethod
    def constant(self, value: Value) -> Attribute | NotYet | None:
        """The constant that a value is, or None: it is not one, as far as this analysis can tell."""

    @abstractmethod
    def depend(self, value: Value, analysis: DataFlowAnalysis, op: Operation) -> None:
        """Let `analysis` visit `op` when what is known of the value changes."""
