"""`tx8ir fuzz`: what it prints and writes, and the exit status."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from tx8ir.cli.app import app

SWAPPING = """
from tx8ir.dialects import pd


def swap(program):
    for op in program.module.walk():
        if isinstance(op, pd.SubtractOp):
            op.set_operands([op.y, op.x])


def idle(program):
    pass
"""


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["fuzz", *arguments])
    return result.exit_code, result.output


def test_a_counterexample_is_printed_and_written_as_a_script(tmp_path: Path) -> None:
    file = tmp_path / "swapping.py"
    file.write_text(SWAPPING)
    code, text = run(f"{file}:swap", "--examples", "200", "--out", str(tmp_path / "found"))
    assert code == 1
    assert "pass 'swap' changes an answer" in text
    (script,) = (tmp_path / "found").iterdir()
    assert "from swapping import swap" in script.read_text()


def test_a_pass_that_is_right_gives_status_0(tmp_path: Path) -> None:
    code, text = run("dce", "--examples", "60", "--out", str(tmp_path / "found"))
    assert code == 0
    assert "dce: 60 programs keep their answers" in text
    assert not (tmp_path / "found").exists()


def test_a_pass_that_was_not_tested_gives_status_3(tmp_path: Path) -> None:
    file = tmp_path / "swapping.py"
    file.write_text(SWAPPING)
    code, text = run(f"{file}:idle", "--examples", "20")
    assert code == 3
    assert "not tested: idle changed none of 20 programs" in text


def test_a_pass_that_is_not_there_gives_status_2(tmp_path: Path) -> None:
    assert run("no-such-pass", "--examples", "5")[0] == 2
    assert run("no.such.module:name", "--examples", "5")[0] == 2
    assert run(f"{tmp_path}/missing.py:name", "--examples", "5")[0] == 2
