"""`cheapest_partition` against all partitions, and against CP-SAT, on graphs and costs drawn at random."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.grouping.partition import Graph, cheapest_partition, members, order_of


class Drawn:
    """Costs drawn at random, and bounds of them; it is counted what is asked for."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.costs: dict[int, tuple[float, float]] = {}
        self.exact: set[int] = set()

    def cost(self, part: int) -> float:
        if part not in self.costs:
            count = part.bit_count()
            cost = 1.0 if count == 1 else self.rng.uniform(0.2, 1.1) * count
            self.costs[part] = cost, cost * self.rng.uniform(0.3, 1.0)
        return self.costs[part][0]

    def known(self, part: int) -> float:
        cost = self.cost(part)
        return cost if part in self.exact else self.costs[part][1]

    def refine(self, part: int) -> bool:
        found = part not in self.exact
        self.exact.add(part)
        return found


def graph(seed: int, nodes: int) -> Graph:
    rng = random.Random(seed)
    return Graph.of([sum(1 << j for j in range(i) if rng.random() < 0.35) for i in range(nodes)])


def is_connected(graph: Graph, part: int) -> bool:
    found, waiting = 0, part & -part
    while waiting:
        found |= waiting
        near = 0
        for node in members(waiting):
            near |= graph.near[node] | graph.reads[node]
            for other in members(part):
                near |= (graph.near[other] >> node & 1) << other
        waiting = near & part & ~found
    return found == part


def candidates(graph: Graph, most: int) -> Iterator[int]:
    """All connected sets that no path leaves and enters again."""
    for count in range(1, most + 1):
        for nodes in itertools.combinations(range(len(graph.reads)), count):
            part = sum(1 << node for node in nodes)
            if is_connected(graph, part) and is_convex(graph, part):
                yield part


def is_convex(graph: Graph, part: int) -> bool:
    return not any(
        graph.needs[outside] & part and any(graph.needs[node] >> outside & 1 for node in members(part))
        for outside in members(graph.whole & ~part)
    )


def least(graph: Graph, costs: Drawn, most: int) -> float:
    """The cost of a cheapest partition, all of which are tried."""
    parts = list(candidates(graph, most))

    @cache
    def rest(done: int) -> float:
        if done == graph.whole:
            return 0.0
        ready = [
            part for part in parts
            if not part & done and not any(graph.reads[node] & ~(done | part) for node in members(part))
        ]  # fmt: skip
        return min((costs.cost(part) + rest(done | part) for part in ready), default=math.inf)

    return rest(0)


def assert_partition(graph: Graph, parts: list[int]) -> None:
    done = 0
    for part in parts:
        assert not part & done
        assert not any(graph.reads[node] & ~(done | part) for node in members(part))
        done |= part
    assert done == graph.whole


@given(seed=st.integers(0, 10_000), nodes=st.integers(1, 8), most=st.integers(1, 5))
def test_the_cheapest_of_all(seed: int, nodes: int, most: int) -> None:
    found, costs = graph(seed, nodes), Drawn(seed)
    parts = cheapest_partition(found, costs, most)
    assert_partition(found, parts)
    assert sum(map(costs.cost, parts)) == pytest.approx(least(found, costs, most))
    assert set(parts) <= costs.exact


@given(seed=st.integers(0, 10_000), nodes=st.integers(2, 12), window=st.integers(5, 40))
def test_few_downsets_still_give_a_partition(seed: int, nodes: int, window: int) -> None:
    found, costs = graph(seed, nodes), Drawn(seed)
    parts = cheapest_partition(found, costs, 4, most_downsets=window)
    assert_partition(found, parts)
    assert sum(map(costs.cost, parts)) <= nodes + 1e-9, "no more than each node by itself"


def test_costs_are_asked_for_where_bounds_do_not_decide() -> None:
    """Of a long chain whose pairs are too dear, no triple is asked for."""

    class Dear(Drawn):
        def cost(self, part: int) -> float:
            self.costs[part] = (float(part.bit_count() ** 2), float(part.bit_count() ** 1.5))
            return self.costs[part][0]

    costs = Dear(0)
    parts = cheapest_partition(Graph.of([0, *(1 << i for i in range(39))]), costs, 6)
    assert parts == [1 << i for i in range(40)]
    assert len(costs.exact) == 40


def test_without_a_partition() -> None:
    class Nothing(Drawn):
        def known(self, part: int) -> float:
            return math.inf

    with pytest.raises(ValueError, match="no partition has a finite cost"):
        cheapest_partition(Graph.of([0, 1]), Nothing(0), 2)


def test_parts_that_wait_for_one_another_have_no_order() -> None:
    crossed = Graph.of([0, 0, 0b01, 0b10])
    assert order_of(crossed, [0b1001, 0b0110]) is None
    assert order_of(crossed, [0b1010, 0b0101]) == [0b0101, 0b1010]


@pytest.mark.parametrize("seed", range(12))
def test_cp_sat_finds_nothing_cheaper(seed: int) -> None:
    """An independent optimum: sets that cover each node once, with numbers that grow along what is read."""
    pytest.importorskip("ortools", reason="OR-Tools is not installed (extra solver)")
    from ortools.sat.python import cp_model

    found, costs, most = graph(seed, 14), Drawn(seed), 4
    model = cp_model.CpModel()
    parts = list(candidates(found, most))
    taken = {part: model.new_bool_var(f"{part}") for part in parts}
    turn = [model.new_int_var(0, 14, f"turn {node}") for node in range(14)]
    for node in range(14):
        model.add_exactly_one(taken[part] for part in parts if part >> node & 1)
        for read in members(found.reads[node]):
            together = [taken[part] for part in parts if part >> node & 1 and part >> read & 1]
            model.add(turn[node] >= turn[read] + 1 - sum(together))
    for part in parts:
        first, *others = members(part)
        for node in others:
            model.add(turn[node] == turn[first]).only_enforce_if(taken[part])
    scaled = {part: round(1e6 * costs.cost(part)) for part in parts}
    model.minimize(sum(scaled[part] * taken[part] for part in parts))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    cheapest = cheapest_partition(found, costs, most)
    assert_partition(found, cheapest)
    assert sum(scaled[part] for part in cheapest) == pytest.approx(solver.objective_value, abs=20)
