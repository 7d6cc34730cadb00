"""The seeded graphs that every IR library builds, and how one workload is timed."""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

SEED = 20240607
SHAPE = (8, 128)
SIZES = (10_000, 100_000)

# A graph is a list of (kind, a, b) with kind add, mul or relu. Operands number values: 0 and 1 are the two function
# arguments, k >= 2 is the result of operation k - 2; relu ignores b. ZERO stands for a constant 0.
ZERO = -1
Dag = list[tuple[str, int, int]]


def mixed(n: int) -> tuple[Dag, tuple[int, ...]]:
    """Each operation takes uniformly random earlier values."""
    rng = random.Random(SEED)
    kinds = ("add", "mul", "relu")
    return [(rng.choice(kinds), rng.randrange(i + 2), rng.randrange(i + 2)) for i in range(n)], (n + 1,)


def half_dead(n: int) -> tuple[Dag, tuple[int, ...]]:
    """Even operations form a live chain, odd ones are dead and take any earlier value."""
    rng, dag, live = random.Random(SEED), [], [0, 1]
    for i in range(n):
        kind = rng.choice(("add", "mul", "relu"))
        if i % 2 == 0:
            dag.append((kind, live[-1], rng.choice(live)))
            live.append(i + 2)
        else:
            dag.append((kind, rng.randrange(i + 2), rng.randrange(i + 2)))
    return dag, (live[-1],)


def half_equal(n: int) -> tuple[Dag, tuple[int, ...]]:
    """Pairs of equal operations; a pair takes the members of the one before, so merging one shows the next."""
    rng, dag, original, duplicate = random.Random(SEED), [], 0, 0
    for i in range(0, n, 2):
        kind, r = rng.choice(("add", "mul")), rng.randrange(i + 2)
        dag += [(kind, duplicate, r), (kind, original, r)]
        original, duplicate = i + 2, i + 3
    return dag, (original, duplicate)


def add_zero(n: int) -> tuple[Dag, tuple[int, ...]]:
    """A live chain: mul by a random earlier value, then add ZERO, in turn."""
    rng = random.Random(SEED)
    dag = [("mul", i + 1, rng.randrange(i + 2)) if i % 2 == 0 else ("add", i + 1, ZERO) for i in range(n)]
    return dag, (n + 1,)


def fan_out(n: int) -> tuple[Dag, tuple[int, ...]]:
    """A graph of n users of argument 0."""
    return [("relu", 0, 0)] * n, (n + 1,)


def sampled(n: int, k: int) -> list[int]:
    """Draw k distinct positions of n, in random order."""
    return random.Random(SEED).sample(range(n), k)


def chosen(n: int, k: int) -> list[int]:
    """Draw k positions of n, in random order, repeats allowed."""
    return random.Random(SEED).choices(range(n), k=k)


Setup = Callable[[int], Any]
Run = Callable[[Any], Any]
Check = Callable[[Any, Any, int], bool]
Bench = tuple[Setup, Run, Check | None]


def resident_bytes() -> int:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(bench: Bench, n: int, repetitions: int) -> float:
    """Best seconds of one run, the set-up not counted, the garbage collector on as users have it."""
    setup, run, check = bench
    times: list[float] = []
    for _ in range(repetitions):
        state = setup(n)
        gc.collect()
        start = time.perf_counter()
        outcome = run(state)
        times.append(time.perf_counter() - start)
        if check is not None and not check(state, outcome, n):
            raise AssertionError("the workload did not do what it should")
        del state, outcome
    return min(times)


def import_seconds(statement: str, repetitions: int = 7) -> float:
    """Median wall time of a fresh interpreter running `statement`, less one that only imports numpy."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - start

    pairs = [(once("import numpy"), once("import numpy; " + statement)) for _ in range(repetitions)]
    return statistics.median(b for _, b in pairs) - statistics.median(a for a, _ in pairs)


def main(benches: dict[str, Bench], build: Callable[[Dag, Sequence[int]], Any], import_statement: str) -> None:
    """Run one library's workloads as the command line asks and print one JSON object {workload: {n: seconds}}."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", help="a workload, 'memory' or 'import'")
    parser.add_argument("n", type=int)
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    if args.workload == "memory":
        warm, (dag, results) = build(*mixed(1_000)), mixed(args.n)
        gc.collect()
        before = resident_bytes()
        kept = build(dag, results)
        gc.collect()
        figure = (resident_bytes() - before) / args.n
        del warm, kept
    elif args.workload == "import":
        figure = import_seconds(import_statement)
    else:
        figure = measure(benches[args.workload], args.n, args.repetitions)
    print(json.dumps(figure), flush=True)
    os._exit(0)  # taking a large graph apart is not what is measured
