"""How well the oracle catches broken passes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs

from tx8ir.core import Program
from tx8ir.testing.passes.counterexample import Counterexample
from tx8ir.testing.passes.preserve import check
from tx8ir.testing.programs import Features, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

from .bank import BrokenPass


@attrs.frozen(eq=False)
class Measured:
    """What a broken pass did to a list of programs.

    Attributes:
        name: the pass.
        caught: how many of the programs it got wrong; of those that were tried.
        first: how many programs were tried until the first of these, from 1; 0 when there is none.
        found: the failure of the first, reduced; None when there is none.
    """

    name: str
    caught: int
    first: int
    found: Counterexample | None

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.name:45} not caught"
        size = self.found.operations
        return f"{self.name:45} {self.caught:5} {self.first:6} {size:11}"


MAX_OPS = 48
"""Large programs, in which operations meet often: they are drawn once, and tried on every pass. Half of it where
operations have others inside."""

HEADER = f"{'pass':45} {'wrong':>5} {'first':>6} {'reduced to':>11}"


def measure(broken: BrokenPass, programs: Sequence[Program], *, all: bool = True) -> Measured:
    """Tries a broken pass on programs, and reduces the first that it gets wrong.

    Args:
        broken: the pass.
        programs: what it is tried on.
        all: go on after the first, to count them.

    A failure of another kind than the pass is said to show as, an exception say, does not count: it would not be the
    mistake that was caught.
    """
    first, caught = 0, 0
    for number, program in enumerate(programs, 1):
        found = check(program, broken.run, reduce=False).counterexample
        if found is not None and found.failure.kind == broken.shows_as:
            first = first or number
            caught += 1
            if not all:
                break
    found = check(programs[first - 1], broken.run).counterexample if first else None
    return Measured(broken.name, caught, first, found)


@functools.cache
def draw_programs(features: Features, count: int = 500) -> Sequence[Program]:
    """That many programs with these features, the same every time; drawn once per process."""
    programs: list[Program] = []
    max_ops = MAX_OPS // 2 if features.branches else MAX_OPS
    for_each_program(tensor_programs(features, max_ops=max_ops), count, programs.append)
    return tuple(programs)
