"""What patterns did, for who runs a pass from outside: a pass that applied none of its patterns was not tried.

with logged_rewrites() as log:
    pass_.run(program)
print(log.applied)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import attrs


@attrs.define
class RewriteLog:
    """What the greedy driver did while the log was open.

    Attributes:
        applied: how often each pattern that it was given was applied; 0 for those that never were.
        folds: whether it was to fold, in one of its runs.
        drops_dead: whether it was to remove dead operations.
    """

    applied: Counter[str] = attrs.field(factory=lambda: Counter[str]())
    folds: bool = False
    drops_dead: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether there were patterns and none of them was applied: all that changed is the driver's own tidying."""
        return bool(self.applied) and not any(self.applied.values())


_OPEN: Final[ContextVar[tuple[RewriteLog, ...]]] = ContextVar("open logs of rewrites", default=())


@contextmanager
def logged_rewrites() -> Generator[RewriteLog]:
    """A log of every run of the greedy driver inside of the block, in this thread."""
    log = RewriteLog()
    token = _OPEN.set((*_OPEN.get(), log))
    try:
        yield log
    finally:
        _OPEN.reset(token)


def log_run(patterns: Iterable[str], rewrites: Mapping[str, int], *, fold: bool, drop_dead: bool) -> None:
    """Enters a run of the driver into the logs that are open."""
    logs = _OPEN.get()
    if not logs:
        return
    counts = {name: rewrites.get(name, 0) for name in patterns}
    for log in logs:
        for name, n in counts.items():
            log.applied[name] += n
        log.folds |= fold
        log.drops_dead |= drop_dead
