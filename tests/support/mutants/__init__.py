"""Compiler passes that are wrong, one mistake each, for measuring what finds them; see `bank`."""

from __future__ import annotations

from .bank import MUTANTS, ROUNDS, of_round
from .mutant import Area, Form, Mutant, Round

__all__ = ["Area", "Form", "of_round", "Mutant", "MUTANTS", "Round", "ROUNDS"]
