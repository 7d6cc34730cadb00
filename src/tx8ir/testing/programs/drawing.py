"""Drawing programs from a strategy, outside of a Hypothesis test: the same ones for the same seed, wherever it runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider
from hypothesis.strategies import SearchStrategy

from tx8ir.core import Program
from tx8ir.testing.reduction.reduce import count_operations

_BATCH = 10
_REPEATABLE_BELOW = 1000
"""Runs of fewer programs than this draw the same programs every time: they are the tests of every day."""


def for_each_program(
    programs: SearchStrategy[Program], examples: int, visit: Callable[[Program], object], *, start: int | None = None
) -> None:
    """Draws so many programs and visits each; they are the same for the same `start`.

    Without `start`, fewer than 1,000 are the same in every run. Each is drawn for itself, none is a variant of another;
    programs without an operation are visited once only. Failures are not shrunk: `assert_preserves` knows programs.
    """
    for program in draw_programs(programs, examples, start=start):
        visit(program)


def draw_programs(programs: SearchStrategy[Program], examples: int, *, start: int | None = None) -> Iterator[Program]:
    """The same programs as they are drawn, ten by ten."""
    if start is None:
        start = 0 if examples < _REPEATABLE_BELOW else random.SystemRandom().randrange(1 << 32)
    visited, empty = 0, 0
    for batch in range(examples):  # enough, and an end for a strategy of empty programs only
        drawn: list[Program] = []
        draw_batch(programs, start + batch, drawn.append)
        for program in drawn:
            size = count_operations(program)
            empty += not size
            if empty < 2 or size:
                yield program
                visited += 1
                if visited >= examples:
                    return


def draw_batch(programs: SearchStrategy[Program], number: int, visit: Callable[[Program], object]) -> None:
    """Draws ten programs, the same for the same number, and visits each."""

    @settings(
        backend=_BACKEND,
        max_examples=_BATCH,
        deadline=None,
        phases=[Phase.generate],
        # Programs take long to draw and differ in size, which is what these are about.
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
            HealthCheck.filter_too_much,
        ],
        database=None,
    )
    @given(programs)
    def draw(program: Program) -> None:
        visit(program)

    run: Any = draw
    before = _NUMBER.set(number)
    try:
        run()
    finally:
        _NUMBER.reset(before)


_NUMBER: ContextVar[int] = ContextVar("number of the batch", default=0)


class _Plain(PrimitiveProvider):
    """Draws from the number of the batch alone.

    Hypothesis's own provider also draws the constants that it finds in the source of loaded modules: programs would
    differ with every edit of any module, and with what was imported before.
    """

    def __init__(self, conjecturedata: Any, /) -> None:
        super().__init__(conjecturedata)
        self._random = random.Random(_NUMBER.get())

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._random.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        rng = self._random
        left = rng.random()
        for value, share in (weights or {}).items():
            left -= share
            if left < 0:
                return value
        if min_value is not None and max_value is not None:
            return rng.randint(min_value, max_value)
        size = rng.getrandbits(rng.choice((3, 8, 16, 32, 64)))
        if min_value is not None:
            return min_value + size
        return max_value - size if max_value is not None else rng.choice((1, -1)) * size

    def draw_float(
        self,
        *,
        min_value: float = -math.inf,
        max_value: float = math.inf,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        rng = self._random
        numbers = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, min_value, max_value, rng.gauss(0, 1), rng.gauss(0, 1e6)]
        inside = [x for x in numbers if min_value <= x <= max_value and not 0 < abs(x) < smallest_nonzero_magnitude]
        return rng.choice([*inside, math.nan] if allow_nan else inside)

    def draw_string(self, intervals: Any, *, min_size: int = 0, max_size: int = 20) -> str:
        size = self._random.randint(min_size, min(max_size, min_size + 20))
        return "".join(chr(intervals[self._random.randrange(len(intervals))]) for _ in range(size))

    def draw_bytes(self, min_size: int = 0, max_size: int = 20) -> bytes:
        return self._random.randbytes(self._random.randint(min_size, min(max_size, min_size + 20)))


_BACKEND: Final = "tx8ir-plain"
AVAILABLE_PROVIDERS[_BACKEND] = _Plain
