"""The half of the bank that is for measuring alone: mutants whose results nobody has worked with; see `..bank`."""

from __future__ import annotations

from typing import Final

from ..mutant import Area
from . import comparisons, elementwise, integers, linear, norms, reductions, shapes, types, windows

AREAS: Final[tuple[Area, ...]] = tuple(
    module.AREA
    for module in (elementwise, integers, comparisons, types, shapes, reductions, windows, norms, linear)
)

__all__ = ["AREAS"]
