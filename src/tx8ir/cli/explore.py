"""`tx8ir explore`: a model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tx8ir.cli.console import StageProgress, console, user_errors
from tx8ir.cli.options import compile_options
from tx8ir.compiler import CompileOptions
from tx8ir.executable import Executable
from tx8ir.explorer import Exploration, explore
from tx8ir.frontends.files import load
from tx8ir.reports import format_bytes
from tx8ir.signature import InputError
from tx8ir.target.chip import Target


def write_exploration(
    model: Path, output: Path, target: Target | None, *, dtype: str | None, opt: list[str] | None, title: str | None
) -> None:
    """Explores the model in a file or folder, and writes the page or, into a `.json` file, the data."""
    progress = StageProgress()
    with user_errors(progress):
        name = title or (model.parent.name if model.stem == "model" else model.stem)
        options = compile_options(dtype, opt)
        found: Exploration
        if Executable.is_saved(model):
            if target is not None or options != CompileOptions():
                raise InputError(
                    f"{model} is an executable: --dtype, --opt and --profile need the model it was compiled from"
                )
            found = explore(Executable.load(model), title=name)
        else:
            found = explore(load(model), target, options, title=name, progress=progress)
        with progress.stage("write"):
            size = found.save(output).stat().st_size
        console().print(f"{output}: {format_bytes(size)}; open it in a browser, it loads nothing from a network")


Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="the page to write; with .json its data alone")
]
Title = Annotated[str | None, typer.Option("--title", help="what the page calls the model; default: the file's name")]
