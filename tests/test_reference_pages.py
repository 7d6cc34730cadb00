"""The reference pages that a command writes are what it writes now."""

from __future__ import annotations

import json

import pytest

from support.scripts import ROOT, load


@pytest.mark.parametrize(
    ("script", "page"),
    [
        ("operators", "onnx"),
        ("torch_operators", "torch"),
        ("stablehlo_operators", "stablehlo"),
        ("paddle_operators", "paddle"),
        ("axes", "axes"),
        ("instructions", "instructions"),
    ],
)
def test_the_page_is_current(script: str, page: str) -> None:
    written = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert written == load(f"docs/{script}.py").page(), f"run `python docs/{script}.py`"


def test_the_schemas_are_current() -> None:
    documented = {path.name: json.loads(path.read_text()) for path in (ROOT / "docs/reference").glob("*.schema.json")}
    assert documented == load("docs/schemas.py").schemas(), "run `python docs/schemas.py`"
