"""Strongly connected components: functions that call each other, callees first; blocks that are a cycle."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

Vertex = TypeVar("Vertex", bound=Hashable)


def components_callees_first(calls: Mapping[Vertex, Sequence[Vertex]]) -> list[list[Vertex]]:
    """The strongly connected components of a graph, each after those it has an edge to.

    Tarjan's algorithm (SIAM J. Comput. 1, 1972), iterative; O(nodes + edges).

    Args:
        calls: for each function those it calls (for each node where its edges lead), all of them keys.
    """
    index: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    path: list[Vertex] = []
    on_path: set[Vertex] = set()
    found: list[list[Vertex]] = []
    for start in calls:
        if start in index:
            continue
        work: list[tuple[Vertex, Iterator[Vertex]]] = [(start, iter(calls[start]))]
        index[start] = low[start] = len(index)
        path.append(start)
        on_path.add(start)
        while work:
            node, callees = work[-1]
            callee = next(callees, None)
            if callee is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[Vertex] = []
                    while not component or component[-1] is not node:
                        component.append(path.pop())
                    on_path.difference_update(component)
                    found.append(component[::-1])
            elif callee not in index:
                index[callee] = low[callee] = len(index)
                path.append(callee)
                on_path.add(callee)
                work.append((callee, iter(calls[callee])))
            elif callee in on_path:
                low[node] = min(low[node], index[callee])
    return found
