"""What every piece of work of a run needs to know about the pass: made once in each process."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator
from typing import Any

from tx8ir.testing.cases import small_scope
from tx8ir.testing.cases.mutation import Material, is_instantiable
from tx8ir.testing.guidance.direction import Direction
from tx8ir.testing.guidance.extraction import Source, read_pass
from tx8ir.testing.passes.counterexample import CheckedStage, PassLike, stages_of
from tx8ir.testing.passes.observe import NumericGuarantee

_SHAPES = 40


class Session:
    """A pass, and what it shows of itself.

    Attributes:
        stages: its steps.
        guarantees: what each is held to.
        source: what it is about.
        material: what programs for it are made of.
        shapes: those that its code asks for of which programs can be made: that ask for something first, at most 40.
    """

    def __init__(self, pass_: PassLike, guarantee: NumericGuarantee | None) -> None:
        self.pass_ = pass_
        self.guarantee = guarantee
        self.stages: tuple[CheckedStage, ...] = stages_of(pass_)
        self.guarantees = tuple(guarantee or stage.guarantee for stage in self.stages)
        self.source: Source = read_pass(pass_)
        self._enumerations: dict[small_scope.Position | None, Iterator[small_scope.Candidate]] = {}
        self.material = Material(self.source.direction, self.source.words)
        self.shapes = tuple(shape for shape in self.source.shapes if is_instantiable(shape))[:_SHAPES]

    @property
    def direction(self) -> Direction:
        return self.source.direction

    def small_programs(self, start: small_scope.Position | None) -> Iterator[small_scope.Candidate]:
        """The enumeration from there on: one that was kept there, or one that starts anew, which takes longer."""
        return self._enumerations.pop(start, None) or small_scope.programs(self.direction, start=start)

    def keep_small_programs(
        self, stop: small_scope.Position | None, candidates: Iterator[small_scope.Candidate]
    ) -> None:
        """Keeps an enumeration that has stopped there."""
        self._enumerations[stop] = candidates

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (pickle.dumps((self.pass_, self.guarantee)),)

    def require_picklable(self) -> None:
        """Raises TypeError when another process cannot be given the pass."""
        try:
            pickle.loads(pickle.dumps(self))
        except Exception as error:
            names = ", ".join(stage.name for stage in self.stages)
            raise TypeError(
                f"{names} cannot be sent to another process: {error}; define it at the top of a module that can be "
                "imported, name it as text, or use a ThreadPoolExecutor"
            ) from error


@functools.lru_cache(maxsize=8)
def _unpickled(data: bytes) -> Session:
    return Session(*pickle.loads(data))
