"""`--json`: each document fits its documented schema, and says what the tables say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from tx8ir.cli.app import app
from tx8ir.cli.documents import DOCUMENTS, print_document

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture
def room(twice_relu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with `model.mlir` and `x.npz`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.mlir").write_text(twice_relu)
    np.savez(tmp_path / "x.npz", x=np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def document(text: str) -> Any:
    """The JSON, when its schema is the documented one of its format."""
    found = json.loads(text)
    assert found["format"] in DOCUMENTS
    schema = json.loads((REFERENCE / f"{found['format']}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(found, schema)
    found["version"] = "1"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)
    return found


@pytest.mark.usefixtures("room")
def test_run() -> None:
    ran = run("run", "model.mlir", "--inputs", "x.npz", "--check", "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    found = document(ran.stdout)
    assert found["run"]["cycles"] > 0
    assert sum(found["run"]["instructions_by_class"].values()) == found["run"]["instructions"]
    assert found["outputs"] == [{"name": "out", "dtype": "float32", "shape": [4, 64]}]
    assert [c["output"] for c in found["comparisons"]] == ["out"]
    assert found["passed"] is True
    assert "generate-tx8" in [stage["name"] for stage in found["compilation"]["stages"]]


@pytest.mark.usefixtures("room")
def test_what_a_run_costs_is_the_same_without_data() -> None:
    timed = document(run("run", "model.mlir", "--time-only", "--json").stdout)
    ran = document(run("run", "model.mlir", "--inputs", "x.npz", "--json").stdout)
    assert timed["run"]["cycles"] == ran["run"]["cycles"]
    assert (timed["run"]["seconds"], timed["outputs"], timed["comparisons"]) == (None, [], None)


@pytest.mark.usefixtures("room")
def test_a_failed_check_is_in_the_document_and_in_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tx8ir.testing.chip.differential.RATIO", -1e9)
    ran = run("run", "model.mlir", "--inputs", "x.npz", "--check", "--json", "--dtype", "bf16")
    assert ran.exit_code == 1
    assert document(ran.stdout)["passed"] is False


@pytest.mark.usefixtures("room")
def test_compile() -> None:
    found = document(run("compile", "model.mlir", "-o", "out", "--json").stdout)
    assert found["run"] is None
    assert found["compilation"]["ops_by_dialect"]["pd"] == 3


@pytest.mark.usefixtures("room")
def test_opt() -> None:
    reports = ("--timing", "--statistics", "--op-counts", "--check", "--json")
    ran = run("opt", "model.mlir", "-p", "canonicalize,func.func(cse)", *reports)
    assert ran.exit_code == 0
    assert ran.stdout.count("pd.relu") == 1
    found = document(ran.stderr)
    assert [(row["text"], row["depth"]) for row in found["timing"]] == [
        ("canonicalize", 0),
        ("func.func(cse)", 0),
        ("cse", 1),
    ]
    assert found["statistics"]["cse"] == {"merged": 1}
    assert found["op_counts"][-1]["before"]["pd.relu"] == 2
    (check,) = found["checks"]
    assert (check["passed"], check["counterexample"]) == (True, None)
    assert [row["answers"] for row in check["passes"]] == ["kept", "kept"]


@pytest.mark.usefixtures("room")
def test_a_report_of_opt_that_was_not_asked_for_is_null() -> None:
    found = document(run("opt", "model.mlir", "-p", "cse", "--json").stderr)
    assert [found[key] for key in ("timing", "statistics", "op_counts", "checks")] == [None] * 4


@pytest.mark.usefixtures("room")
def test_a_pass_that_changes_answers_is_in_the_document_of_opt() -> None:
    arguments = ("-p", "convert-dtype{dtype=bf16}", "--check", "--guarantee", "bitwise", "--json")
    ran = run("opt", "model.mlir", *arguments)
    assert (ran.exit_code, ran.stdout) == (1, "")
    (check,) = document(ran.stderr)["checks"]
    assert [row["answers"] for row in check["passes"]] == ["broken"]
    assert "changes an answer" in check["counterexample"]
    assert "assert_preserves(" in check["script"]


SWAPPING = """
from tx8ir.dialects import pd


def swap(program):
    for op in program.module.walk():
        if isinstance(op, pd.SubtractOp):
            op.set_operands([op.y, op.x])
"""


def test_fuzz(room: Path) -> None:
    (room / "swapping_json.py").write_text(SWAPPING)
    ran = run("fuzz", "dce", "swapping_json.py:swap", "--examples", "100", "--json")
    assert ran.exit_code == 1
    right, wrong = document(ran.stdout)["passes"]
    assert (right["subject"], right["verdict"], right["programs"]) == ("dce", "passed", 100)
    assert right["coverage"]["reached"] > 0
    assert (wrong["verdict"], wrong["counterexamples"][0]["kind"]) == ("wrong", "answer")
    assert "swap" in (room / wrong["counterexamples"][0]["script"]).read_text()


def test_cases() -> None:
    listed = document(run("cases", "list", "Relu", "--json").stdout)["cases"]
    ran = document(run("cases", "run", "Relu", "--json").stdout)["cases"]
    assert [row["case"] for row in listed] == [row["case"] for row in ran]
    assert all(row["passed"] is None for row in listed)
    assert all(row["passed"] and row["error"] <= row["bound"] for row in ran)


def test_what_json_has_not_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    @attrs.frozen
    class Numbers:
        values: tuple[float, ...] = (float("nan"), float("inf"), 1.5)

    print_document(Numbers())
    assert json.loads(capsys.readouterr().out) == {"values": [None, None, 1.5]}
