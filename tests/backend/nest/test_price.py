"""The price of a choice is the time of the simulator's clock, within 5 %."""

from __future__ import annotations

from functools import cache

import attrs
import pytest

from support import nests
from tx8ir.backend.axes import Cut, Strategy
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.price import Plan, Pricer
from tx8ir.sim import time_program
from tx8ir.target.chip import BOARD, TX8, Target

BOARD_TX8 = attrs.evolve(TX8, profile=BOARD)
M, N, K = range(3)


@attrs.frozen
class Case:
    """A choice for the product 1024 x 1024 x 4096 in bf16."""

    x: tuple[Cut, ...]
    y: tuple[Cut, ...]
    time: tuple[Cut, ...]
    buffers: tuple[int, int]
    along: tuple[str, str]
    """Of w and of x."""


CASES = {
    "sums, shared": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(K, 8),), (2, 1), ("x", "y")),
    "sums, shared, one buffer": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(K, 8),), (1, 1), ("x", "y")),
    "sums, each its own": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(K, 8),), (2, 1), ("", "")),
    "sums, one of both shared": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(K, 8),), (2, 1), ("x", "")),
    "three loops": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(M, 2), Cut(N, 2), Cut(K, 4)), (2, 1), ("x", "y")),
    "columns": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(N, 16),), (3, 2), ("x", "y")),
    "columns over the whole mesh": Case((Cut(N, 4),), (Cut(N, 4),), (Cut(M, 8),), (3, 2), ("", "")),
    "columns over the whole mesh, rows shared": Case((Cut(N, 4),), (Cut(N, 4),), (Cut(M, 8),), (2, 2), ("", "x")),
    "columns over the whole mesh, all shared": Case((Cut(N, 4),), (Cut(N, 4),), (Cut(M, 8),), (3, 2), ("", "xy")),
    "many trips": Case((Cut(M, 4),), (Cut(N, 4),), (Cut(N, 64),), (2, 2), ("", "y")),
}


@pytest.mark.parametrize("target", [TX8, BOARD_TX8], ids=["datasheet", "board"])
@pytest.mark.parametrize("name", CASES)
def test_products(name: str, target: Target) -> None:
    case = CASES[name]
    choice = Choice(Strategy(case.x, case.y, case.time), *case.buffers, case.along)
    made = nests.compiled(nests.product(1024, 1024, 4096), lambda body: choice, target)
    assert made.cycles == pytest.approx(time_program(made.program).cycles, rel=0.05)


@pytest.mark.parametrize("cuts", [
    Strategy((Cut(0, 4),), (), (Cut(1, 4),)),
    Strategy((Cut(0, 4),), (Cut(1, 4),)),
    Strategy((Cut(0, 4),), (Cut(1, 4),), (Cut(1, 5),)),
    Strategy((Cut(1, 4),), (Cut(1, 4),)),
    Strategy((Cut(1, 4),), (Cut(1, 4),), (Cut(1, 8),)),
], ids=["two passes", "over the mesh", "both", "over all tiles", "over all tiles and in time"])  # fmt: skip
def test_softmax(cuts: Strategy) -> None:
    made = nests.compiled(nests.softmax((4, 32000)), lambda body: Choice(cuts, 2, 2, ("",)))
    assert made.cycles == pytest.approx(time_program(made.program).cycles, rel=0.05)


@cache
def rows(count: int) -> NestBody:
    return nests.body_of(nests.lowered(nests.softmax((count, 128))))


def test_trips_are_skipped_exactly() -> None:
    """In a steady state each trip takes the same time."""

    def cycles(steps: int) -> int:
        body = rows(64 * steps)
        return Pricer(body).cycles(Plan.of(body, Choice(Strategy((Cut(0, 4),), (Cut(0, 4),), (Cut(0, steps),)), 2, 2)))

    first, second, third = cycles(50), cycles(100), cycles(200)
    assert third - second == pytest.approx(2 * (second - first), abs=4)
