"""Compiler passes that are wrong, one mistake each, for measuring what finds them; see `bank`."""

from __future__ import annotations

from .bank import MUTANTS, half
from .mutant import Area, Form, Half, Mutant

__all__ = ["Area", "Form", "Half", "half", "Mutant", "MUTANTS"]
