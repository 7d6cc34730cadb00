"""Exported programs against the answers that PyTorch gave for them (`make_samples.py`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.frontends import torch
from tx8ir.interpreter import evaluate

FOLDER = Path(__file__).parents[2] / "data" / "torch"
NAMES = sorted(path.stem for path in FOLDER.glob("*.pt2"))


def arrays(name, prefix):
    """The arrays of a sample whose names start so, without the prefix."""
    with np.load(FOLDER / f"{name}.npz") as data:
        return {key.removeprefix(prefix): data[key] for key in data if key.startswith(prefix)}


def check(name, results, program):
    """Results and written buffers are PyTorch's: rounding differs, by sums in another order."""
    for expected, found in zip(arrays(name, "out_").values(), results.values(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    written = arrays(name, "buffer_")
    assert {key for key, variable in program.weights.items() if variable.is_mutable} == set(written)
    for key, expected in written.items():
        np.testing.assert_allclose(program.weights[key].numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_what_pytorch_answers(name):
    program = tx8ir.load(FOLDER / f"{name}.pt2")
    inputs = dict(zip(program.inputs, arrays(name, "in_").values(), strict=True))
    check(name, evaluate(program, inputs), program)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_give_the_same_program(name):
    path = FOLDER / f"{name}.pt2"
    from_file, from_bytes = torch.load(path), torch.load(path.read_bytes())
    assert str(from_bytes) == str(from_file)
    for key, variable in from_file.weights.items():
        np.testing.assert_array_equal(from_bytes.weights[key].numpy(), variable.numpy())


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_open_dimensions_are_dynamic_or_given(batch):
    x = np.random.default_rng(0).standard_normal((batch, 6)).astype(np.float32)
    path = FOLDER / "dynamic.pt2"
    program = tx8ir.load(path)
    assert program["main"].body.block.args[0].type.shape == (-1, 6)
    (anything,) = evaluate(program, {"x": x}).values()
    given = torch.load(path, dimensions={"x[0]": batch})
    assert given["main"].body.block.args[0].type.shape == (batch, 6)
    np.testing.assert_array_equal(evaluate(given, {"x": x})["sub"], anything)


def test_locations_are_nodes_and_lines_of_the_source():
    program = tx8ir.load(FOLDER / "mlp.pt2")
    (softmax,) = (op for op in program.module.walk() if op.name == "pd.softmax")
    assert softmax.location.name == "softmax"
    assert "make_samples.py" in str(softmax.location)


def test_weights_stay_in_the_file():
    program = tx8ir.load(FOLDER / "mlp.pt2")
    assert "mapped from 'mlp.pt2'" in repr(program.weights["layers.0.weight"])
