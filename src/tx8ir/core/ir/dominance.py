"""Dominators of the blocks of a region (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .block import Block, Region


class Dominators:
    """Which blocks of a region lie on every path from its entry to which others. A picture of the region as it is now.

    Args:
        region: its first block is the entry; a block goes where the successors of its last operation are.
    """

    __slots__ = ("_interval", "immediate")

    def __init__(self, region: Region) -> None:
        self.immediate: dict[Block, Block | None] = immediate_dominators(region)
        """The immediate dominator of every block that the entry reaches; None for the entry itself."""
        self._interval = _intervals(self.immediate)

    def is_reachable(self, block: Block) -> bool:
        """Whether a path from the entry leads to `block`."""
        return block in self.immediate

    def dominates(self, above: Block, below: Block) -> bool:
        """Whether every path from the entry to `below` goes through `above`; O(1).

        A block dominates itself, and no path leads to an unreachable block, so every block dominates that.
        """
        inner = self._interval.get(below)
        if inner is None:
            return True
        outer = self._interval.get(above)
        return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def immediate_dominators(region: Region) -> dict[Block, Block | None]:
    """The immediate dominator of every block that the entry reaches; None for the entry itself."""
    blocks = region.blocks
    if not blocks:
        return {}
    order = _reverse_postorder(blocks[0])
    number = {block: i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for i, block in enumerate(order):
        for successor in block.successors:
            predecessors[number[successor]].append(i)
    parent = [-1] * len(order)  # by number; every parent has a smaller number than its child
    parent[0] = 0
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            new = -1
            for p in predecessors[i]:
                if parent[p] >= 0:
                    new = p if new < 0 else _common(new, p, parent)
            if parent[i] != new:
                parent[i] = new
                changed = True
    return {block: order[parent[i]] if i else None for i, block in enumerate(order)}


def _common(a: int, b: int, parent: list[int]) -> int:
    while a != b:
        if a > b:
            a = parent[a]
        else:
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


def _intervals(immediate: dict[Block, Block | None]) -> dict[Block, tuple[int, int]]:
    """Entry and exit times of a walk of the dominator tree: a block dominates what lies in its interval."""
    children: dict[Block, list[Block]] = {block: [] for block in immediate}
    stack: list[tuple[Block, bool]] = []
    for block, parent in immediate.items():
        if parent is None:
            stack.append((block, False))
        else:
            children[parent].append(block)
    intervals: dict[Block, tuple[int, int]] = {}
    time = 0
    while stack:
        block, done = stack.pop()
        if done:
            intervals[block] = (intervals[block][0], time)
            continue
        intervals[block] = (time, time)
        time += 1
        stack.append((block, True))
        stack.extend((child, False) for child in children[block])
    return intervals
