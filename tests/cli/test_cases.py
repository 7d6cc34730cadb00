"""`tx8ir cases`: what is listed, run and saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tx8ir.cli.app import app
from tx8ir.testing.cases.operations import load_case, ops


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["cases", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_list_has_every_operation() -> None:
    code, out, _ = invoke("list")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()[2:] if line.strip()} == set(ops())


def test_run_compares_with_the_interpreter() -> None:
    code, out, _ = invoke("run", "Relu", "Softmax", "--random", "2", "--seed", "3")
    assert code == 0
    rows = [line for line in out.splitlines() if line.endswith("passed")]
    assert len(rows) == 2 * (4 + 2)
    assert "random-3" in out
    assert "random-4" in out


def test_run_fails_with_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tx8ir.testing.chip.differential.OutputCheck.passed", False)
    code, out, err = invoke("run", "Relu")
    assert code == 1
    assert "FAILED" in out
    assert "a case failed: its error exceeds its bound" in err


def test_save_writes_what_can_be_loaded(tmp_path: Path) -> None:
    code, out, _ = invoke("save", "Add", "-o", tmp_path, "--random", "1", "--seed", "2")
    assert code == 0
    folders = [tmp_path / name for name in ("Add-fixed-0", "Add-fixed-1", "Add-fixed-2", "Add-fixed-3", "Add-random-2")]
    assert out.split() == list(map(str, folders))
    for folder in folders:
        assert load_case(folder).op == "Add"


def test_an_unknown_operation() -> None:
    code, _, err = invoke("run", "Add", "Frobnicate")
    assert code == 2
    assert "no cases of 'Frobnicate'; there are cases of Abs, Add, " in err
