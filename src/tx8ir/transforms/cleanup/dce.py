"""Dead code elimination: operations whose results nobody uses and that have no effect are removed."""

# The inner loop reads the slots of values and operations.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.analysis.effects import DroppableKinds, is_droppable
from tx8ir.core import UNKNOWN, Operation, OpResult, Program
from tx8ir.core.ir.operation import erase_unchecked
from tx8ir.passes import OperationPass, register_pass


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
        for op in reversed(order):
            # An operation erased with the one around it has a kind that is never droppable.
            if not kinds[op.__class__]:
                continue
            for result in op._results:
                if result._first_use is not None:
                    break
            else:
                block, uses = op._parent, op._operands
                if op._regions:
                    if not is_droppable(op, kinds, kept):
                        continue
                    inside = list(op.walk())
                    removed += len(inside)
                    uses = [use for inner in inside for use in inner._operands]
                    op.erase(by)
                else:
                    removed += 1
                    erase_unchecked(op, by, UNKNOWN)
                for use in uses:
                    value = use._value
                    if value._first_use is None and value.__class__ is OpResult and value._owner._parent is not block:
                        again.append(value._owner)
        order, again = again, []
    return removed


@register_pass
@attrs.frozen
class DeadCodeElimination(OperationPass):
    """Removes operations that are `Pure` or `ReadOnly` and whose results are not used, transitively.

    Assumes: nothing. Guarantees: no droppable operation without users is left; an operation with an effect (it writes
    a tensor, say), or one inside its regions, stays; symbols (functions) stay. Idempotent. Cost: O(operations).
    Statistics: `removed`.
    """

    name: ClassVar[str] = "dce"

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("removed", eliminate_dead_code(root))
