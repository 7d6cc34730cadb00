"""A serving loop: requests of one row each, taken together as they wait, on one simulated chip.

The network is compiled for a few batch sizes. Whenever the chip is idle, the requests that wait go to the smallest
batch that holds them; rows that nobody asked for are zeros. Times are those of the chip.
"""

from __future__ import annotations

import numpy as np

import tx8ir
from tx8ir.runtime import Device, Event, Session
from tx8ir.support.table import Table

SIZES = (1, 4, 16)
WIDTH = 64
RNG = np.random.default_rng(0)
WEIGHTS = [(RNG.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32) for _ in range(3)]


@tx8ir.function
def network(x: tx8ir.Tensor) -> tx8ir.Tensor:
    for weight in WEIGHTS:
        x = (x @ weight).relu()
    return x


def batch_of(sessions: dict[int, Session], requests: list[np.ndarray]) -> tuple[int, Event]:
    """Submits requests together, padded to the smallest batch that holds them."""
    size = min(size for size in sessions if size >= len(requests))
    rows = np.zeros((size, WIDTH), np.float32)
    rows[: len(requests)] = requests
    return size, sessions[size].submit(x=rows)


def serve(chip: Device, arrivals: np.ndarray, requests: np.ndarray) -> tuple[list[float], dict[int, int]]:
    """Serves requests that arrive at these microseconds; returns the latency of each, and how often each size ran."""
    sessions = {n: Session(executable, chip, f"batches of {n}") for n, executable in EXECUTABLES.items()}
    latencies: list[float] = []
    used = dict.fromkeys(SIZES, 0)
    now, done = 0.0, 0
    while done < len(requests):
        now = max(now, float(arrivals[done]))
        waiting = int(np.searchsorted(arrivals, now, side="right"))
        taken = min(waiting - done, max(SIZES))
        size, event = batch_of(sessions, list(requests[done : done + taken]))
        expected = requests[done : done + taken]
        for weight in WEIGHTS:
            expected = np.maximum(expected @ weight, 0)
        (rows,) = event.result().values()
        np.testing.assert_allclose(rows[:taken], expected, atol=1e-5)
        now += event.ended - event.started
        latencies += list(now - arrivals[done : done + taken])
        used[size] += 1
        done += taken
    for session in sessions.values():
        session.close()
    return latencies, used


EXECUTABLES = {n: tx8ir.compile(network.program(np.zeros((n, WIDTH), np.float32))) for n in SIZES}
TITLES = ("requests per us", "runs", "busy", "median latency, us", "worst, us")
rows: list[tuple[str, ...]] = []
for rate in (0.02, 0.2, 1.0):
    arrivals = np.cumsum(RNG.exponential(1 / rate, 64))
    with Device() as chip:
        latencies, used = serve(chip, arrivals, RNG.standard_normal((64, WIDTH)).astype(np.float32))
        busy = chip.microseconds / (arrivals[-1] + latencies[-1])
    median, worst = np.median(latencies), np.max(latencies)
    runs = ", ".join(f"{count} of {size}" for size, count in used.items() if count)
    rows.append((f"{rate:g}", runs, f"{busy:.0%}", f"{median:.1f}", f"{worst:.1f}"))
print(Table("64 requests of one row", TITLES, tuple(rows)))
