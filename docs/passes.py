"""Writes docs/reference/passes.md, the table of all passes, from the classes that define them.

`python docs/passes.py` writes it; `--check` only says, by the exit status, whether it is current, as tests/test_docs.py
does.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tx8ir.compiler import pipeline
from tx8ir.passes import OperationPass, Pass, all_passes, describe_options

PAGE = Path(__file__).parent / "reference" / "passes.md"


def text() -> str:
    """The page."""
    return "\n".join(_page()).rstrip() + "\n"


def _page() -> Iterator[str]:
    passes = {name: cls for name, cls in all_passes().items() if cls.__module__.startswith("tx8ir.")}
    stages = [stage.title for stage in pipeline().passes]
    yield "# Passes\n"
    yield "Written by `python docs/passes.py` from the classes that define them; `tx8ir opt --list` prints them too.\n"
    yield f"`tx8ir.compile` runs, in this order, {', '.join(f'`{name}`' for name in stages)}:"
    yield "see [the pipeline](../explanation/pipeline.md).\n"
    yield "A pass that is *nestable* can run inside functions, as in `func.func(cse,dce)`; the others work on whole"
    yield "programs.\n"
    yield "| pass | what it does | nestable | options |\n|---|---|---|---|"
    for name, cls in passes.items():
        options = ", ".join(f"`{option.name}`" for option in describe_options(cls))
        yield f"| [`{name}`](#{name}) | {_cell(_summary(cls))} | {_nestable(cls)} | {options} |"
    yield ""
    for name, cls in passes.items():
        yield from _section(name, cls)


def _section(name: str, cls: type[Pass]) -> Iterator[str]:
    yield f"## {name}\n\n{_documentation(cls)}\n"
    if cls.aliases:
        yield f"Also called {', '.join(f'`{alias}`' for alias in cls.aliases)}.\n"
    options = describe_options(cls)
    if options:
        yield "| option | type | default | |\n|---|---|---|---|"
        for option in options:
            yield f"| `{option.name}` | {_cell(option.type)} | `{option.default}` | {_cell(option.help)} |"
        yield ""
    patterns = sorted(pattern.name for pattern in cls().patterns())
    if patterns:
        yield f"Patterns: {', '.join(f'`{pattern}`' for pattern in patterns)}.\n"


def _documentation(cls: type[Pass]) -> str:
    """The docstring without the paragraphs that describe options, which the table has."""
    options = [option.name.replace("-", "_") for option in describe_options(cls)]
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(cls.__doc__ or ""))
    return "\n\n".join(p for p in paragraphs if not any(p.startswith(f"{name}:") for name in options))


def _summary(cls: type[Pass]) -> str:
    first = " ".join(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", first)[0]


def _nestable(cls: type[Pass]) -> str:
    if not issubclass(cls, OperationPass):
        return ""
    return "yes" if cls.anchor is None else f"in `{cls.anchor}`"


def _cell(content: str) -> str:
    return content.replace("|", r"\|")


def is_current() -> bool:
    """Whether the page is what would be written."""
    return PAGE.exists() and PAGE.read_text(encoding="utf-8") == text()


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if is_current() else "docs/reference/passes.md is not current: run python docs/passes.py")
    PAGE.write_text(text(), encoding="utf-8")
