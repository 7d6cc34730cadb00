"""What `tx8ir opt` says of passes and patterns: `--list` and `--explain`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tx8ir.core import Operation, Program
from tx8ir.passes import PassError, all_passes, all_patterns, all_pipelines, describe_options
from tx8ir.rewriting.declarative.declaration import declaration_of
from tx8ir.rewriting.declarative.explain import explain


def describe_passes() -> Iterator[str]:
    """Every named pipeline, and every registered pass: name, first sentence, options, patterns."""
    for name, text in all_pipelines().items():
        yield f"{name}: the pipeline {text}"
    for name, cls in all_passes().items():
        aliases = f" ({', '.join(cls.aliases)})" if cls.aliases else ""
        yield f"{name}{aliases}: {_summary(cls)}"
        for option in describe_options(cls):
            yield f"    {option.name}={option.default}  {option.type}: {option.help}"
        patterns = sorted(pattern.name for pattern in cls().patterns())
        if patterns:
            yield f"    patterns: {', '.join(patterns)}"


def _summary(cls: type[Any]) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0]


def explanations(name: str, program: Program) -> Iterator[str]:
    """Where a pattern is declared and how; of each operation that it is for, why it does or does not match.

    Raises `PassError` for a name that no pattern has.
    """
    patterns = all_patterns()
    if name not in patterns:
        raise PassError(f"no pattern is named '{name}'; patterns are {', '.join(patterns)}")
    pattern = patterns[name]
    yield str(declaration_of(pattern))
    candidates: list[Operation] = [op for op in program.module.walk() if pattern.fits(op.__class__)]
    if not candidates:
        kinds = ", ".join(str(getattr(root, "name", "") or root.__name__) for root in pattern.roots)
        yield f"{name}: the program has no operation that it is for ({kinds})"
    for op in candidates:
        yield str(explain(pattern, op))
