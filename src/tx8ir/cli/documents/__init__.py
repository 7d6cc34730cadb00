"""What `--json` writes, as data: each module has the classes of a command, key by key.

A document is an attrs class with the keys `format`, which names it, and `version`. Its schema is
`docs/reference/<format>.schema.json`. A number that is infinite or no number is null.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, cast

import attrs
import typer

DOCUMENTS: Final = {
    "tx8ir-run": "run:RunDocument",
    "tx8ir-opt": "opt:OptDocument",
    "tx8ir-fuzz": "fuzz:FuzzDocument",
    "tx8ir-cases": "cases:CasesDocument",
}
"""The formats, and the module and class of each."""


def print_document(document: Any, *, stderr: bool = False) -> None:
    """Prints an instance of one of the classes as JSON, indented."""
    typer.echo(json.dumps(_plain(attrs.asdict(document)), indent=2, ensure_ascii=False, allow_nan=False), err=stderr)


def _plain(value: object) -> object:
    """The same without infinities and NaN, which JSON has not."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
