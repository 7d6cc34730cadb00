"""The alias passes on programs that have one thing in plenty: nothing grows but with the program, and nothing recurses.

Times are in docs/benchmarks/alias.md; here the size of the result and the depth that works are checked.
"""

from __future__ import annotations

import pytest

from support.scripts import load
from tx8ir.analysis import AliasAnalysis
from tx8ir.core import Program
from tx8ir.passes import PassManager

PASSES = "to-value-semantics,copy-elision,to-inplace"


BENCHMARK = load("benchmarks/bench_alias.py")


def size(program: Program) -> int:
    return sum(1 for _ in program.module.walk())


@pytest.mark.parametrize("name", BENCHMARK.WORKLOADS)
def test_the_result_grows_with_the_program(name: str) -> None:
    """Four times the operations give at most a little more than four times the operations."""
    grown: list[float] = []
    for count in (200, 800):
        program = BENCHMARK.program_of(BENCHMARK.WORKLOADS[name], count)
        before = size(program)
        PassManager.parse(PASSES).run(program)
        grown.append(size(program) / before)
    assert grown[1] <= 1.1 * grown[0]


@pytest.mark.parametrize("name", ["network", "views", "writes", "nest", "lists", "carried", "moved", "blocks"])
def test_only_vtensors_are_left(name: str) -> None:
    program = BENCHMARK.program_of(BENCHMARK.WORKLOADS[name], 200)
    PassManager.parse("to-value-semantics,copy-elision").run(program)
    left = {
        op.name for op in program.main.walk() if "!pd.tensor" in str([str(v.type) for v in (*op.operands, *op.results)])
    }
    assert not left


@pytest.mark.slow
def test_branches_ten_thousand_deep() -> None:
    program = BENCHMARK.program_of(BENCHMARK.nest, 30_000)
    AliasAnalysis(program)
    PassManager.parse(PASSES).run(program, verify_each=False)
    assert not any(op.name == "pd.assign_" for op in program.module.walk())
