"""Boxes: axis-aligned pieces of a tensor, the currency of sharding (space) and splitting (time)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

__all__ = ["Box", "ceil_div", "window", "window_box"]


def ceil_div(a: int, b: int) -> int:
    """The least integer not below ``a / b`` (``b > 0``)."""
    return -(-a // b)


@attrs.frozen
class Box:
    """The elements ``start[i] <= index[i] < start[i] + extent[i]`` of a tensor."""

    start: tuple[int, ...]
    extent: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        if len(self.start) != len(self.extent):
            raise ValueError(f"a box needs one extent per start, got start {self.start} and extent {self.extent}")

    @staticmethod
    def whole(shape: Sequence[int]) -> Box:
        """The box that is all of a tensor of `shape`."""
        return Box((0,) * len(shape), tuple(shape))

    @property
    def rank(self) -> int:
        return len(self.start)

    @property
    def stop(self) -> tuple[int, ...]:
        """The first index after the box, per axis."""
        return tuple(s + e for s, e in zip(self.start, self.extent, strict=True))

    @property
    def empty(self) -> bool:
        return any(e <= 0 for e in self.extent)

    def axis(self, axis: int) -> tuple[int, int]:
        """``(start, extent)`` of one axis."""
        return self.start[axis], self.extent[axis]

    @property
    def channels(self) -> tuple[int, int]:
        """``(start, extent)`` of the last axis; a scalar is one channel."""
        return (self.start[-1], self.extent[-1]) if self.start else (0, 1)

    def replace(self, axis: int, start: int, extent: int) -> Box:
        """This box with another range on `axis` (negative axes count from the end)."""
        axis %= self.rank
        starts, extents = list(self.start), list(self.extent)
        starts[axis], extents[axis] = start, extent
        return Box(tuple(starts), tuple(extents))

    def take(self, axes: Sequence[int]) -> Box:
        """The box of the named axes, in that order (a transpose, or a projection)."""
        return Box(tuple(self.start[a] for a in axes), tuple(self.extent[a] for a in axes))

    def hull(self, other: Box) -> Box:
        """The smallest box that holds both."""
        start = tuple(map(min, self.start, other.start))
        stop = tuple(map(max, self.stop, other.stop))
        return Box(start, tuple(b - a for a, b in zip(start, stop, strict=True)))

    def index(self) -> tuple[slice, ...]:
        """The NumPy basic index that selects the box."""
        return tuple(slice(s, s + e) for s, e in zip(self.start, self.extent, strict=True))


def window(
    start: int, extent: int, size: int, kernel: int, stride: int, dilation: int, pad: int
) -> tuple[int, int, int, int]:
    """The input range that output positions ``start .. start+extent-1`` of a sliding window read.

    `size` is the input's extent and `pad` the padding before it. Returns ``(in_start, in_extent, pad_before,
    pad_after)``: the range clipped to the input and the padding positions that remain on either side of it, so that
    the window over the slice alone gives exactly these outputs.

    Raises:
        ValueError: the windows see padding only (a pad wider than the window), which no slice can express.
    """
    first = start * stride - pad
    last = (start + extent - 1) * stride - pad + (kernel - 1) * dilation
    low, high = max(first, 0), min(last, size - 1)
    if high < low:
        raise ValueError(f"output positions {start}..{start + extent - 1} of a window of {kernel} see padding only")
    return low, high - low + 1, low - first, last - high


def window_box(
    out: Box,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int] = (1, 1),
) -> tuple[Box, tuple[int, int, int, int]]:
    """The NHWC input box that the output box `out` of a 2-D sliding window reads, and the slice's own pads.

    `kernel`, `strides` and `dilations` are (height, width), `pads` (top, bottom, left, right). Batch and channels are
    those of `out`. An axis that is not cut keeps the whole input and its pads.
    """
    box, own = out, list(pads)
    for i in range(2):
        axis = 1 + i
        start, extent = out.axis(axis)
        if extent == out_shape[axis]:
            box = box.replace(axis, 0, in_shape[axis])
            continue
        low, size, before, after = window(
            start, extent, in_shape[axis], kernel[i], strides[i], dilations[i], pads[2 * i]
        )
        box = box.replace(axis, low, size)
        own[2 * i : 2 * i + 2] = before, after
    return box, (own[0], own[1], own[2], own[3])
