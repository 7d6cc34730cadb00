"""The wheel: it holds what the first pages need, and at night it is installed as a user installs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST_MINUTES = ROOT / "docs" / "first-minutes.md"
TRUST_A_PASS = ROOT / "docs" / "tutorial" / "trust-a-pass.md"

# What runs the page in another Python: its examples, which share their names, in a folder of their own.
RUN_PAGE = """
import doctest, re, sys, tx8ir
print(tx8ir.__file__)
text = open(sys.argv[1], encoding="utf-8").read()
for block in re.findall(r"^```python\\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
    if ">>> " in block:
        example = doctest.DocTestParser().get_doctest(block, globals(), "page", sys.argv[1], 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert not runner.run(example, clear_globs=False).failed
        globals().update(example.globs)
    else:
        exec(block)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the installed build tool."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"
    ran = subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder / ran.stdout.split()[-1]


def run_page(page: Path, python: str, folder: Path, environment: dict[str, str]) -> Path:
    """Runs the examples of a page; the file that `tx8ir` was imported from."""
    command = [python, "-c", RUN_PAGE, str(page)]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return Path(ran.stdout.splitlines()[0])


def run_first_minutes(python: str, folder: Path, environment: dict[str, str]) -> Path:
    """Runs that page, which has a model of the repository; the file that `tx8ir` was imported from."""
    imported = run_page(FIRST_MINUTES, python, folder, environment)
    assert (folder / "layer.html").stat().st_size > 10_000
    return imported


def test_the_wheel_says_that_it_is_typed_and_has_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tx8ir/py.typed", "tx8ir/dialects/pd/__init__.pyi", "tx8ir/__main__.py"} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]


def test_an_index_shows_a_readme_without_links_that_lead_nowhere(wheel: Path) -> None:
    """The project has no public place that they could lead to."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    readme = archive.read(metadata).decode().partition("\n\n")[2]
    assert readme.startswith("# tx8ir")
    assert not re.findall(r"\]\((?!https?:)", readme)
    assert "are in the source distribution" in readme


@pytest.mark.slow
def test_the_first_minutes_run_from_what_the_wheel_holds(wheel: Path, tmp_path: Path) -> None:
    """Without a network: the unpacked wheel, with the dependencies of this environment."""
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    folder = tmp_path / "work"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    assert run_first_minutes(sys.executable, folder, environment).is_relative_to(unpacked)


@pytest.mark.slow
def test_trust_a_pass_runs_from_what_the_wheel_holds(wheel: Path, tmp_path: Path) -> None:
    """It needs nothing of the repository."""
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    assert run_page(TRUST_A_PASS, sys.executable, tmp_path, environment).is_relative_to(unpacked)


@pytest.mark.nightly
def test_the_first_minutes_run_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """As a user does it: needs a package index."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
        f"{wheel}[all]",
    ]
    subprocess.run(install, check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert run_first_minutes(python, tmp_path, environment).is_relative_to(tmp_path / "venv")
    shown = subprocess.run(
        [python, "-m", "tx8ir", "--help"], capture_output=True, text=True, check=True, env=environment
    )
    assert "Compile and simulate a model" in shown.stdout
