"""Dead code elimination: operations whose results nobody uses and that have no effect are removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import attrs

from tx8ir.analysis.effects import Drop, DroppableKinds, is_droppable, only_reads
from tx8ir.core import UNKNOWN, Operation, OpOperand, Program
from tx8ir.core.ir.operation import erase_unchecked
from tx8ir.core.ir.use_lists import nearly_unused, unused, unused_or_nested
from tx8ir.passes import OperationPass, register_pass

_ALWAYS: Final = Drop.ALWAYS


def eliminate_dead_code(root: Operation, *, by: str = "dce") -> int:
    """Removes every dead operation inside `root` (not `root` itself); returns how many went, those in dead regions
    included.

    One sweep from the last operation to the first finds users before what they use; only where blocks branch to each
    other may a definition have been passed already when its last user goes, and is looked at again. O(operations +
    uses removed), iterative.
    """
    kinds = DroppableKinds()
    kept: set[Operation] = set()
    removed = 0
    swept = {root}
    work = _sweeps(root)
    branches = _has_branches(root)
    freed: list[Operation] = []
    while work or freed:
        if not work:
            work.append(unused(freed))
            freed = []
        sweep = work.pop()
        for op in sweep:
            if op.regions and op not in swept:  # its inside first
                swept.add(op)
                branches = branches or _has_branches(op)
                work += [sweep, unused((op,)), *_sweeps(op)]
                break
            drop = kinds[op.__class__]
            if op.regions:
                if is_droppable(op, kinds, kept):
                    inside = list(op.walk())
                    uses = [use for inner in inside for use in inner.op_operands]
                    op.erase(by)
                    removed += len(inside)
                    if branches:
                        freed += _freed(uses)
            elif drop is _ALWAYS or (drop and only_reads(op)):
                uses = op.op_operands
                erase_unchecked(op, by, UNKNOWN)
                removed += 1
                if branches:
                    freed += _freed(uses)
    return removed


def _sweeps(op: Operation) -> list[Iterator[Operation]]:
    """Through each block inside `op` from its end, the first block first."""
    return [unused_or_nested(block) for region in op.regions for block in region]


def _has_branches(op: Operation) -> bool:
    return any(len(region) > 1 for region in op.regions)


def _freed(uses: Iterable[OpOperand]) -> list[Operation]:
    """The operations of whose results these were the last uses."""
    return [definer for definer, user in nearly_unused(uses) if user is None]


@register_pass
@attrs.frozen
class DeadCodeElimination(OperationPass):
    """Removes operations that write nothing (`Pure`, `ReadOnly`, or by their `MemoryEffects`) and whose results are not
    used, transitively.

    Assumes: nothing. Guarantees: no droppable operation without users is left; an operation with an effect (it writes
    a tensor, say), or one inside its regions, stays; symbols (functions) stay. Idempotent. Cost: O(operations).
    Statistics: `removed`.
    """

    name: ClassVar[str] = "dce"

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("removed", eliminate_dead_code(root))
