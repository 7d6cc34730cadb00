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
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import tx8ir
import tx8ir.cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ONLY_READ = ("pip", "git", "cd")


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


def run_page(page: Path, *, update: bool) -> None:
    """Runs the python and console blocks of a page in order; an `AssertionError` says where it is wrong.

    update: write the numbers that commands print now into the page.
    """
    module = types.ModuleType("page")  # a real module, so that classes defined on the page find their names
    sys.modules["page"] = module
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if block.language == "python" and ">>> " in block.text:
            example = doctest.DocTestParser().get_doctest(block.text, module.__dict__, where, str(page), block.line - 1)
            report = io.StringIO()
            failures = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.write, clear_globs=False).failed
            assert not failures, report.getvalue()
            module.__dict__.update(example.globs)
        elif block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, str(page), "exec", dont_inherit=True), module.__dict__)
        elif block.language == "console":
            for line, command, expected in commands(block):
                renewed = run_command(f"{name_of(page)}:{line}: $ {command}", command, expected, update=update)
                text = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{renewed}")
    if update:
        page.write_text(text, encoding="utf-8")


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """The commands of a console block: line, command, expected output."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        else:
            found[-1][2].append(line)
    for number, command, expected in found:
        yield number, command, "\n".join(expected)


def run_command(where: str, command: str, expected: str, *, update: bool) -> str:
    """Runs one command of a page and compares; returns the expected text, with `update` with the numbers of now."""
    program = shlex.split(command)[0]
    if program in ONLY_READ:
        return expected
    if program == "make":
        dry = subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True)
        assert dry.returncode == 0, f"{where}\n{dry.stderr}"
        return expected
    assert program == "tx8ir", f"{where}: this test does not know how to run {program}"
    code, stdout, stderr = run_tool(shlex.split(command))
    # A stage that takes longer than two seconds is announced on the error stream: that is up to the machine.
    printed = stdout + PROGRESS.sub("", stderr)
    if not expected.strip():
        assert code == 0, f"{where}\n{printed}"
        return expected
    both = f"--- the page says\n{expected}\n--- it printed\n{printed}"
    found = re.fullmatch(output_pattern(expected), printed.strip(), re.DOTALL)
    assert found is not None, f"{where}\n{both}"
    numbers = list(NUMBER.finditer(expected.strip()))
    if update:
        return with_numbers(expected.strip(), numbers, found.groups())
    for number, now in zip(numbers, found.groups(), strict=True):
        wall_time = expected.strip()[number.end() :].startswith(" s")
        said, is_now = float(number[0]), float(now)
        near = said == is_now or (said * is_now > 0 and 1 / 1.5 <= said / is_now <= 1.5)
        assert wall_time or near, f"{where}: {number[0]} is now {now} (pytest --update-golden renews)\n{both}"
    return expected


def run_tool(arguments: list[str]) -> tuple[int, str, str]:
    """What `tx8ir` gives for a command line, in this process, which has loaded it: the status, and what it prints."""
    stdout, stderr, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = arguments
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            tx8ir.cli.main()
    except SystemExit as exit_:
        if isinstance(exit_.code, str):
            return 1, stdout.getvalue(), stderr.getvalue() + exit_.code
        return exit_.code or 0, stdout.getvalue(), stderr.getvalue()
    finally:
        sys.argv = before
    return 0, stdout.getvalue(), stderr.getvalue()


PROGRESS = re.compile(r"^ *[a-z0-9-]+: \d+\.\d s\n", re.MULTILINE)

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
"""A number that is a word of its own (`resnet18` and `4x64xf32` have none)."""


def output_pattern(expected: str) -> str:
    """A pattern with a group for each number; blanks stand for any blanks, ``...`` for any text."""
    pattern, end = "", 0
    text = expected.strip()
    for number in [*NUMBER.finditer(text), None]:
        between = text[end : number.start() if number else len(text)]
        for piece in re.split(r"(\s+|\.\.\.)", between):
            pattern += r"\s+" if piece.isspace() else ".*?" if piece == "..." else re.escape(piece)
        if number:
            pattern += r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
            end = number.end()
    return pattern


def with_numbers(text: str, old: list[re.Match[str]], new: tuple[str, ...]) -> str:
    """`text` with its numbers replaced; columns stay aligned where there is room."""
    for match, number in reversed(list(zip(old, new, strict=True))):
        start, width = match.start(), len(match[0])
        while len(number) > width and text[:start].endswith("  "):
            start, width = start - 1, width + 1
        text = text[:start] + number.rjust(width if text[:start].endswith(" ") else 0) + text[match.end() :]
    return text


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
    """In a process of its own: pages define passes and dialects."""
    update = ["update"] if request.config.getoption("--update-golden") else []
    ran = subprocess.run([sys.executable, __file__, str(page), *update], capture_output=True, text=True, cwd=room)
    assert ran.returncode == 0, ran.stderr


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
    monkeypatch.setattr(sys.modules[__name__], "run_tool", lambda _: (0, prints, ""))
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
    ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, cwd=room)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout, "an example shows something"


def test_make_docs_builds_every_page(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, ROOT / "docs" / "build.py", tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for source in PAGES:
        name = Path("index.html") if source.stem == "README" else source.relative_to(ROOT).with_suffix(".html")
        assert (tmp_path / name).is_file()
    operations = (tmp_path / "docs" / "reference" / "operations.html").read_text(encoding="utf-8")
    assert all(f"<code>{name}</code>" in operations for name in ("pd.conv2d", "tx8be.Gemm", "tx8.rdma"))


def test_the_table_of_passes_is_current(request: pytest.FixtureRequest) -> None:
    """In a process of its own: other tests register passes."""
    arguments = [] if request.config.getoption("--update-golden") else ["--check"]
    ran = subprocess.run([sys.executable, ROOT / "docs" / "passes.py", *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_version_is_said_once() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["version"] == tx8ir.__version__


if __name__ == "__main__":
    run_page(Path(sys.argv[1]), update="update" in sys.argv[2:])
