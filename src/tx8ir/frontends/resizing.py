"""Images of another size: each axis is a product with a matrix that is known, or a choice of elements."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type


@attrs.frozen
class Axis:
    """What becomes of one axis.

    Attributes:
        axis: the axis.
        old, new: its extent before and after.
        scale: how much larger it becomes; not quite the quotient of the extents.
        start, end: the part of it that is looked at, as shares of the whole ("tf_crop_and_resize").
    """

    axis: int
    old: int
    new: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    def sources(self, mode: str) -> NDArray[np.float64]:
        """Where in the old axis each place of the new one lies."""
        x = np.arange(self.new, dtype=np.float64)
        width = self.scale * self.old
        match mode:
            case "align_corners":
                return x * (self.old - 1) / (width - 1) if width != 1 else x * 0
            case "asymmetric":
                return x / self.scale
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale
            case "tf_crop_and_resize":
                share = self.end - self.start
                inside = x * share * (self.old - 1) / (width - 1) if width != 1 else x + share * (self.old - 1) / 2
                return inside + self.start * (self.old - 1)
            case "half_pixel_symmetric":
                offset = self.old / 2 * (1 - self.new / width)
                return offset + (x + 0.5) / self.scale - 0.5
            case "pytorch_half_pixel" if width == 1:
                return x * 0 - 0.5
            case _:
                return (x + 0.5) / self.scale - 0.5


def nearest_places(sources: NDArray[np.float64], extent: int, mode: str) -> list[int]:
    """The place that each source is closest to."""
    match mode:
        case "floor":
            places = np.floor(sources)
        case "ceil":
            places = np.ceil(sources)
        case "round_prefer_ceil":
            places = np.floor(sources + 0.5)
        case _:
            places = np.ceil(sources - 0.5)
    return [int(place) for place in np.clip(places, 0, extent - 1)]


def _linear(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(1 - np.abs(distance), 0, 1)


def _cubic(distance: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Keys' kernel (IEEE ASSP 29, 1981)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def shares(
    axis: Axis, sources: NDArray[np.float64], mode: str, *, antialias: bool = False, exclude: bool = False,
    a: float = -0.75,
) -> NDArray[np.float64]:  # fmt: skip
    """Shares of the old places in each new one, [old, new]. Places beyond the ends count as the ends.

    Args:
        axis: the axis.
        sources: where in the old axis each place of the new one lies.
        mode: "linear" or "cubic".
        antialias: whether, when it becomes smaller, every old place has a share.
        exclude: whether places beyond the ends count for nothing instead.
        a: the coefficient of the cubic kernel.
    """
    scale = min(axis.scale, 1.0) if antialias else 1.0
    support = math.ceil((1 if mode == "linear" else 2) / scale)
    matrix = np.zeros((axis.old, axis.new))
    for place, source in enumerate(sources):
        left = math.ceil(float(source)) - 1  # the neighbour on the left of, never at, the source
        index = np.arange(left - support + 1, left + support + 1, dtype=np.int64)
        distance = (index - source) * scale
        share = _linear(distance) if mode == "linear" else _cubic(distance, a)
        if antialias:
            share = share / share.sum()
        if exclude:
            share = np.where((index < 0) | (index >= axis.old), 0.0, share)
            share = share / share.sum()
        np.add.at(matrix[:, place], np.clip(index, 0, axis.old - 1), share)
    return matrix


def applied(node: Site, x: Value, axis: int, matrix: NDArray[np.float64]) -> Value:
    """The product of a matrix [old, new] with one axis."""
    rank, element = tensor_type(x).rank, tensor_type(x).element
    old, new = matrix.shape
    if axis == rank - 1:
        shape = tensor_type(x).shape
        rows = pd.reshape(x, shape=(math.prod(shape[:-1]), old))
        out = pd.matmul(rows, node.constant(matrix, element, f"resize_axis_{axis}"))
        return pd.reshape(out, shape=(*shape[:-1], new)).out
    perm = [*(a for a in range(rank) if a != axis), axis]
    moved = applied(node, pd.transpose(x, perm=tuple(perm)).out, rank - 1, matrix)
    return pd.transpose(moved, perm=tuple(perm.index(a) for a in range(rank))).out
