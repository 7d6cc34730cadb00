"""What the commands print: tables, progress of long stages, errors in one paragraph."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table as RichTable
from rich.text import Text

from tx8ir.cli.status import EXIT_WRONG_INPUT
from tx8ir.core import IrError
from tx8ir.signature import InputError
from tx8ir.support.table import Table

if TYPE_CHECKING:
    from tx8ir.reports import Report

_PATIENCE_SECONDS = 2.0


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr that highlights nothing by itself."""
    return Console(stderr=stderr, highlight=False)


def print_table(out: Console, table: Table) -> None:
    """Prints a report table and an empty line: with colours on a terminal, as plain text otherwise."""
    if not out.is_terminal:
        out.print(str(table), "\n", sep="", markup=False, soft_wrap=True)
        return
    rich_table = RichTable(box=None, pad_edge=False, header_style="dim")
    for name, numeric in zip(table.header, table.numeric_columns, strict=True):
        rich_table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        rich_table.add_row(*(Text(cell, style=_STYLE_OF_CELL.get(cell, "")) for cell in row))
    out.print(Text(table.title, style="bold"))
    out.print(rich_table)
    out.print()


_STYLE_OF_CELL = {"passed": "green", "FAILED": "bold red"}


def print_report(report: Report, *, verbose: bool) -> None:
    """Prints a report on stdout; unless `verbose`, without the stages and with the first tables of the run alone."""
    out = console()
    stages, program = report.compilation.tables
    if verbose:
        print_table(out, stages)
    else:
        out.print(Text(stages.title, style="bold"))
        out.print()
    print_table(out, program)
    if report.run is not None:
        brief = 4 if report.run.flags else 3
        for table in report.run.tables if verbose else report.run.tables[:brief]:
            print_table(out, table)


class StageProgress:
    """Says on stderr, when that is a terminal, which stage is running once it takes longer than two seconds, and how
    long it took.

    An instance is a `tx8ir.compiler.Progress`; `stage` does the same for a ``with`` block.
    """

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._timer: threading.Timer | None = None
        self._status: Status | None = None

    def __call__(self, stage: str, seconds: float | None) -> None:
        self.close()
        if seconds is None:
            self._status = self._console.status(f"{stage} ...") if self._console.is_terminal else None
            if self._status is not None:
                self._timer = threading.Timer(_PATIENCE_SECONDS, self._status.start)
                self._timer.daemon = True
                self._timer.start()
        elif seconds > _PATIENCE_SECONDS and self._console.is_terminal:
            self._console.print(f"  {stage}: {seconds:.1f} s", style="dim")

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Reports the block as the stage `name`."""
        started = time.perf_counter()
        self(name, None)
        try:
            yield
        except BaseException:
            self.close()
            raise
        self(name, time.perf_counter() - started)

    def close(self) -> None:
        """Takes the current stage off the screen."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextmanager
def user_errors(progress: StageProgress) -> Generator[None]:
    """Turns what a wrong file, wrong inputs or an unsupported model raise into one paragraph on stderr and exit
    status 2.

    A bug of ours (any other exception) keeps its traceback.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # who reads has enough; click ends in silence
    except (InputError, IrError, OSError) as error:
        progress.close()
        console(stderr=True).print(Text(f"error: {error}"), soft_wrap=True)
        raise typer.Exit(EXIT_WRONG_INPUT) from None
