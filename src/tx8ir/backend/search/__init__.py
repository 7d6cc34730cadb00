"""The search for tilings. Importing it registers `shard-and-split`."""

from __future__ import annotations

from .search import find_tiling, shardings
from .shard_and_split import ShardAndSplit

__all__ = ["ShardAndSplit", "find_tiling", "shardings"]
