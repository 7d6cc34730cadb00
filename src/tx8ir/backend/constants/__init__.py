"""Constants of the backend graph. Importing it registers `load-constants`."""

from __future__ import annotations

from .load_constants import LoadConstants

__all__ = ["LoadConstants"]
