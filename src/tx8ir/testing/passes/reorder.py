"""The same program with its operations in another order, to test what depends on the order they were written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tx8ir.core import Block, Operation, Program, Pure, TensorType


def reordered(program: Program, choose: Callable[[Sequence[Operation]], Operation]) -> Program:
    """A copy in which the pure operations on `vtensor`s stand at other places, between their operands and their users.

    Args:
        program: is not changed.
        choose: says for each such operation, given those it may be put before, which one: `random.choice`, or
            ``lambda places: draw(st.sampled_from(places))`` in a Hypothesis strategy.

    O(operations²): meant for programs as small as tests have them.
    """
    copy = program.clone()
    for op in [op for op in copy.module.walk() if _moves_freely(op)]:
        places = _places(op)
        if places:
            op.move_before(choose(places))
    return copy


def _moves_freely(op: Operation) -> bool:
    return op.has_trait(Pure) and not any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results))


def _places(op: Operation) -> list[Operation]:
    """The operations of its block that `op` may be put before."""
    block = op.parent
    assert block is not None  # it was found inside a module
    definers = {value.defining_op for value in op.operands}
    users = {_ancestor(user, block) for result in op.results for user in result.users}
    places: list[Operation] = []
    later = op.next_op
    while later is not None:
        places.append(later)
        later = later.next_op if later not in users else None
    earlier = op.prev_op
    while earlier is not None and earlier not in definers:
        places.append(earlier)
        earlier = earlier.prev_op
    return places


def _ancestor(op: Operation, block: Block) -> Operation | None:
    """The operation of `block` that is `op` or around it; None when `op` is in another block."""
    found: Operation | None = op
    while found is not None and found.parent is not block:
        found = found.parent_op
    return found
