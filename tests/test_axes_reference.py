"""The reference page of axes is what its command writes, and has every op."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("axes_page", DOCS / "axes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "reference" / "axes.md").read_text(encoding="utf-8") == module.page(), "run `python docs/axes.py`"
