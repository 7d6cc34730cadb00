"""The reference page of ONNX operators is what its command writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("operators_page", DOCS / "operators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (DOCS / "reference" / "onnx.md").read_text(encoding="utf-8")
    assert written == module.page(), "run `python docs/operators.py`"
