"""Is there a plan within a capacity? Depth-first search over canonical solutions, after MiniMalloc.

Michael D. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023.
A solution is canonical when no buffer can be moved down, and it is built in non-decreasing order of offsets: at every
node each buffer that is left has one offset, on top of those below it. Nodes are pruned

- by section: what is left of one goes on top of the lowest offset that any of it can have, and of the latest offset;
- by dominance: a buffer that leaves room under it for another one that is left can come after that one;
- by symmetry: equal offsets are tried in one order, equal buffers once.

What is left is searched in parts between moments that no buffer of it crosses: when one has no solution, no other
solution of the others is looked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.memory.instance import Instance

__all__ = ["SearchResult", "search"]

_PLACED: Final = 1 << 62  # as the lowest offset of a buffer that has one already

Integers = NDArray[np.int64]


@attrs.frozen
class SearchResult:
    """What a search found: `offsets` within the capacity or None; whether it `ended` before its steps did."""

    offsets: tuple[int, ...] | None
    ended: bool
    steps: int


@attrs.define(eq=False)
class _Part:
    """Buffers that are left, by their first sections, in a range of sections that they cover."""

    members: Integers
    begin: int
    end: int


@attrs.define(eq=False)
class _Node:
    """A part to place: its candidates, how many were tried, the latest of them and what that one left to place."""

    part: _Part
    candidates: list[int]
    mark: int
    """Length of the trail without anything of this part."""
    tried: int = 0
    latest: int = -1
    offset: int = 0
    pending: list[_Part] = attrs.field(factory=list[_Part])


@attrs.frozen(eq=False)
class _Step:
    """A placed buffer, and what its placing changed."""

    buffer: int
    offset: int
    lows: Integers
    begin: int
    floors: Integers


class _Search:
    """The state of a search: buffers are numbered in the order in which equal offsets are tried."""

    def __init__(self, instance: Instance, capacity: int, order: Sequence[int]) -> None:
        count = len(order)
        place = {i: k for k, i in enumerate(order)}
        self.capacity = capacity
        self.sizes = np.array([instance.sizes[i] for i in order], np.int64)
        self.grains = np.array([instance.alignments[i] for i in order], np.int64) - 1
        self.is_aligned = not (np.bitwise_or.reduce(self.sizes) & self.grains.max())  # all tops are
        self.overlaps = [np.array([place[j] for j in instance.overlaps[i]], np.intp) for i in order]
        self.first = np.array([instance.first[i] for i in order], np.int64)
        self.last = np.array([instance.last[i] for i in order], np.int64)
        kinds = [(instance.sizes[i], instance.alignments[i], instance.first[i], instance.last[i]) for i in order]
        self.kinds = kinds
        self.low = np.zeros(count, np.int64)
        self.floor = np.zeros(instance.sections, np.int64)
        self.rest = np.array(instance.section_sizes, np.int64)
        live: list[list[int]] = [[] for _ in range(instance.sections)]
        for k in range(count):
            for s in range(int(self.first[k]), int(self.last[k])):
                live[s].append(k)
        self.live = np.array([k for section in live for k in section], np.intp)
        self.starts = np.array([0, *itertools.accumulate(map(len, live))], np.intp)
        self.trail: list[_Step] = []

    def whole(self) -> _Part:
        return _Part(np.argsort(self.first, kind="stable"), 0, len(self.floor))

    def candidates(self, part: _Part, latest: int, offset: int) -> list[int]:
        """What can be placed after buffer `latest` at `offset`: the lowest first, equal offsets in order."""
        members = part.members
        low = self.low[members]
        ceiling = (low + self.sizes[members]).min()
        found = members[(low < ceiling) & ((low > offset) | ((low == offset) & (members > latest)))]
        if len(found) <= 1:
            return found.tolist()
        seen: set[tuple[int, int, int, int]] = set()
        chosen: list[int] = []
        ordered: list[int] = found[np.lexsort((found, self.low[found]))].tolist()
        for i in ordered:
            if self.kinds[i] not in seen:  # of one kind all are live together, at one offset: any of them will do
                seen.add(self.kinds[i])
                chosen.append(i)
        return chosen

    def place(self, part: _Part, i: int) -> bool:
        """Places a buffer of a part on its lowest offset; whether the others can still fit."""
        begin, end = part.begin, part.end
        first, last, near = self.first[i], self.last[i], self.overlaps[i]
        offset = int(self.low[i])
        top = offset + int(self.sizes[i])
        lows = self.low[near]
        self.trail.append(_Step(i, offset, lows, begin, self.floor[begin:end].copy()))
        self.low[i] = _PLACED
        self.low[near] = np.maximum(lows, self._aligned(top, near))
        self.rest[first:last] -= self.sizes[i]
        self.floor[first:last] = top
        if top > self.capacity:
            return False
        floor, rest = self.floor[begin:end], self.rest[begin:end]
        np.maximum(floor, offset, out=floor)
        is_left = rest > 0
        if (floor + rest).max(where=is_left, initial=0) > self.capacity:
            return False
        starts = self.starts[begin : end + 1]
        lowest = np.minimum.reduceat(self.low[self.live[starts[0] : starts[-1]]], starts[:-1] - starts[0])
        np.maximum(floor, lowest, out=floor, where=is_left)
        return bool((floor + rest).max(where=is_left, initial=0) <= self.capacity)

    def _aligned(self, top: int, near: Integers) -> int | Integers:
        """The least offsets of these buffers that are not below `top`."""
        if self.is_aligned:
            return top
        grains = self.grains[near]
        return (top + grains) & ~grains

    def left_of(self, part: _Part, i: int) -> list[_Part]:
        """A part without a buffer, in parts that no buffer connects; the emptiest first."""
        members = part.members[part.members != i]
        if not len(members):
            return []
        begins, ends = self.first[members], np.maximum.accumulate(self.last[members])
        cuts = [0, *(np.flatnonzero(begins[1:] >= ends[:-1]) + 1).tolist(), len(members)]
        parts = [_Part(members[a:b], int(begins[a]), int(ends[b - 1])) for a, b in itertools.pairwise(cuts)]
        if len(parts) > 1:
            parts.sort(key=lambda p: int((self.floor + self.rest)[p.begin : p.end].max()))
        return parts

    def undo(self, mark: int) -> None:
        """Takes back what was placed since the trail had that length."""
        while len(self.trail) > mark:
            step = self.trail.pop()
            i = step.buffer
            self.low[i] = step.offset
            self.low[self.overlaps[i]] = step.lows
            self.floor[step.begin : step.begin + len(step.floors)] = step.floors
            self.rest[self.first[i] : self.last[i]] += self.sizes[i]

    def offsets(self, order: Sequence[int]) -> tuple[int, ...]:
        """Of all buffers, which are placed, by their numbers in the instance."""
        found = [0] * len(order)
        for step in self.trail:
            found[order[step.buffer]] = step.offset
        return tuple(found)


def search(
    instance: Instance, capacity: int, order: Sequence[int], steps: int, is_over: Callable[[], bool]
) -> SearchResult:
    """Looks for offsets within `capacity`; every placed buffer is a step. Equal offsets are tried in `order`."""
    state = _Search(instance, capacity, order)

    def node(part: _Part, latest: int, offset: int) -> _Node:
        return _Node(part, state.candidates(part, latest, offset), len(state.trail))

    nodes = [node(state.whole(), -1, 0)]
    taken = 0
    while nodes:
        top = nodes[-1]
        state.undo(top.mark)
        if top.tried == len(top.candidates):
            nodes.pop()
            continue
        if taken >= steps or is_over():
            return SearchResult(None, False, taken)
        taken += 1
        i = top.candidates[top.tried]
        top.tried += 1
        if not state.place(top.part, i):
            continue
        top.latest, top.offset = i, state.trail[-1].offset
        top.pending = state.left_of(top.part, i)
        while nodes and not nodes[-1].pending:  # a part is done: on with what it is a part of
            nodes.pop()
        if not nodes:
            return SearchResult(state.offsets(order), True, taken)
        split = nodes[-1]
        nodes.append(node(split.pending.pop(), split.latest, split.offset))
    return SearchResult(None, True, taken)
