"""The commands of `tx8ir`."""

from __future__ import annotations

import enum
import importlib.metadata
import platform
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from tx8ir.backend.set_target import target_with
from tx8ir.cli import cases
from tx8ir.cli.completion import stages
from tx8ir.cli.console import EXIT_CHECK_FAILED, StageProgress, console, print_table, user_errors
from tx8ir.cli.data import read_data, write_data
from tx8ir.cli.explore import Output, Title, write_exploration
from tx8ir.cli.fuzz import fuzz
from tx8ir.cli.opt import opt as opt_command
from tx8ir.cli.options import choices_in_words, compile_options
from tx8ir.compiler import DTYPES, CompileOptions, compile, lower
from tx8ir.core import element_type
from tx8ir.executable import Executable
from tx8ir.frontends.files import load
from tx8ir.reports import Report, RunReport
from tx8ir.signature import InputError
from tx8ir.support.table import Table
from tx8ir.target.chip import Target
from tx8ir.testing import check_outputs

app = typer.Typer(
    name="tx8ir",
    help="Compile models to TX8 instructions, simulate them, and look at every step between.",
    epilog="Exit status: 0 done, 1 a check failed, 2 the request was wrong, 3 nothing was tested.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes cut the names of options at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)


class ProfileOption(enum.Enum):
    """Values of ``--profile``."""

    DATASHEET = "datasheet"
    BOARD = "board"


def _dtype(given: str) -> str:
    try:
        return str(element_type(given, DTYPES, what="the format"))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="an ONNX file, IR text (.mlir), or a saved program's folder")
]
DtypeArgument = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        parser=_dtype,
        metavar="|".join(map(str, DTYPES)),
        help="floating-point format to compute in; default: the model's own",
    ),
]
Profile = Annotated[
    ProfileOption | None,
    typer.Option("--profile", help="timing: peaks of the data sheet (default) or as measured"),
]
Opt = Annotated[
    list[str] | None,
    typer.Option("--opt", metavar="NAME=VALUE", help=f"how to compile, repeatable: {choices_in_words()}"),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="print the time and size of every stage")]


def _version(wanted: bool) -> None:
    if wanted:
        print(
            f"tx8ir {importlib.metadata.version('tx8ir')} (Python {platform.python_version()}, NumPy {np.__version__})"
        )
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]  # typer calls it
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="an ONNX file, IR text, a saved program, or a saved executable")
    ],
    inputs: Annotated[
        Path | None,
        typer.Option(help="an .npz file with the inputs, by name or as in_NAME; out_I and ref64_I are references"),
    ] = None,
    dtype: DtypeArgument = None,
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
) -> None:
    """Compile MODEL, run it on the simulated chip, and print what came out and what it cost.

    --check compares each output with the reference interpreter in fp64 and with the references in the file of
    inputs. An output may be off by three times the error that rounding in the chosen format causes by itself, plus
    8 ulp of the largest.
    """
    progress = StageProgress()
    out = console()
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
            executable = compile(program, _target(profile), options, progress=progress)
        if time_only:
            with progress.stage("time"):
                timed = executable.estimate(None if profile is None else profile.value)
            if trace is not None:
                timed.trace(trace)
            _print_report(Report(executable.report.compilation, RunReport(timed, None)), verbose=verbose)
            return
        data = read_data(inputs, executable.signature)
        with progress.stage("simulate"):
            outputs = executable.run(data.inputs)
        if save is not None:
            executable.save(save)
            write_data(save / "outputs.npz", outputs)

        if trace is not None and executable.report.run is not None:
            executable.report.run.sim.trace(trace)
        _print_report(executable.report, verbose=verbose)
        print_table(out, _outputs_table(outputs))
        if not check or program is None:
            return
        with progress.stage("check against the reference interpreter"):
            result = check_outputs(program, data.inputs, outputs, options=options, references=data.references)
    print_table(out, result.table)
    if not result.passed:
        console(stderr=True).print(Text("check failed: an error exceeds its bound", style="bold red"))
        raise typer.Exit(EXIT_CHECK_FAILED)


@app.command("compile")
def compile_command(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="folder to write the executable into")],
    dtype: DtypeArgument = None,
    profile: Profile = None,
    opt: Opt = None,
    verbose: Verbose = False,
) -> None:
    """Compile MODEL and save the executable into DIR, which ``tx8ir run DIR`` runs."""
    progress = StageProgress()
    with user_errors(progress):
        executable = compile(load(model), _target(profile), compile_options(dtype, opt), progress=progress)
        executable.save(output)
        _print_report(executable.report, verbose=verbose)


@app.command("print")
def print_command(
    model: Model,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="PASS", help="print it as it is after this stage of the compilation", autocompletion=stages
        ),
    ] = None,
    dtype: DtypeArgument = None,
    opt: Opt = None,
) -> None:
    """Print MODEL as IR text."""
    with user_errors(StageProgress()):
        program = load(model)
        if after is not None:
            program = lower(program, compile_options(dtype, opt), through=after)
        print(program)


@app.command("explore")
def explore_command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="an ONNX file, IR text, a saved program, or a saved executable")
    ],
    output: Output,
    dtype: DtypeArgument = None,
    profile: Profile = None,
    opt: Opt = None,
    title: Title = None,
) -> None:
    """Write a page that shows MODEL from its source to its instructions: graph, IR by pass, memory, timeline."""
    write_exploration(model, output, _target(profile), dtype=dtype, opt=opt, title=title)


app.command("opt")(opt_command)
app.command("fuzz")(fuzz)
app.add_typer(cases.app, name="cases")


def _target(profile: ProfileOption | None) -> Target | None:
    return None if profile is None else target_with(profile=profile.value)


def _print_report(report: Report, *, verbose: bool) -> None:
    out = console()
    stages, program = report.compilation.tables
    if verbose:
        print_table(out, stages)
    else:
        out.print(Text(stages.title, style="bold"))
        out.print()
    print_table(out, program)
    if report.run is not None:
        brief = 3 if report.run.flags else 2
        for table in report.run.tables if verbose else report.run.tables[:brief]:
            print_table(out, table)


def _outputs_table(outputs: dict[str, np.ndarray]) -> Table:
    def values(array: np.ndarray) -> str:
        flat = array.reshape(-1)
        return ", ".join(f"{value:.5g}" for value in flat[:4]) + (", ..." if flat.size > 4 else "")

    return Table(
        "outputs",
        ("name", "type", "shape", "values"),
        tuple((name, str(array.dtype), str(array.shape), values(array)) for name, array in outputs.items()),
    )
