"""The figures beside those of boards: the documentation shows what the program prints, and they add up."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tx8ir.sim import SimReport, time_program

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def board_facts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("board_facts", ROOT / "benchmarks" / "board_facts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_what_the_program_prints(board_facts: ModuleType) -> None:
    page = (ROOT / "docs" / "explanation" / "time.md").read_text(encoding="utf-8")
    for table in board_facts.tables():
        assert table in page, f"docs/explanation/time.md is not up to date; it should have\n{table}"


def test_what_the_matrix_engine_waits_for_adds_up_to_the_time_from_start_to_end(board_facts: ModuleType) -> None:
    report: SimReport = time_program(board_facts.Gemm(board_facts.PLANS[3]).program(), board_facts.BOARD_TX8)
    ne = report.engines.index("NE")
    idle = [
        row[ne] for cause, row in zip(report.stalls_by_cause, report.stalls, strict=True)
        if cause not in ("engine busy", "DDR bandwidth")
    ]  # fmt: skip
    assert (report.busy[ne] + sum(idle) == report.ends[ne]).all()
    assert report.roofline.operations == 2 * 4096**3
