"""What JAX lowers functions to, on the chip: compiled, simulated, compared with its answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.core import IrError
from tx8ir.frontends.stablehlo import load

FOLDER = Path(__file__).parents[2] / "data" / "stablehlo"
REFUSED = json.loads((FOLDER / "chip.json").read_text())
"""Samples that the chip does not compute, and why; docs/reference/stablehlo.md has them too."""
AT_RUN_TIME = {"pool_grad"}
"""Those of them that the simulator refuses; the others the compiler does."""
QUICK = ("any_batch", "attention", "cnn", "cond", "mlp", "scan")
LONG = sorted({path.stem for path in FOLDER.glob("*.mlir")} - set(QUICK) - set(REFUSED))


def run(name: str) -> None:
    with np.load(FOLDER / f"{name}.npz") as data:
        inputs, results = ([data[key] for key in data if key.startswith(start)] for start in ("in_", "out_"))
    dimensions = {"arg0[0]": len(inputs[0])} if name == "any_batch" else None
    program = load(FOLDER / f"{name}.mlir", dimensions=dimensions)
    found = tx8ir.compile(program).run(dict(zip(program.inputs, inputs, strict=True)))
    for mine, theirs in zip(found.values(), results, strict=True):
        largest = max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6 * largest)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_samples_are_right_on_the_chip(name: str) -> None:
    run(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LONG)
def test_other_samples_are_right_on_the_chip(name: str) -> None:
    run(name)


@pytest.mark.parametrize("name", sorted(set(REFUSED) - AT_RUN_TIME))
def test_what_the_chip_cannot_is_refused_by_name(name: str) -> None:
    operation = REFUSED[name].partition(" of ")[0].partition(":")[0]
    with pytest.raises(IrError, match=operation):
        tx8ir.compile(load(FOLDER / f"{name}.mlir"))
