"""The pages of the documentation: their examples, and how they are run and compared.

A page runs in a process of its own, because pages define passes and dialects: a copy of one that has loaded the
package, which takes a tenth of the time that loading it anew would.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import multiprocessing
import os
import re
import runpy
import shlex
import subprocess
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import attrs

import tx8ir.cli

from .scripts import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ONLY_READ = ("pip", "git", "cd")


_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["tx8ir.cli", "tx8ir.compiler", "tx8ir.frontends.onnx", "tx8ir.sim", "tx8ir.testing", "hypothesis", "pytest"]
)


def alone(action: Callable[..., object], *arguments: Any) -> str:
    """What a function of a module prints, called in a process of its own, in the working directory of this one.

    Raises AssertionError with what is wrong.
    """
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_report, args=(sender, os.getcwd(), dict(os.environ), action, arguments))
    process.start()
    sender.close()
    try:
        wrong, printed = receiver.recv()
    except EOFError:
        wrong, printed = "it ends without a word", ""
    process.join()
    if wrong:
        raise AssertionError(wrong)
    return printed


def _report(
    sender: Connection,
    folder: str,
    environment: dict[str, str],
    action: Callable[..., object],
    arguments: tuple[Any, ...],
) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    sys.path.insert(0, folder)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            action(*arguments)
    except BaseException:
        sender.send((traceback.format_exc(), printed.getvalue()))
    else:
        sender.send(("", printed.getvalue()))


def run_script(path: str, *arguments: str) -> None:
    """Runs a Python file as Python does with its name on the command line."""
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


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
    printed = stdout + stderr
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
