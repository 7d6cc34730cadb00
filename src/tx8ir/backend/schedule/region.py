"""The tiles of a group's region."""

from __future__ import annotations

from tx8ir.dialects import tx8be
from tx8ir.target.chip import TX8

__all__ = ["region_tiles"]


def region_tiles(group: tx8be.GroupOp) -> tuple[int, ...]:
    """Ids of the tiles of `dev_region`, in row-major order; all tiles of the chip when there is none."""
    region = group.dev_region
    if region is None:
        return tuple(range(TX8.tiles))
    return tuple(
        TX8.tile_id(x, y) for x in range(region.x, region.x + region.dx) for y in range(region.y, region.y + region.dy)
    )
