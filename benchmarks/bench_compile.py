"""What compiled programs take beside their bounds: `make bench-compile` writes `docs/benchmarks/compile.md`.

Every program is compiled by `tx8ir.compiler.pipeline`; times are those of the simulator's clock (`time_program`).
A program whose data would take too long to compute stands with a smaller one of its kind that is executed and checked.
The bound is the largest of: bytes of inputs, constants and results over the bandwidth of DDR, and products over the
rate of all matrix engines.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from tx8ir.compiler import pipeline
from tx8ir.core import Builder, FunctionType, Program, ScalarType, Value, VTensorType, bf16, f32
from tx8ir.dialects import func, pd, tx8
from tx8ir.sim import SimReport, time_program
from tx8ir.target import chip, cost
from tx8ir.target.chip import BOARD, TX8, Target
from tx8ir.testing import check

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "compile.md"
BOARD_TX8 = attrs.evolve(TX8, profile=BOARD)


@attrs.frozen
class Row:
    """A program, how it is timed, and what is asked of it.

    Attributes:
        name: of the program.
        program: makes it.
        target: the chip with its profile.
        bound: of its time in cycles.
        asked: what is to be reached, in words.
        executed: a program that is small enough to be executed and checked; None where the row says nothing of values.
    """

    name: str
    program: Callable[[], Program]
    target: Target
    bound: float
    asked: str
    executed: Callable[[], Program] | None = None


def program_of(build: Callable[..., Value], **inputs: VTensorType) -> Program:
    """A program with one result."""
    program = Program.empty()
    main = func.FuncOp(sym_name="main", function_type=FunctionType(tuple(inputs.values()), ()), arg_names=tuple(inputs))
    with Builder.at_end(main.body.block):
        out = build(*main.body.block.args)
        func.ReturnOp([out])
    main.set_attribute("function_type", FunctionType(tuple(inputs.values()), (out.type,)))
    main.set_attribute("result_names", ("y",))
    program.body.append(main)
    program.verify()
    return program


def product(m: int, k: int, n: int) -> Program:
    """A bf16 product of dense factors."""

    def build(x: Value, w: Value) -> Value:
        return pd.matmul(x, w).out

    return program_of(build, x=VTensorType((m, k), bf16), w=VTensorType((k, n), bf16))


def softmax(*shape: int) -> Program:
    """Softmax of the last axis in f32."""

    def build(x: Value) -> Value:
        return pd.softmax(x).out

    return program_of(build, x=VTensorType(shape, f32))


def bound(target: Target, moved: int, products: int = 0, element: ScalarType = bf16) -> float:
    """Cycles that no program of these bytes and multiplications undercuts."""
    numerator, denominator = target.profile.ne_rate(element.format.name)
    rate = math.prod(target.profile.ne_step) * numerator / denominator * target.profile.ne_efficiency
    return max(moved / target.profile.ddr_bytes_per_cycle, products / (rate * target.tiles))


def product_row(name: str, m: int, k: int, n: int, target: Target, asked: str, *, smaller: int = 1) -> Row:
    """A product, and the one of an eighth of each extent as what is executed."""
    least = bound(target, 2 * (m * k + k * n + m * n), m * k * n)
    return Row(name, lambda: product(m, k, n), target, least, asked,
               lambda: product(m // smaller, k // smaller, n // smaller))  # fmt: skip


ROWS = (
    product_row("product 1024 x 1024 x 4096 bf16", 1024, 1024, 4096, TX8, "first slice"),
    product_row("product 4096 x 1024 x 4096 bf16", 4096, 1024, 4096, TX8, "1.25 x bound", smaller=4),
    product_row("product 4096 x 1024 x 4096 bf16", 4096, 1024, 4096, BOARD_TX8, "1.25 x bound", smaller=4),
    product_row("product 4096 x 4096 x 4096 bf16", 4096, 4096, 4096, BOARD_TX8, "1.5 ms", smaller=8),
    Row("softmax 4 x 32000 f32", lambda: softmax(4, 32000), TX8, bound(TX8, 2 * 4 * 4 * 32000), "compiles",
        lambda: softmax(4, 32000)),
    Row("softmax 1 x 32 x 2048 x 2048 f32", lambda: softmax(1, 32, 2048, 2048), TX8,
        bound(TX8, 2 * 4 * 32 * 2048 * 2048), "200 instructions", lambda: softmax(1, 2, 64, 2048)),
)  # fmt: skip


def compiled(row: Row) -> tuple[Program, float]:
    """The instructions of a row's program, and the seconds that compiling took."""
    program = row.program()
    tx8.set_target(program, row.target)
    started = time.perf_counter()
    pipeline().run(program)
    return program, time.perf_counter() - started


def numbers_of_target() -> str:
    """A hash of the files that hold the machine's numbers."""
    digest = hashlib.sha256()
    for module in (chip, cost):
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()[:16]


def table() -> Iterator[str]:
    """The page, line by line."""
    yield "# Compiled programs"
    yield ""
    yield "Written by `make bench-compile`. The numbers of the machine (`tx8ir.target.chip`, `cost`) have the hash"
    yield f"`{numbers_of_target()}`. Times are those of the simulator's clock. Checked: the program, or a smaller one"
    yield "of its kind, was executed and compared with the interpreter."
    yield ""
    yield "| program | profile | time | bound | ratio | asked | instructions | DDR bytes | compiled in | checked |"
    yield "|---|---|---:|---:|---:|---|---:|---:|---:|---|"
    for row in ROWS:
        program, seconds = compiled(row)
        report: SimReport = time_program(program, row.target)
        count = sum(isinstance(op, tx8.Instruction) for op in program.module.walk())
        moved = sum(report.bytes[path] for path in ("DDR to SPM", "SPM to DDR")) / (1 << 20)
        passed = "-" if row.executed is None else "yes" if check(row.executed(), target=row.target).passed else "**no**"
        yield (
            f"| {row.name} | {row.target.profile.name} | {report.microseconds:,.1f} us | {row.bound / 1e3:,.1f} us | "
            f"{report.cycles / row.bound:.2f} | {row.asked} | {count} | {moved:,.1f} MiB | {seconds:.0f} s | {passed} |"
        )
        print(row.name, row.target.profile.name, report.microseconds, flush=True)


if __name__ == "__main__":
    PAGE.write_text("\n".join(table()) + "\n", encoding="utf-8")
