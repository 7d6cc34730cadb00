"""Arguments and options that several commands have.

They are declared without the compiler, so that `--help` and TAB do not wait for it. A test compares the words here with
what the compiler takes.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tx8ir.cli import completion

SETTINGS: Final[dict[str, Any]] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,  # its boxes cut the names of options at 80 columns
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
"""Of every group of commands."""


class ProfileOption(enum.Enum):
    """Values of ``--profile``."""

    DATASHEET = "datasheet"
    BOARD = "board"


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="a model (.onnx, .pt2, .mlir of JAX), IR text (.mlir), or a saved program's folder"
    ),
]
ModelOrExecutable = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="a model (.onnx, .pt2, .mlir of JAX), IR text, a saved program, or a saved executable"
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="f32|bf16|f16",
        help="floating-point format to compute in; default: the model's own",
        autocompletion=completion.dtypes,
    ),
]
Profile = Annotated[
    ProfileOption | None,
    typer.Option("--profile", help="timing: peaks of the data sheet (default) or as measured"),
]
Opt = Annotated[
    list[str] | None,
    typer.Option(
        "--opt",
        metavar="NAME=VALUE",
        help="how to compile, repeatable: graph=full|required, group=fused|single|patterns|optimal, ddr=on|off",
        autocompletion=completion.compile_options,
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="print the time and size of every stage")]
Json = Annotated[
    bool, typer.Option("--json", help="print one JSON document instead of tables; its schema is in the reference")
]
