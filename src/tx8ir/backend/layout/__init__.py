"""Logical and physical layouts. Importing it registers `layout-init`, `-transmit`, `-align` and `-optimize`."""

from __future__ import annotations

from .layout_align import LayoutAlign, Mode
from .layout_init import LayoutInit
from .layout_optimize import LayoutOptimize
from .layout_transmit import LayoutTransmit

__all__ = ["LayoutAlign", "LayoutInit", "LayoutOptimize", "LayoutTransmit", "Mode"]
