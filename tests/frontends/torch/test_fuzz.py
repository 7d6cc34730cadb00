"""Mutated archives: each is imported or refused, never anything else."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tx8ir.frontends.torch import TorchImportError, load

FOLDER = Path(__file__).parents[2] / "data" / "torch"
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 7, 12, 13, 1 << 31, 1 << 63, 1 << 70, -(1 << 63), 0.5, 1e308),
    *("", "x", "s0", "Infinity", "NaN", "Symbol('s9')", "1//0", "9**99**9", [], {}, [1], [[]]),
    *({"as_none": True}, {"as_int": 3}, {"as_name": "x"}, {"as_tensor": {"name": "nowhere"}}),
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


def with_document_changed(content: bytes, draw: random.Random) -> bytes:
    changed = draw.choice(("model.json", "model.json", "weights_config.json", "constants_config.json"))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, edited(data, draw) if name.endswith(changed) else data)
    return out.getvalue()


def edited(data: bytes, draw: random.Random) -> bytes:
    """A JSON document with places set, dropped, or copied from others."""
    document = json.loads(data)
    for _ in range(draw.randint(1, 3)):
        found = list(places(document))
        if not found:
            break
        (holder, key), (other, there) = draw.choice(found), draw.choice(found)
        match draw.randrange(4):
            case 0:
                del holder[key]
            case 1:
                holder[key] = json.loads(json.dumps(other[there]))
            case _:
                holder[key] = json.loads(json.dumps(draw.choice(VALUES)))
    return json.dumps(document).encode()


def campaign(count: int, seed: int) -> int:
    """How many of so many mutants are refused; any other exception than a refusal is let through."""
    draw = random.Random(seed)
    contents = [path.read_bytes() for path in sorted(FOLDER.glob("*.pt2"))]
    refused = 0
    for _ in range(count):
        mutate = with_bytes_changed if draw.random() < 0.3 else with_document_changed
        try:
            program = load(mutate(draw.choice(contents), draw))
            for variable in program.weights.values():
                variable.numpy()
        except TorchImportError:
            refused += 1
    return refused


def test_mutants_are_imported_or_refused() -> None:
    assert 0 < campaign(150, seed=1) < 150


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mutants_are_imported_or_refused(seed: int) -> None:
    assert 0 < campaign(1000, seed) < 1000
