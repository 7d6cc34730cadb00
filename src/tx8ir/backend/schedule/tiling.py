"""`Tiling`: how a result is cut over tiles (space) and time steps, and the candidates there are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache

import attrs

from tx8ir.backend.oplib.boxes import Box, ceil_div

__all__ = ["Tiling", "factor_vectors", "axis_parts", "score", "steps_per_axis", "tile_boxes", "tiles_used", "time_box"]


@attrs.frozen
class Tiling:
    """`sharding`: parts per axis over the tiles; `slice`: extents of one time step, per axis."""

    sharding: tuple[int, ...]
    slice: tuple[int, ...]


@cache
def factor_vectors(product: int, rank: int) -> tuple[tuple[int, ...], ...]:
    """All vectors of `rank` positive integers with the given product, in lexicographic order."""
    if rank == 0:
        return ((),) if product == 1 else ()
    divisors = [d for d in range(1, product + 1) if product % d == 0]
    return tuple((d, *rest) for d in divisors for rest in factor_vectors(product // d, rank - 1))


def _blocks(extent: int, alignment: int | None) -> int:
    """Pieces an axis can be cut into."""
    return 1 if alignment is None else ceil_div(extent, alignment)


def axis_parts(extent: int, alignment: int | None, parts: int) -> list[tuple[int, int]]:
    """``(start, extent)`` of each of `parts`: ceil(blocks / parts) blocks each, the last ones shorter or empty."""
    blocks = _blocks(extent, alignment)
    step = ceil_div(blocks, parts) * (extent if alignment is None else alignment)
    starts = [min(k * step, extent) for k in range(parts)]
    return [(start, min(start + step, extent) - start) for start in starts]


def tiles_used(shape: Sequence[int], cut_alignment: Sequence[int | None], sharding: Sequence[int]) -> int:
    """Tiles with something to do."""
    used = 1
    for extent, alignment, parts in zip(shape, cut_alignment, sharding, strict=True):
        blocks = _blocks(extent, alignment)
        used *= ceil_div(blocks, ceil_div(blocks, parts))
    return used


def score(shape: Sequence[int], cut_alignment: Sequence[int | None], sharding: Sequence[int]) -> int:
    """The seed's level of a sharding: ``ceil(log2(prod(min(s_i, ceil(shape_i / align_i)))))``."""
    product = math.prod(
        min(s, _blocks(extent, alignment)) for s, extent, alignment in zip(sharding, shape, cut_alignment, strict=True)
    )
    return (product - 1).bit_length()


def tile_boxes(
    shape: Sequence[int], cut_alignment: Sequence[int | None], sharding: Sequence[int], tiles: int
) -> list[Box | None]:
    """The box of each tile, by tile id; None for a tile without work. The last axis varies fastest with the id."""
    axes = [axis_parts(*axis) for axis in zip(shape, cut_alignment, sharding, strict=True)]
    boxes: list[Box | None] = []
    for parts in itertools.product(*axes):
        box = Box(tuple(start for start, _ in parts), tuple(extent for _, extent in parts))
        boxes.append(None if box.empty else box)
    return boxes + [None] * (tiles - len(boxes))


def steps_per_axis(largest: Sequence[int], slice_: Sequence[int]) -> tuple[int, ...]:
    """Time steps on each axis for tiles of at most `largest`."""
    return tuple(ceil_div(extent, size) for extent, size in zip(largest, slice_, strict=True))


def time_box(tile: Box, slice_: Sequence[int], index: Sequence[int]) -> Box | None:
    """The box of the time step with the given index per axis, None when the tile has nothing there."""
    start: list[int] = []
    extent: list[int] = []
    for first, size, step, i in zip(tile.start, tile.extent, slice_, index, strict=True):
        low = i * step
        if low >= size:
            return None
        start.append(first + low)
        extent.append(min(step, size - low))
    return Box(tuple(start), tuple(extent))
