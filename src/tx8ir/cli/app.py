"""The commands of `tx8ir`: their names, and the modules that have them.

A module is imported when its command is given: `tx8ir opt` does not wait for the compiler.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Annotated, Any, Final

import typer
import typer.core
import typer.main

from tx8ir.cli.options import SETTINGS

COMMANDS: Final = {
    "run": "Compile and simulate a model; print outputs and cost.",
    "compile": "Compile a model and save the executable.",
    "print": "Print a model as IR text.",
    "explore": "Write a page: graph, IR by pass, memory, timeline.",
    "opt": "Run passes over IR text and print the result.",
    "fuzz": "Look for programs that a pass gets wrong.",
    "cases": "Test cases of single operations.",
}
"""What there is, with a line about each."""


@cache
def load_command(name: str) -> Any:
    """The command, as its module declares it: `command`, a function, or `app`, a group of commands."""
    module = importlib.import_module(f"tx8ir.cli.{name}_command")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False, **SETTINGS)
        group.command(name)(module.command)
    return typer.main.get_command(group)


class _LazyGroup(typer.core.TyperGroup):
    """Lists what `COMMANDS` says, and imports a command to run it, to complete its options, or to show its help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load_command(command.name), rest


app = typer.Typer(
    name="tx8ir",
    cls=_LazyGroup,
    help="Compile models to TX8 instructions, simulate them, and look at every step between.",
    epilog="Exit status: 0 done, 1 a check failed, 2 the request was wrong, 3 nothing was tested.",
    no_args_is_help=True,
    **SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata
        import platform

        versions = {package: importlib.metadata.version(package) for package in ("tx8ir", "numpy")}
        print(f"tx8ir {versions['tx8ir']} (Python {platform.python_version()}, NumPy {versions['numpy']})")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]  # typer calls it
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    pass


def _placeholder() -> None:
    """Stands for a command until it is loaded."""


for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary)(_placeholder)
