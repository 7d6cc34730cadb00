"""Which ops run channel-blocked (ALIGN) and which dense (NALIGN): the problem as a labelled graph, and two solvers.

Nodes are ops in topological order. A `Flow` is a value that its producer hands to its users; when some user's label
differs from the producer's, the value is converted once, for all of them. `greedy` is one pass in O(n);
`optimal` is a minimum s-t cut, source side NALIGN, sink side ALIGN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import attrs
import networkx as nx


@attrs.frozen
class Flow:
    """A value: node `producer` makes it, the nodes `users` read it.

    `align_cost` is what it costs to have it aligned too when the producer leaves it dense, `dense_cost` the reverse.
    """

    producer: int
    users: tuple[int, ...]
    align_cost: int
    dense_cost: int


def total_cost(aligned: Sequence[bool], flows: Iterable[Flow]) -> int:
    """Cost of all conversions under a labelling (`aligned[i]`: node i is ALIGN)."""
    cost = 0
    for flow in flows:
        if aligned[flow.producer]:
            cost += flow.dense_cost if any(not aligned[u] for u in flow.users) else 0
        else:
            cost += flow.align_cost if any(aligned[u] for u in flow.users) else 0
    return cost


def greedy(pins: Sequence[bool | None], flows: Iterable[Flow]) -> list[bool]:
    """Labels by one pass in topological order: a free node follows its first producer, or is dense without one.

    `pins[i]` fixes node i (True: ALIGN) or is None. O(nodes + uses).
    """
    first: dict[int, int] = {}
    for flow in flows:
        for user in flow.users:
            first[user] = min(first.get(user, flow.producer), flow.producer)
    aligned: list[bool] = []
    for node, pin in enumerate(pins):
        if pin is None:
            producer = first.get(node)
            pin = producer is not None and aligned[producer]
        aligned.append(pin)
    return aligned


# networkx annotates its flow functions only in part
_networkx = cast("Any", nx)
_minimum_cut: Callable[..., tuple[float, tuple[set[int], set[int]]]] = _networkx.minimum_cut

_DENSE, _ALIGNED = -1, -2  # the terminals: pinned nodes are merged into them


def optimal(pins: Sequence[bool | None], flows: Iterable[Flow]) -> list[bool]:
    """Labels of least total conversion cost; among those, the labels with the fewest ALIGN nodes.

    Per flow with producer p and users U the cut graph has p→z (cost of aligning) and z→u (infinite) for u in U, so the
    value is aligned once however many users need it; and u→y (infinite), y→p (cost of un-aligning). The sink side is
    taken minimal (only what reaches the sink in the residual graph), which makes ALIGN nodes fewest.
    Each connected part between pinned nodes is a cut problem of its own.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    terminal = [node if pin is None else (_ALIGNED if pin else _DENSE) for node, pin in enumerate(pins)]
    helper = len(pins)
    for flow in flows:
        producer, users = terminal[flow.producer], dict.fromkeys(terminal[u] for u in flow.users)
        if len(users) == 1:
            (user,) = users
            _add_arc(graph, producer, user, flow.align_cost)
            _add_arc(graph, user, producer, flow.dense_cost)
            continue
        _add_arc(graph, producer, helper, flow.align_cost)
        _add_arc(graph, helper + 1, producer, flow.dense_cost)
        for user in users:
            _add_arc(graph, helper, user, None)
            _add_arc(graph, user, helper + 1, None)
        helper += 2
    aligned = [pin is True for pin in pins]
    inner = graph.subgraph(n for n in graph if n >= 0)
    for part in nx.weakly_connected_components(inner):
        for node in _sink_side(graph, part):
            if node < len(pins):
                aligned[node] = True
    return aligned


def _add_arc(graph: nx.DiGraph[int], tail: int, head: int, capacity: int | None) -> None:
    """Add an arc (infinite when capacity is None); parallel arcs add up. Arcs that no cut can contain are left out."""
    if tail in (head, _ALIGNED) or head == _DENSE or capacity == 0:
        return
    if graph.has_edge(tail, head):
        data = graph.edges[tail, head]
        if capacity is None:
            data.pop("capacity", None)
        elif "capacity" in data:
            data["capacity"] += capacity
    elif capacity is None:
        graph.add_edge(tail, head)
    else:
        graph.add_edge(tail, head, capacity=capacity)


def _sink_side(graph: nx.DiGraph[int], part: set[int]) -> set[int]:
    """The nodes of `part` on the minimal sink side of a minimum cut between the two terminals."""
    problem: nx.DiGraph[int] = nx.DiGraph()
    problem.add_node(_DENSE)
    for node in part:
        problem.add_edges_from((node, head, data) for head, data in graph.adj[node].items())
        problem.add_edges_from((_DENSE, node, data) for tail, data in graph.pred[node].items() if tail == _DENSE)
    if _ALIGNED not in problem:
        return set()
    cut = _minimum_cut(problem, _DENSE, _ALIGNED, flow_func=_networkx.algorithms.flow.boykov_kolmogorov)
    _, (_, sink_side) = cut
    return sink_side - {_ALIGNED}
