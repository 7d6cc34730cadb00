"""Partial results: which psums a strategy leaves, how long they live, and what they take."""

from __future__ import annotations

import attrs

from tx8ir.backend.axes.demand import needs
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.strategy import Strategy
from tx8ir.backend.axes.tiles import Loop, loops, step_part, tile_part
from tx8ir.backend.axes.volume import state_bytes

__all__ = ["PartialResult", "merged_axes", "partial_results"]


@attrs.frozen
class PartialResult:
    """The combination state of one op under a strategy.

    Attributes:
        op: the op, by position.
        loop: the outermost loop that cuts one of its combined axes. Its state lives from the first trip of that loop to
            the last one, over all loops inside; None where it is cut in space alone, and lives in one step.
        x, y: whether tiles along x, or y, have parts of it that must be merged.
        bytes: of one tile. Loops outside of `loop` leave one part of their axis alive, those inside all of theirs.
    """

    op: int
    loop: int | None
    x: bool
    y: bool
    bytes: int


def merged_axes(space: GroupSpace, op: int) -> frozenset[int]:
    """The axes of the group whose parts leave states of an op that are merged.

    A row that is read whole whatever the cut (see `needs`) is not among them.
    """
    declaration = space.declarations[op]
    found: set[int] = set()
    for i in declaration.combined:
        chain = space.chains[op][i]
        found |= set(chain.axes) if chain is not None and space.op_direct[op][i] else set()
    return frozenset(found)


def partial_results(space: GroupSpace, strategy: Strategy) -> tuple[PartialResult, ...]:
    """The ops whose combined axes the strategy cuts, in order. Sizes are those of tile (0, 0), the largest."""
    tile, all_loops = tile_part(space, strategy, 0, 0), loops(space, strategy)
    assert tile is not None
    found: list[PartialResult] = []
    for number, declaration in enumerate(space.declarations):
        combined = merged_axes(space, number)
        own = [depth for depth, loop in enumerate(all_loops) if loop.axis in combined and loop.trips > 1]
        x, y = (any(c.axis in combined and c.parts > 1 for c in cuts) for cuts in (strategy.x, strategy.y))
        if not (own or x or y):
            continue
        outside: tuple[Loop, ...] = all_loops[: own[0]] if own else all_loops
        live = step_part(tile, outside, (0,) * len(outside))
        assert live is not None
        slices = needs(space, live).ops[number]
        assert slices is not None  # tile (0, 0) has a part of everything
        size = state_bytes(declaration, slices.part)
        found.append(PartialResult(number, own[0] if own else None, x, y, size))
    return tuple(found)
