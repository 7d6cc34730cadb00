"""The reference pages that a command writes are what it writes now."""

from __future__ import annotations

import pytest

from support.scripts import ROOT, load


@pytest.mark.parametrize(
    ("script", "page"), [("operators", "onnx"), ("axes", "axes"), ("instructions", "instructions")]
)
def test_the_page_is_current(script: str, page: str) -> None:
    written = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert written == load(f"docs/{script}.py").page(), f"run `python docs/{script}.py`"
