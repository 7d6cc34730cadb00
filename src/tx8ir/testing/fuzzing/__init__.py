"""Fuzzing passes: `fuzz(pass_)` looks for a program that a pass gets wrong, and needs nothing but the pass.

- `session`: the pass, and what it shows of itself
- `work`: pieces of work, which may run in other processes
- `engine`: rounds of them, and the corpus
- `result`: what came out
- `drawn`: programs from Hypothesis (needs the extra `test`)
"""

from __future__ import annotations

from .engine import FuzzProgress, fuzz
from .result import FuzzCoverage, FuzzResult

__all__ = ["fuzz", "FuzzCoverage", "FuzzProgress", "FuzzResult"]
