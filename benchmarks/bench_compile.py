"""What compiled programs take beside their bounds: `make bench-compile` writes `docs/benchmarks/compile.md`.

Every program is compiled by `tx8ir.compiler.pipeline`; times are those of the simulator's clock (`time_program`).
A program whose data would take too long to compute is checked at smaller extents: the choice of the large one (cuts
over the mesh, loops with all their trips, buffers, who loads what is shared) is carried out with slices of at most 64,
so that its loops, messages and phases are those that are timed.
The bound is the largest of: bytes of inputs, constants and results over the bandwidth of DDR, and products over the
rate of all matrix engines. With the argument `groupings` only the section about ways to make groups is renewed.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import attrs

import tx8ir
from tx8ir.backend.graph import backend_ops
from tx8ir.backend.nest.body import NestBody, fold_relayouts
from tx8ir.backend.nest.kernels import Kernels
from tx8ir.backend.nest.price import Plan
from tx8ir.backend.nest.schedule import read_schedule, write_schedule
from tx8ir.backend.nest.spm import plan_spm
from tx8ir.compiler import STAGES, CompileOptions, pipeline
from tx8ir.core import Program, ScalarType, VTensorType, bf16, f32
from tx8ir.dialects import pd, tx8, tx8be
from tx8ir.passes import PassManager
from tx8ir.signature import Signature
from tx8ir.sim import SimReport, Simulator, time_program
from tx8ir.target import chip, cost
from tx8ir.target.chip import BOARD, TX8, Target
from tx8ir.testing.chip.differential import CheckResult, check, check_outputs, random_inputs

HEADING = "## Ways to make groups"
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
        smaller: the program of the same kind with other extents, one for each axis of its group; None: it is executed
            as it is.
    """

    name: str
    program: Callable[[], Program]
    target: Target
    bound: float
    asked: str
    smaller: Callable[..., Program] | None = None


def product(m: int, k: int, n: int) -> Program:
    """A bf16 product of dense factors."""
    return tx8ir.function(pd.matmul).program(VTensorType((m, k), bf16), VTensorType((k, n), bf16))


def softmax(*shape: int) -> Program:
    """Softmax of the last axis in f32."""
    return tx8ir.function(pd.softmax).program(VTensorType(shape, f32))


def bound(target: Target, moved: int, products: int = 0, element: ScalarType = bf16) -> float:
    """Cycles that no program of these bytes and multiplications undercuts."""
    numerator, denominator = target.profile.ne_rate(element.format.name)
    rate = math.prod(target.profile.ne_step) * numerator / denominator * target.profile.ne_efficiency
    return max(moved / target.profile.ddr_bytes_per_cycle, products / (rate * target.tiles))


def product_row(name: str, m: int, k: int, n: int, target: Target, asked: str, *, whole: bool = False) -> Row:
    """A product, executed with smaller extents where it is not executed as a `whole`."""
    least = bound(target, 2 * (m * k + k * n + m * n), m * k * n)

    def smaller(m: int, n: int, k: int) -> Program:
        return product(m, k, n)

    return Row(name, lambda: product(m, k, n), target, least, asked, None if whole else smaller)


ROWS = (
    product_row("product 1024 x 1024 x 4096 bf16", 1024, 1024, 4096, TX8, "first slice", whole=True),
    product_row("product 4096 x 1024 x 4096 bf16", 4096, 1024, 4096, TX8, "1.25 x bound"),
    product_row("product 4096 x 1024 x 4096 bf16", 4096, 1024, 4096, BOARD_TX8, "1.25 x bound"),
    product_row("product 4096 x 4096 x 4096 bf16", 4096, 4096, 4096, BOARD_TX8, "1.5 ms"),
    Row("softmax 4 x 32000 f32", lambda: softmax(4, 32000), TX8, bound(TX8, 2 * 4 * 4 * 32000), "compiles"),
    Row("softmax 1 x 32 x 2048 x 2048 f32", lambda: softmax(1, 32, 2048, 2048), TX8,
        bound(TX8, 2 * 4 * 32 * 2048 * 2048), "200 instructions", partial(softmax, 1)),
)  # fmt: skip


def one_group(program: Program) -> tx8be.GroupOp:
    """The group of a program that has one."""
    (group,) = (op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp))
    return group


def checked(row: Row) -> tuple[CheckResult, str]:
    """Whether the program computes what it should, and with what extents it was executed."""
    if row.smaller is None:
        return check(row.program(), target=row.target), "as it is"
    large = row.program()
    tx8.set_target(large, row.target)
    pipeline(through="schedule-groups").run(large)
    nest = read_schedule(one_group(large)).nest
    strategy = nest.choice.strategy
    extents: list[int] = []
    for number, axis in enumerate(nest.body.space.axes):
        parts = math.prod(c.parts for c in (*strategy.x, *strategy.y, *strategy.time) if c.axis == number)
        extents.append(parts * min(axis.extent // parts, 64))
    program = row.smaller(*extents)
    small = program.clone()
    tx8.set_target(small, row.target)
    pipeline(through="group-barriers").run(small)
    group = one_group(small)
    fold_relayouts(group, "bench-compile")
    body = NestBody.of(group)
    plan = Plan.of(body, nest.choice)
    write_schedule(plan, plan_spm(plan, Kernels(body)))
    PassManager.parse(",".join(STAGES[STAGES.index("allocate-ddr") :])).run(small)
    inputs = random_inputs(Signature.of(program))
    outputs = Simulator(small, row.target).run(inputs).outputs
    return check_outputs(program, inputs, outputs), f"as {' x '.join(map(str, extents))}"


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
    yield f"`{numbers_of_target()}`. Times are those of the simulator's clock. Checked: the program was executed and"
    yield "compared with the interpreter, as it is or with these extents of its axes (m, n, k of a product): cuts,"
    yield "loops and their trips, buffers and messages are those of the program that is timed, slices at most 64."
    yield ""
    yield "| program | profile | time | bound | ratio | asked | instructions | DDR bytes | compiled in | checked |"
    yield "|---|---|---:|---:|---:|---|---:|---:|---:|---|"
    for row in ROWS:
        program, seconds = compiled(row)
        report: SimReport = time_program(program, row.target)
        count = sum(isinstance(op, tx8.Instruction) for op in program.module.walk())
        moved = sum(report.bytes[path] for path in ("DDR to SPM", "SPM to DDR")) / (1 << 20)
        result, how = checked(row)
        passed = how if result.passed else f"**no**, {how}"
        yield (
            f"| {row.name} | {row.target.profile.name} | {report.microseconds:,.1f} us | {row.bound / 1e3:,.1f} us | "
            f"{report.cycles / row.bound:.2f} | {row.asked} | {count} | {moved:,.1f} MiB | {seconds:.0f} s | {passed} |"
        )
        print(row.name, row.target.profile.name, report.microseconds, flush=True)


GROUPINGS: dict[str, CompileOptions] = {
    "each op by itself": CompileOptions(opt_group="single"),
    "patterns": CompileOptions(opt_group="patterns"),
    "pairs": CompileOptions(opt_group="fused"),
    "least cost": CompileOptions(opt_group="optimal"),
}
MODELS = Path(__file__).parent.parent / "tests" / "data" / "models"


def groupings() -> Iterator[str]:
    """The section of the page about ways to make groups, line by line."""
    yield HEADING
    yield ""
    yield "The bundled models in f32, datasheet profile, all groups as loop nests (`CompileOptions.opt_group`):"
    yield "simulated time, groups that run, processor seconds of the compiler, and whether outputs are as interpreted."
    yield ""
    yield "| model | groups by | time | groups | instructions | compiled in | checked |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for model in ("gpt2", "resnet18"):
        program = tx8ir.load(MODELS / model / "model.onnx")
        for name, options in GROUPINGS.items():
            started = time.process_time()
            made = tx8ir.compile(program, options=options)
            seconds = time.process_time() - started
            report = time_program(made.program, TX8)
            stages = {stage.name: stage.statistics for stage in made.report.compilation.stages}
            groups = next(counts["groups"] for stage, counts in stages.items() if stage.startswith("generate-tx8"))
            count = sum(made.report.compilation.instructions.values())
            inputs = random_inputs(made.signature)
            passed = check_outputs(program, inputs, made.run(inputs)).passed
            yield (
                f"| {model} | {name} | {report.microseconds:,.1f} us | {groups} | {count} | {seconds:.1f} s | "
                f"{'yes' if passed else '**no**'} |"
            )
            print(model, name, report.microseconds, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["groupings"]:
        kept = PAGE.read_text(encoding="utf-8").split(HEADING)[0].rstrip("\n").splitlines()
    else:
        kept = list(table())
    PAGE.write_text("\n".join([*kept, "", *groupings()]) + "\n", encoding="utf-8")
