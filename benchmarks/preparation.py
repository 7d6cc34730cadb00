"""What the pipeline `prepare` does to the bundled networks: `python benchmarks/preparation.py`.

Two tables: operations after each pass that changes something, and what the chip takes with all passes and with only
those that the backend requires. Every figure is the same in every run; docs/explanation/preparation.md shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tx8ir
from tx8ir.compiler import CompileOptions
from tx8ir.core import Program
from tx8ir.frontends import onnx
from tx8ir.passes import Pass, PassManager
from tx8ir.passes.instrumentation import OpCountChange, OpCounts, count_operations
from tx8ir.transforms import PREPARATION

MODELS = Path(__file__).parents[1] / "tests" / "data" / "models"
NETWORKS = ("gpt2", "resnet18")


def load(network: str) -> Program:
    """A bundled network, as the front end gives it."""
    return onnx.load(MODELS / network / "model.onnx")


def size(program: Program) -> int:
    """The operations of a program, without what holds them."""
    return sum(n for name, n in count_operations(program.module).items() if name != "func.func")


def steps() -> Iterator[str]:
    """Operations before and after each pass that changes their number in one of the networks."""
    yield "| pass | " + " | ".join(NETWORKS) + " | changes |"
    yield "|---|" + "---:|" * len(NETWORKS) + "---|"
    programs = [load(network) for network in NETWORKS]
    yield f"| (as imported) | {' | '.join(str(size(program)) for program in programs)} | |"
    for name, stage in zip(PREPARATION, PassManager.parse("prepare").passes, strict=True):
        changes = [change(program, stage) for program in programs]
        if any(made.before != made.after for made in changes):
            after = " | ".join(str(sum(made.after.values()) - 1) for made in changes)
            said = (str(made).partition("(")[2].rstrip(")") for made in changes)
            yield f"| `{name}` | {after} | {'; '.join(dict.fromkeys(filter(None, said)))} |"


def change(program: Program, stage: Pass) -> OpCountChange:
    """What one stage does to a program."""
    counts = OpCounts()
    PassManager((stage,)).run(program, instruments=[counts])
    return counts.changes[-1]  # the passes of a nest come before the nest


def networks() -> Iterator[str]:
    """Operations, instructions and simulated time with the passes that are required and with all of them."""
    yield "| network | number format | passes | operations | instructions | simulated, µs | error against fp64 |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for network in NETWORKS:
        data = np.load(MODELS / network / "data.npz")
        reference = data["ref64_0"]
        for dtype in ("f32", "bf16"):
            for passes in ("required", "full"):
                options = CompileOptions(dtype=dtype, opt_graph=passes)
                executable = tx8ir.compile(load(network), options=options, keep_stages=True)
                inputs = {port.name: data[f"in_{port.name}"] for port in executable.signature.inputs}
                (output,) = executable.run(inputs).values()
                error = np.abs(output - reference).max() / np.abs(reference).max()
                last = [stage for stage in executable.stages if stage in PREPARATION][-1]
                prepared = tx8ir.parse(executable.stages[last])
                report = executable.report
                assert report.run is not None  # it has just run
                instructions = sum(report.compilation.instructions.values())
                time, shown = report.run.sim.microseconds, f"{network} | {dtype} | {passes} | {size(prepared)}"
                yield f"| {shown} | {instructions} | {time:.1f} | {error:.0e} |"


def tables() -> tuple[str, str]:
    """Both tables, as the page has them."""
    return "\n".join(steps()), "\n".join(networks())


if __name__ == "__main__":
    print("\n\n".join(tables()))
