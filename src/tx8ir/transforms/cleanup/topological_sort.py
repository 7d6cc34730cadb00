"""`topological-sort`: an order of operations that depends on the graph only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Block, Operation, Program, Pure, TensorType
from tx8ir.core.ir.interfaces import ParameterAccess
from tx8ir.passes import OperationPass, register_pass


@register_pass
@attrs.frozen
class TopologicalSort(OperationPass):
    """Puts the operations of each block in the order of a depth-first walk from their users, operands first.

    Two programs that differ only in the order in which their pure operations were written print the same text
    afterwards: of use before they are compared. Operations that may have an effect, or touch a `tensor`, keep their
    order among themselves; each pure operation on `vtensor`s, and each read of an immutable parameter, stands right
    before the first that needs it. What nothing in its block needs keeps its order, at the end.

    Assumes: nothing. Guarantees: every bit stays. Idempotent. Cost: O(operations + operands), iterative. Statistics:
    `moved`, the operations that follow another one than before. After the passes of that name of MLIR and onnx-ir.
    """

    name: ClassVar[str] = "topological-sort"

    def run_on(self, root: Operation, program: Program) -> None:
        mutable = mutable_parameters(program)
        for block, captured in captures(root).items():
            self.count("moved", _sort(block, captured, mutable))


def captures(root: Operation) -> dict[Block, dict[Operation, list[Operation]]]:
    """The blocks inside `root`; for each its operations with regions, with what the regions use of that block."""
    found: dict[Block, dict[Operation, list[Operation]]] = {}
    depths: dict[Block, int] = {}
    around: list[Operation] = []  # at each depth, the operation that is being visited there
    pending: list[tuple[Operation | None, int]] = []
    op, depth = root, -1
    while True:
        for block in reversed([block for region in op.regions for block in region.blocks]):
            found[block], depths[block] = {}, depth + 1
            pending.append((block.first_op, depth + 1))
        while pending and pending[-1][0] is None:
            pending.pop()
        if not pending:
            return found
        following, depth = pending.pop()
        assert following is not None
        op = following
        pending.append((op.next_op, depth))
        del around[depth:]
        around.append(op)
        for value in op.operands:
            definer = value.defining_op
            home = None if definer is None else definer.parent
            if definer is not None and home is not None and depths.get(home, depth) < depth:
                found[home].setdefault(around[depths[home]], []).append(definer)


def _sort(block: Block, captures: Mapping[Operation, Sequence[Operation]], mutable: frozenset[str]) -> int:
    """Sorts the operations of one block, those inside them left as they are; returns how many have moved."""
    before = list(block)
    order: dict[Operation, None] = {}
    last = block.last_op
    anchored = [op for op in before if not moves_freely(op, mutable) and op is not last]
    for end in (*anchored, *before[-1:]):
        _append_with_operands(end, block, captures, order)
    rest = [op for op in before if op not in order]
    if last is not None and rest:
        del order[last]
        order.update(dict.fromkeys((*rest, last)))
    moved = 0
    previous: Operation | None = None
    for op in order:
        if op.prev_op is not previous:
            if previous is None:
                op.move_before(before[0])
            else:
                op.move_after(previous)
            moved += 1
        previous = op
    return moved


def _append_with_operands(
    end: Operation, block: Block, captures: Mapping[Operation, Sequence[Operation]], order: dict[Operation, None]
) -> None:
    """Appends `end` to the order, after what it needs of the block."""
    stack: list[tuple[Operation, bool]] = [(end, False)]
    while stack:
        op, ready = stack.pop()
        if ready:
            order[op] = None
        elif op not in order:
            stack.append((op, True))
            definers = [value.defining_op for value in op.operands]
            for definer in reversed([*definers, *captures.get(op, ())]):
                if definer is not None and definer.parent is block and definer not in order:
                    stack.append((definer, False))


def moves_freely(op: Operation, mutable: frozenset[str]) -> bool:
    """True when only its operands and users say where `op` stands."""
    if isinstance(op, ParameterAccess):
        if op.parameter_writes() or not mutable.isdisjoint(op.parameter_reads()):
            return False
    elif not op.has_trait(Pure):
        return False
    return not any(isinstance(value.type, TensorType) for value in (*op.operands, *op.results))
