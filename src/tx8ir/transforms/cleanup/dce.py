"""Dead code elimination: operations whose results nobody uses and that have no effect are removed."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from tx8ir.analysis.effects import Drop, DroppableKinds, is_droppable, only_reads
from tx8ir.core import UNKNOWN, Operation, Program
from tx8ir.core.ir.use_lists import erase_flat, nearly_unused, unused
from tx8ir.passes import OperationPass, register_pass

_ALWAYS: Final = Drop.ALWAYS


def eliminate_dead_code(root: Operation, *, by: str = "dce") -> int:
    """Removes every dead operation inside `root` (not `root` itself); returns how many went, those in dead regions
    included.

    One sweep from the last operation to the first finds users before what they use; only a definition in another
    block may have been passed already when its last user goes, and is looked at again. O(operations + uses removed),
    iterative.
    """
    kinds = DroppableKinds()
    kept: set[Operation] = set()
    removed = 0
    order = list(root.walk())
    del order[0]  # the root
    again: list[Operation] = []
    while order:
        for op in unused(reversed(order)):
            drop = kinds[op.__class__]
            if drop is not _ALWAYS and not (drop and only_reads(op)):
                continue
            if not op.regions:
                removed += 1
                again += erase_flat(op, by, UNKNOWN)
            elif is_droppable(op, kinds, kept):
                block, inside = op.parent, list(op.walk())
                uses = [use for inner in inside for use in inner.op_operands]
                removed += len(inside)
                op.erase(by)
                again += [outer for outer, user in nearly_unused(uses) if user is None and outer.parent is not block]
        order, again = again, []
    return removed


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
