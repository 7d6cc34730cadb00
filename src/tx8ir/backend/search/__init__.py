"""The search for tilings: `group-fuse` and `shard-and-split`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.support.lazy_names import lazy_names

from .search import find_tiling, shardings

if TYPE_CHECKING:
    from .group_fuse import GroupFuse
    from .shard_and_split import ShardAndSplit

__all__ = ["GroupFuse", "ShardAndSplit", "find_tiling", "shardings"]

# `group-fuse` asks `nest` for prices, whose pass keeps the memory of `problem` here: the passes are above both.
if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(__name__, {"GroupFuse": "group_fuse", "ShardAndSplit": "shard_and_split"})
