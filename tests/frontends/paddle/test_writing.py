"""Programs written as programs of Paddle, and read again; `with_paddle.py` has Paddle read them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.frontends import paddle
from tx8ir.frontends.paddle import PaddleExportError
from tx8ir.interpreter import evaluate

FOLDER = Path(__file__).parents[2] / "data" / "paddle"
UNWRITTEN = {"training": "pd.batch_norm_training"}
"""Samples that cannot be written, and an operation that Paddle has no operator for."""
NAMES = sorted({path.stem for path in FOLDER.glob("*.json")} - set(UNWRITTEN))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_computes_the_same(name, tmp_path):
    paddle.save(tx8ir.load(FOLDER / f"{name}.json"), tmp_path / name)
    first, second = tx8ir.load(FOLDER / f"{name}.json"), tx8ir.load(tmp_path / f"{name}.json")
    with np.load(FOLDER / f"{name}.npz") as data:
        inputs = {key.removeprefix("in_"): data[key] for key in data if key.startswith("in_")}
    assert second.inputs == first.inputs
    assert second.outputs == first.outputs
    for mine, theirs in zip(evaluate(second, inputs).values(), evaluate(first, inputs).values(), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7)
    for key, variable in first.weights.items():
        np.testing.assert_array_equal(second.weights[key].numpy(), variable.numpy())


@pytest.mark.parametrize("name", UNWRITTEN)
def test_steps_of_training_are_refused(name, tmp_path):
    with pytest.raises(PaddleExportError, match=UNWRITTEN[name]):
        paddle.save(tx8ir.load(FOLDER / f"{name}.json"), tmp_path / name)


def test_files_of_parameters_are_those_of_paddle(tmp_path):
    paddle.save(tx8ir.load(FOLDER / "mlp.json"), tmp_path / "mlp.json")
    assert (tmp_path / "mlp.pdiparams").read_bytes() == (FOLDER / "mlp.pdiparams").read_bytes()


def test_the_table_writes_what_paddle_writes(tmp_path):
    paddle.save(tx8ir.load(FOLDER / "mlp.json"), tmp_path / "mlp")

    def matmuls(path):
        ops = json.loads(path.read_text())["program"]["regions"][0]["blocks"][0]["ops"]
        found = [op for op in ops if op["#"] == "1.matmul"]
        return [[a for a in op["A"] if a["N"] != "struct_name"] for op in found], [len(op["I"]) for op in found]

    assert matmuls(tmp_path / "mlp.json") == matmuls(FOLDER / "mlp.json")


def test_what_paddle_lacks_is_named_at_once_and_nothing_is_written(tmp_path):
    net = tx8ir.parse("""
        func.func @main(%x: !pd.vtensor<2x4xf32>) -> (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xi32>) {
          %0 = "pd.rms_norm"(%x) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
          %1 = "pd.bitcast"(%x) {dtype = i32} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xi32>
          return %0, %1 : !pd.vtensor<2x4xf32>, !pd.vtensor<2x4xi32>
        }
    """)
    with pytest.raises(PaddleExportError, match=r"pd\.bitcast, pd\.rms_norm") as caught:
        paddle.save(net, tmp_path / "net")
    assert caught.value.operations == ("pd.bitcast", "pd.rms_norm")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        ("%x, %w, %b", "", "Paddle has no operator for pd.conv2d with bias$"),
        ("%x, %w", 'filter_format = "HWOI"', "Paddle has no operator for pd.conv2d with filter_format = 'HWOI'$"),
    ],
)
def test_what_an_operator_of_paddle_does_not_say_is_refused(operands, attributes, message, tmp_path):
    types = ["!pd.vtensor<1x4x4x4xf32>", "!pd.vtensor<4x4x1x1xf32>", "!pd.vtensor<4xf32>"][: operands.count("%")]
    if attributes:
        types[1] = "!pd.vtensor<1x1x4x4xf32>"
    program = tx8ir.parse(f"""
    module {{
      func.func @main({", ".join(map("{}: {}".format, operands.split(", "), types))}) -> {types[0]} {{
        %y = "pd.conv2d"({operands}) {{{attributes}}} : ({", ".join(types)}) -> {types[0]}
        return %y : {types[0]}
      }}
    }}""")
    with pytest.raises(PaddleExportError, match=message):
        paddle.save(program, tmp_path / "net")
    assert not list(tmp_path.iterdir())
