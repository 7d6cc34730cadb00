"""Errors as compilers print them: `file:line:column: error: message`, the line, and a caret under the column."""

from __future__ import annotations

from collections.abc import Mapping

from tx8ir.core import FileLocation, FusedLocation, IrError, Location, NamedLocation, ParseError
from tx8ir.core.attrs.lexer import TextLocation
from tx8ir.core.text.comments import CommentedLocation

_SHOWN = 200


def file_place(location: Location | None) -> FileLocation | None:
    """The first place in a text file that a location stands for, or None."""
    work = [location] if location is not None else []
    while work:
        at = work.pop()
        if isinstance(at, FileLocation):
            return at
        if isinstance(at, TextLocation):
            return at.resolve()
        if isinstance(at, FusedLocation):
            work.extend(reversed(at.locations))
        elif isinstance(at, NamedLocation | CommentedLocation):
            work.append(at.child)
    return None


def diagnostic(error: IrError, texts: Mapping[str, str]) -> str:
    """An error for people.

    Args:
        error: what was raised.
        texts: by file name, to quote the line that an error is about.
    """
    if isinstance(error, ParseError):
        said = error.message.replace("allow_unregistered=True", "--allow-unregistered-dialect")
        return str(error).replace(error.message, said, 1)
    place = file_place(error.location)
    if place is None or place.file not in texts:
        return f"error: {error}"
    lines = texts[place.file].split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    head = f"{place.file}:{place.line}:{place.column}: error: {error.message}"
    if len(line) > _SHOWN:
        return head
    pad = "".join("\t" if char == "\t" else " " for char in line[: place.column - 1])
    return f"{head}\n  {line}\n  {pad}^"
