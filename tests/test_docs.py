"""Every example in the README, in docs/ and in examples/ runs and prints what the page says.

- ```python blocks of a page run in order and share their names; a block of ``>>>`` lines must print what follows them.
- ```console blocks: each ``$ tx8ir ...`` or ``$ python ...`` line runs, and must print what follows it; ``...``
stands for any text
  and runs of blanks are equal. ``$ make TARGET`` must be a target. ``$ pip ...``, ``$ git ...`` and ``$ cd ...``
  are only read.
- ```mlir blocks parse and verify.
Everything runs in a temporary folder where tests/ and examples/ are those of the repository.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import tx8ir

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ONLY_READ = ("pip", "git", "cd", "python3.11")


@attrs.frozen
class Block:
    """A fenced block of a page: its language, its text, and the line of the page it starts on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in fence.finditer(text)]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory from which the repository's tests/ and examples/ can be reached."""
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_examples_run(page: Path, room: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language != "python":
            continue
        where = f"{name_of(page)}:{block.line}"
        if ">>> " in block.text:
            example = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line - 1)
            report = io.StringIO()
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            runner.run(example, out=report.write, clear_globs=False)
            assert not runner.failures, report.getvalue()
            names = example.globs
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """The commands of a console block: line, command (continued lines joined), expected output."""
    command, expected, at = "", [], 0
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if command.endswith("\\"):
            command = command[:-1] + line.strip()
        elif line.startswith("$ "):
            if command:
                yield at, command, "\n".join(expected)
            command, expected, at = line[2:], [], number
        else:
            expected.append(line)
    if command:
        yield at, command, "\n".join(expected)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_console_examples_print_what_the_page_says(page: Path, room: Path) -> None:
    checker = doctest.OutputChecker()
    for block in blocks(page):
        if block.language != "console":
            continue
        for line, command, expected in commands(block):
            where = f"{name_of(page)}:{line}: $ {command}"
            program = shlex.split(command)[0]
            if program in ONLY_READ:
                continue
            if program == "make":
                dry = subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True)
                assert dry.returncode == 0, f"{where}\n{dry.stderr}"
                continue
            assert program in ("tx8ir", "python", "cat"), f"{where}: this test does not know how to run {program}"
            ran = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=room)
            printed = ran.stdout + ran.stderr
            if expected.strip():
                matches = checker.check_output(expected.strip() + "\n", printed.strip() + "\n", FLAGS)
                assert matches, f"{where}\n--- the page says\n{expected}\n--- it printed\n{printed}"
            else:
                assert ran.returncode == 0, f"{where}\n{printed}"


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
    ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, cwd=room)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout, "an example shows something"


def test_the_version_is_said_once() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["version"] == tx8ir.__version__
