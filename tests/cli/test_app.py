"""The `tx8ir` command: what it prints, what it writes, and how it refuses what is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import Result
from onnx import TensorProto, helper
from typer.testing import CliRunner

import tx8ir
from tx8ir.cli.app import app

MODELS = Path(__file__).parents[1] / "data" / "models"

X = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `tx8ir` in an empty folder; an exception that is not an exit of the command fails the test."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str | Path) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

    return invoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """An ONNX model `y = relu(x)` with x of 4x64 floats."""
    return save_model(tmp_path / "relu.onnx", helper.make_node("Relu", ["x"], ["y"]))


def save_model(path: Path, node: onnx.NodeProto) -> Path:
    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 64])

    graph = helper.make_graph([node], "model", [value("x")], [value("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def save_data(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


# --- run


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["resnet18", "gpt2"])
def test_the_bundled_models_pass_their_check(run: Run, name: str, dtype: str) -> None:
    folder = MODELS / name
    result = run("run", folder / "model.onnx", "--inputs", folder / "data.npz", "--dtype", dtype, "--check")
    assert result.exit_code == 0, result.output
    checks = [line for line in result.output.splitlines() if line.endswith("passed")]
    assert len(checks) == 3
    for reference in ("interpreter fp64", "data.npz out (float32)", "data.npz ref64 (float64)"):
        assert any(reference in line for line in checks)


def test_run_takes_what_jax_lowers_to(run: Run) -> None:
    sample = MODELS.parent / "stablehlo" / "mlp"
    result = run("run", sample.with_suffix(".mlir"), "--inputs", sample.with_suffix(".npz"), "--check")
    assert result.exit_code == 0
    assert "mlp.npz out (float32)" in result.stdout


def test_run_shows_the_outputs_the_cost_and_with_verbose_every_stage(run: Run, model: Path) -> None:
    data = save_data(model.with_suffix(".npz"), x=X)
    brief, verbose = run("run", model, "--inputs", data), run("run", model, "--inputs", data, "--verbose")
    assert brief.exit_code == verbose.exit_code == 0
    for expected in ("compiled for tx8", "peak SPM per tile", "simulated run", "bytes moved", "(4, 64)"):
        assert expected in brief.stdout
    assert "layout-align" not in brief.stdout
    assert "layout-align" in verbose.stdout
    assert "costliest sources" in verbose.stdout


def test_inputs_may_have_the_prefix_in(run: Run, model: Path) -> None:
    assert run("run", model, "--inputs", save_data(model.with_suffix(".npz"), in_x=X)).exit_code == 0


def test_a_wrong_reference_fails_the_check_with_status_1(run: Run, model: Path) -> None:
    wrong = np.maximum(X, 0).astype(np.float64)
    wrong[3, 63] += 1e-3
    result = run("run", model, "--inputs", save_data(model.with_suffix(".npz"), x=X, ref64_0=wrong), "--check")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "check failed" in result.stderr


def test_without_check_references_are_not_looked_at(run: Run, model: Path) -> None:
    data = save_data(model.with_suffix(".npz"), x=X, ref64_0=X)
    assert run("run", model, "--inputs", data).exit_code == 0


def test_save_writes_the_executable_and_the_outputs(run: Run, model: Path, tmp_path: Path) -> None:
    data = save_data(tmp_path / "data.npz", x=X)
    assert run("run", model, "--inputs", data, "--save", tmp_path / "saved").exit_code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "saved" / "outputs.npz")["y"], np.maximum(X, 0))
    again = run("run", tmp_path / "saved", "--inputs", data)
    assert again.exit_code == 0
    assert "(4, 64)" in again.stdout


def test_the_board_profile_takes_longer(run: Run, model: Path) -> None:
    def microseconds(profile: str) -> float:
        result = run("run", model, "--inputs", save_data(model.with_suffix(".npz"), x=X), "--profile", profile)
        return float(result.stdout.partition("simulated run: ")[2].split(" us")[0])

    assert microseconds("board") > microseconds("datasheet")


def test_time_only_says_what_the_run_says(run: Run, model: Path, tmp_path: Path) -> None:
    inputs = save_data(tmp_path / "data.npz", x=X)
    ran = run("run", model, "--inputs", inputs, "--trace", "ran.json").output
    timed = run("run", model, "--time-only", "--trace", "timed.json").output
    (line,) = [line for line in ran.splitlines() if line.startswith("simulated run: ")]
    assert line.partition(";")[0] + "; timed only" in timed.splitlines()
    assert "outputs" not in timed
    assert (tmp_path / "timed.json").read_text() == (tmp_path / "ran.json").read_text()
    run("compile", model, "-o", "saved")
    assert "timed only" in run("run", "saved", "--time-only", "--profile", "board").output


@pytest.mark.parametrize("with_", [["--check"], ["--inputs", "data.npz"], ["--save", "there"]])
def test_time_only_computes_no_data(run: Run, model: Path, with_: list[str]) -> None:
    result = run("run", model, "--time-only", *with_)
    assert result.exit_code == 2
    assert "--time-only computes no data: it goes without --inputs, --check and --save" in result.stderr


def test_options_of_the_compiler(run: Run, model: Path) -> None:
    after = run("print", model, "--opt", "ddr=off", "--opt", "group=single", "--after", "allocate-ddr")
    assert after.exit_code == 0
    result = run("run", model, "--time-only", "--opt", "ddr=perhaps")
    assert result.exit_code == 2
    assert (
        "--opt ddr=perhaps: expected one of graph=full|required, group=fused|single|patterns|optimal, "
        "ddr=on|off" in result.stderr
    )


# --- compile, print, opt


def test_compile_writes_what_run_runs(run: Run, model: Path, tmp_path: Path) -> None:
    assert run("compile", model, "-o", tmp_path / "out", "--dtype", "bf16").exit_code == 0
    files = ["executable.json", "graph.mlir", "main.c", "tx8.h", "weights.safetensors"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files
    result = run("run", tmp_path / "out", "--inputs", save_data(tmp_path / "data.npz", x=X))
    assert result.exit_code == 0
    assert "computing in bf16" in result.stdout


def test_print_shows_the_program_and_any_stage_of_it(run: Run, model: Path) -> None:
    assert '"pd.relu"' in run("print", model).stdout
    lowered = run("print", model, "--after", "lower-to-tx8be").stdout
    assert '"tx8be.Relu"' in lowered
    assert '"pd.' not in lowered
    tx8ir.parse(lowered).verify()
    assert "bf16" in run("print", model, "--after", "convert-dtype", "--dtype", "bf16").stdout


def test_opt_runs_passes_over_text(run: Run, twice_relu: str, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(twice_relu)
    result = run("opt", "a.mlir", "--passes", "canonicalize,cse,dce")
    assert result.exit_code == 0
    assert result.stdout.count('"pd.relu"') == 1
    tx8ir.parse(result.stdout).verify()


def test_version(run: Run) -> None:
    assert run("--version").stdout.startswith(f"tx8ir {tx8ir.__version__} (Python 3.")


def test_it_is_a_module_too() -> None:
    ran = subprocess.run([sys.executable, "-m", "tx8ir", "--help"], capture_output=True, text=True)
    assert ran.returncode == 0
    for command in ("run", "compile", "print", "opt"):
        assert command in ran.stdout


# --- what is refused: exit status 2, one paragraph on stderr, no traceback


def refused(result: Result, *expected: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: "), result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().split("\n\n")) == 1, "one paragraph"
    for text in expected:
        assert text in result.stderr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "missing input 'x'; expected inputs: x: 4x64xf32"),
        ({"x": X[:3]}, "input 'x' has shape (4, 64); given: (3, 64)"),
        ({"x": X.astype(np.int64)}, "input 'x' takes float values (f32); given: int64"),
        ({"x": X, "in_z": X}, "unknown input 'z'; expected inputs: x: 4x64xf32"),
        (
            {"x": X, "z": X},
            "'z' is neither an input, as NAME or in_NAME (x), nor a reference (out_I or ref64_I with I < 1)",
        ),
        ({"x": X, "out_1": X}, "'out_1' is neither an input"),
    ],
)
def test_wrong_inputs(run: Run, model: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    refused(run("run", model, "--inputs", save_data(model.with_suffix(".npz"), **arrays)), message)


def test_no_inputs_where_there_must_be_some(run: Run, model: Path) -> None:
    refused(run("run", model), "missing input 'x'")


def test_a_reference_of_another_shape(run: Run, model: Path) -> None:
    data = save_data(model.with_suffix(".npz"), x=X, out_0=X[0])
    refused(run("run", model, "--inputs", data, "--check"), "'y' of shape (64,)", "y: 4x64xf32")


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut"])
def test_inputs_that_are_no_archive(run: Run, model: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    refused(run("run", model, "--inputs", "bad.npz"), "bad.npz cannot be read as an .npz archive")


def test_inputs_that_are_one_array(run: Run, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    refused(run("run", model, "--inputs", "x.npy"), "x.npy is a single array; expected an .npz archive")


def test_pickled_inputs_are_not_unpickled(run: Run, model: Path, tmp_path: Path) -> None:
    data = save_data(tmp_path / "data.npz", x=np.array([object()]))
    refused(run("run", model, "--inputs", data), "data.npz", "holds Python objects, expected numbers")


@pytest.mark.parametrize("arguments", [("run", "m.onnx"), ("print", "m.mlir"), ("compile", "m.onnx", "-o", "out")])
def test_a_model_that_is_not_there(run: Run, arguments: tuple[str, ...]) -> None:
    refused(
        run(*arguments),
        f"{arguments[1]}: expected a model of ONNX, PyTorch, Paddle or JAX, IR text or a saved program, "
        "found nothing there",
    )


def test_inputs_that_are_not_there(run: Run, model: Path) -> None:
    refused(run("run", model, "--inputs", "nowhere.npz"), "no such file: nowhere.npz")


def test_a_truncated_model(run: Run, tmp_path: Path) -> None:
    whole = (MODELS / "gpt2" / "model.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    refused(run("run", "cut.onnx"), "cut.onnx")


@pytest.mark.parametrize("content", [b"", b"hello, world\n", b"\x00" * 64, b"{}"])
def test_a_file_that_is_no_onnx_model(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "no.onnx").write_bytes(content)
    refused(run("run", "no.onnx"), "no.onnx")


def test_an_operator_without_an_import(run: Run, tmp_path: Path) -> None:
    save_model(tmp_path / "random.onnx", helper.make_node("RandomNormalLike", ["x"], ["y"], name="last"))
    refused(run("run", "random.onnx"), "RandomNormalLike", "last")


def test_an_operation_the_backend_cannot_compile(run: Run, twice_relu: str, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(twice_relu.replace("pd.relu", "pd.cumsum"))
    refused(run("run", "a.mlir"), "pd.cumsum")


def test_text_with_a_syntax_error(run: Run, twice_relu: str, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(twice_relu.replace("return", "retrun"))
    refused(run("print", "a.mlir"), "a.mlir:8:")


def test_a_stage_that_is_none(run: Run, model: Path) -> None:
    refused(run("print", model, "--after", "unfuse-bn"), "no stage is named 'unfuse-bn'", "lower-to-tx8be")


def test_a_pipeline_with_a_misspelt_pass(run: Run, model: Path) -> None:
    refused(run("opt", model, "--passes", "canonicalise"), "canonicalise", "did you mean 'canonicalize'?")


def test_a_folder_that_holds_no_program(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(run("run", "empty"), "empty")


def test_check_of_a_saved_executable_needs_its_model(run: Run, model: Path, tmp_path: Path) -> None:
    run("compile", model, "-o", tmp_path / "out")
    for option in (["--check"], ["--dtype", "bf16"], ["--profile", "board"]):
        refused(run("run", tmp_path / "out", *option), "need the model it was compiled from")


def test_an_unknown_dtype(run: Run, model: Path) -> None:
    result = run("run", model, "--dtype", "int8")
    assert result.exit_code == 2
    for text in ("int8", "f32", "bf16", "f16"):
        assert text in result.stderr
