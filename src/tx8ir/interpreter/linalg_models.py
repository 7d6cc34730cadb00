"""`Evaluate` for structured operations: their regions run for each place of a grid, for many at once where that is the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import AffineMapAttr, Model, Operation
from tx8ir.core.attrs.affine import evaluate
from tx8ir.dialects.linalg.structured import IndexOp, IteratorType, StructuredOp, dimension_of

from .arrays import EvaluationError
from .interfaces import Asking, Enter, Evaluate, Evaluator, Outcome, RuntimeValue, runs_at_once
from .storage import array_of

Array = NDArray[Any]


def _extents(maps: Sequence[AffineMapAttr], arrays: Sequence[Array], rank: int) -> list[int]:
    """How many places each dimension of the grid has."""
    found: dict[int, int] = {}
    for map, array in zip(maps, arrays, strict=True):
        for expression, extent in zip(map.results, array.shape, strict=True):
            at = dimension_of(expression)
            if at is not None and found.setdefault(at, extent) != extent:
                raise EvaluationError(f"has {found[at]} and {extent} places in dimension {at} of its grid")
    return [found[n] for n in range(rank)]


def _at(map: AffineMapAttr, places: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(evaluate(expression, places) for expression in map.results)


@Evaluate.implement(StructuredOp)
class StructuredEvaluate(Model[StructuredOp], Evaluate):
    """Takes the reductions one after the other, and at each all places of the other dimensions."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        op = self.op
        arrays = [array_of(v) for v in operands]
        maps, kinds = list(op.maps), list(op.iterators)
        first = len(arrays) - len(op.output_values)
        arrays[first:] = [np.array(a) for a in arrays[first:]]
        extents = _extents(maps, arrays, len(kinds))
        _check_inside(maps, arrays, extents)
        block = op.regions[0].block
        together = [n for n, kind in enumerate(kinds) if kind is IteratorType.PARALLEL]
        if not runs_at_once(block) or not all(_is_apart(map, together) for map in maps[first:]):
            together = []
        space = tuple(extents[n] for n in together)
        grid = [np.ascontiguousarray(a) for a in np.indices(space, np.int64)]
        alone = [n for n in range(len(kinds)) if n not in together]
        places: list[Any] = [None] * len(kinds)
        for number, array in zip(together, grid, strict=True):
            places[number] = array
        for point in np.ndindex(*(extents[n] for n in alone)):
            for number, place in zip(alone, point, strict=True):
                places[number] = np.asarray(place, np.int64)
            evaluator.places[op] = list(places)
            elements = [np.asarray(a[_at(map, places)]) for map, a in zip(maps, arrays, strict=True)]
            given = yield Enter(block, elements, space=space if together else None)
            for map, array, value in zip(maps[first:], arrays[first:], given, strict=True):
                array[_at(map, places)] = array_of(value)
        evaluator.places.pop(op, None)
        return arrays[first:]


def _is_apart(map: AffineMapAttr, dimensions: Sequence[int]) -> bool:
    """Whether a map leads from different places in those dimensions to different elements, whatever the others are."""
    found = [dimension_of(e) for e in map.results]
    return None not in found and sorted(n for n in found if n is not None) == list(dimensions)


def _check_inside(maps: Sequence[AffineMapAttr], arrays: Sequence[Array], extents: Sequence[int]) -> None:
    """Raise EvaluationError where a place of the grid has no element of an operand."""
    if 0 in extents:
        return
    grid: Any = np.meshgrid(*(np.array([0, n - 1]) for n in extents), indexing="ij") if extents else ()
    for map, array in zip(maps, arrays, strict=True):
        for expression, extent in zip(map.results, array.shape, strict=True):
            reached: Any = np.asarray(evaluate(expression, grid))
            if reached.min() < 0 or reached.max() >= extent:
                raise EvaluationError(f"reaches elements {reached.min()} to {reached.max()} of {extent}")


@Evaluate.implement(IndexOp)
class IndexEvaluate(Model[IndexOp], Evaluate):
    """The place in the grid that the region runs for."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        around: Operation | None = self.op.around()
        if around is None or around not in evaluator.places:
            raise EvaluationError("is not inside of a structured operation")
        return (evaluator.places[around][self.op.dim],)
