"""Sliding windows over [tiles, N, H, W, C] arrays, shared by pooling and convolution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pad(x: Array, pads: tuple[int, ...], value: Any) -> Array:
    """[tiles, N, H, W, C] with `pads` (top, bottom, left, right) rows and columns of `value` around H and W."""
    if not any(pads):
        return x
    top, bottom, left, right = pads
    tiles, n, h, w, c = x.shape
    padded = np.full((tiles, n, h + top + bottom, w + left + right, c), value, x.dtype)
    padded[:, :, top : top + h, left : left + w] = x
    return padded


def taps(
    x: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    out_extents: tuple[int, ...],
) -> Iterator[tuple[tuple[int, int], Array]]:
    """For each kernel position (i, j), the view [tiles, N, OH, OW, C] of padded `x` that it sees."""
    oh, ow = out_extents
    for i in range(kernel[0]):
        rows = slice(i * dilations[0], i * dilations[0] + (oh - 1) * strides[0] + 1, strides[0])
        for j in range(kernel[1]):
            columns = slice(j * dilations[1], j * dilations[1] + (ow - 1) * strides[1] + 1, strides[1])
            yield (i, j), x[:, :, rows, columns]


def windows(
    x: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    out_extents: tuple[int, ...],
) -> Array:
    """The view [tiles, N, OH, OW, KH, KW, C] of padded `x`."""
    t, n, _, _, c = x.shape
    st, sn, sh, sw, sc = x.strides
    shape = (t, n, *out_extents, kernel[0], kernel[1], c)
    steps = (st, sn, sh * strides[0], sw * strides[1], sh * dilations[0], sw * dilations[1], sc)
    return np.lib.stride_tricks.as_strided(x, shape, steps, writeable=False)
