"""`tx8ir run`: compiles a model and runs it on the simulated chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from tx8ir.cli.compiling import compile_options, target_of
from tx8ir.cli.console import StageProgress, console, print_report, print_table, user_errors
from tx8ir.cli.data import read_data, write_data
from tx8ir.cli.documents import print_document
from tx8ir.cli.documents.run import RunDocument
from tx8ir.cli.options import Dtype, Json, ModelOrExecutable, Opt, Profile, Verbose
from tx8ir.cli.status import EXIT_CHECK_FAILED
from tx8ir.compiler import CompileOptions, compile
from tx8ir.executable import Executable
from tx8ir.frontends.files import load
from tx8ir.reports import Report, RunReport
from tx8ir.signature import InputError
from tx8ir.support.table import Table
from tx8ir.testing import check_outputs
from tx8ir.testing.chip.differential import CheckResult


def command(
    model: ModelOrExecutable,
    inputs: Annotated[
        Path | None,
        typer.Option(help="an .npz file with the inputs, by name or as in_NAME; out_I and ref64_I are references"),
    ] = None,
    dtype: Dtype = None,
    check: Annotated[
        bool, typer.Option("--check", help="compare the outputs; exit with status 1 if one is wrong")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write the executable and outputs.npz into this folder")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write what each engine did when, as a trace that ui.perfetto.dev opens"),
    ] = None,
    time_only: Annotated[
        bool,
        typer.Option("--time-only", help="say what a run costs without computing any data; takes no inputs"),
    ] = False,
    profile: Profile = None,
    opt: Opt = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Compile MODEL, run it on the simulated chip, and print what came out and what it cost.

    --check compares each output with the reference interpreter in fp64 and with the references in the file of
    inputs. An output may be off by three times the error that rounding in the chosen format causes by itself, plus
    8 ulp of the largest.

    Exit status: 0 done, 1 an output is wrong (with --check), 2 the request was wrong.
    """
    progress = StageProgress()
    with user_errors(progress):
        options = compile_options(dtype, opt)
        saved = Executable.is_saved(model)
        if saved and (check or options != CompileOptions() or (profile is not None and not time_only)):
            raise InputError(
                f"{model} is an executable: --dtype, --opt, --profile and --check need the model it was compiled from"
            )
        if time_only and (inputs is not None or check or save is not None):
            raise InputError("--time-only computes no data: it goes without --inputs, --check and --save")
        program = None if saved else load(model)
        if program is None:
            executable = Executable.load(model)
        else:
            executable = compile(program, target_of(profile), options, progress=progress)
        if time_only:
            with progress.stage("time"):
                timed = executable.estimate(None if profile is None else profile.value)
            if trace is not None:
                timed.trace(trace)
            _show(Report(executable.report.compilation, RunReport(timed, None)), None, None, json=json, verbose=verbose)
            return
        data = read_data(inputs, executable.signature)
        with progress.stage("simulate"):
            outputs = executable.run(data.inputs)
        if save is not None:
            executable.save(save)
            write_data(save / "outputs.npz", outputs)
        if trace is not None and executable.report.run is not None:
            executable.report.run.sim.trace(trace)
        result: CheckResult | None = None
        if check and program is not None:
            with progress.stage("check against the reference interpreter"):
                result = check_outputs(program, data.inputs, outputs, options=options, references=data.references)
        _show(executable.report, outputs, result, json=json, verbose=verbose)
    if result is not None and not result.passed:
        console(stderr=True).print(Text("check failed: an error exceeds its bound", style="bold red"))
        raise typer.Exit(EXIT_CHECK_FAILED)


def _show(
    report: Report,
    outputs: dict[str, np.ndarray] | None,
    check: CheckResult | None,
    *,
    json: bool,
    verbose: bool,
) -> None:
    if json:
        print_document(RunDocument.of(report, outputs, check))
        return
    print_report(report, verbose=verbose)
    if outputs is not None:
        print_table(console(), _outputs_table(outputs))
    if check is not None:
        print_table(console(), check.table)


def _outputs_table(outputs: dict[str, np.ndarray]) -> Table:
    def values(array: np.ndarray) -> str:
        flat = array.reshape(-1)
        return ", ".join(f"{value:.5g}" for value in flat[:4]) + (", ..." if flat.size > 4 else "")

    return Table(
        "outputs",
        ("name", "type", "shape", "values"),
        tuple((name, str(array.dtype), str(array.shape), values(array)) for name, array in outputs.items()),
    )
