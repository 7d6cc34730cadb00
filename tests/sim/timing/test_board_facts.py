"""The figures beside those of boards: the documentation shows what the program prints, and they add up."""

from __future__ import annotations

from types import ModuleType

import pytest

from support.scripts import ROOT, load
from tx8ir.sim import SimReport, time_program


@pytest.fixture(scope="module")
def board_facts() -> ModuleType:
    return load("benchmarks/board_facts.py")


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
