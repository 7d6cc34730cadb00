"""Canonicalization patterns by the kind of operation they start from; importing this package registers them."""

from __future__ import annotations

from . import elementwise, shape
from .registry import canonicalization, canonicalization_patterns

__all__ = ["canonicalization", "canonicalization_patterns", "elementwise", "shape"]
