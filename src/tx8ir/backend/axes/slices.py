"""The slices of operands and results that a part of an op's iteration space reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.backend.axes.declaration import Access, Declaration
from tx8ir.backend.axes.maps import CutError, Interval
from tx8ir.backend.oplib.boxes import Box

__all__ = ["OpSlices", "TensorSlice", "producing", "read", "slices"]


@attrs.frozen
class TensorSlice:
    """A box of a tensor and the padding positions that its readers see `before` and `after` it, per dimension."""

    box: Box
    before: tuple[int, ...]
    after: tuple[int, ...]


@attrs.frozen
class OpSlices:
    """What a part of an iteration space reads of each operand (None: absent) and gives of each result."""

    part: Box
    operands: tuple[TensorSlice | None, ...]
    results: tuple[Box, ...]


def read(access: Access, part: Box) -> TensorSlice:
    """The slice of a tensor that a part stands for. Raises `CutError` where it is not a box."""
    intervals = [dimension.read(part) for dimension in access]
    return TensorSlice(
        _box(intervals),
        tuple(interval.before for interval in intervals),
        tuple(interval.after for interval in intervals),
    )


def slices(declaration: Declaration, part: Box) -> OpSlices:
    """The slices of a part of the iteration space.

    Raises:
        CutError: an axis that is never cut is cut, or a slice is strided (see `Along`).
    """
    for number, axis in enumerate(declaration.axes):
        if not axis.kind.can_be_cut and part.axis(number) != (0, axis.extent):
            raise CutError(f"{axis.kind.value} axis {axis!r} is cut to {part.axis(number)}")
    operands = tuple(None if access is None else read(access, part) for access in declaration.operands)
    results = tuple(read(access, part).box for access in declaration.results)
    return OpSlices(part, operands, results)


def producing(declaration: Declaration, result: int, sides: Sequence[Interval]) -> dict[int, Interval]:
    """The smallest interval of each axis of result `result` such that their box gives at least the box of `sides`."""
    ranges: dict[int, Interval] = {}
    for dimension, interval in zip(declaration.results[result], sides, strict=True):
        ranges |= dimension.cover(interval)
    return ranges


def _box(intervals: list[Interval]) -> Box:
    return Box(tuple(i.start for i in intervals), tuple(i.extent for i in intervals))
