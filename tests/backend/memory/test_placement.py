"""Placement of buffers: never overlapping, at least the bound, and optimal where brute force can tell."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.memory.placement import Buffer, peak_live_bytes, place


@st.composite
def buffers(draw: st.DrawFn, most: int, sizes: int = 6, steps: int = 6) -> list[Buffer]:
    result = []
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, steps))
        result.append(Buffer(draw(st.integers(1, sizes)) * 256, start, draw(st.integers(start, steps))))
    return result


def brute_force(items: list[Buffer]) -> int:
    """The least size over all orders of first fit at the lowest gap, which reach every canonical solution."""
    best = sum(b.size for b in items)
    for order in itertools.permutations(range(len(items))):
        placed: list[tuple[int, Buffer]] = []
        for i in order:
            offset = 0
            for low, other in sorted(((o, b) for o, b in placed if b.overlaps(items[i])), key=lambda p: p[0]):
                if offset + items[i].size <= low:
                    break
                offset = max(offset, low + other.size)
            placed.append((offset, items[i]))
        best = min(best, max(o + b.size for o, b in placed))
    return best


@given(buffers(most=30, sizes=40, steps=12))
def test_live_buffers_never_overlap(items: list[Buffer]) -> None:
    placement = place(items, max_nodes=200)
    for (i, a), (j, b) in itertools.combinations(enumerate(items), 2):
        if a.overlaps(b):
            low, high = sorted([(placement.offsets[i], a.size), (placement.offsets[j], b.size)])
            assert low[0] + low[1] <= high[0], (a, b)
    assert all(offset % 256 == 0 for offset in placement.offsets)
    assert placement.bound == peak_live_bytes(items)
    assert placement.size >= placement.bound
    assert placement.size == max(o + b.size for o, b in zip(placement.offsets, items, strict=True))


@given(buffers(most=6))
def test_equals_brute_force(items: list[Buffer]) -> None:
    assert place(items).size == brute_force(items)


def test_exact_search_improves_on_first_fit() -> None:
    # found by random search: every order of the portfolio is above the optimum
    items = [Buffer(s * 256, a, b) for s, a, b in FOOLS_FIRST_FIT]
    assert place(items, max_nodes=0).size > place(items).size
    assert place(items).optimal


FOOLS_FIRST_FIT = [(4, 1, 5), (2, 5, 5), (3, 4, 5), (5, 5, 6), (6, 3, 4)]


def test_sizes_are_rounded_to_the_alignment() -> None:
    placement = place([Buffer(1, 0, 1), Buffer(300, 0, 0), Buffer(0, 0, 1)])
    assert sorted(placement.offsets[:2]) in ([0, 256], [0, 512])
    assert placement.size == 768


def test_another_alignment() -> None:
    assert set(place([Buffer(1, 0, 0), Buffer(1, 0, 0)], alignment=4096).offsets) == {0, 4096}


def test_nothing_to_place() -> None:
    assert place([]).size == 0


@pytest.mark.parametrize("bad", [(-1, 0, 0), (1, 3, 2)])
def test_a_buffer_needs_a_size_and_a_lifetime(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="size >= 0 and end >= start"):
        Buffer(*bad)
