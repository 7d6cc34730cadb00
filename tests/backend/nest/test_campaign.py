"""Graphs at random, their groups merged at random and compiled by strategies at random, run under all checks."""

from __future__ import annotations

import pytest

from support.nest_graphs import Campaign, graph, misses


def run(first: int, count: int) -> Campaign:
    campaign, missed = Campaign(), dict[int, str]()
    for seed in range(first, first + count):
        program = graph(seed)
        why = misses(program, campaign.schedule(program, seed), seed)
        if why is not None:
            missed[seed] = why
    assert not missed
    return campaign


@pytest.mark.slow
def test_graphs_by_any_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = run(210, 120)
    with capsys.disabled():
        print("", *(f"{count:6} {what}" for what, count in sorted(campaign.seen.items())), sep="\n")
    for what in (
        "sharing: x", "sharing: y", "merged over x: tx8be.Gemm", "merged over y: tx8be.Reduce",
        "merged over y: tx8be.LayerNorm", "merged over y: tx8be.Softmax", "combined in time: tx8be.Gemm",
        "combined in time: tx8be.Reduce", "combined in time: tx8be.LayerNorm", "combined in time: tx8be.Softmax",
        "op: tx8be.Gather", "cut over mesh: reduced", "cut over time: reduced and broadcast back",
    ):  # fmt: skip
        assert campaign.seen[what], what


def test_what_follows_a_sum_is_done_again_where_a_loop_around_makes_the_sum_again() -> None:
    run(1138, 1)  # two products with a normalisation between them, whose loops are over the second one's columns first


@pytest.mark.nightly
def test_many_graphs_by_any_strategy() -> None:
    run(1000, 2000)
