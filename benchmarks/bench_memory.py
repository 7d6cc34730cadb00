"""How close `tx8ir.backend.memory.plan` comes to the bound and to CP-SAT's optimum, and how long both take.

Prints tables and writes `memory.md`. Without OR-Tools (extra `solver`) the columns of CP-SAT stay empty.

    python benchmarks/bench_memory.py [--steps 10000] [--solver-seconds 20] [--instances 5] [--output docs/benchmarks]
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

import memory_instances
from tx8ir.backend import memory
from tx8ir.backend.memory import Buffer

try:
    import memory_cp_sat
except ImportError:
    memory_cp_sat = None

Make = Callable[[int, int], list[Buffer]]

FAMILIES: tuple[tuple[str, Make, tuple[int, ...]], ...] = (
    ("network: values of a network, with skips", memory_instances.network, (40, 200)),
    ("crowded: long-lived beside short, near capacity", memory_instances.crowded, (50, 150, 300, 450)),
    ("cut: a full memory in pieces, nothing to spare", memory_instances.cut, (50, 150, 300, 450)),
)
NETWORKS = 200  # whose peak over bound is counted
LARGE = 2000


@attrs.frozen
class Measured:
    """Peaks of one instance over its bound, and seconds."""

    first_fit: float
    planned: float
    seconds: float
    optimal: bool
    solver: float | None
    solver_optimal: bool
    solver_seconds: float


def measure(buffers: Sequence[Buffer], steps: int, solver_seconds: float) -> Measured:
    bound = memory.lower_bound(buffers)
    first_fit = memory.plan(buffers, steps=0)
    started = time.process_time()
    planned = memory.plan(buffers, steps=steps)
    taken = time.process_time() - started
    answer = None
    if memory_cp_sat is not None and solver_seconds:
        try:
            answer = memory_cp_sat.solve(buffers, seconds=solver_seconds)
        except RuntimeError:
            answer = None
    return Measured(
        first_fit.peak / bound,
        planned.peak / bound,
        taken,
        planned.is_optimal,
        answer and answer.peak / bound,
        answer is not None and answer.peak == answer.bound,
        answer.seconds if answer else solver_seconds,
    )


def mean_and_worst(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}, {max(values):.3f}"


def family(name: str, make: Make, counts: Sequence[int], args: argparse.Namespace) -> list[str]:
    rows: list[str] = []
    for count in counts:
        found = [measure(make(count, seed), args.steps, args.solver_seconds) for seed in range(args.instances)]
        answers = [m.solver for m in found if m.solver is not None]
        solved = f"{mean_and_worst(answers)} ({len(answers)} found)" if answers else "-"
        seconds = [m.seconds for m in found]
        rows.append(
            f"| {name} | {count} | {mean_and_worst([m.first_fit for m in found])} "
            f"| {mean_and_worst([m.planned for m in found])} | {sum(m.optimal for m in found)} "
            f"| {sum(seconds) / len(found):.2f}, {max(seconds):.2f} | {solved} "
            f"| {sum(m.solver_optimal for m in found)} | {sum(m.solver_seconds for m in found) / len(found):.1f} |"
        )
        print(rows[-1], flush=True)
    return rows


def networks() -> str:
    plans = [memory.plan(memory_instances.network(40, seed)) for seed in range(NETWORKS)]
    share = sum(plan.peak == memory.lower_bound(plan.buffers) for plan in plans) / len(plans)
    return f"Of {len(plans)} networks of 40 values, {share:.1%} have a peak of exactly the bound.\n"


def large(steps: int) -> str:
    lines: list[str] = []
    for make in (memory_instances.crowded, memory_instances.cut):
        buffers = make(LARGE, 0)
        started = time.process_time()
        plan = memory.plan(buffers, steps=steps)
        ratio = plan.peak / memory.lower_bound(plan.buffers)
        lines.append(f"{LARGE} buffers ({make.__name__}): {ratio:.3f} in {time.process_time() - started:.1f} s.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000, help="of the exact search, for each plan of ours")
    parser.add_argument("--solver-seconds", type=float, default=20.0, help="for each plan of CP-SAT; 0: none")
    parser.add_argument("--instances", type=int, default=5, help="of each family and size")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent.parent / "docs" / "benchmarks")
    args = parser.parse_args()
    header = (
        "| instances | buffers | first fit | plan | proven | s | CP-SAT | proven | s |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    print(header)
    rows = [row for entry in FAMILIES for row in family(*entry, args)]
    text = f"""# Memory plans

Peak over the lower bound (the most bytes live at one time): mean and worst of {args.instances} instances. `plan` is
Python and NumPy, one thread, with {args.steps:,} steps of the exact search; CP-SAT is OR-Tools' solver with one worker
and {args.solver_seconds:g} s. Seconds of `plan` are CPU time, mean and longest; "proven" counts plans that are known
to be the least. Written by `make bench-memory`; the families are in `benchmarks/memory_instances.py`.

{platform.machine()}, Python {platform.python_version()}

{header}
{chr(10).join(rows)}

{networks()}
{large(args.steps)}"""
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "memory.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
