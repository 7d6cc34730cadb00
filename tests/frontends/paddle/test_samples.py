"""Programs of Paddle against the answers that it gave for them (`make_samples.py`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.frontends import paddle
from tx8ir.interpreter import evaluate

FOLDER = Path(__file__).parents[2] / "data" / "paddle"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def arrays(name, prefix):
    """The arrays of a sample whose names start so, without the prefix."""
    with np.load(FOLDER / f"{name}.npz") as data:
        return {key.removeprefix(prefix): data[key] for key in data if key.startswith(prefix)}


def check(name, results, program):
    """Results and written parameters are Paddle's: rounding differs, by sums in another order."""
    for expected, found in zip(arrays(name, "out_").values(), results.values(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    written = arrays(name, "parameter_")
    assert {key for key, variable in program.weights.items() if variable.is_mutable} == set(written)
    for key, expected in written.items():
        np.testing.assert_allclose(program.weights[key].numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_what_paddle_answers(name):
    program = tx8ir.load(FOLDER / f"{name}.json")
    inputs = dict(zip(program.inputs, arrays(name, "in_").values(), strict=True))
    check(name, evaluate(program, inputs), program)


@pytest.mark.parametrize("batch", [1, 3])
def test_open_dimensions_are_dynamic_or_given(batch):
    x = np.random.default_rng(0).standard_normal((batch, 6)).astype(np.float32)
    program = paddle.load(FOLDER / "dynamic")
    assert program["main"].body.block.args[0].type.shape == (-1, 6)
    (anything,) = evaluate(program, {"x": x}).values()
    given = paddle.load(FOLDER / "dynamic", dimensions={"x[0]": batch})
    assert given["main"].body.block.args[0].type.shape == (batch, 6)
    np.testing.assert_array_equal(next(iter(evaluate(given, {"x": x}).values())), anything)


def test_a_folder_holds_one_program(tmp_path):
    for suffix in (".json", ".pdiparams"):
        (tmp_path / f"inference{suffix}").write_bytes((FOLDER / f"mlp{suffix}").read_bytes())
    (tmp_path / "config.json").write_text('{"name": "mlp"}')
    assert str(tx8ir.load(tmp_path)) == str(tx8ir.load(FOLDER / "mlp.json"))
    with pytest.raises(paddle.PaddleImportError, match="expected one program"):
        paddle.load(FOLDER)


def test_what_is_written_in_place_is_storage():
    program = tx8ir.load(FOLDER / "in_place.json")
    (first, second) = (op for op in program.module.walk() if op.name == "pd.set_value_")
    assert str(first.x.type).startswith("!pd.tensor<")
    assert second.x is first.x
    assert not any(op.name == "pd.assign_" for op in program.module.walk())


def test_control_flow_is_scf():
    names = [op.name for op in tx8ir.load(FOLDER / "choice.json").module.walk()]
    assert names.count("scf.if") == 1
    names = [op.name for op in tx8ir.load(FOLDER / "loop.json").module.walk()]
    assert names.count("scf.while") == 1


def test_locations_are_layers_and_operators():
    program = tx8ir.load(FOLDER / "mlp.json")
    assert [op.location.name for op in program.module.walk() if op.name == "pd.matmul"] == [
        "/Sequential/Linear/matmul_6",
        "/Sequential/Linear_1/matmul_12",
    ]


def test_weights_stay_in_the_file():
    program = tx8ir.load(FOLDER / "mlp.json")
    assert "mapped from 'mlp.pdiparams'" in repr(program.weights["linear_0.w_0"])
