"""Mutated model files: each is imported or refused, never anything else."""

from __future__ import annotations

import contextlib
import random

import pytest

from support.onnx_suite import suite
from tx8ir.frontends.onnx import OnnxImportError, load
from tx8ir.frontends.onnx.importer import import_model

KINDS = ("simple", "pytorch-operator", "pytorch-converted")
"""The parts of the suite that are files: expanded functions, loops and sequences, and what PyTorch exports."""


def mutated(content: bytes, draw: random.Random) -> bytes:
    """A file with bytes changed, moved, doubled or cut off."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        if not data:
            break
        at = draw.randrange(len(data))
        match draw.randrange(5):
            case 0:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                data[at] = draw.choice((0, 1, 2, 7, 127, 128, 255))
            case 2:
                end = min(at + draw.randrange(1, 9), len(data))
                data[at:at] = data[at:end]
            case 3:
                del data[at : at + draw.randrange(1, 5)]
            case _:
                other = draw.randrange(len(data))
                data[at], data[other] = data[other], data[at]
    return bytes(data)


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    found = [case.model.SerializeToString() for case in suite(kinds=KINDS)]
    return [content for content in found if len(content) < 1 << 14]


def campaign(files: list[bytes], count: int, seed: int) -> int:
    """How many of so many mutants are refused; any other exception than a refusal is let through."""
    draw = random.Random(seed)
    refused = 0
    for _ in range(count):
        content = mutated(draw.choice(files), draw)
        try:
            load(content)
        except OnnxImportError as error:
            refused += 1
            if error.needs:  # as a run would go on, with something for the inputs that have to be known
                with_nothing(content, error.needs)
    return refused


def with_nothing(content: bytes, names: tuple[str, ...]) -> None:
    with contextlib.suppress(OnnxImportError):
        import_model(content, constants=dict.fromkeys(names))


def test_mutants_are_imported_or_refused(files: list[bytes]) -> None:
    assert 0 < campaign(files, 300, seed=1) < 300


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_mutants_are_imported_or_refused(files: list[bytes], seed: int) -> None:
    assert 0 < campaign(files, 1000, seed) < 1000
