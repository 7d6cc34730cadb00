"""The cases that `make bench-sim` times: every instruction of the dialect, each of which runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tx8ir.dialects import tx8
from tx8ir.sim.engines import EXECUTORS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("sim_instructions")
    sys.path.remove(str(ROOT / "benchmarks"))


def test_every_instruction_has_a_case(bench: ModuleType) -> None:
    found = bench.cases(16)
    bench.check_complete(found)
    assert {case.op_class for case in found} >= set(EXECUTORS)
    with pytest.raises(AssertionError, match=r"no case for tx8\.gemm$"):
        bench.check_complete([case for case in found if case.op_class is not tx8.GemmOp])


def test_every_case_runs_beside_numpy(bench: ModuleType) -> None:
    for case in bench.cases(16):
        case.other()
        assert len(bench.OneInstruction(case, 2).times()) == 2, case.name
