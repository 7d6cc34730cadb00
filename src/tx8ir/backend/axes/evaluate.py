"""The reference semantics of a cut: an op evaluated part by part in NumPy, the parts' states merged.

It equals the op's `Compute` on the whole: bit for bit for moves, integers and extrema, and up to the order of
summation for the rest. Tests hold every declaration against it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.combination import Array, State
from tx8ir.backend.axes.cuts import cut
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.pieces import compute, piece
from tx8ir.backend.axes.slices import OpSlices, slices
from tx8ir.backend.axes.spaces import shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Operation

__all__ = ["evaluate_cut"]


@np.errstate(all="ignore")  # infinities and NaN are values, as in the interpreter
def evaluate_cut(
    op: Operation, declaration: Declaration, parts: Sequence[int], operands: Sequence[Array | None]
) -> Array:
    """The result of `op`, its axes cut into these numbers of parts.

    Args:
        op: an op with one result.
        declaration: its own.
        parts: one number for each axis.
        operands: arrays in the working precision, None for absent ones.

    Raises:
        CutError: the cut is not legal.
    """
    model = op.interface(Axes)
    assert model is not None
    out: Array | None = None

    def put(box: Box, values: Array) -> None:
        nonlocal out
        out = np.empty(shape_of(op.results[0]), values.dtype) if out is None else out
        out[box.index()] = values

    is_combined = any(parts[axis] > 1 for axis in declaration.combined)
    for group in _groups(declaration, parts):
        pieces = [slices(declaration, part) for part in group]
        if not is_combined:
            (only,) = pieces
            put(only.results[0], compute(piece(op, only, model.attributes(only)), _take(only, operands)))
            continue
        states = [model.step(each, _take(each, operands)) for each in pieces]
        for each, state in zip(pieces, _merged(declaration, states), strict=True):
            if state is not None:
                put(each.results[0], model.finish(state, each, _take(each, operands)))
    assert out is not None
    return out


def _groups(declaration: Declaration, parts: Sequence[int]) -> Iterator[list[Box]]:
    """The parts of the space, those together that differ in combined axes only, these in order."""
    ranges = [cut(axis, count) for axis, count in zip(declaration.axes, parts, strict=True)]
    combined = set(declaration.combined)
    alone = [ranges[i] if i not in combined else [None] for i in range(len(ranges))]
    for outer in itertools.product(*alone):
        inner = [ranges[i] if chosen is None else [chosen] for i, chosen in enumerate(outer)]
        yield [
            Box(tuple(start for start, _ in chosen), tuple(extent for _, extent in chosen))
            for chosen in itertools.product(*inner)
        ]


def _merged(declaration: Declaration, states: Sequence[State]) -> list[State | None]:
    """The state that each part finishes from; None for parts that add nothing to the result any more."""
    combination = declaration.combination
    assert combination is not None
    merged = combination.init(states[0][0].shape, states[0][0].dtype)
    before: list[State | None] = []
    for state in states:
        before.append(merged)
        merged = combination.merge(merged, state)
    kinds = {declaration.axes[i].kind for i in declaration.combined}
    if kinds == {AxisKind.SCANNED}:
        return before
    if kinds == {AxisKind.BROADCAST_BACK}:
        return [merged] * len(states)
    return [merged, *[None] * (len(states) - 1)]


def _take(each: OpSlices, operands: Sequence[Array | None]) -> list[Array | None]:
    return [
        None if array is None or taken is None else array[taken.box.index()]
        for array, taken in zip(operands, each.operands, strict=True)
    ]
