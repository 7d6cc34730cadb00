"""Loops: nested trips, moving addresses, buffers in turn; memory stays flat and time linear."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tx8ir.core import parse
from tx8ir.kernels import Kernel
from tx8ir.sim import Simulator


def test_nested_loops_walk_a_matrix_by_blocks() -> None:
    k = Kernel("transpose blocks", range(2))
    x, y = k.input("x", (2, 12, 20), "f32"), k.output("y", (2, 12, 20), "f32")
    a = k.spm_buffers("a", 3, (4, 5), "f32")
    with k.loop(3) as i, k.loop(4) as j:
        block = (slice(i * 4, i * 4 + 4), slice(j * 5, j * 5 + 5))
        k.load(a[(j + 2) % 3], [x[(t, *block)] for t in range(2)])
        k.unary("neg", a[(j + 2) % 3], a[(j + 2) % 3])
        k.store([y[(t, *block)] for t in range(2)], a[(j + 2) % 3])
    program = k.program()
    values = np.random.default_rng(0).standard_normal((2, 12, 20), np.float32)
    result = Simulator(program).run({"x": values})
    np.testing.assert_array_equal(result.outputs["y"], -values)
    assert result.report.instructions == 3 * 3 * 4
    again = parse(str(program))
    again.verify()
    np.testing.assert_array_equal(Simulator(again).run({"x": values}).outputs["y"], -values)


def test_different_tiles_run_different_streams_in_one_loop() -> None:
    k = Kernel("streams", range(3))
    y = k.output("y", (3, 4), "f32")
    a = k.spm("a", (4,), "f32")
    k.fill(a, 1.0)
    with k.loop(5):
        with k.on(0, 2):
            k.binary("add", a, a, 1.0)
        with k.on(1), k.loop(2):
            k.binary("mul", a, a, 2.0)
    k.store([y[t] for t in range(3)], a)
    out = Simulator(k.program()).run({}).outputs["y"]
    assert out[:, 0].tolist() == [6, 1024, 6]


def looped(trips: int) -> Simulator:
    """Four instructions per trip, two of which touch DDR that other tiles could race for."""
    k = Kernel("long", range(2))
    s, a = k.scratch("s", (2, 64), "f32"), k.spm("a", (8,), "f32")
    k.fill(a, 0.0)
    with k.loop(trips // 4) as i:
        k.store([s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(2)], a)
        k.load(a, [s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(2)])
        k.binary("add", a, a, 1.0)
        k.unary("relu", a, a)
    return Simulator(k.program())


def test_memory_does_not_grow_with_the_trips() -> None:
    peaks: list[int] = []
    for trips in (400, 2_000):
        simulator = looped(trips)
        simulator.run({})  # decoded, and memories touched
        tracemalloc.start()
        simulator.run({})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_memory_is_flat_over_a_million_instructions() -> None:
    """What Python and NumPy hold after each tenth of the run."""
    count = 1_000_000
    simulator, held = looped(count), list[int]()
    tracemalloc.start()
    try:
        for executed, _ in enumerate(simulator.executions({}), start=1):
            if executed % (count // 10) == 0:
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(held) == 10
    assert max(held) - held[0] < 64 << 10, held
