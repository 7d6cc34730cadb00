"""Boxes and the input windows of sliding-window ops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.oplib.boxes import Box, window, window_box


@given(st.data(), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_a_window_slice_reads_what_the_whole_reads(
    draw: st.DataObject, kernel: int, stride: int, dilation: int
) -> None:
    reach = dilation * (kernel - 1) + 1
    pads = draw.draw(st.tuples(st.integers(0, reach - 1), st.integers(0, reach - 1)))
    size = draw.draw(st.integers(max(1, reach - sum(pads)), 20))
    outputs = (size + sum(pads) - reach) // stride + 1
    start = draw.draw(st.integers(0, outputs - 1))
    extent = draw.draw(st.integers(1, outputs - start))
    rows = [o * stride - pads[0] for o in range(start, start + extent)]
    if all(row + k * dilation not in range(size) for row in rows for k in range(kernel)):
        return  # refused, below

    def read(first: int, count: int, low: int, length: int, before: int) -> list[list[int | None]]:
        """Input positions (None: padding) of each output, for an input that is [low, low + length) of the whole."""
        rows = []
        for o in range(count):
            taps = [o * stride + k * dilation - before for k in range(kernel)]
            rows.append([low + t if 0 <= t < length else None for t in taps])
        return rows

    low, length, before, after = window(start, extent, size, kernel, stride, dilation, pads[0])
    assert low >= 0
    assert low + length <= size
    assert min(before, after) >= 0
    whole = read(0, outputs, 0, size, pads[0])[start : start + extent]
    assert read(0, extent, low, length, before) == whole
    assert (length + before + after - reach) // stride + 1 == extent


def test_a_window_in_the_padding_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="see padding only"):
        window(0, 1, 5, kernel=1, stride=1, dilation=1, pad=2)


def test_an_axis_that_is_not_cut_keeps_its_pads() -> None:
    geometry = {"kernel": (3, 3), "strides": (1, 1), "pads": (1, 1, 1, 1)}
    out = Box((0, 2, 0, 0), (1, 2, 8, 4))
    assert window_box(out, (1, 8, 8, 4), (1, 8, 8, 4), **geometry) == (Box((0, 1, 0, 0), (1, 4, 8, 4)), (0, 0, 1, 1))


def test_box_arithmetic() -> None:
    box = Box((1, 2), (3, 4))
    assert box.stop == (4, 6)
    assert box.take((1, 0)) == Box((2, 1), (4, 3))
    assert box.hull(Box((0, 5), (1, 3))) == Box((0, 2), (4, 6))
    assert box.replace(-1, 0, 9) == Box((1, 0), (3, 9))
    assert Box.whole((3, 0)).empty
    with pytest.raises(ValueError, match="one extent per start"):
        Box((0,), (1, 2))
