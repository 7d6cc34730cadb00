"""How gradients flow through the operations of `pd`, a file for each family."""

from __future__ import annotations

from . import dense, elementwise, norm, windows

__all__ = ["dense", "elementwise", "norm", "windows"]
