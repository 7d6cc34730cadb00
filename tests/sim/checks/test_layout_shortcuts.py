"""The layout map leaves out what it has done before: with and without that it knows and finds the same."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.integration import test_seeded_faults as planted
from tests.kernels.test_generated import Drawn
from tests.sim.checks.test_misuse import FAULTS, RIGHT, feeds

from tx8ir.core import Program
from tx8ir.kernels import Kernel
from tx8ir.sim import SimError, Simulator
from tx8ir.sim.checks.shadow import Shadow


def what_is_found(program: Program, inputs: dict[str, Any]) -> tuple[str, list[list[tuple[int, int, int]]]]:
    """The message of the fault, if there is one, and the codes of all bytes, of two runs that are both looked at."""
    simulator = Simulator(program)
    layouts = simulator._layouts
    assert layouts is not None
    message = ""
    for _ in range(2):
        layouts.forget()
        try:
            simulator.run(inputs)
        except SimError as error:
            message += str(error)
    return message, [shadow.segments(0, store.size) for store, shadow in layouts._shadows.items()]


def both(program: Program, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = what_is_found(program, inputs)
    stamps = itertools.count(1 << 60)
    with monkeypatch.context() as patch:
        patch.setattr(Shadow, "stamp", lambda self, zones: next(stamps))  # nothing is ever as it was
        assert what_is_found(program, inputs) == found


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_generated_kernels(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + 10):
        drawn = Drawn(seed)
        both(drawn.k.program(), {"x": drawn.x}, monkeypatch)


@pytest.mark.parametrize("build", [*[build for _, build in FAULTS.values()], *RIGHT.values()], ids=lambda b: b.__name__)
def test_faults_and_what_is_none(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    k = Kernel("one", (0, 3))
    build(k)
    program = k.program()
    both(program, feeds(program), monkeypatch)


compiled = planted.compiled


@pytest.mark.parametrize("name", planted.FAULTS)
def test_faults_in_compiled_programs(name: str, compiled: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled.clone()
    planted.FAULTS[name][1](program, np.random.default_rng(0))
    both(program, planted.feeds(program), monkeypatch)


@pytest.mark.parametrize("trips", [1, 2, 3, 9])
def test_a_buffer_that_a_loop_fills_with_two_formats_in_turn(trips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    k = Kernel("turns", range(3))
    s, a, b = k.scratch("s", (3, 64), "f32"), k.spm("a", (8,), "f32"), k.spm("b", (8,), "f32")
    k.fill(a, 1.0)
    with k.loop(trips) as i:
        k.store([s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(3)], a)
        k.load(b, [s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(3)])
        k.fill(a, 0.0)
        k.binary("add", a, b, 1.0)
    both(k.program(), {}, monkeypatch)


def test_trips_of_a_loop_that_change_nothing_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def fills(trips: int) -> int:
        k = Kernel("loop", range(2))
        a = k.spm("a", (8,), "f32")
        k.fill(a, 1.0)
        with k.loop(trips):
            k.binary("add", a, a, 1.0)
        program = k.program()
        calls: list[int] = []
        set_part = Shadow.set_part
        with monkeypatch.context() as patch:
            patch.setattr(Shadow, "set_part", lambda self, *args: calls.append(1) or set_part(self, *args))
            Simulator(program).run({})
        return len(calls)

    assert fills(100) == fills(5)
