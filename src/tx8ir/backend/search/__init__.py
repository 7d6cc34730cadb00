"""The search for tilings. Importing it registers `group-fuse` and `shard-and-split`."""

from __future__ import annotations

from .group_fuse import GroupFuse
from .search import find_tiling, shardings
from .shard_and_split import ShardAndSplit

__all__ = ["GroupFuse", "ShardAndSplit", "find_tiling", "shardings"]
