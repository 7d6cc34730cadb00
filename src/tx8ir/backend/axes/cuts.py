"""Legal cuts of one axis: into how many parts, and which positions each part has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tx8ir.backend.axes.axis import Axis
from tx8ir.backend.axes.maps import CutError
from tx8ir.backend.oplib.boxes import Box, ceil_div

__all__ = ["boxes", "cut", "part_counts"]


def pieces_of(axis: Axis) -> tuple[int, ...]:
    """The positions at which an axis with boundaries may be cut, aligned ones only, with both ends."""
    inner = () if axis.boundaries is None else (b for b in axis.boundaries if b % axis.alignment == 0)
    return (0, *inner, axis.extent)


def part_counts(axis: Axis) -> tuple[int, ...]:
    """The numbers of parts, ascending, that an axis can be cut into without an empty part; 1 is always one.

    Without boundaries the parts are equal but for a shorter last one, so that numbers between two of these only leave
    parts empty. Takes time in proportion to the square root of the extent.
    """
    if not axis.kind.can_be_cut:
        return (1,)
    if axis.boundaries is not None:
        return tuple(range(1, len(pieces_of(axis))))
    blocks = ceil_div(axis.extent, axis.alignment)
    counts: list[int] = []
    size = blocks
    while size > 0:
        counts.append(ceil_div(blocks, size))
        size = ceil_div(blocks, counts[-1]) - 1  # the largest that gives more parts
    return tuple(counts) or (1,)


def cut(axis: Axis, parts: int) -> tuple[tuple[int, int], ...]:
    """`(start, extent)` of each of `parts` parts of an axis, none empty.

    Equal parts of whole alignment blocks and a shorter last one; with boundaries, consecutive pieces such that the
    longest part is as short as can be.

    Raises:
        CutError: `parts` is not one of `part_counts(axis)`.
    """
    if parts == 1:
        return ((0, axis.extent),)
    if parts < 1 or not axis.kind.can_be_cut:
        raise CutError(f"{axis!r} cannot be cut into {parts} parts")
    if axis.boundaries is not None:
        return _at_boundaries(axis, parts)
    size = ceil_div(ceil_div(axis.extent, axis.alignment), parts) * axis.alignment
    starts = range(0, axis.extent, size) if size else range(1)
    if len(starts) != parts:
        raise CutError(f"{axis!r} cannot be cut into {parts} parts; {len(starts)} is the nearest number below")
    return tuple((start, min(size, axis.extent - start)) for start in starts)


def boxes(axes: Sequence[Axis], parts: Sequence[int]) -> tuple[Box, ...]:
    """The parts of an iteration space whose axes are cut into these numbers of parts, the last axis fastest."""
    ranges = [cut(axis, count) for axis, count in zip(axes, parts, strict=True)]
    return tuple(
        Box(tuple(start for start, _ in chosen), tuple(extent for _, extent in chosen))
        for chosen in itertools.product(*ranges)
    )


def _at_boundaries(axis: Axis, parts: int) -> tuple[tuple[int, int], ...]:
    """The linear partition problem: the least longest part, by bisection over it and first fit from the left."""
    ends = pieces_of(axis)
    if parts > len(ends) - 1:
        raise CutError(f"{axis!r} cannot be cut into {parts} parts; it has {len(ends) - 1} pieces")
    low, high = max(b - a for a, b in itertools.pairwise(ends)), axis.extent
    while low < high:
        middle = (low + high) // 2
        if len(_first_fit(ends, middle, parts)) <= parts + 1:
            high = middle
        else:
            low = middle + 1
    joints = _first_fit(ends, low, parts)
    return tuple((a, b - a) for a, b in itertools.pairwise(joints))


def _first_fit(ends: Sequence[int], longest: int, parts: int) -> list[int]:
    """Joints of consecutive parts of at most `longest`, at least `parts` of them as long as pieces are left."""
    joints = [0]
    for number, (here, after) in enumerate(itertools.pairwise(ends[1:]), 1):
        left = len(ends) - 1 - number  # pieces after this joint
        if after - joints[-1] > longest or left <= parts - len(joints):
            joints.append(here)
    return [*joints, ends[-1]]
