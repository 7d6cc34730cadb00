"""Labelling times of `layout-align`'s two solvers, and what greedy costs beside the optimum, on random graphs."""

from __future__ import annotations

import random
import time

from tx8ir.backend.layout.assignment import Flow, greedy, optimal, total_cost

OPS = 3000
SEEDS = 5


def random_graph(n: int, pinned: float, seed: int) -> tuple[list[bool | None], list[Flow]]:
    """A graph of n ops whose operands come from the 20 ops before; the share `pinned` of them takes one layout only."""
    rng = random.Random(seed)
    users: list[set[int]] = [set() for _ in range(n)]
    for node in range(1, n):
        for _ in range(rng.randint(1, 2)):
            users[rng.randrange(max(0, node - 20), node)].add(node)
    pins = [rng.random() < 0.5 if rng.random() < pinned else None for _ in range(n)]
    return pins, [Flow(p, tuple(sorted(u)), c := rng.randint(1, 9), c) for p, u in enumerate(users) if u]


def main() -> None:
    print(f"{OPS} ops, mean of {SEEDS} graphs")
    print(f"{'pinned':>8} {'optimal s':>10} {'greedy s':>10} {'greedy cost / optimum':>22}")
    for pinned in (0.3, 0.1, 0.03, 0.01):
        seconds = {optimal: 0.0, greedy: 0.0}
        costs = {optimal: 0, greedy: 0}
        for seed in range(SEEDS):
            pins, flows = random_graph(OPS, pinned, seed)
            for solve in (optimal, greedy):
                start = time.perf_counter()
                labels = solve(pins, flows)
                seconds[solve] += (time.perf_counter() - start) / SEEDS
                costs[solve] += total_cost(labels, flows)
        ratio = costs[greedy] / costs[optimal]
        print(f"{pinned:8.0%} {seconds[optimal]:10.3f} {seconds[greedy]:10.4f} {ratio:22.2f}")


if __name__ == "__main__":
    main()
