"""`tx8ir compile`: compiles a model and saves the executable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tx8ir.cli.compiling import compile_options, target_of
from tx8ir.cli.console import StageProgress, print_report, user_errors
from tx8ir.cli.documents import print_document
from tx8ir.cli.documents.run import RunDocument
from tx8ir.cli.options import Dtype, Json, Model, Opt, Profile, Verbose
from tx8ir.compiler import compile
from tx8ir.frontends.files import load


def command(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="folder to write the executable into")],
    dtype: Dtype = None,
    profile: Profile = None,
    opt: Opt = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Compile MODEL and save the executable into DIR, which `tx8ir run DIR` runs.

    Exit status: 0 done, 2 the request was wrong.
    """
    progress = StageProgress()
    with user_errors(progress):
        executable = compile(load(model), target_of(profile), compile_options(dtype, opt), progress=progress)
        executable.save(output)
        if json:
            print_document(RunDocument.of(executable.report))
        else:
            print_report(executable.report, verbose=verbose)
