"""`tx8ir opt --verify-diagnostics`: errors that a text itself says it expects, as in MLIR's own tests.

    // expected-error @+1 {{unknown dialect 'foo'}}
    "foo.bar"() : () -> ()

`@+N`, `@-N`, `@above` and `@below` say on which line; without them it is the line of the comment. The text in braces
is a part of the message; `expected-error-re` takes `{{…}}` inside of it as a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from tx8ir.cli.diagnostics import file_place
from tx8ir.core import IrError, ParseError

_EXPECTED: Final = re.compile(r"expected-error(-re)?(?:\s*@([+-]\d{1,9}|above|below|unknown))?\s*\{\{(.*)\}\}")


@attrs.frozen
class Expectation:
    """A diagnostic that a text expects.

    Attributes:
        line: where, from 1; None for an error without a place.
        pattern: what its message contains.
        shown: the message as the text writes it.
    """

    line: int | None
    pattern: re.Pattern[str]
    shown: str


def expectations(text: str) -> Iterator[Expectation]:
    """What the comments of `text` expect, in order."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _EXPECTED.search(line)
        if match is None:
            continue
        is_pattern, where, message = match.groups()
        offset = {None: 0, "above": -1, "below": 1}.get(where)
        at = None if where == "unknown" else number + (int(where) if offset is None else offset)
        yield Expectation(at, _pattern(message) if is_pattern else re.compile(re.escape(message)), message)


def _pattern(message: str) -> re.Pattern[str]:
    parts = re.split(r"\{\{(.*?)\}\}", message)
    return re.compile("".join(part if number % 2 else re.escape(part) for number, part in enumerate(parts)))


def unmet(expected: Iterable[Expectation], errors: Iterable[Exception]) -> list[str]:
    """What does not agree, one sentence each: errors that nothing expects, expectations that no error meets."""
    open_ones = list(expected)
    complaints: list[str] = []
    for error in errors:
        line, message = _line_of(error), getattr(error, "message", None) or str(error)
        met = next((e for e in open_ones if e.line == line and e.pattern.search(message)), None)
        if met is None:
            complaints.append(f"line {line or 'unknown'}: unexpected error: {message}")
        else:
            open_ones.remove(met)
    return complaints + [f"line {e.line or 'unknown'}: expected error {e.shown!r} was not produced" for e in open_ones]


def _line_of(error: Exception) -> int | None:
    if isinstance(error, ParseError):
        return error.line
    place = file_place(error.location) if isinstance(error, IrError) else None
    return place.line if place is not None else None
