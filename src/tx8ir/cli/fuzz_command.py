"""`tx8ir fuzz`: looks for programs that passes get wrong."""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from tx8ir.cli.completion import pipeline
from tx8ir.cli.console import StageProgress, console, user_errors
from tx8ir.cli.documents import print_document
from tx8ir.cli.documents.fuzz import FuzzDocument, FuzzedPassData
from tx8ir.cli.options import Json
from tx8ir.cli.status import EXIT_CHECK_FAILED, EXIT_NOT_TESTED
from tx8ir.passes import NumericGuarantee
from tx8ir.signature import InputError
from tx8ir.testing import FuzzResult, fuzz
from tx8ir.testing.passes.counterexample import PassLike


def command(
    passes: Annotated[
        list[str],
        typer.Argument(
            metavar="PASS...",
            autocompletion=pipeline,
            help='a pass or pipeline ("canonicalize,cse"), or a Python object: package.module:name, or file.py:name',
        ),
    ],
    seconds: Annotated[float, typer.Option(help="how long to look, for each PASS")] = 60.0,
    examples: Annotated[int | None, typer.Option(help="how many programs to try instead, for each PASS")] = None,
    seed: Annotated[int, typer.Option(help="decides what is tried")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="how many processes look; they find the same")] = 1,
    failures: Annotated[int, typer.Option(help="stop after so many different counterexamples of a PASS")] = 1,
    guarantee: Annotated[
        NumericGuarantee | None,
        typer.Option("--guarantee", help="what each PASS is held to; else to its own guarantee"),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="where a script for each counterexample is written")
    ] = Path("counterexamples"),
    json: Json = False,
) -> None:
    """Look for programs that each PASS gets wrong: on its own, without a program.

    A counterexample is reduced, printed, and written as a script that fails in the same way.

    Exit status: 0 when nothing was found, 1 when something was, 3 when a PASS was not tested because it changed no
    program, 2 when the request was wrong.
    """
    results: list[FuzzResult] = []
    data: list[FuzzedPassData] = []
    with user_errors(StageProgress()):
        subjects = [(name, _subject(name)) for name in passes]
        with _executor(jobs) as executor:
            for name, subject in subjects:
                with _Progress(name, seconds, examples) as progress:
                    result = fuzz(
                        subject,
                        seconds=seconds,
                        examples=examples,
                        seed=seed,
                        guarantee=guarantee,
                        executor=executor,
                        failures=failures,
                        progress=progress,
                    )
                results.append(result)
                scripts = _write_scripts(name, result, out)
                data.append(FuzzedPassData.of(name, result, scripts))
                if not json:
                    _show(name, result, scripts)
    if json:
        print_document(FuzzDocument(tuple(data)))
    if any(not result.passed for result in results):
        raise typer.Exit(EXIT_CHECK_FAILED)
    if any(not result.tested for result in results):
        console(stderr=True).print(Text("not tested: a PASS changed no program", style="bold red"))
        raise typer.Exit(EXIT_NOT_TESTED)


def _write_scripts(name: str, result: FuzzResult, out: Path) -> tuple[str, ...]:
    """One script for each counterexample; their paths."""
    stem = re.sub(r"\W+", "-", name).strip("-")[:60]
    paths = [out / f"{stem}-{number}.py" for number in range(len(result.counterexamples))]
    for path, found in zip(paths, result.counterexamples, strict=True):
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(found.script, encoding="utf-8")
    return tuple(map(str, paths))


def _show(name: str, result: FuzzResult, scripts: tuple[str, ...]) -> None:
    screen = console()
    screen.print(f"{name}: {result}", markup=False, soft_wrap=True)
    for script, found in zip(scripts, result.counterexamples, strict=True):
        screen.print(f"\n{found.failure.stage.name}: to run it again: python {script}", markup=False, soft_wrap=True)


class _Progress:
    """A bar on stderr, on a terminal alone: how much of the time or of the programs is over, and what was changed."""

    def __init__(self, name: str, seconds: float, examples: int | None) -> None:
        on = console(stderr=True)
        self._examples = examples
        self._started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=on,
            transient=True,
            disable=not on.is_terminal,
        )
        self._task = self._bar.add_task(name, total=examples or seconds, counts="")

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, result: FuzzResult) -> None:
        done = time.monotonic() - self._started if self._examples is None else result.programs
        counts = f"{result.programs} programs, {result.changed} changed"
        self._bar.update(self._task, completed=done, counts=counts)


def _subject(text: str) -> PassLike:
    """The pass that a word of the command line means.

    Raises:
        InputError: a Python object that cannot be found.
    """
    place, colon, name = text.rpartition(":")
    if not colon or not re.fullmatch(r"[\w.]+", name) or not re.fullmatch(r"[^{}(),]+", place):
        return text
    path = Path(place)
    if path.suffix == ".py":
        if not path.is_file():
            raise InputError(f"{place} is not a file")
        sys.path.insert(0, str(path.resolve().parent))
        place = path.stem
    try:
        found: object = importlib.import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{text} cannot be found: {error}") from error
    if isinstance(found, type):
        found = found()
    return found  # pyright: ignore[reportReturnType]  `fuzz` checks it


@contextmanager
def _executor(jobs: int) -> Generator[Executor | None]:
    if jobs < 2:
        yield None
        return
    with ProcessPoolExecutor(jobs) as executor:
        yield executor
