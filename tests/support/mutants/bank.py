"""The bank: compiler passes that are wrong as passes of real compilers have been, to measure oracle and fuzzer with.

It was drawn up without looking at the generators of programs (`tx8ir.testing.programs`), nor at the passes they were
developed against. Each mutant is competent work with one oversight, from the bug list of a compiler (`citation`), and
comes with a `witness` on which it is wrong. The half "held-out" (the package `held_out`) is for measuring: who improves
the generators looks at results on "development" alone. Once results on held-out mutants have been worked with, these
are development, and others have to be drawn up in their place.
"""

from __future__ import annotations

import importlib
from typing import Final

from .mutant import Area, Half, Mutant

_AREAS: Final = (
    "elementwise", "integers", "comparisons", "types", "shapes", "reductions", "windows", "norms", "linear", "loops",
    "branches", "calls", "storage", "parameters",
)  # fmt: skip
"""The modules of each half."""


def _mutants_of(package: str) -> tuple[Mutant, ...]:
    areas: list[Area] = [importlib.import_module(f"{package}.{area}").AREA for area in _AREAS]
    return tuple(mutant for area in areas for mutant in area.mutants)


MUTANTS: Final = (*_mutants_of("support.mutants"), *_mutants_of("support.mutants.held_out"))


def half(which: Half) -> tuple[Mutant, ...]:
    """One half of the bank."""
    return tuple(mutant for mutant in MUTANTS if mutant.half == which)
