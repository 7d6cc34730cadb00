"""Maps from axes to a dimension, position by position."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.axes import Along, CutError, Interval, Shifted, Window
from tx8ir.backend.oplib.boxes import Box

EXTENTS = st.lists(st.integers(1, 4), max_size=3)


@st.composite
def ranges(draw: st.DrawFn, extent: int) -> tuple[int, int]:
    """`(start, extent)` of a part that is not empty."""
    start = draw(st.integers(0, extent - 1))
    return start, draw(st.integers(1, extent - start))


@given(EXTENTS, st.integers(1, 3), st.data())
def test_merged_axes_are_read_as_one_interval_or_refused(extents: list[int], inner: int, data: st.DataObject) -> None:
    dimension = Along(tuple(range(len(extents))), tuple(extents), inner)
    parts = [data.draw(ranges(extent)) for extent in extents]
    part = Box(tuple(start for start, _ in parts), tuple(extent for _, extent in parts))
    points = itertools.product(*(range(start, start + extent) for start, extent in parts))
    read = {position(extents, point) * inner + i for point in points for i in range(inner)}
    if max(read) - min(read) + 1 == len(read):
        assert dimension.read(part) == Interval(min(read), max(read) + 1)
    else:
        with pytest.raises(CutError):
            dimension.read(part)


@given(EXTENTS, st.integers(1, 3), st.data())
def test_an_interval_is_covered_by_the_smallest_box_of_axes(
    extents: list[int], inner: int, data: st.DataObject
) -> None:
    dimension = Along(tuple(range(len(extents))), tuple(extents), inner)
    start, extent = data.draw(ranges(math.prod(extents) * inner))
    points = list(itertools.product(*map(range, extents)))
    needed = [
        p for p in points if any(start <= position(extents, p) * inner + i < start + extent for i in range(inner))
    ]
    found = dimension.cover(Interval(start, start + extent))
    for axis in range(len(extents)):
        digits = [p[axis] for p in needed]
        assert (found[axis].start, found[axis].stop) == (min(digits), max(digits) + 1)


def position(extents: list[int], point: tuple[int, ...]) -> int:
    """The mixed radix number of a point."""
    index = 0
    for extent, digit in zip(extents, point, strict=True):
        index = index * extent + digit
    return index


def test_a_window_that_sees_padding_only_reads_nothing() -> None:
    window = Window(output=0, kernel=1, stride=1, dilation=1, before=3, extent=4)
    assert window.read(Box((0, 0), (1, 2))) == Interval(0, 0, before=2, after=0)
    assert window.read(Box((8, 1), (1, 2))) == Interval(4, 4, before=0, after=2)


def test_a_piece_is_read_where_it_is() -> None:
    piece = Shifted(axis=0, offset=-6, extent=2)
    assert piece.read(Box((5,), (2,))) == Interval(0, 1)
    assert piece.read(Box((0,), (6,))).extent == 0


def test_an_empty_interval_needs_nothing() -> None:
    assert Along((0, 1), (2, 3)).cover(Interval(4, 4)) == {0: Interval(0, 0), 1: Interval(0, 0)}
