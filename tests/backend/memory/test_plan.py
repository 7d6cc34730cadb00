"""`memory.plan`: valid plans, optimal ones where brute force or CP-SAT can tell; what is refused."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend import memory
from tx8ir.backend.memory import Buffer, MemoryPlan, lower_bound

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def instances() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("memory_instances")
    sys.path.remove(str(ROOT / "benchmarks"))


def buffers(most: int, sizes: int = 6, times: int = 6, alignments: tuple[int, ...] = (1,)) -> st.SearchStrategy[Any]:
    @st.composite
    def drawn(draw: st.DrawFn) -> list[Buffer]:
        found: list[Buffer] = []
        for i in range(draw(st.integers(1, most))):
            lower = draw(st.integers(0, times))
            upper = draw(st.integers(lower + 1, times + 1))
            found.append(Buffer(str(i), lower, upper, draw(st.integers(0, sizes)), draw(st.sampled_from(alignments))))
        return found

    return drawn()


def check_valid(plan: MemoryPlan) -> None:
    for (a, p), (b, q) in itertools.combinations(zip(plan.buffers, plan.offsets, strict=True), 2):
        if a.overlaps(b) and a.size and b.size:
            assert p + a.size <= q or q + b.size <= p, (a, p, b, q)
    for b, offset in zip(plan.buffers, plan.offsets, strict=True):
        assert offset >= 0
        assert offset % b.alignment == 0
    assert plan.peak == max(o + b.size for b, o in zip(plan.buffers, plan.offsets, strict=True))
    assert lower_bound(plan.buffers) <= plan.bound <= plan.peak


def brute_force(items: Sequence[Buffer]) -> int:
    """The least peak over all orders of first fit, which reach every canonical solution."""
    best: int | None = None
    for order in itertools.permutations(items):
        placed: list[tuple[int, Buffer]] = []
        for b in order:
            offset = 0
            for low, other in sorted(((o, p) for o, p in placed if p.overlaps(b)), key=lambda item: item[0]):
                if offset + b.size <= low:
                    break
                offset = max(offset, -(-(low + other.size) // b.alignment) * b.alignment)
            placed.append((offset, b))
        peak = max(o + b.size for o, b in placed)
        best = peak if best is None else min(best, peak)
    assert best is not None
    return best


@given(buffers(most=30, sizes=40, times=12, alignments=(1, 4, 16)), st.sampled_from([0, 50, 500]))
def test_a_plan_is_valid(items: list[Buffer], steps: int) -> None:
    plan = memory.plan(items, steps=steps)
    check_valid(plan)
    assert plan.steps <= steps
    assert plan == memory.plan(items, plan.peak, steps=steps), "deterministic, and it fits what it needs"


@given(buffers(most=6))
def test_equals_brute_force(items: list[Buffer]) -> None:
    plan = memory.plan([b for b in items if b.size])
    if plan.buffers:
        assert plan.peak == brute_force(plan.buffers)
        assert plan.is_optimal


@given(buffers(most=5, sizes=9, alignments=(1, 2, 8)))
def test_with_alignments_no_order_of_first_fit_is_better(items: list[Buffer]) -> None:
    plan = memory.plan([b for b in items if b.size])
    if plan.buffers:
        grain = min(b.alignment for b in plan.buffers)
        rounded = [Buffer(b.id, b.lower, b.upper, -(-b.size // grain) * grain, b.alignment) for b in plan.buffers]
        assert memory.plan(rounded).peak == brute_force(rounded)
        assert plan.bound <= brute_force(plan.buffers) <= plan.peak


# Both found by random search. (size, lower, upper)
FOOLS_FIRST_FIT = [(5, 0, 3), (2, 4, 5), (4, 4, 7), (4, 2, 6), (5, 0, 2)]
NEEDS_MORE_THAN_IS_LIVE = [
    (3, 6, 9), (2, 0, 2), (3, 7, 9), (3, 2, 3), (1, 3, 6), (2, 4, 7), (3, 2, 5), (1, 0, 2), (2, 0, 1), (2, 1, 2),
    (1, 5, 7), (1, 5, 6), (2, 3, 4), (1, 5, 6), (1, 0, 2),
]  # fmt: skip


def of(rows: list[tuple[int, int, int]]) -> list[Buffer]:
    return [Buffer(str(i), lower, upper, size) for i, (size, lower, upper) in enumerate(rows)]


def test_the_exact_search_improves_on_first_fit() -> None:
    items = of(FOOLS_FIRST_FIT)
    assert memory.plan(items, steps=0).peak > memory.plan(items).peak
    assert memory.plan(items).is_optimal


def test_a_bound_that_no_plan_reaches_is_raised() -> None:
    items = of(NEEDS_MORE_THAN_IS_LIVE)
    assert lower_bound(items) == 6
    plan = memory.plan(items)
    assert (plan.peak, plan.bound) == (7, 7)
    with pytest.raises(memory.CapacityError) as raised:
        memory.plan(items, 6)
    assert raised.value.proven


def test_gives_the_optimum_of_cp_sat(instances: ModuleType) -> None:
    optimum = load_solver()
    made = [instances.crowded(14, seed) for seed in range(12)]
    made += [instances.cut(n, seed, horizon=20, capacity=40, grain=1) for seed in range(12) for n in (8, 12, 16)]
    made += [instances.network(14, seed) for seed in range(6)]
    made.append(of(NEEDS_MORE_THAN_IS_LIVE))
    for items in made:
        plan = memory.plan(items)
        check_valid(plan)
        assert plan.peak == optimum(items)


def load_solver() -> Callable[[Sequence[Buffer]], int]:
    pytest.importorskip("ortools", reason="OR-Tools is not installed (extra solver)")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        solver = importlib.import_module("memory_cp_sat")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return lambda items: solver.solve(items, seconds=600).peak


@pytest.mark.slow
def test_hard_instances_stay_near_the_bound(instances: ModuleType) -> None:
    """Within the default steps, that is about a second (`make bench-memory` says how long it takes)."""
    for make, count, most in ((instances.crowded, 300, 1.10), (instances.cut, 150, 1.0)):
        plan = memory.plan(make(count, 0), steps=10_000)
        check_valid(plan)
        assert plan.peak <= most * plan.bound


def test_networks_reach_the_bound(instances: ModuleType) -> None:
    plans = [memory.plan(instances.network(40, seed), steps=2000) for seed in range(100)]
    assert sum(plan.is_optimal for plan in plans) >= 98


def test_many_buffers_do_not_recurse(instances: ModuleType) -> None:
    items = instances.cut(2000, 0)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(list(_frames())) + 60)
    try:
        plan = memory.plan(items, steps=2500)
    finally:
        sys.setrecursionlimit(limit)
    assert plan.steps > 2000, "the search went to the depth of all buffers"
    assert plan.peak <= 1.5 * plan.bound


def _frames() -> Iterator[Any]:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def test_seconds_end_the_search(instances: ModuleType) -> None:
    assert memory.plan(instances.cut(300, 2), seconds=0).steps == 0


def test_parts_that_no_lifetime_joins_share_the_steps_by_need() -> None:
    easy = [Buffer("easy", 100, 101, 10)]
    items = of(FOOLS_FIRST_FIT)
    assert memory.plan(easy + items).steps == memory.plan(items).steps
    tall = [Buffer("tall", 100, 101, 1000)]
    assert memory.plan(tall + items).steps == 0, "the rest need not be better than the tallest part"


def test_nothing_to_plan() -> None:
    assert memory.plan([]).peak == 0
    assert memory.plan([Buffer("a", 0, 1, 0)], 0).offsets == (0,)


def test_offsets_by_id() -> None:
    plan = memory.plan([Buffer("a", 0, 2, 10), Buffer("b", 1, 3, 4, 8)])
    assert {plan["a"], plan["b"]} in ({0, 4}, {0, 16}, {8, 0})
    with pytest.raises(KeyError, match="c"):
        plan["c"]


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ((3, 3, 1, 1), memory.LifetimeError, "buffer 'x' is live at no time: expected lower < upper, got 3 and 3"),
        ((4, 3, 1, 1), memory.LifetimeError, "got 4 and 3"),
        ((0, 1, -1, 1), memory.SizeError, "buffer 'x' has -1 bytes; expected 0 or more"),
        ((0, 1, 1, 0), memory.AlignmentError, "buffer 'x' has alignment 0; expected a power of two"),
        ((0, 1, 1, 12), memory.AlignmentError, "alignment 12"),
        ((0, 1, 1, -4), memory.AlignmentError, "alignment -4"),
    ],
)
def test_a_buffer_that_makes_no_sense(fields: tuple[int, int, int, int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Buffer("x", *fields)


def test_two_buffers_with_one_id() -> None:
    with pytest.raises(memory.DuplicateBufferError, match="two buffers have the id 'a'"):
        memory.plan([Buffer("a", 0, 1, 1), Buffer("a", 1, 2, 1)])


def test_a_buffer_larger_than_the_capacity() -> None:
    with pytest.raises(memory.BufferTooLargeError, match="buffer 'a' has 10 bytes, 3 more than the capacity of 7"):
        memory.plan([Buffer("a", 0, 1, 10)], 7)


def test_what_does_not_fit_says_how_much_and_what_is_live() -> None:
    items = [Buffer("early", 0, 2, 5), Buffer("x", 2, 4, 6), Buffer("y", 3, 5, 7), Buffer("z", 3, 9, 1)]
    with pytest.raises(memory.CapacityError) as raised:
        memory.plan(items, 12)
    error = raised.value
    assert (error.missing, error.time, [b.id for b in error.live], error.proven) == (2, 3, ["y", "x", "z"], True)
    assert str(error) == (
        "4 buffers need 14 bytes, 2 more than the capacity of 12 (no plan fits); "
        "at time 3 14 bytes are live: y 7, x 6, z 1"
    )


def test_what_was_not_found_is_not_called_impossible() -> None:
    items = of(FOOLS_FIRST_FIT)
    least = memory.plan(items).peak
    with pytest.raises(memory.CapacityError, match="is not ruled out, but none was found") as raised:
        memory.plan(items, least, steps=0)
    assert not raised.value.proven
    assert memory.plan(items, least).peak == least
