"""Programs that Hypothesis draws (needs the extra `test`): those with control flow, storage and variables at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import attrs

from tx8ir.core import Program
from tx8ir.testing.passes.observe import NumericGuarantee
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import draw_batch

_MAX_OPS = 10


def draw(seed: int, count: int, guarantees: Sequence[NumericGuarantee]) -> list[Program]:
    """About that many programs, the same for the same seed; with sums where no pass has to keep every bit of them."""
    exact = NumericGuarantee.BITWISE in guarantees
    features = EVERYTHING if exact else attrs.evolve(EVERYTHING, sums=True)
    drawn: list[Program] = []
    strategy = tensor_programs(features, max_ops=_MAX_OPS)
    with _ONE_AT_A_TIME:
        while len(drawn) < count:
            draw_batch(strategy, seed, drawn.append)
            seed += 1
    return drawn[:count]


_ONE_AT_A_TIME = threading.Lock()
"""Hypothesis draws in one thread of a process."""
