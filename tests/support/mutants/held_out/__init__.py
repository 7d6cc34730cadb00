"""The half of the bank that is for measuring alone: mutants whose results nobody has worked with; see `..bank`."""

from __future__ import annotations

from typing import Final

from support.mutants.mutant import Area

from . import (
    branches,
    calls,
    comparisons,
    elementwise,
    integers,
    linear,
    loops,
    norms,
    parameters,
    reductions,
    shapes,
    storage,
    types,
    windows,
)

_MODULES: Final = (
    elementwise, integers, comparisons, types, shapes, reductions, windows, norms, linear, loops, branches, calls,
    storage, parameters,
)  # fmt: skip

AREAS: Final[tuple[Area, ...]] = tuple(module.AREA for module in _MODULES)

__all__ = ["AREAS"]
