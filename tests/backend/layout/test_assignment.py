"""Labelling a graph dense or blocked: the two solvers against brute force and the published examples."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.layout.assignment import Flow, greedy, optimal, total_cost


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[bool | None], list[Flow]]:
    """Small graphs in topological order with random pins, users and costs (which may be zero)."""
    n = draw(st.integers(2, 9))
    pins = draw(st.lists(st.sampled_from([None, None, False, True]), min_size=n, max_size=n))
    flows: list[Flow] = []
    for producer in range(n - 1):
        users = draw(st.sets(st.integers(producer + 1, n - 1), max_size=3))
        if users:
            align, dense = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
            flows.append(Flow(producer, tuple(sorted(users)), align, dense))
    return pins, flows


def labellings(pins: list[bool | None]) -> list[list[bool]]:
    return [list(labels) for labels in itertools.product(*[(False, True) if pin is None else (pin,) for pin in pins])]


class TestOptimal:
    @given(problems())
    def test_equals_brute_force_in_cost_and_number_of_aligned_ops(
        self, problem: tuple[list[bool | None], list[Flow]]
    ) -> None:
        pins, flows = problem
        labels = optimal(pins, flows)
        assert all(pin is None or pin == label for pin, label in zip(pins, labels, strict=True))
        best = min((total_cost(trial, flows), sum(trial)) for trial in labellings(pins))
        assert (total_cost(labels, flows), sum(labels)) == best

    def test_a_value_is_converted_once_for_all_its_users(self) -> None:
        dense_value_with_three_aligned_users = [Flow(0, (1, 2, 3), 5, 5)]
        labels = optimal([False, True, True, True], dense_value_with_three_aligned_users)
        assert total_cost(labels, dense_value_with_three_aligned_users) == 5

    @pytest.mark.parametrize("k", [1, 2, 8])
    def test_adds_that_share_a_dense_operand_and_feed_convolutions(self, k: int) -> None:
        """Greedy converts each sum and each other operand; converting the shared operand once is enough."""
        # node 0: the shared dense value; 1..k: aligned values; then k adds; then k convolutions
        others, adds, convs = (range(1 + i * k, 1 + (i + 1) * k) for i in range(3))
        pins: list[bool | None] = [False, *[True] * k, *[None] * k, *[True] * k]
        flows = [Flow(0, tuple(adds), 1, 1)]
        flows += [Flow(o, (a,), 1, 1) for o, a in zip(others, adds, strict=True)]
        flows += [Flow(a, (c,), 1, 1) for a, c in zip(adds, convs, strict=True)]
        assert total_cost(greedy(pins, flows), flows) == 2 * k
        assert total_cost(optimal(pins, flows), flows) == 1

    def test_a_chain_between_dense_ends_stays_dense(self) -> None:
        assert optimal([False, None, None, False], [Flow(i, (i + 1,), 1, 1) for i in range(3)]) == [False] * 4

    def test_the_cheapest_place_on_the_way_is_taken(self) -> None:
        """Dense to aligned along a chain: the conversion goes where the value is smallest."""
        flows = [Flow(0, (1,), 9, 9), Flow(1, (2,), 4, 4), Flow(2, (3,), 9, 9)]
        assert optimal([False, None, None, True], flows) == [False, False, True, True]

    def test_three_thousand_ops(self) -> None:
        """One connected graph of 3,000 free ops is labelled (in about 0.2 s; `benchmarks/bench_layout.py` times it)."""
        rng = random.Random(0)
        n = 3000
        users: list[set[int]] = [set() for _ in range(n)]
        for node in range(1, n):
            for _ in range(rng.randint(1, 2)):
                users[rng.randrange(max(0, node - 20), node)].add(node)
        pins: list[bool | None] = [None if rng.random() < 0.9 else rng.random() < 0.5 for _ in range(n)]
        flows = [Flow(p, tuple(sorted(u)), c := rng.randint(1, 9), c) for p, u in enumerate(users) if u]
        assert total_cost(optimal(pins, flows), flows) < 0.5 * total_cost(greedy(pins, flows), flows)


class TestGreedy:
    def test_a_free_op_follows_its_first_producer(self) -> None:
        """Node 2 has the aligned producer 1 and the dense producer 0, which comes first."""
        flows = [Flow(0, (2,), 1, 1), Flow(1, (2,), 1, 1)]
        assert greedy([False, True, None], flows) == [False, True, False]
        assert greedy([True, False, None], flows) == [True, False, True]

    def test_labels_run_down_the_graph(self) -> None:
        assert greedy([True, None, None], [Flow(0, (1,), 1, 1), Flow(1, (2,), 1, 1)]) == [True, True, True]

    def test_without_producer_an_op_is_dense(self) -> None:
        assert greedy([None], []) == [False]

    @given(problems())
    def test_is_never_better_than_optimal(self, problem: tuple[list[bool | None], list[Flow]]) -> None:
        pins, flows = problem
        assert total_cost(greedy(pins, flows), flows) >= total_cost(optimal(pins, flows), flows)
