"""Where a pattern is written, and how: what a reader of an explanation looks up next."""

from __future__ import annotations

import ast
import inspect
import linecache
from typing import Any, Final

import attrs

from tx8ir.rewriting.rewriter import FunctionPattern, RewritePattern

from .rule import Rule

_SHOWN: Final = 12
"""Lines of a declaration that are shown."""


@attrs.frozen
class Declaration:
    """The source of a pattern.

    Attributes:
        pattern: its name.
        file: where it is written; empty when that is not known.
        line: the first line.
        source: the lines, as written.
    """

    pattern: str
    file: str
    line: int
    source: str

    def __str__(self) -> str:
        if not self.file:
            return f"{self.pattern}: where it is declared is not known"
        lines = inspect.cleandoc("\n" + self.source).splitlines()
        left_out = len(lines) - _SHOWN
        shown = lines if left_out <= 1 else [*lines[:_SHOWN], f"... ({left_out} more lines)"]
        return "\n".join([f"{self.pattern}, declared at {self.file}:{self.line}:", *(f"    {line}" for line in shown)])


def declaration_of(pattern: RewritePattern[Any]) -> Declaration:
    """A rule's is the statement that makes it, a function's the function with its decorator, else the class."""
    if isinstance(pattern, Rule):
        file, line = pattern.declared_at
        first, last = _statement(file, line)
        return Declaration(pattern.name, file, first, "".join(linecache.getlines(file)[first - 1 : last]))
    written: Any = inspect.unwrap(pattern.function) if isinstance(pattern, FunctionPattern) else type(pattern)
    try:
        lines, first = inspect.getsourcelines(written)
        file = inspect.getsourcefile(written) or ""
    except (OSError, TypeError):  # typed in, or compiled
        return Declaration(pattern.name, "", 0, "")
    return Declaration(pattern.name, file, first, "".join(lines))


def _statement(file: str, line: int) -> tuple[int, int]:
    """The first and the last line of the smallest statement around a line."""
    text = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with magics
        return line, line
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(around, key=lambda span: span[1] - span[0], default=(line, line))
