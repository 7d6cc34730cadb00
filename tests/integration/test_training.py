"""Training on the simulated chip, beside PyTorch in fp64 (`tests/frontends/torch/make_training.py`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.autodiff import Gradients, append_adam, append_backward, append_sgd
from tx8ir.core import IrError, Program
from tx8ir.frontends import torch

SAMPLES = Path(__file__).parents[1] / "data" / "training"


def with_gradients(name: str) -> tuple[Program, Gradients]:
    program = torch.load(SAMPLES / f"{name}.pt2")
    (loss,) = program.main.body.block.terminator.operands
    return program, append_backward(program, loss)


def sgd(program: Program, gradients: Gradients) -> None:
    append_sgd(program, gradients, learning_rate=0.05, momentum=0.9, weight_decay=1e-3)


def adam(program: Program, gradients: Gradients) -> None:
    append_adam(program, gradients, learning_rate=2e-3)


@pytest.mark.parametrize(
    ("name", "optimize"),
    [
        pytest.param("cnn", sgd, marks=pytest.mark.slow),
        pytest.param("transformer", adam, marks=pytest.mark.nightly),
    ],
)
def test_fifty_steps_end_where_pytorch_does(name: str, optimize) -> None:
    program, gradients = with_gradients(name)
    optimize(program, gradients)
    executable = tx8ir.compile(program)
    sample = np.load(SAMPLES / f"{name}.npz")
    inputs = [port.name for port in executable.signature.inputs]
    for step, expected in enumerate(sample["losses"]):
        batches = {key: sample[f"batch_{key}"] for key in inputs}
        loss = executable({key: batch[step % len(batch)] for key, batch in batches.items()})
        assert abs(loss - expected) <= 1e-5 * sample["losses"][0]
    assert expected < sample["losses"][0] * 0.7
    trained = [key for key in sample.files if key.startswith("after_")]
    assert set(gradients.parameters) <= {key.removeprefix("after_") for key in trained}
    for key in trained:
        expected = sample[key]
        found = executable.state[key.removeprefix("after_")].numpy()
        assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max(), key


def test_trained_weights_go_back_to_the_program() -> None:
    program, gradients = with_gradients("cnn")
    append_sgd(program, gradients, learning_rate=0.1)
    executable = tx8ir.compile(program)
    before = np.array(program.weights["head.bias"].numpy())
    executable.state = program.weights
    sample = np.load(SAMPLES / "cnn.npz")
    executable({key: sample[f"batch_{key}"][0] for key in ("images", "labels")})
    assert (program.weights["head.bias"].numpy() != before).any()


def test_an_optimizer_is_added_once() -> None:
    program, gradients = with_gradients("cnn")
    sgd(program, gradients)
    text = str(program)
    with pytest.raises(IrError, match=r"has 'conv1\.weight\.velocity' already"):
        sgd(program, gradients)
    with pytest.raises(IrError, match="learning_rate is -1; expected a finite number from 0"):
        append_sgd(program, gradients, learning_rate=-1)
    with pytest.raises(IrError, match="needs gradients by parameters"):
        append_adam(program, Gradients({}, {}))
    assert str(program) == text
