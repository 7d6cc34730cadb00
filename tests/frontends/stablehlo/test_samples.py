"""What JAX lowers functions to, against the answers that it gave for them (`make_samples.py`)."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.frontends import stablehlo
from tx8ir.interpreter import evaluate, evaluate_replicas

FOLDER = Path(__file__).parents[2] / "data" / "stablehlo"
NAMES = sorted(path.stem for path in FOLDER.glob("*.mlir"))
ALONE = [name for name in NAMES if name != "devices"]


def arrays(name, prefix):
    """The arrays of a sample whose names start so, in order."""
    with np.load(FOLDER / f"{name}.npz") as data:
        return [data[key] for key in data if key.startswith(prefix)]


def check(found, expected):
    """Rounding differs, by sums in another order: relative to each element, or to the largest."""
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        finite = theirs[np.isfinite(theirs)] if theirs.dtype.kind == "f" else theirs.astype(np.float64)
        largest = max(1.0, float(np.abs(finite).max(initial=0)))
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6 * largest)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ALONE)
def test_samples_are_what_jax_answers(name):
    program = tx8ir.load(FOLDER / f"{name}.mlir")
    inputs = dict(zip(program.inputs, arrays(name, "in_"), strict=True))
    check(list(evaluate(program, inputs).values()), arrays(name, "out_"))


@pytest.mark.parametrize("name", ["attention_grad", "mlp", "scan", "sort"])
def test_text_and_file_give_the_same_program(name):
    path = FOLDER / f"{name}.mlir"
    assert str(stablehlo.load(path.read_text())) == str(stablehlo.load(path))


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_open_dimensions_are_dynamic_or_given(batch):
    x = np.random.default_rng(0).standard_normal((batch, 2, 3)).astype(np.float32)
    w = arrays("any_batch", "in_")[1]
    path = FOLDER / "any_batch.mlir"
    program = tx8ir.load(path)
    assert program["main"].body.block.args[0].type.shape == (-1, 2, 3)
    anything = evaluate(program, {"arg0": x, "arg1": w})
    given = stablehlo.load(path, dimensions={"arg0[0]": batch})
    assert given["main"].body.block.args[0].type.shape == (batch, 2, 3)
    for name, found in evaluate(given, {"arg0": x, "arg1": w}).items():
        np.testing.assert_allclose(found, anything[name], rtol=1e-6)


def test_locations_are_names_and_lines_of_the_source():
    program = tx8ir.load(FOLDER / "mlp.mlir")
    (product, _) = (op for op in program.module.walk() if op.name == "pd.matmul")
    assert product.location.name == "jit(mlp)/dot_general"
    assert "make_samples.py" in str(product.location)
    assert list(program.inputs) == ["x", "w1", "b1", "w2", "b2"]


def test_without_names_locations_are_lines_of_the_text():
    program = tx8ir.load(FOLDER / "cnn.mlir")
    (pool,) = (op for op in program.module.walk() if op.name == "pd.pool2d")
    line = pool.location.line
    assert "reduce_window" in (FOLDER / "cnn.mlir").read_text().splitlines()[line - 1]


def test_what_devices_do_together_is_what_jax_answers():
    program = tx8ir.load(FOLDER / "devices.mlir")
    (name,) = program.inputs
    (x,) = arrays("devices", "in_")
    found = evaluate_replicas(program, [{name: part} for part in np.split(x, 4)])
    assembled = [np.concatenate([part[key] for part in found]) for key in found[0]]
    check(assembled, arrays("devices", "out_"))


def test_weights_in_a_text_are_not_read_digit_by_digit():
    weights = np.random.default_rng(0).standard_normal((256, 1024)).astype(np.float32)
    text = (
        "func.func @main(%x: tensor<256x1024xf32>) -> tensor<256x1024xf32> {\n"
        f'  %0 = stablehlo.constant dense<"0x{weights.tobytes().hex().upper()}"> : tensor<256x1024xf32>\n'
        "  %1 = stablehlo.add %x, %0 : tensor<256x1024xf32>\n  return %1 : tensor<256x1024xf32>\n}"
    )
    stablehlo.load(FOLDER / "fori_loop.mlir")  # what is loaded once does not count
    tracemalloc.start()
    try:
        program = stablehlo.load(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (variable,) = program.weights.values()
    np.testing.assert_array_equal(variable.numpy(), weights)
    assert peak < 6 * weights.nbytes
