"""The Paddle front end against Paddle itself, which reads what `save` writes (`make test-peers`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paddle as framework
import pytest

import tx8ir
from tx8ir.frontends import paddle

FOLDER = Path(__file__).parents[2] / "data" / "paddle"
UNWRITTEN = {"training"}


@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.json")} - UNWRITTEN))
def test_paddle_reads_what_is_written(name: str, tmp_path: Path) -> None:
    paddle.save(tx8ir.load(FOLDER / f"{name}.json"), tmp_path / name)
    with np.load(FOLDER / f"{name}.npz") as data:
        inputs, expected = ([data[key] for key in data if key.startswith(start)] for start in ("in_", "out_"))
    results = framework.jit.load(str(tmp_path / name))(*map(framework.to_tensor, inputs))
    results = results if isinstance(results, list | tuple) else [results]
    for mine, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=2e-5, atol=2e-6)
