# ruff: noqa: E402  # the BLAS reads the environment when NumPy is imported
"""How fast the simulator is, beside plain NumPy over the same bytes and onnx's reference evaluator: `make bench-sim`.

All sides take turns in one process with one BLAS thread; a figure is the median of its runs. Times of the simulator are
those of `Simulator.run`: fresh memories, inputs packed, every instruction with all checks, outputs unpacked, and
after a first run that decodes the instructions, which is given on its own. Exits with status 1 when a ratio misses its
bound and `--strict` is given.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tx8ir.core import Builder, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.executable import compile, prepare_inputs
from tx8ir.frontends import onnx as onnx_frontend
from tx8ir.sim import Simulator, time_program
from tx8ir.target.chip import TX8

MODELS = Path(__file__).parents[1] / "tests" / "data" / "models"
ALL = tuple(range(TX8.tiles))
SPM = TX8.spm_allocatable[0]


def medians(sides: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Median seconds of each side; the sides take turns, so that all see the machine in the same states."""
    times: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(rounds):
        for side, found in zip(sides, times, strict=True):
            started = time.perf_counter()
            side()
            found.append(time.perf_counter() - started)
    return [statistics.median(found) for found in times]


class Rows:
    """The table of results."""

    def __init__(self) -> None:
        self.missed = 0

    def add(self, what: str, ours: float, other: float, bound: float | None, unit: str = "x") -> None:
        """One comparison: milliseconds of both sides, and their ratio against its bound."""
        ratio = ours / other
        verdict = "" if bound is None else ("yes" if ratio <= bound else "NO")
        self.missed += verdict == "NO"
        limit = "" if bound is None else f"{bound:g}{unit}"
        times = f"{ours * 1e3:.3f} | {other * 1e3:.3f}"
        print(f"| {what} | {times} | {ratio:.2f}{unit} | {limit} | {verdict} |", flush=True)

    def overhead(self, what: str, ours: float, other: float) -> None:
        """One instruction: microseconds beyond three times NumPy's time, against the bound of 50."""
        beyond = (ours - 3 * other) * 1e6
        verdict = "yes" if beyond <= 50 else "NO"
        self.missed += verdict == "NO"
        print(f"| {what} | {ours * 1e6:.1f} | {other * 1e6:.1f} | {beyond:.1f} | {verdict} |", flush=True)


# -- programs ------------------------------------------------------------------------------------------------------


def new_program() -> tuple[Program, Any]:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    return program, block


def tiled_gemm(size: int, step: int) -> Program:
    """C = A @ B in fp32, in step-wide tiles: each chip tile makes size*size/step^2/16 tiles of C, one after the other.

    A lies in DDR as tiles [step, step] by (row, k), B by (k, column), C by (row, column), each channel-blocked.
    """
    count, nbytes = size // step, step * step * 4
    program, block = new_program()
    a = TX8.ddr_base
    b, c = a + count * count * nbytes, a + 2 * count * count * nbytes
    kind = VTensorType((count * count * nbytes,), ui8)
    lhs, rhs, out = SPM, SPM + 2 * nbytes, SPM + 4 * nbytes
    with Builder.at_end(block):
        for name, address, what in (("a", a, "input"), ("b", b, "input"), ("c", c, "output")):
            tx8.segment(segment_name=name, address=address, size=count * count * nbytes, kind=what)
        tx8.input(port_name="a", address=a, tensor_type=kind)
        tx8.input(port_name="b", address=b, tensor_type=kind)
        tx8.output(port_name="c", address=c, tensor_type=kind)
        for first in range(0, count * count, TX8.tiles):
            rows = [divmod(first + tile, count) for tile in ALL]
            for k in range(count):
                buffer = k % 2 * nbytes
                for base, spm, place in (
                    (a, lhs + buffer, [row * count + k for row, _ in rows]),
                    (b, rhs + buffer, [k * count + column for _, column in rows]),
                ):
                    tx8.rdma(
                        tiles=ALL,
                        spm=(spm,),
                        ddr=tuple(base + i * nbytes for i in place),
                        element_bytes=4,
                        count=nbytes // 4,
                    )
                tx8.gemm(
                    tiles=ALL,
                    lhs=(lhs + buffer,),
                    rhs=(rhs + buffer,),
                    out=(out,),
                    psum=(out,) if k else None,
                    psum_format="f32" if k else None,
                    m=step,
                    k=step,
                    n=step,
                    in_format="f32",
                    out_format="f32",
                )
            tx8.wdma(
                tiles=ALL,
                spm=(out,),
                ddr=tuple(c + (row * count + column) * nbytes for row, column in rows),
                element_bytes=4,
                count=nbytes // 4,
            )
    program.verify()
    return program


def numpy_gemm(a: np.ndarray, b: np.ndarray, step: int) -> np.ndarray:
    """The same loop over the same tiles in plain NumPy."""
    count = len(a) // step
    c = np.zeros_like(a)
    for row in range(count):
        for column in range(count):
            out = c[row * step : (row + 1) * step, column * step : (column + 1) * step]
            for k in range(count):
                out += (
                    a[row * step : (row + 1) * step, k * step : (k + 1) * step]
                    @ b[k * step : (k + 1) * step, column * step : (column + 1) * step]
                )
    return c


def bench_gemm(rows: Rows, rounds: int) -> None:
    size, step = 1024, 128
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), np.float32) for _ in range(2))
    count = size // step

    def blocked(x: np.ndarray) -> np.ndarray:
        """Tiles [step, step] by (row, column), each as channel blocks of 64."""
        tiles = x.reshape(count, step, count, step // 64, 64).transpose(0, 2, 3, 1, 4)
        return np.ascontiguousarray(tiles).reshape(-1).view(np.uint8)

    program = tiled_gemm(size, step)
    checked, unchecked = Simulator(program), Simulator(program, checks=False)
    inputs = {"a": blocked(a), "b": blocked(b)}
    out = checked.run(inputs).outputs["c"].view(np.float32).reshape(count, count, step // 64, step, 64)
    product = out.transpose(0, 3, 1, 2, 4).reshape(size, size)
    error = np.abs(product - a.astype(np.float64) @ b).max()
    assert error < 1e-3, error
    started = time.perf_counter()
    cycles = time_program(program).cycles
    timing = time.perf_counter() - started
    simulated, bare, plain = medians(
        [lambda: checked.run(inputs), lambda: unchecked.run(inputs), lambda: numpy_gemm(a, b, step)], rounds
    )
    rows.add("gemm 1024^3, 128-wide tiles, all checks, beside the same loop in NumPy", simulated, plain, 1.8)
    rows.add("the same, beside itself without checks", simulated, bare, 1.4)
    print(f"\nThe report of this gemm ({cycles:,} cycles) takes {timing * 1e3:.1f} ms more, once per program.\n")


# -- single instructions -------------------------------------------------------------------------------------------


class OneInstruction:
    """A program that fills SPM and then repeats one instruction, each execution of which is timed."""

    def __init__(self, sources: dict[str, int], make: Callable[[], object], repeat: int) -> None:
        program, block = new_program()
        with Builder.at_end(block):
            for address in sources.values():
                tx8.memset(tiles=ALL, dst=(address,), count=1 << 16, format="f32", value=0x3F000000)
            for _ in range(repeat):
                make()
        program.verify()
        self.simulator = Simulator(program)
        self.skipped = len(sources)

    def times(self) -> list[float]:
        """Seconds of each execution: decoding where it is the first, checks, execution, flags."""
        stamps: list[float] = [time.perf_counter() for _ in self.simulator.executions({})]
        stamps.append(time.perf_counter())
        return [after - before for before, after in pairwise(stamps)][self.skipped :]

    def time(self, other: Callable[[], object], rounds: int) -> tuple[float, float, float]:
        """Median seconds of an execution, of `other`, and of an execution that decodes the instruction."""
        first = statistics.median(self.times())
        ours: list[float] = []
        theirs: list[float] = []
        other()
        for _ in range(rounds):
            # The first execution of a run takes its pages of memory from the system.
            for found in self.times()[1:]:
                ours.append(found)
                started = time.perf_counter()
                other()
                theirs.append(time.perf_counter() - started)
        return statistics.median(ours), statistics.median(theirs), first


A, B, C = SPM, SPM + (1 << 19), SPM + (1 << 20)
FLOAT = {"format": "f32"}


def elementwise(count: int) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    """(name, instruction, NumPy call over the same bytes of 16 tiles)."""
    x, y = (np.full((TX8.tiles, count), 0.5, np.float32) for _ in range(2))
    z = np.empty_like(x)
    zero = np.float32(0)
    dense = {"tiles": ALL, "count": count, **FLOAT}
    vv = {**dense, "lhs": (A,), "rhs": (B,), "dst": (C,)}
    one = {**dense, "src": (A,), "dst": (C,)}
    return [
        ("add", lambda: tx8.binary_vv(function="add", **vv), lambda: np.add(x, y, out=z)),
        ("mul", lambda: tx8.binary_vv(function="mul", **vv), lambda: np.multiply(x, y, out=z)),
        ("max", lambda: tx8.binary_vv(function="max", **vv), lambda: np.maximum(x, y, out=z)),
        ("gt", lambda: tx8.binary_vv(function="gt", **vv), lambda: np.greater(x, y).astype(np.float32)),
        (
            "add scalar",
            lambda: tx8.binary_vs(function="add", src=(A,), scalar=0x3F800000, dst=(C,), **dense),
            lambda: np.add(x, zero, out=z),
        ),
        ("relu", lambda: tx8.unary(function="relu", **one), lambda: np.maximum(x, zero, out=z)),
        ("sqrt", lambda: tx8.unary(function="sqrt", **one), lambda: np.sqrt(x, out=z)),
        ("exp", lambda: tx8.unary(function="exp", **one), lambda: np.exp(x, out=z)),
        ("tanh", lambda: tx8.unary(function="tanh", **one), lambda: np.tanh(x, out=z)),
    ]


def others(channels: int, rows: int) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    count = rows * channels
    x = np.full((TX8.tiles, count), 0.5, np.float32)
    z = np.empty_like(x)
    mask = x != 0
    matrix = x.reshape(TX8.tiles, rows, channels)
    weight = np.full((TX8.tiles, channels, channels), 0.5, np.float32)
    shape = (1, 1, rows, channels)
    return [
        ("tdma", lambda: tx8.tdma(tiles=ALL, src=(A,), dst=(C,), segment_bytes=4 * count), lambda: np.copyto(z, x)),
        (
            "tdma of 64-byte runs",
            lambda: tx8.tdma(
                tiles=ALL, src=(A,), dst=(C,), segment_bytes=64, iterations=(count // 16,),
                src_strides=(64,), dst_strides=(128,),
            ),
            lambda: np.copyto(z, x),
        ),
        (
            "channelnorm",
            lambda: tx8.channelnorm(tiles=ALL, src=(A,), dst=(C,), shape=shape, format="f32", direction=True),
            lambda: np.copyto(z, x),
        ),
        (
            "maskmove",
            lambda: tx8.maskmove(tiles=ALL, src=(A,), mask=(B,), dst=(C,), count=count, format="f32"),
            lambda: np.copyto(z, x, where=mask),
        ),
        ("memset", lambda: tx8.memset(tiles=ALL, dst=(C,), count=count, format="f32", value=0), lambda: z.fill(0)),
        (
            "convert f32 to f16",
            lambda: tx8.convert(tiles=ALL, src=(A,), dst=(C,), count=count, src_format="f32", dst_format="f16"),
            lambda: x.astype(np.float16),
        ),
        (
            "reduce sum over C",
            lambda: tx8.reduce(tiles=ALL, function="sum", axis="C", src=(A,), dst=(C,), shape=shape, format="f32"),
            lambda: matrix.sum(axis=-1),
        ),
        (
            "gemm",
            lambda: tx8.gemm(
                tiles=ALL, lhs=(A,), rhs=(B,), out=(C,), m=rows, k=channels, n=channels,
                in_format="f32", out_format="f32",
            ),
            lambda: np.matmul(matrix, weight),
        ),
    ]  # fmt: skip


def bench_instructions(rows: Rows, rounds: int) -> None:
    sources = {"a": A, "b": B, "c": C}
    print("\n## Element-wise kernels, 16 tiles of 32,768 fp32 elements, beside one NumPy call over the same bytes\n")
    print("| instruction | simulator, ms | NumPy, ms | ratio | bound | met |\n|---|---:|---:|---:|---:|---|")
    for name, make, other in elementwise(1 << 15):
        ours, plain, _ = OneInstruction(sources, make, 8).time(other, rounds)
        rows.add(name, ours, plain, 3)
    for rows_of_64 in (64, 512):
        print(f"\n## One instruction, {rows_of_64} rows of 64 channels, 16 tiles\n")
        print(
            "| instruction | simulator, us | NumPy, us | beyond 3x NumPy, us | at most 50 |\n|---|---:|---:|---:|---|"
        )
        firsts: list[float] = []
        for name, make, other in [*elementwise(rows_of_64 * 64), *others(64, rows_of_64)]:
            ours, plain, first = OneInstruction(sources, make, 16 if rows_of_64 == 64 else 6).time(other, rounds)
            rows.overhead(name, ours, plain)
            firsts.append(first)
        print(f"\nThe first execution, which decodes: {min(firsts) * 1e6:.0f} to {max(firsts) * 1e6:.0f} us.")


# -- networks ------------------------------------------------------------------------------------------------------


def bench_models(rows: Rows, rounds: int) -> None:
    import onnx
    from onnx.reference import ReferenceEvaluator

    print("\n## Networks, beside onnx's reference evaluator\n")
    print("| network | simulator, ms | evaluator, ms | ratio | bound | met |\n|---|---:|---:|---:|---:|---|")
    notes: list[str] = []
    for name, bound in (("resnet18", 4.0), ("gpt2", None)):
        path = MODELS / name / "model.onnx"
        data = np.load(MODELS / name / "data.npz")
        program = onnx_frontend.load(path)
        executable = compile(program)
        given = {k.removeprefix("in_"): v for k, v in data.items() if k.startswith("in_")}
        feeds = prepare_inputs(executable.signature, given, executable._elements)
        evaluator = ReferenceEvaluator(onnx.load(path))
        simulator = Simulator(executable.program)
        ours, theirs = medians([partial(simulator.run, feeds), partial(evaluator.run, None, given)], rounds)
        rows.add(f"{name}, fp32", ours, theirs, bound)
        notes.append(where_time_goes(name, simulator, feeds))
    print("\n" + "\n".join(notes))


def where_time_goes(name: str, simulator: Simulator, feeds: dict[str, np.ndarray]) -> str:
    """The wall time of one run by instruction class."""
    spent: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    previous, started = "before and after", time.perf_counter()
    for execution in simulator.executions(feeds):
        now = time.perf_counter()
        spent[previous] += now - started
        previous, started = execution.op.name, now
        counts[previous] += 1
    spent[previous] += time.perf_counter() - started
    total = sum(spent.values())
    parts = [f"{what} {100 * t / total:.0f} % ({counts[what]})" for what, t in spent.most_common(6)]
    return f"Where the time of {name} goes (and executions): {', '.join(parts)}."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--only", choices=("gemm", "instructions", "models"))
    options = parser.parse_args()
    print("# Speed of the simulator\n")
    print("`make bench-sim`; medians, one BLAS thread, all sides in one process.\n")
    print(f"- {platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}")
    print(f"- Python {platform.python_version()}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}\n")
    rows = Rows()
    if options.only in (None, "gemm"):
        print("## Tiled gemm\n")
        print("| what | simulator, ms | other, ms | ratio | bound | met |\n|---|---:|---:|---:|---:|---|")
        bench_gemm(rows, options.rounds)
    if options.only in (None, "instructions"):
        bench_instructions(rows, options.rounds)
    if options.only in (None, "models"):
        bench_models(rows, options.rounds)
    print(f"\n{rows.missed} bounds missed.")
    return 1 if options.strict and rows.missed else 0


if __name__ == "__main__":
    sys.exit(main())
