"""`group-fuse`."""

from __future__ import annotations

from .group_fuse import GroupFuse

__all__ = ["GroupFuse"]
