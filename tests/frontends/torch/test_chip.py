"""Exported programs on the chip: compiled, simulated, compared with PyTorch's answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.frontends.torch import load
from tx8ir.passes import PassError

FOLDER = Path(__file__).parents[2] / "data" / "torch"
REFUSED = {
    "experts": "pd.topk",
    "upsampling": "pd.cumsum",
}
"""Samples that the compiler refuses, and what it says."""
QUICK = ("counter", "depthwise", "dynamic", "gpt", "mlp", "residual", "training", "unet")
LONG = sorted({path.stem for path in FOLDER.glob("*.pt2")} - set(QUICK) - set(REFUSED))


def run(name: str) -> None:
    with np.load(FOLDER / f"{name}.npz") as data:
        inputs, results = ([data[key] for key in data if key.startswith(start)] for start in ("in_", "out_"))
        buffers = {key.removeprefix("buffer_"): data[key] for key in data if key.startswith("buffer_")}
    program = load(FOLDER / f"{name}.pt2", dimensions={"x[0]": len(inputs[0])} if name == "dynamic" else None)
    executable = tx8ir.compile(program)
    found = executable.run(dict(zip(program.inputs, inputs, strict=True)))
    for mine, theirs in zip(found.values(), results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)
    assert set(buffers) <= set(executable.state)
    for key, buffer in buffers.items():
        np.testing.assert_allclose(executable.state[key].numpy(), buffer, rtol=2e-5, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_samples_are_right_on_the_chip(name: str) -> None:
    run(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LONG)
def test_other_samples_are_right_on_the_chip(name: str) -> None:
    run(name)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_chip_cannot_is_refused_by_name(name: str) -> None:
    with pytest.raises(PassError, match=REFUSED[name]):
        tx8ir.compile(load(FOLDER / f"{name}.pt2"))
