"""Work in parts that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from tx8ir.sim.memory.memory import Placed

Array = NDArray[Any]

_BLOCK = 1 << 16  # elements


def blocks(sources: tuple[Array, ...], result: Array) -> Iterator[tuple[tuple[Array, ...], Array]]:
    """Cut [tiles, n, ...] into blocks of about 2^16 elements; an extent of 1 in a source serves all blocks."""
    tiles, n = result.shape[:2]
    row = result[0, 0].size
    columns = min(n, max(1, _BLOCK // row))
    rows = max(1, _BLOCK // (row * n))
    if rows >= tiles and columns == n:
        yield sources, result
        return
    for tile in range(0, tiles, rows):
        for start in range(0, n, columns):
            block = slice(tile, tile + rows), slice(start, start + columns)
            yield tuple([s[block] if s.shape[1] == n else s[block[0]] for s in sources]), result[block]


def is_displaced(source: Placed, destination: Placed, *, ends_too: bool = True) -> bool:
    """Whether a source shares bytes with the destination, but does not begin where that does, or end, if `ends_too`."""
    alike = len(source.access.addresses) == len(destination.access.addresses) == 1
    for position in range(1 if alike else len(source.tiles)):
        low, high = source.interval(position)
        first, end = destination.interval(position)
        if low < end and first < high and (low != first or (ends_too and high != end)):
            return True
    return False
