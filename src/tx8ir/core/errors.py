"""The exceptions of the IR: each says what was expected, what was given and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .ir.operation import Operation
    from .location import Location

_SHOWN_BEFORE: Final = 100


class IrError(Exception):
    """A wrong use of the IR. The IR is as it was before the call that raised it.

    Attributes:
    ----------
        message: what went wrong, without the place.
        op: the operation concerned, if there is one.
        location: where that operation comes from (`op.location` unless given).
    """

    def __init__(self, message: str, op: Operation | None = None, location: Location | None = None) -> None:
        self.message = message
        self.op = op
        if location is None and op is not None:
            location = op.location
        self.location = location
        super().__init__(message)

    def __str__(self) -> str:
        place = f"\n  at {self.location}" if self.location is not None and self.location.is_known else ""
        return f"{self.message}{place}"


class InvalidTypeError(IrError, ValueError):
    """A type or an attribute that cannot be: an extent out of range, or types that nest too deep."""


class VerifyError(IrError):
    """An operation or a program that breaks a rule of the IR or of its dialect."""


class UnsupportedError(IrError):
    """A valid program that a pass does not take, as its description says. The program is as it was before the pass."""


class ParseError(IrError):
    """Text that is not IR. Lines and columns count from 1."""

    def __init__(self, message: str, file: str, line: int, column: int, line_text: str) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.line_text = line_text

    def __str__(self) -> str:
        # Of a very long line, what is around the column.
        start = max(0, self.column - 1 - _SHOWN_BEFORE) if len(self.line_text) > 2 * _SHOWN_BEFORE else 0
        line = self.line_text[start : start + 2 * _SHOWN_BEFORE]
        # A tab keeps its width in the caret line, so that the caret stands under its column.
        pad = "".join("\t" if c == "\t" else " " for c in line[: self.column - 1 - start])
        return f"{self.file}:{self.line}:{self.column}: error: {self.message}\n  {line}\n  {pad}^"
