"""`tx8ir explore`: the page, its data alone, and what it is made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import tx8ir
from tx8ir.cli.app import app

TEXT = """module {
  func.func @main(%x: !pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32> attributes {arg_names = ["x"]} {
    %0 = "pd.relu"(%x) : (!pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    return %0 : !pd.vtensor<4x64xf32>
  }
}
"""


def explore(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["explore", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.mlir"
    path.write_text(TEXT)
    return path


def test_it_writes_a_page_named_after_the_model(model: Path, tmp_path: Path) -> None:
    result = explore(model, "-o", tmp_path / "net.html")
    assert result.exit_code == 0, result.output
    assert "it loads nothing from a network" in result.output
    assert "<title>net — tx8ir explorer</title>" in (tmp_path / "net.html").read_text()


def test_with_the_ending_json_it_writes_the_data(model: Path, tmp_path: Path) -> None:
    assert explore(model, "-o", tmp_path / "net.json", "--title", "two", "--dtype", "bf16").exit_code == 0
    data = json.loads((tmp_path / "net.json").read_text())
    assert data["title"] == "two"
    assert any("bf16" in line for line in data["lines"])


def test_a_saved_executable_shows_its_instructions(tmp_path: Path) -> None:
    tx8ir.compile(tx8ir.parse(TEXT)).save(tmp_path / "saved")
    assert explore(tmp_path / "saved", "-o", tmp_path / "saved.json").exit_code == 0
    data = json.loads((tmp_path / "saved.json").read_text())
    assert data["source"] == []
    assert data["run"]["instructions"]


def test_options_that_an_executable_cannot_take_are_refused(tmp_path: Path) -> None:
    tx8ir.compile(tx8ir.parse(TEXT)).save(tmp_path / "saved")
    result = explore(tmp_path / "saved", "-o", tmp_path / "saved.json", "--dtype", "bf16")
    assert result.exit_code == 2
    assert "need the model it was compiled from" in result.output


def test_a_missing_model_is_one_sentence(tmp_path: Path) -> None:
    result = explore(tmp_path / "no.mlir", "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "found nothing there" in result.output
    assert not (tmp_path / "page.html").exists()
