"""`remove-dead-buffers`: storage that is written and never read goes, and the writes with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.dataflow import Anchor, DataFlowSolver
from tx8ir.analysis.effects import DroppableKinds, is_droppable
from tx8ir.analysis.liveness import Liveness
from tx8ir.core import HasValueSemantics, Inplace, Operation, Program, TensorType, Value
from tx8ir.dialects import builtin, func
from tx8ir.passes import OperationPass, register_pass


class _BufferLiveness(Liveness):
    """Liveness that sees through storage: a write to a function's own storage matters when that storage is live.

    A storage is live when a tensor in it is. Values that go with control or decide where it goes all are: what carries
    them stays.
    """

    def __init__(self, function: Operation, analysis: AliasAnalysis) -> None:
        super().__init__()
        self._analysis = analysis
        self._live_storages: set[int] = set()
        self._writers: defaultdict[int, list[Operation]] = defaultdict(list)
        self._operations = [op for op in function.walk() if op is not function]
        solver = DataFlowSolver(function)
        solver.load(self)
        solver.run()
        for op in self._operations:
            if op.parent not in solver.reached:  # it stays, and so does what it uses
                self.use_operands(op)
        self.drain()

    def _is_write_inside(self, op: Operation) -> bool:
        """Whether `op` writes storage that nobody outside of the function has, and does nothing else."""
        if Inplace not in op.info.traits or op.regions:
            return False
        written = op.operands[0]
        return bool(self._analysis.storages(written)) and not self._analysis.is_external(written)

    def transfer(self, op: Operation) -> None:
        if not self._is_write_inside(op):
            super().transfer(op)
            return
        storages = self._analysis.storages(op.operands[0])
        for storage in storages:
            self._writers[storage].append(op)
        if not storages.isdisjoint(self._live_storages) or any(self.is_live(result) for result in op.results):
            self.use_operands(op)

    def learn(self, anchor: Anchor, state: bool) -> None:
        super().learn(anchor, state)
        if isinstance(anchor, Value):
            for storage in self._analysis.storages(anchor) - self._live_storages:
                self._live_storages.add(storage)
                for writer in self._writers[storage]:
                    self.push(writer)

    def values_forwarded(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for value in sources:
            self.learn(value, True)

    def values_decide(self, values: Sequence[Value], op: Operation) -> None:
        self.values_escape(values, op)

    def _is_dead(self, op: Operation) -> bool:
        """Whether `op` does not matter, and touches storage of the function's own that is not live."""
        if op.regions or any(self.is_live(result) for result in op.results):
            return False
        if self.has_effect(op) and not self._is_write_inside(op):
            return False
        return any(
            not self._analysis.storages(value) <= self._live_storages and not self._analysis.is_external(value)
            for value in (*op.operands, *op.results)
        )

    def dead(self) -> list[Operation]:
        """The operations that touch dead storage or use what such an operation makes; none of them matters."""
        found: dict[Operation, None] = {}
        work = [op for op in self._operations if self._is_dead(op)]
        while work:
            op = work.pop()
            if op not in found:
                found[op] = None
                work += [user for result in op.results for user in result.users]
        return list(found)


@register_pass
@attrs.frozen
class RemoveDeadBuffers(OperationPass):
    """Removes storage that is written but never read: the writes, the views, and what allocated it.

    A tensor is alive when something that is observed reads it, shows it in another tensor, or hands it on: a result, a
    call, a yield or a branch, a write to storage that is alive itself. What `builtin.to_tensor`, or an operation on
    tensors, allocates, and only in-place operations touch, views of it included, leaves no trace; nor does a value that
    was read from it and leads nowhere.

    Assumes: nothing; asks `AliasAnalysis` which tensors are one storage. Guarantees: inputs, parameters and the results
    of calls are never touched, since others have them too, and nothing at all in a function with an operation of
    unknown effects; besides, each buffer has a reader. A buffer that a loop carries or a region yields counts as read.
    Keeps every bit; a removed operation that would have failed (an integer divided by 0) fails no more. Idempotent.
    Cost: O(operations) besides the analysis.
    From BladeDISC's DhloRemoveDeadBuffer and DeadTempBufferRemoval; liveness is found from what is observed, as in the
    dead code elimination of Cytron et al., Efficiently Computing Static Single Assignment Form, 1991.
    Statistics: `buffers` (allocations removed), `writes`, `operations` (what else led to or from them).
    """

    name: ClassVar[str] = "remove-dead-buffers"

    def run_on(self, root: Operation, program: Program) -> None:
        functions = [op for op in root.walk() if isinstance(op, func.FuncOp)]
        analysis = self.analyses.get(AliasAnalysis, program)
        for function in functions:
            if not analysis.is_opaque(function):
                self._remove(_BufferLiveness(function, analysis).dead())

    def _remove(self, dead: Sequence[Operation]) -> None:
        """Erases the operations, users first, and then what only they used and may be dropped."""
        kinds = DroppableKinds()
        doomed = set(dead)
        work = [op for op in dead if not _is_used(op)]
        while work:
            op = work.pop()
            definers = {value.defining_op: None for value in op.operands}
            self.count(_what(op))
            doomed.discard(op)
            op.erase(by=self.name)
            for definer in definers:
                if definer is None or _is_used(definer):
                    continue
                if definer in doomed or (not definer.regions and is_droppable(definer, kinds)):
                    work.append(definer)


def _is_used(op: Operation) -> bool:
    return any(result.has_uses for result in op.results)


def _what(op: Operation) -> str:
    """What statistics call an operation that goes."""
    if Inplace in op.info.traits:
        return "writes"
    allocates = isinstance(op, builtin.ToTensorOp) or HasValueSemantics in op.info.traits
    holds = any(isinstance(result.type, TensorType) for result in op.results)
    return "buffers" if allocates and holds else "operations"
