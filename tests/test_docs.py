"""Every example in the README, in docs/ and in examples/ runs and prints what the page says.

The blocks of a page run in order, in a temporary folder where tests/ and examples/ are those of the repository.
- python: blocks share their names; a block of ``>>>`` lines must print what follows them.
- console: each ``$ tx8ir ...`` line must print what follows it. ``...`` stands for any text, runs of blanks are equal,
  and a number may be off by a factor of 1.5 (by any, when it counts seconds): ``pytest --update-golden`` renews them.
  ``$ make TARGET`` must be a target. ``$ pip``, ``$ git`` and ``$ cd`` are only read.
- mlir: the text parses and verifies.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

import tx8ir
from support import pages
from support.pages import alone, blocks, name_of, run_command, run_page, run_script
from support.scripts import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory from which the repository's tests/ and examples/ can be reached."""
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_print_what_the_page_says(page: Path, room: Path, request: pytest.FixtureRequest) -> None:
    alone(partial(run_page, page, update=request.config.getoption("--update-golden")))


@pytest.mark.parametrize(
    ("says", "prints", "fits"),
    [
        ("took 1.5 s for 100 bytes", "took 9.1 s for 140 bytes", True),
        ("took 1.5 s for 100 bytes", "took 1.5 s for 160 bytes", False),
        ("took 1.5 s for 100 bytes", "took 1.5 s for 100 words", False),
        ("error -1.2e-05", "error 1.2e-05", False),
        ("a ... z 3", "a b c\nd z   3", True),
        ("a ... z 3", "a b c", False),
    ],
)
def test_a_page_must_say_what_is_printed(says: str, prints: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "run_tool", lambda _: (0, prints, ""))
    with contextlib.nullcontext() if fits else pytest.raises(AssertionError):
        run_command("page:1", "tx8ir", says, update=False)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_ir_examples_parse(page: Path) -> None:
    for block in blocks(page):
        if block.language == "mlir":
            tx8ir.parse(block.text).verify()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}, which is not there"


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_the_example_runs(example: Path, room: Path) -> None:
    assert alone(run_script, str(example)), "an example shows something"


def test_the_table_of_passes_is_current(request: pytest.FixtureRequest) -> None:
    """In a process of its own: other tests register passes."""
    arguments = [] if request.config.getoption("--update-golden") else ["--check"]
    ran = subprocess.run([sys.executable, ROOT / "docs" / "passes.py", *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_version_is_said_once() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["version"] == tx8ir.__version__
