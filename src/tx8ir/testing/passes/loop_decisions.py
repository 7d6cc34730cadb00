"""What decides how often loops run: the operations that their tests are computed from.

A counter may be a floating-point number. As long as what it counts is exact, a loop runs as often whatever is rounded
elsewhere, and its results are judged as those of a loop over integers are; where the counting itself rounds, nothing
can be said (see `rounding`).
"""

from __future__ import annotations

from tx8ir.analysis.control_flow import forwarded_operands, read_by_control
from tx8ir.core import Block, LoopLike, Operation, Program, Terminator, Value


def loop_deciders(program: Program) -> frozenset[Operation]:
    """The operations that loops of `program` are decided by, as far as values lead: not through storage and calls.

    O(operations + edges between blocks for each branch).
    """
    sources: dict[Value, list[Value]] = {}
    work: list[Value] = []
    for op in program.module.walk():
        for operand, forwarded in zip(op.operands, forwarded_operands(op) or (), strict=False):
            for target in forwarded.targets:
                sources.setdefault(target, []).append(operand)
        if _decides_a_loop(op):
            work += read_by_control(op)
    found: set[Operation] = set()
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        work += sources.get(value, ())
        op = value.defining_op
        if op is not None and not op.regions:
            found.add(op)
            work += op.operands
    return frozenset(found)


def _decides_a_loop(op: Operation) -> bool:
    around = op.parent_op if op.has_trait(Terminator) and not op.successors else op
    if around is not None and around.interface(LoopLike) is not None:
        return True
    return len(op.successors) > 1 and _is_in_a_cycle(op)


def _is_in_a_cycle(branch: Operation) -> bool:
    """Whether control may come back to a branch between blocks."""
    seen: set[Block] = set()
    work = list(branch.successors)
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work += block.successors
    return branch.parent in seen
