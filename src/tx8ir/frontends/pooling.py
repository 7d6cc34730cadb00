"""Pooling over any number of spatial axes, as `pd` operations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type
from tx8ir.frontends.windows import Window, along, cells, indices_of


def max_pool(node: Site, x: Value, window: Window, counts: tuple[int, ...]) -> Value:
    """The largest element under each window."""
    if _is_plain(window):
        return _plain(x, window, counts, pooling_type="max").results[0]
    return by_axis(node, x, window, counts, _lowest(x), pd.maximum)


def average_pool(node: Site, x: Value, window: Window, counts: tuple[int, ...], *, include_padding: bool) -> Value:
    """Mean under each window; `include_padding` counts padding as zeros, cells beyond it never count."""
    over = counts != window.counts()
    if _is_plain(window) and not (include_padding and over):
        return _plain(x, window, counts, pooling_type="avg", exclusive=not include_padding).results[0]
    total = by_axis(node, x, window, counts, 0.0, pd.add)
    share = np.ones([1] * window.axes)
    for axis, count in enumerate(counts):
        low = -window.begin[axis] if include_padding else 0
        high = window.space[axis] + (window.end[axis] if include_padding else 0)
        inside = [sum(low <= window.positions(axis, count, k)[i] < high for k in range(window.kernel[axis]))
                  for i in range(count)]  # fmt: skip
        share = share * np.asarray(inside, np.float64).reshape([-1 if a == axis else 1 for a in range(window.axes)])
    return pd.divide(total, node.constant(np.broadcast_to(share, counts), tensor_type(x).element, "cells")).out


def max_pool_with_places(
    node: Site, x: Value, window: Window, counts: tuple[int, ...], *, by_columns: bool = False, per_image: bool = False
) -> tuple[Value, Value]:
    """Largest elements, and their places, of each image row by row or column by column.

    Places are those among all elements of the input, or with `per_image` those in the image of their channel.
    """
    n, c, *space = tensor_type(x).shape
    order = list(reversed(range(len(space))) if by_columns else range(len(space)))
    image = 0 if per_image else math.prod(space)
    offsets = (np.arange(n * c) * image).reshape(n, c, *[1] * len(space))
    best: Value | None = None
    place: Value | None = None
    for cell, value in cells(node, x, window, counts, _lowest(x)):
        where = indices_of(window, counts, cell)
        flat = np.zeros([1] * len(space), np.int64)
        for axis in order:
            flat = flat * space[axis] + where[axis]
        here = node.constant(offsets + flat, i64, "places")
        if best is None or place is None:
            best, place = value, here
            continue
        larger = pd.greater_than(value, best)
        best, place = pd.maximum(best, value).out, pd.where(larger, here, place).out
    assert best is not None
    assert place is not None
    return best, place


def _lowest(x: Value) -> float:
    element = tensor_type(x).element
    return -math.inf if element.is_float else float(element.format.integer_range[0])


def by_axis(
    node: Site, x: Value, window: Window, counts: tuple[int, ...], fill: float,
    combine: Callable[[Value, Value], Operation],
) -> Value:  # fmt: skip
    """The cells of each window combined, axis by axis."""
    for axis, count in enumerate(counts):
        first, *others = along(node, x, axis, window, count, fill)
        for other in others:
            first = combine(first, other).results[0]
        x = first
    return x


def _is_plain(window: Window) -> bool:
    """Whether `pd.pool2d` has such windows, but for those that hang over the end."""
    return window.axes <= 2 and set(window.dilations) == {1} and all(
        max(begin, end) < size for begin, end, size in zip(window.begin, window.end, window.kernel, strict=True)
    )  # fmt: skip


def _plain(given: Value, window: Window, counts: tuple[int, ...], **attributes: object) -> Operation:
    """`pd.pool2d`: an image with one axis gets a height of 1, and windows over the end are padded."""
    shape = tensor_type(given).shape
    missing = 2 - window.axes
    x: Value | Operation = given
    if missing:
        x = pd.reshape(x, shape=(*shape[:2], 1, *shape[2:]))
    paddings = [0, 0] * missing
    for axis, count in enumerate(counts):
        needed = (count - 1) * window.strides[axis] + window.kernel[axis] - window.space[axis] - window.begin[axis]
        paddings += (window.begin[axis], max(needed, window.end[axis]))
    out = pd.pool2d(
        x,
        kernel_size=(*[1] * missing, *window.kernel),
        strides=(*[1] * missing, *window.strides),
        paddings=tuple(paddings),
        **attributes,  # pyright: ignore[reportArgumentType]
    )
    return pd.squeeze(out, axis=(2,)) if missing else out
