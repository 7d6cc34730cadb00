"""The `tx8ir` command: compile and simulate models, print programs, run passes over text."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `tx8ir` command."""
    try:
        from tx8ir.cli.app import app  # here, so that a missing extra is a sentence and no traceback

        app()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        sys.exit(f"tx8ir: the command line needs the package '{package}': pip install 'tx8ir[cli]'")
