"""The cases that `make bench-sim` times: every instruction of the dialect, each of which runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tx8ir.dialects import tx8
from tx8ir.sim.engines import EXECUTORS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sim_instructions", ROOT / "benchmarks" / "sim_instructions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sim_instructions"] = module  # attrs looks its classes' module up
    spec.loader.exec_module(module)
    return module


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
