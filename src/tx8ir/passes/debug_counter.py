"""Debug counters: which of the steps of a pipeline are taken, by number."""

from __future__ import annotations

import re
from typing import Final

import attrs

from tx8ir.rewriting.actions import Action, ActionHandler

from .base import PassError

_ENTRY: Final = re.compile(r"\s*([A-Za-z_][\w.-]*?)-(skip|count)\s*=\s*(-?\d+)\s*")


@attrs.define
class Counter:
    """Counts the steps of one name.

    Attributes:
        skip: how many are left out first.
        count: how many are taken then, before all others are left out; None: all.
        asked: how many there were.
        taken: how many of them were taken.
    """

    skip: int = 0
    count: int | None = None
    asked: int = 0
    taken: int = 0

    def next(self) -> bool:
        """Whether the next step is taken."""
        self.asked += 1
        is_taken = self.asked > self.skip and (self.count is None or self.asked <= self.skip + self.count)
        self.taken += is_taken
        return is_taken


class DebugCounter(ActionHandler):
    """Leaves out steps by their number, to find the one that is wrong.

        with DebugCounter.parse("pattern-skip=4,pattern-count=1").active():
            manager.run(program)

    A counter goes by what its steps are (`pass`, `pattern`, `fold`) or by the name of a pass or a pattern; a step is
    taken when all counters that count it say so. Patterns are counted whenever one is tried. As MLIR's
    `--mlir-debug-counter`. `str` is a table of what was counted.

    Attributes:
        counters: by name.
    """

    def __init__(self, counters: dict[str, Counter]) -> None:
        self.counters = counters

    def __repr__(self) -> str:
        return f"<DebugCounter of {', '.join(self.counters) or 'nothing'}>"

    @classmethod
    def parse(cls, *texts: str) -> DebugCounter:
        """The counters of texts such as `pattern-skip=4,pattern-count=1`. Raises `PassError` when one is wrong."""
        counters: dict[str, Counter] = {}
        for entry in (entry for text in texts for entry in text.split(",")):
            match = _ENTRY.fullmatch(entry)
            if match is None:
                raise PassError(f"a debug counter is NAME-skip=N or NAME-count=N, not {entry.strip()!r}")
            if match[3].startswith("-"):
                raise PassError(f"a debug counter counts from 0; {match[3]} is given for {match[1]}-{match[2]}")
            counter = counters.setdefault(match[1], Counter())
            setattr(counter, match[2], int(match[3]))
        return cls(counters)

    def should_run(self, action: Action) -> bool:
        names = (action.kind,) if action.name == action.kind else (action.kind, action.name)
        said = [self.counters[name].next() for name in names if name in self.counters]  # each counts for itself
        return all(said)

    def __str__(self) -> str:
        lines = [f"{'tried':>8}  {'taken':>8}  counter"]
        lines.extend(f"{counter.asked:8}  {counter.taken:8}  {name}" for name, counter in self.counters.items())
        return "\n".join(lines)
