"""Passes that are wrong, each in a way that real compilers have been: a measure of the oracle and of the programs.

    $ PYTHONPATH=src:tests python -m support.known_miscompilations

tries each of them on 500 generated programs, and prints how many of these programs it gets wrong, which is the first,
and how many operations are left of that one when it is reduced. `measure` does the same from Python, for the programs
of a strategy of your own.

Each pass is a few lines, as its author would have written them, and its docstring says what the mistake is.

- `bank`: the list, and what the passes use
- `arithmetic`: identities that floating-point arithmetic does not have, comparisons, formats
- `movement`: views, broadcasts, axes, lists
- `merging`: operations merged, dropped and moved across writes; storage; variables taken for constants
- `control`: branches, loops, blocks, calls
"""

from __future__ import annotations

from . import arithmetic, control, merging, movement
from .bank import BANK, BrokenPass
from .measure import Measured, draw_programs, measure

__all__ = ["arithmetic", "BANK", "BrokenPass", "control", "draw_programs", "measure", "Measured", "merging", "movement"]
