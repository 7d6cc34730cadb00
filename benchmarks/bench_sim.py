# ruff: noqa: E402  # the BLAS reads the environment when NumPy is imported
"""How fast the simulator is, beside plain NumPy over the same bytes and onnx's reference evaluator: `make bench-sim`.

Writes docs/benchmarks/sim.md. All sides take turns in one process with one BLAS thread; a figure is the least CPU time
of its runs, which other work on the machine disturbs least. Times of the simulator are those of `Simulator.run`:
cleared memories, inputs packed, every instruction with all checks, outputs unpacked, after a first run that decodes
the instructions; for single instructions a first execution, with decoding, is given as well. Exits with status 1 when
a bound is missed and `--strict` is given.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import contextlib
import io
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np

from sim_instructions import OneInstruction, cases, check_complete
from sim_programs import blocked, looped, numpy_gemm, tiled_gemm, unblocked
from tx8ir.compiler import compile
from tx8ir.frontends import onnx as onnx_frontend
from tx8ir.signature import prepare_inputs
from tx8ir.sim import Simulator, time_program

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "tests" / "data" / "models"
PAGE = ROOT / "docs" / "benchmarks" / "sim.md"
ROWS = (16, 64, 512)
"""Rows of 64 channels on each tile: the sizes at which single instructions are timed."""

REASONS = {
    "dte_": "messages are matched tile by tile, in Python, so that each tile can be at another place of its stream",
    "wdma_scatter": "the rows that the indices name are compared with what other tiles touched, byte for byte",
    "first": "a first execution reads the fields of the instruction, places its operands and checks their addresses; "
    "later ones do not",
}
"""Why a row may miss its bound, by how its name begins."""


def least(sides: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Least CPU seconds of each side; the sides take turns, so that all see the machine in the same states."""
    times: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(rounds):
        for side, found in zip(sides, times, strict=True):
            started = time.process_time()
            side()
            found.append(time.process_time() - started)
    return [min(found) for found in times]


class Table:
    """What is printed, and which bounds it missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def head(self, title: str, columns: str) -> None:
        """Begin a table."""
        names = columns.split(" | ")
        print(f"\n## {title}\n\n| {columns} |\n|---|{'---:|' * (len(names) - 2)}---|")

    def ratio(self, what: str, ours: float, other: float, bound: float | None) -> None:
        """One comparison: milliseconds of both sides, and their ratio against its bound."""
        verdict = "" if bound is None else self._verdict(what, ours <= bound * other, f"{ours / other:.2f}x")
        limit = "" if bound is None else f"{bound:g}x"
        print(
            f"| {what} | {ours * 1e3:.3f} | {other * 1e3:.3f} | {ours / other:.2f}x | {limit} | {verdict} |", flush=True
        )

    def overhead(self, what: str, rows: int, ours: float, other: float, first: float) -> None:
        """One instruction: microseconds beyond three times NumPy's time, against the bound of 50."""
        beyond, beyond_first = ((t - 3 * other) * 1e6 for t in (ours, first))
        verdict = self._verdict(f"{what}, {rows} rows", beyond <= 50, f"{beyond:.0f} us")
        if verdict == "yes":
            verdict = self._verdict(f"first {what}, {rows} rows", beyond_first <= 50, f"{beyond_first:.0f} us")
        figures = " | ".join(f"{t:.1f}" for t in (ours * 1e6, other * 1e6, beyond, beyond_first))
        print(f"| {what} | {figures} | {verdict} |", flush=True)

    def _verdict(self, what: str, met: bool, figure: str) -> str:
        if not met:
            self.missed.append(f"{what}: {figure}")
        return "yes" if met else "NO"

    def explain(self) -> None:
        """Say what missed, and why."""
        print(f"\n## Bounds missed: {len(self.missed)}\n")
        if not self.missed:
            print("None.")
        by_reason: dict[str, list[str]] = {}
        for missed in self.missed:
            prefix = next((p for p in REASONS if missed.startswith(p)), "")
            by_reason.setdefault(prefix, []).append(missed)
        for prefix, group in by_reason.items():
            reason = REASONS.get(prefix) or "not explained; other work on the machine may be the cause"
            print(f"- {'; '.join(group)}. Why: {reason}.")


# -- tables --------------------------------------------------------------------------------------------------------


def bench_gemm(table: Table, rounds: int) -> None:
    """The tiled matrix product with all checks, without, and in NumPy."""
    size, step = 1024, 128
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), np.float32) for _ in range(2))
    program = tiled_gemm(size, step)
    checked, unchecked = Simulator(program), Simulator(program, checks=False)
    inputs = {"a": blocked(a, step), "b": blocked(b, step)}
    product = unblocked(checked.run(inputs).outputs["c"], size, step)
    error = np.abs(product - a.astype(np.float64) @ b).max()
    assert error < 1e-3, error
    started = time.process_time()
    cycles = time_program(program).cycles
    timing = time.process_time() - started
    sides = (lambda: checked.run(inputs), lambda: unchecked.run(inputs), lambda: numpy_gemm(a, b, step))
    simulated, bare, plain = least(sides, rounds)
    table.head("Tiled gemm", "what | simulator, ms | other, ms | ratio | bound | met")
    table.ratio("fp32 gemm 1024^3, 128-wide tiles, all checks, beside the same loop in NumPy", simulated, plain, 1.8)
    table.ratio("the same, beside itself without checks", simulated, bare, 1.4)
    print(f"\nThe report of this gemm ({cycles:,} cycles) takes {timing * 1e3:.1f} ms more, once per program.")


def bench_elementwise(table: Table, rounds: int) -> None:
    """Element-wise arithmetic over 16 tiles beside one call of NumPy."""
    title = "Element-wise kernels, 16 tiles of 32,768 elements, beside one NumPy call over the same bytes"
    table.head(title, "instruction | simulator, ms | NumPy, ms | ratio | bound | met")
    for case in cases(ROWS[-1]):
        if case.elementwise:
            ours, plain, _ = OneInstruction(case, 4).measure(rounds)
            table.ratio(case.name, ours, plain, 3)


def bench_instructions(table: Table, rounds: int) -> None:
    """Every instruction at several sizes beside NumPy doing the same."""
    for rows in ROWS:
        found = cases(rows)
        check_complete(found)
        columns = "instruction | simulator, us | NumPy, us | beyond 3x NumPy, us | the first time | both at most 50"
        table.head(f"Single instructions, {rows} rows of 64 channels, 16 tiles", columns)
        for case in found:
            table.overhead(case.name, rows, *OneInstruction(case, 4).measure(rounds))


def bench_loops(table: Table, largest: int) -> None:
    """Time and memory of looped programs of ten thousand instructions and more."""
    table.head(
        "Looped programs", "instructions | seconds | us each | memory before, MB | growth after a tenth, MB | flat"
    )
    count, each = 10_000, 0.0
    while count <= largest:
        simulator = Simulator(looped(count))
        before, tenth, executed = resident(), 0.0, 0
        started = time.process_time()
        for _ in simulator.executions({}):
            executed += 1
            if executed == count // 10:
                tenth = resident()
        seconds = time.process_time() - started
        growth = resident() - tenth
        linear = not each or seconds / count <= 1.25 * each
        each = seconds / count
        verdict = "yes" if growth < 2 and linear else "NO"
        if verdict == "NO":
            table.missed.append(f"loop of {count:,}: {growth:.1f} MB more, {each * 1e6:.1f} us each")
        print(f"| {count:,} | {seconds:.2f} | {each * 1e6:.1f} | {before:.0f} | {growth:.1f} | {verdict} |", flush=True)
        count *= 10


def resident() -> float:
    """Megabytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def bench_models(table: Table, rounds: int) -> None:
    """Whole networks beside onnx's reference evaluator."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    table.head(
        "Networks, beside onnx's reference evaluator", "network | simulator, ms | evaluator, ms | ratio | bound | met"
    )
    notes: list[str] = []
    for name, bound in (("resnet18", 4.0), ("gpt2", None)):
        path = MODELS / name / "model.onnx"
        data = np.load(MODELS / name / "data.npz")
        executable = compile(onnx_frontend.load(path))
        given = {k.removeprefix("in_"): v for k, v in data.items() if k.startswith("in_")}
        feeds = prepare_inputs(executable.signature, given, executable._elements)
        evaluator = ReferenceEvaluator(onnx.load(path))
        simulator = Simulator(executable.program)
        ours, theirs = least([partial(simulator.run, feeds), partial(evaluator.run, None, given)], rounds)
        table.ratio(f"{name}, fp32", ours, theirs, bound)
        notes.append(where_time_goes(name, simulator, feeds))
    print("\n" + "\n".join(notes))


def where_time_goes(name: str, simulator: Simulator, feeds: dict[str, np.ndarray]) -> str:
    """The CPU time of one run by instruction class."""
    spent: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    previous, started = "before and after", time.thread_time()
    for execution in simulator.executions(feeds):
        now = time.thread_time()
        spent[previous] += now - started
        previous, started = execution.op.name, time.thread_time()
        counts[previous] += 1
    spent[previous] += time.thread_time() - started
    total = sum(spent.values())
    parts = [f"{what} {100 * t / total:.0f} % ({counts[what]})" for what, t in spent.most_common(6)]
    return f"Where the time of {name} goes (and executions): {', '.join(parts)}."


def report(options: argparse.Namespace) -> Table:
    """Print the page."""
    print("# Speed of the simulator\n")
    print(
        "`make bench-sim`; the least CPU time of each side, one BLAS thread, all sides taking turns in one process.\n"
    )
    print(f"- {platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}")
    print(f"- Python {platform.python_version()}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}")
    table = Table()
    parts: dict[str, Callable[[], None]] = {
        "gemm": lambda: bench_gemm(table, options.rounds),
        "elementwise": lambda: bench_elementwise(table, options.rounds),
        "models": lambda: bench_models(table, options.rounds),
        "loops": lambda: bench_loops(table, options.largest_loop),
        "instructions": lambda: bench_instructions(table, options.rounds),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()
    table.explain()
    return table


class Tee(io.TextIOBase):
    """Writes to several streams."""

    def __init__(self, *streams: io.TextIOBase) -> None:
        self._streams = streams

    def write(self, text: str, /) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


def main() -> int:
    """Run what the command line asks for; the whole page is written to the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--largest-loop", type=int, default=1_000_000)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--only", choices=("gemm", "elementwise", "models", "loops", "instructions"))
    options = parser.parse_args()
    page = io.StringIO()
    with contextlib.redirect_stdout(Tee(sys.stdout, page)):
        table = report(options)
    if options.only is None:
        PAGE.write_text(page.getvalue(), encoding="utf-8")
    return 1 if options.strict and table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
