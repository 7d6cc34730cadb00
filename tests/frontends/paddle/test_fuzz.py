"""Mutated files: each is imported or refused, never anything else."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tx8ir.core.files import LoadError
from tx8ir.frontends.paddle import PaddleImportError, load

FOLDER = Path(__file__).parents[2] / "data" / "paddle"
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 63, 1 << 70, -(1 << 63), 0.5, 1e308, "", "x", "1.relu"),
    *("0.t_f16", "0.t_vec", "NULL", "float16", "0.a_array", [], {}, [1], [[]], {"%": 3}, {"#": "NULL"}),
)
"""What a place in a document may become."""


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON document: what holds it, and the key or the index there."""
    work = [value]
    while work:
        holder = work.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            work.append(holder[key])


def with_bytes_changed(content: bytes, draw: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.2:
            del data[draw.randrange(len(data) + 1) :]
        elif data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def edited(data: bytes, draw: random.Random) -> bytes:
    """A JSON document with places set, dropped, or copied from others."""
    document = json.loads(data)
    for _ in range(draw.randint(1, 3)):
        found = list(places(document["program"]))
        (holder, key), (other, there) = draw.choice(found), draw.choice(found)
        match draw.randrange(4):
            case 0:
                del holder[key]
            case 1:
                holder[key] = json.loads(json.dumps(other[there]))
            case _:
                holder[key] = json.loads(json.dumps(draw.choice(VALUES)))
    return json.dumps(document).encode()


def campaign(folder: Path, count: int, seed: int) -> int:
    """How many of so many mutants are refused; any other exception than a refusal is let through."""
    draw = random.Random(seed)
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    refused = 0
    for _ in range(count):
        name = draw.choice(names)
        program, parameters = (FOLDER / f"{name}{suffix}" for suffix in (".json", ".pdiparams"))
        content = program.read_bytes()
        weights = parameters.read_bytes() if parameters.exists() else b""
        if draw.random() < 0.2:
            weights = with_bytes_changed(weights, draw)
        else:
            content = (with_bytes_changed if draw.random() < 0.2 else edited)(content, draw)
        (folder / "model.json").write_bytes(content)
        (folder / "model.pdiparams").write_bytes(weights)
        try:
            found = load(folder / "model.json")
            for variable in found.weights.values():
                variable.numpy()
        except (PaddleImportError, LoadError):
            refused += 1
    return refused


def test_mutants_are_imported_or_refused(tmp_path: Path) -> None:
    assert 0 < campaign(tmp_path, 200, seed=1) < 200


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mutants_are_imported_or_refused(tmp_path: Path, seed: int) -> None:
    assert 0 < campaign(tmp_path, 1000, seed) < 1000
