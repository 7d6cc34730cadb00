"""`tx8ir explore`: a model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tx8ir.cli.compiling import compile_options, target_of
from tx8ir.cli.console import StageProgress, console, user_errors
from tx8ir.cli.options import Dtype, ModelOrExecutable, Opt, Profile
from tx8ir.compiler import CompileOptions
from tx8ir.executable import Executable
from tx8ir.explorer import Exploration, explore
from tx8ir.frontends.files import load
from tx8ir.reports import format_bytes
from tx8ir.signature import InputError


def command(
    model: ModelOrExecutable,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="the page to write; with .json its data alone")
    ],
    dtype: Dtype = None,
    profile: Profile = None,
    opt: Opt = None,
    title: Annotated[
        str | None, typer.Option("--title", help="what the page calls the model; default: the file's name")
    ] = None,
) -> None:
    """Write a page that shows MODEL from its source to its instructions: graph, IR by pass, memory, timeline.

    Exit status: 0 done, 2 the request was wrong.
    """
    progress = StageProgress()
    with user_errors(progress):
        name = title or (model.parent.name if model.stem == "model" else model.stem)
        target, options = target_of(profile), compile_options(dtype, opt)
        found: Exploration
        if Executable.is_saved(model):
            if target is not None or options != CompileOptions():
                raise InputError(
                    f"{model} is an executable: --dtype, --opt and --profile need the model it was compiled from"
                )
            with progress.stage("read the executable"):
                found = explore(Executable.load(model), title=name)
        else:
            found = explore(load(model), target, options, title=name, progress=progress)
        with progress.stage("write"):
            size = found.save(output).stat().st_size
        console().print(f"{output}: {format_bytes(size)}; open it in a browser, it loads nothing from a network")
