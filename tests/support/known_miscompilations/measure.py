"""How well the oracle catches broken passes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import attrs

from tx8ir.core import Program
from tx8ir.passes import NumericGuarantee
from tx8ir.testing.inputs import input_sets
from tx8ir.testing.passes.counterexample import Counterexample, stages_of
from tx8ir.testing.passes.judge import judge
from tx8ir.testing.passes.preserve import reduce_counterexample
from tx8ir.testing.programs import Features, drawing, tensor_programs

from .bank import BrokenPass


@attrs.frozen(eq=False)
class Measured:
    """What a broken pass did to a list of programs.

    Attributes:
        name: the pass.
        caught: how many of the programs it got wrong; of those that were tried.
        first: how many programs were tried until the first of these, from 1; 0 when there is none.
        found: the failure of the first; None when there is none.
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


def measure(broken: BrokenPass, programs: Iterable[Program], *, all: bool = True, reduce: bool = True) -> Measured:
    """Tries a broken pass on programs, and reduces the first that it gets wrong.

    Args:
        broken: the pass.
        programs: what it is tried on.
        all: go on after the first, to count them.
        reduce: make the first as small as possible.

    A failure of another kind than the pass is said to show as, an exception say, does not count: it would not be the
    mistake that was caught.
    """
    first, caught = 0, 0
    found: Counterexample | None = None
    for number, program in enumerate(programs, 1):
        counterexample = _tried(broken, program)
        if counterexample is not None:
            first, found = first or number, found or counterexample
            caught += 1
            if not all:
                break
    if found is not None and reduce:
        found = reduce_counterexample(found)
    return Measured(broken.name, caught, first, found)


def _tried(broken: BrokenPass, program: Program) -> Counterexample | None:
    """How the pass gets the program wrong; what it leaves as it is need not be evaluated, nor anything be printed."""
    stages = stages_of(broken.run)
    guarantees = (NumericGuarantee.BITWISE,)
    failure = judge(program, stages, guarantees, lambda: tuple(input_sets(program)), has_text=False).failure
    if failure is None or failure.kind != broken.shows_as:
        return None
    return Counterexample(program, stages, failure, NumericGuarantee.BITWISE, found_at=0)


class DrawnPrograms:
    """Programs with some features, the same every time; each is drawn once, when it is first asked for."""

    def __init__(self, features: Features, count: int) -> None:
        # Hypothesis draws at once what is not asked for yet: the rest of ten.
        max_ops = MAX_OPS // 2 if features.branches else MAX_OPS
        self._drawn: list[Program] = []
        self._rest = drawing.draw_programs(tensor_programs(features, max_ops=max_ops), count)

    def __iter__(self) -> Iterator[Program]:
        yield from self._drawn
        for program in self._rest:
            self._drawn.append(program)
            yield program


@functools.cache
def draw_programs(features: Features, count: int = 500) -> DrawnPrograms:
    """That many programs with these features: the same object for all who try a pass on them."""
    return DrawnPrograms(features, count)
