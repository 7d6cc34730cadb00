"""What an instruction was generated from: the meaning of `Instruction.source`."""

from __future__ import annotations

import re
from typing import Final

import attrs

_OPERATION: Final = re.compile(r"group (\d+) (\S+)(?: (.+))?", re.DOTALL)
_BARRIER: Final = re.compile(r"barrier before group (\d+)")


@attrs.frozen
class Source:
    """An operation of a group of the backend graph, or the barrier before a group.

    Its text, `group 3 Softmax scores`, is what `Instruction.source` holds.
    """

    group: int
    """The number of the group."""
    op: str | None = None
    """The kind of operation, without its dialect; None: the barrier."""
    name: str | None = None
    """The name that a front end or a text gave to the operation."""

    def __str__(self) -> str:
        if self.op is None:
            return f"barrier before group {self.group}"
        return f"group {self.group} {self.op}{f' {self.name}' if self.name else ''}"

    @classmethod
    def parse(cls, text: str | None) -> Source | None:
        """What `text` says; None where it says anything else, as in a program that was written by hand."""
        if text is None:
            return None
        found = _OPERATION.fullmatch(text)
        if found is not None:
            group, op, name = found.groups()
            return cls(int(group), op, name)
        found = _BARRIER.fullmatch(text)
        return None if found is None else cls(int(found.group(1)))
