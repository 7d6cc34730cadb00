"""`tx8ir print`: a model as text, at any stage of its compilation."""

from __future__ import annotations

from typing import Annotated

import typer

from tx8ir.cli import completion
from tx8ir.cli.console import StageProgress, user_errors
from tx8ir.cli.options import Dtype, Model, Opt
from tx8ir.frontends.files import load
from tx8ir.signature import InputError


def command(
    model: Model,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="PASS",
            help="print it as it is after this stage of the compilation",
            autocompletion=completion.stages,
        ),
    ] = None,
    dtype: Dtype = None,
    opt: Opt = None,
) -> None:
    """Print MODEL as IR text.

    Exit status: 0 done, 2 the request was wrong.
    """
    with user_errors(StageProgress()):
        program = load(model)
        if after is not None:
            from tx8ir.cli.compiling import compile_options  # here: a program as it is needs no compiler
            from tx8ir.compiler import lower

            program = lower(program, compile_options(dtype, opt), through=after)
        elif dtype is not None or opt:
            raise InputError("--dtype and --opt say how to compile: they go with --after")
        print(program)
