"""The bank: compiler passes that are wrong as passes of real compilers have been, to measure oracle and fuzzer with.

Each mutant is competent work with one oversight, from the bug list of a compiler (`citation`), and comes with a
`witness` on which it is wrong. They are drawn up in rounds, each without looking at the generators of programs
(`tx8ir.testing.programs`), nor at the passes these were developed against. The last round is for measuring: who
improves the generators looks neither at its mutants nor at results on them. Once that has been done the round is
spent, and another one has to be drawn up. Each round is a package, with a module for each area.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Final

from .mutant import Area, Mutant, Round


def _areas() -> list[Area]:
    """Those of all rounds that are there."""
    found = pkgutil.walk_packages([str(Path(__file__).parent)], "support.mutants.")
    names = [module.name for module in found if module.name.count(".") == len(("support", "mutants", "round"))]
    return [importlib.import_module(name).AREA for name in names]


_BY_ROUND: Final = sorted(_areas(), key=lambda area: area.round)

MUTANTS: Final[tuple[Mutant, ...]] = tuple(mutant for area in _BY_ROUND for mutant in area.mutants)
ROUNDS: Final[tuple[Round, ...]] = tuple(sorted({area.round for area in _BY_ROUND}))


def of_round(which: Round) -> tuple[Mutant, ...]:
    """The mutants of one round."""
    return tuple(mutant for mutant in MUTANTS if mutant.round == which)
