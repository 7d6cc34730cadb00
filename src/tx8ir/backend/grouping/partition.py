"""`cheapest_partition`: the nodes of a graph in parts of least cost, by dynamic programming over what is done.

A part may be any connected set of nodes that no path leaves and enters again; parts are carried out one after the
other, each when all that it reads is there. What is done between two parts is a set of nodes with everything that they
read: a *downset*. Parts lead from one to the next, so that a partition is a way from nothing to everything, and a
cheapest one is a shortest way.

Costs are asked for as they are needed. A part begins with a lower bound of its cost; where a shortest way by what is
known so far has parts whose cost is still a bound, these are made closer, and the way is looked for again. Once it has
exact ones alone it is a cheapest one: no other way is below its bounds.

Sets are integers, bit i for node i. Nodes are numbered in an order in which they can be carried out. Only downsets in
which the order is left by less than a window are looked at; the window is as large as their number allows, and with the
smallest one parts are runs of the order. Source of the lazy evaluation: Dellin and Srinivasa, "A Unifying Formalism for
Shortest Path Problems with Expensive Edge Evaluations via Lazy Best-First Search over Paths" (2016).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

import attrs

__all__ = ["Costs", "Graph", "cheapest_partition", "members", "order_of"]

MOST_DOWNSETS = 4_000
"""Downsets that are looked at, about; and parts that begin in one, at most an eighth of it."""


@attrs.frozen
class Graph:
    """Nodes in an order in which they can be carried out.

    Attributes:
        reads: the nodes that each one reads.
        near: its readers, and those that read something that it reads.
        needs: the node with all that must be carried out before it.
    """

    reads: tuple[int, ...]
    near: tuple[int, ...]
    needs: tuple[int, ...]

    @staticmethod
    def of(reads: Sequence[int], shared: Iterable[int] = ()) -> Graph:
        """The graph of nodes that read `reads`; each of `shared` are nodes that read something else in common."""
        near, needs = [0] * len(reads), list[int]()
        for node, read in enumerate(reads):
            needs.append(1 << node)
            for other in members(read):
                near[other] |= 1 << node
                needs[node] |= needs[other]
        for together in [*near, *shared]:
            for node in members(together):
                near[node] |= together & ~(1 << node)
        return Graph(tuple(reads), tuple(near), tuple(needs))

    @property
    def whole(self) -> int:
        """All nodes."""
        return (1 << len(self.reads)) - 1


class Costs(Protocol):
    """What parts cost."""

    def known(self, part: int) -> float:
        """The cost of a part, or a lower bound of it; infinite where it is none."""
        ...

    def refine(self, part: int) -> bool:
        """Make a bound closer, or exact; whether there was anything left to do."""
        ...


def cheapest_partition(graph: Graph, costs: Costs, most_nodes: int, most_downsets: int = MOST_DOWNSETS) -> list[int]:
    """The parts of a cheapest partition into parts of at most `most_nodes` nodes, in an order to carry them out.

    Raises `ValueError` where there is none of finite cost.
    """
    window = len(graph.reads)
    lattice = _Lattice.of(graph, costs, most_nodes, window, most_downsets)
    while lattice is None:
        window = min(window // 2, 2 * most_nodes)
        lattice = _Lattice.of(graph, costs, most_nodes, window, most_downsets if window else len(graph.reads) + 1)
    while True:
        path = lattice.shortest(costs)
        closer = [costs.refine(part) for part in path]
        if not any(closer):
            return path


def order_of(graph: Graph, parts: Collection[int]) -> list[int] | None:
    """Disjoint parts of all nodes in an order to carry them out, those with lower nodes first; None without any."""
    waiting = sorted(parts, key=_lowest)
    needs = dict.fromkeys(waiting, 0)
    for part in waiting:
        for node in members(part):
            needs[part] |= graph.reads[node] & ~part
    ready = [(_lowest(part), part) for part in waiting if not needs[part]]
    readers: dict[int, list[int]] = {part: [] for part in waiting}
    owner = {node: part for part in waiting for node in members(part)}
    for part in waiting:
        for node in members(needs[part]):
            if part not in readers[owner[node]]:
                readers[owner[node]].append(part)
    heapq.heapify(ready)
    done, found = 0, list[int]()
    while ready:
        _, part = heapq.heappop(ready)
        found.append(part)
        done |= part
        for reader in readers[part]:
            if not needs[reader] & ~done:
                heapq.heappush(ready, (_lowest(reader), reader))
    return found if len(found) == len(waiting) else None


def members(nodes: int) -> Iterator[int]:
    """The numbers of the nodes of a set, ascending."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


@attrs.frozen
class _Lattice:
    """Downsets, and the parts that lead from each to others: (part, number of the downset)."""

    ways: Sequence[Sequence[tuple[int, int]]]
    order: Sequence[int]
    """Numbers of the downsets, those with more nodes first."""

    @staticmethod
    def of(graph: Graph, costs: Costs, most_nodes: int, window: int, most_downsets: int) -> _Lattice | None:
        """The downsets within a window; None where they are too many."""
        number, waiting = {0: 0}, [0]
        ways: list[list[tuple[int, int]]] = []
        for done in waiting:
            found: list[tuple[int, int]] = []
            for part in _parts(graph, costs, done, most_nodes, window):
                after = done | part
                if after not in number:
                    if len(waiting) >= most_downsets:
                        return None
                    number[after] = len(waiting)
                    waiting.append(after)
                found.append((part, number[after]))
                if len(found) > most_downsets // 8 and window:
                    return None
            ways.append(found)
        if graph.whole not in number:
            raise ValueError("no partition has a finite cost")
        order = sorted(range(len(waiting)), key=lambda i: -waiting[i].bit_count())
        return _Lattice(ways, order)

    def shortest(self, costs: Costs) -> list[int]:
        """The parts of a shortest way by what is known; of equals the one with the fewest."""
        best: list[tuple[float, int]] = [(math.inf, 0)] * len(self.ways)
        step: list[tuple[int, int]] = [(0, 0)] * len(self.ways)
        best[self.order[0]] = (0.0, 0)
        for here in self.order[1:]:
            for part, after in self.ways[here]:
                cost, count = best[after]
                candidate = (cost + costs.known(part), count + 1)
                if candidate < best[here]:
                    best[here], step[here] = candidate, (part, after)
        if math.isinf(best[0][0]):
            raise ValueError("no partition has a finite cost")
        path: list[int] = []
        here = 0
        while here != self.order[0]:
            part, here = step[here]
            path.append(part)
        return path


def _parts(graph: Graph, costs: Costs, done: int, most_nodes: int, window: int) -> Iterator[int]:
    """The parts that can be carried out next, and leave the order by no more than the window."""
    reach = (1 << (_lowest(~done) + window + most_nodes + 1)) - 1
    seen: set[int] = set()
    waiting = [1 << node for node in members(graph.whole & ~done & reach) if not graph.reads[node] & ~done]
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        if math.isinf(costs.known(part)):
            continue
        after = done | part
        if after.bit_length() - 1 - _lowest(~after) <= window:
            yield part
        near = 0
        for node in members(part):
            near |= graph.near[node]
        for node in members(near & ~after & reach):
            grown = part | (graph.needs[node] & ~after)
            if grown.bit_count() <= most_nodes:
                waiting.append(grown)


def _lowest(nodes: int) -> int:
    return (nodes & -nodes).bit_length() - 1
