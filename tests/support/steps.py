"""Work as a number that is the same on every machine: how many lines of Python are executed, and how that grows."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import attrs

Work = Callable[[], object]


@attrs.define
class _Counter:
    """Counts lines; a loop that stays on one line counts each round."""

    limit: float
    lines: int = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines > self.limit:
                sys.settrace(None)
                raise AssertionError(f"more than {self.limit:,.0f} lines are executed")
        return self


def steps(work: Work, limit: float = float("inf")) -> int:
    """How many lines of Python `work` executes. What is done inside of one call of C is not seen.

    Raises:
        AssertionError: more than `limit`; the work stops there.
    """
    counter, before, collects = _Counter(limit), sys.gettrace(), gc.isenabled()
    gc.disable()  # collections come when they come, and Hypothesis runs Python code at each
    sys.settrace(counter)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return counter.lines


def assert_linear(prepare: Callable[[int], Work], size: int) -> None:
    """Check that work grows with its size: as many steps from twice to thrice `size` as from once to twice.

    Args:
        prepare: gives the work of a size; making it is not counted.
        size: large enough for what is there once to be there.
    """
    prepare(size)()  # fills the tables that are filled once
    once = steps(prepare(size))
    twice = steps(prepare(2 * size), limit=10 * once)
    thrice = steps(prepare(3 * size), limit=10 * once)
    first, second = twice - once, thrice - twice
    assert second <= first * 1.001 + 3, f"{once:,}, {twice:,}, {thrice:,} lines for {size}, {2 * size}, {3 * size}"
