"""`remove-dead-buffers`: storage that is written and never read goes, and the writes with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.effects import DroppableKinds, is_droppable
from tx8ir.core import HasValueSemantics, Inplace, Operation, Program, TensorType
from tx8ir.dialects import builtin, func
from tx8ir.passes import OperationPass, register_pass


class _Liveness:
    """Which operations of a function something observes, and through them which storages.

    Operations with an effect other than writing storage of the function's own are observed, and so are the definers of
    what an observed operation uses. A storage is live when an observed operation uses a tensor in it; then every write
    to it is observed.
    """

    def __init__(self, function: Operation, analysis: AliasAnalysis) -> None:
        self._analysis = analysis
        self._kinds = DroppableKinds()
        self._writers: defaultdict[int, list[Operation]] = defaultdict(list)
        self.live: set[Operation] = set()
        self.live_storages: set[int] = set()
        self._work: list[Operation] = []
        self.operations = [op for op in function.walk() if op is not function]
        for op in self.operations:
            if self._is_write_inside(op):
                for storage in analysis.storages(op.operands[0]):
                    self._writers[storage].append(op)
            elif op.regions or not is_droppable(op, self._kinds):
                self._observe(op)
        while self._work:
            for value in self._work.pop().operands:
                definer = value.defining_op
                if definer is not None:
                    self._observe(definer)
                for storage in analysis.storages(value) - self.live_storages:
                    self.live_storages.add(storage)
                    for writer in self._writers[storage]:
                        self._observe(writer)

    def _is_write_inside(self, op: Operation) -> bool:
        """Whether `op` writes storage that nobody outside of the function has, and does nothing else."""
        if Inplace not in op.info.traits or op.regions:
            return False
        written = op.operands[0]
        return bool(self._analysis.storages(written)) and not self._analysis.is_external(written)

    def _observe(self, op: Operation) -> None:
        if op not in self.live:
            self.live.add(op)
            self._work.append(op)

    def touches_dead_storage(self, op: Operation) -> bool:
        """Whether an operand or result of `op` is a tensor in storage of the function's own that is not live."""
        return any(
            not self._analysis.storages(value) <= self.live_storages and not self._analysis.is_external(value)
            for value in (*op.operands, *op.results)
        )

    def dead(self) -> list[Operation]:
        """The operations that touch dead storage or use what such an operation makes; none of them is observed."""
        found: dict[Operation, None] = {}
        work = [op for op in self.operations if op not in self.live and self.touches_dead_storage(op)]
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
                self._remove(_Liveness(function, analysis).dead())

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
