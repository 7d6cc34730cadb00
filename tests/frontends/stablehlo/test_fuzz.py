"""Mutated texts: each is imported or refused, never anything else."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tx8ir.core import ParseError
from tx8ir.frontends.stablehlo import StableHloImportError, load

FOLDER = Path(__file__).parents[2] / "data" / "stablehlo"
LARGEST = 20_000
"""Longer texts take long to mutate and read, and say nothing more."""
NUMBER = re.compile(r"(?<=[\[ ,:=])\d+(?=[\], :])")
"""A number in an attribute."""
TOKEN = re.compile(r"[%@^#!]?[\w.$-]+|->|[^\s\w]")
WORDS = (
    *("0", "1", "-1", "2", "7", "4096", "9223372036854775807", "18446744073709551616", "[]", "[0]", "[0, 1]"),
    *("tensor<f32>", "tensor<?xf32>", "tensor<2x0xi1>", "tensor<4xcomplex<f32>>", "tensor<3xui8>", "tuple<>"),
    *("dense<1>", "GT", "stablehlo.add", "stablehlo.return", "stablehlo.while", "return", "%0", "%arg0", "@main"),
    *("{", "}", "(", ")", ""),
)
"""What a token may become."""


def mutant(text: str, draw: random.Random) -> str:
    """A text with some tokens, or the numbers in them, replaced, dropped or repeated; or lines moved."""
    for _ in range(draw.randint(1, 3)):
        if draw.random() < 0.2:
            lines = text.splitlines(keepends=True)
            at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines.insert(to, lines[at] if draw.random() < 0.5 else lines.pop(at))
            text = "".join(lines)
            continue
        if draw.random() < 0.5 and (numbers := list(NUMBER.finditer(text))):
            at = draw.choice(numbers)
            text = text[: at.start()] + str(draw.choice((0, 1, 2, 3, 7, 1 << 40, -1))) + text[at.end() :]
            continue
        found = list(TOKEN.finditer(text))
        if not found:
            break
        at, other = draw.choice(found), draw.choice(found)
        new = draw.choice((other.group(), draw.choice(WORDS), str(draw.randint(-2, 9)), f"{at.group()} {at.group()}"))
        text = text[: at.start()] + new + text[at.end() :]
    return text


def campaign(count: int, seed: int) -> int:
    """How many of so many mutants are refused; any other exception than a refusal is let through."""
    draw = random.Random(seed)
    paths = sorted(FOLDER.glob("*.mlir"))
    texts = [text for path in paths if len(text := path.read_text(encoding="utf-8")) < LARGEST]
    refused = 0
    for _ in range(count):
        try:
            load(mutant(draw.choice(texts), draw) + "\n")
        except (ParseError, StableHloImportError):
            refused += 1
    return refused


def test_mutants_are_imported_or_refused() -> None:
    assert 0 < campaign(150, seed=1) < 150


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mutants_are_imported_or_refused(seed: int) -> None:
    assert 0 < campaign(1000, seed) < 1000
