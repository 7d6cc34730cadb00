"""Dominators of the blocks of a region (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .block import Block, Region


def immediate_dominators(region: Region) -> dict[Block, Block | None]:
    """The immediate dominator of every block that the entry reaches; None for the entry itself."""
    blocks = region.blocks
    if not blocks:
        return {}
    order = _reverse_postorder(blocks[0])
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {b: [] for b in order}
    for block in order:
        for successor in block.successors:
            if successor in number:
                predecessors[successor].append(block)
    parent: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in predecessors[block] if p in parent]
            new = known[0]
            for other in known[1:]:
                new = _common(new, other, parent, number)
            if parent.get(block) is not new:
                parent[block] = new
                changed = True
    return {b: (parent[b] if b is not order[0] else None) for b in order}


def _common(a: Block, b: Block, parent: dict[Block, Block], number: dict[Block, int]) -> Block:
    while a is not b:
        while number[a] > number[b]:
            a = parent[a]
        while number[b] > number[a]:
            b = parent[b]
    return a


def _reverse_postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(entry.successors))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successor.successors)))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order
