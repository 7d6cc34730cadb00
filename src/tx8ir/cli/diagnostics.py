"""Errors as compilers print them: `file:line:column: error: message`, the line, and a caret under the column."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from tx8ir.core import CallSiteLocation, FileLocation, FusedLocation, IrError, Location, NamedLocation, ParseError
from tx8ir.core.attrs.lexer import TextLocation
from tx8ir.core.text.comments import CommentedLocation
from tx8ir.signature import InputError

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
        elif isinstance(at, CallSiteLocation):
            work += (at.caller, at.callee)
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


class Errors:
    """Prints what goes wrong and counts it, so that the other programs of a file are still looked at.

    texts: by file name, to quote the line that an error is about.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.found: list[Exception] = []
        self.texts: dict[str, str] = {}

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self.found)

    def reported(self) -> Reported:
        """A context in which an `IrError`, an `InputError` or an `OSError` is printed and counted."""
        return Reported(self)


class Reported:
    """See `Errors.reported`. Any other exception is a bug of ours and keeps its traceback."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, BrokenPipeError):
            return False
        if isinstance(error, IrError):
            text = diagnostic(error, self._errors.texts)
        elif isinstance(error, InputError | OSError):
            text = f"error: {error}"
        else:
            return False
        self._errors.found.append(error)
        if not self._errors.quiet:
            notes: list[str] = getattr(error, "__notes__", [])
            typer.echo("\n".join([text, *(f"note: {note}" for note in notes)]), err=True)
        return True
