"""A Griffe extension: the fields that a docstring names one by one become a list.

    count: how many there are.
    name: what it is called, which may
        go on in the next line.

Griffe's parser of Google's style knows `Args:` and its like, and takes other lines of this form for titles.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_FIELD = re.compile(r"(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*(?:\(.*?\))?): (?P<text>\S.*)")


def listed(text: str) -> str:
    """A docstring in which paragraphs of such lines are lists."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\n+", text))


def _paragraph(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        match = _FIELD.fullmatch(line)
        if match is not None:
            lines.append(f"- `{match['names']}`: {match['text']}")
        elif lines and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            return text
    return "\n".join(lines)


class Fields(griffe.Extension):
    """Changes the docstrings of everything that is documented."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
