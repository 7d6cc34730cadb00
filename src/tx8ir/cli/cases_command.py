"""`tx8ir cases`: cases of operations, listed, run, and saved for other hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tx8ir.cli.completion import case_operations
from tx8ir.cli.console import StageProgress, console, print_table, user_errors
from tx8ir.cli.documents import print_document
from tx8ir.cli.documents.cases import CaseData, CasesDocument
from tx8ir.cli.options import SETTINGS, Json
from tx8ir.cli.status import EXIT_CHECK_FAILED
from tx8ir.signature import InputError
from tx8ir.support.table import Table
from tx8ir.testing.cases import operations
from tx8ir.testing.cases.operations import Case, CaseResult

app = typer.Typer(
    help="Test cases of single operations and small contexts of them.",
    add_completion=False,
    no_args_is_help=True,
    **SETTINGS,
)

Ops = Annotated[
    list[str] | None,
    typer.Argument(metavar="[OP]...", help="operations or contexts; default: all", autocompletion=case_operations),
]
Random = Annotated[
    int, typer.Option("--random", metavar="N", min=0, help="random cases of each, besides the fixed ones")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="decides the random cases and all data")]


def _chosen(given: list[str] | None) -> list[str]:
    known = operations.ops()
    for op in given or ():
        if op not in known:
            raise InputError(f"no cases of '{op}'; there are cases of {', '.join(known)}")
    return list(given or known)


def _cases(ops: list[str], count: int, seed: int) -> Iterator[tuple[str, Case]]:
    """The cases of operations, each with a label that is distinct within its operation."""
    for op in ops:
        for number, case in enumerate(operations.fixed_cases(op)):
            yield f"fixed-{number}", case
        for number in range(seed, seed + count):
            yield f"random-{number}", operations.random_case(op, number)


@app.command("list")
def list_command(ops: Ops = None, random: Random = 0, seed: Seed = 0, json: Json = False) -> None:
    """List the cases of each OP.

    Exit status: 0 done, 2 the request was wrong.
    """
    with user_errors(StageProgress()):
        found = [CaseData(case.op, label, case.name) for label, case in _cases(_chosen(ops), random, seed)]
    if json:
        print_document(CasesDocument(tuple(found)))
        return
    rows = tuple((data.operation, data.case, data.configuration) for data in found)
    print_table(console(), Table(f"{len(rows)} cases", ("operation", "case", "configuration"), rows))


@app.command()
def run(ops: Ops = None, random: Random = 0, seed: Seed = 0, json: Json = False) -> None:
    """Compile the cases of each OP, run them on the simulated chip, and compare with the interpreter.

    Exit status: 0 every case is within its bound, 1 one is not, 2 the request was wrong.
    """
    progress = StageProgress()
    ran: list[tuple[CaseData, CaseResult]] = []
    with user_errors(progress):
        for label, case in _cases(_chosen(ops), random, seed):
            with progress.stage(f"{case.op} {label}"):
                result = case.init_data(seed).compile()
            check = result.check
            numbers = (check.error, check.bound, result.report.microseconds)
            ran.append((CaseData(case.op, label, case.name, *numbers, check.passed), result))
    if json:
        print_document(CasesDocument(tuple(data for data, _ in ran)))
    else:
        header = ("operation", "case", "configuration", "error", "bound", "us", "result")
        print_table(console(), Table(f"{len(ran)} cases", header, tuple(_row(*each) for each in ran)))
    if not all(data.passed for data, _ in ran):
        console(stderr=True).print(Text("a case failed: its error exceeds its bound", style="bold red"))
        raise typer.Exit(EXIT_CHECK_FAILED)


def _row(data: CaseData, result: CaseResult) -> tuple[str, ...]:
    check = result.check
    numbers = (f"{check.error:.2e}", f"{check.bound:.2e}", f"{result.report.microseconds:.1f}")
    return data.operation, data.case, data.configuration, *numbers, "passed" if check.passed else "FAILED"


@app.command()
def save(
    ops: Ops = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="one folder in it for each case")
    ] = Path("cases"),
    random: Random = 0,
    seed: Seed = 0,
) -> None:
    """Save the cases of each OP with data and answers: case.json, .bin files, the program as text and as C.

    Exit status: 0 done, 2 the request was wrong.
    """
    progress = StageProgress()
    with user_errors(progress):
        for label, case in _cases(_chosen(ops), random, seed):
            folder = output / f"{case.op}-{label}"
            with progress.stage(str(folder)):
                filled = case.init_data(seed)
                operations.save_case(filled, filled.compile(), folder)
            print(folder)
