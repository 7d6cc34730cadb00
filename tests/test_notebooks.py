"""The notebooks show what their files say, and are small enough for a repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LARGEST_PICTURE = 100_000
LARGEST = 500_000


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_shows_what_its_file_says(notebook: Path, request: pytest.FixtureRequest) -> None:
    """Every cell runs; all that is shown, but pictures and seconds, is the same."""
    check = [] if request.config.getoption("--update-golden") else ["--check"]
    command = [sys.executable, ROOT / "docs" / "notebooks.py", *check, notebook.name]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_pictures_are_small(notebook: Path) -> None:
    """Bytes as they stand in the file."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    bundles = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    sizes = [len("".join(data)) for b in bundles for kind, data in b.items() if kind.startswith("image/")]
    assert max(sizes, default=0) <= LARGEST_PICTURE
    assert notebook.stat().st_size <= LARGEST


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 9
