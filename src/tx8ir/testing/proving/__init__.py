"""Proofs: rewrite rules of element-wise operations decided for all numbers, by evaluation and by an SMT solver.

The solver needs the optional package `z3-solver` (`pip install tx8ir[prove]`); without it, what has more than half a
million inputs stays undecided unless it is refuted.
"""

from __future__ import annotations

from .comparison import assert_same
from .modes import ROUNDINGS, evaluate_rounded
from .proof import Check, Proof, Refutation, Status
from .prove import ELEMENT_TYPES, HAS_Z3, Method, prove
from .scalars import ProofError

__all__ = [
    "ELEMENT_TYPES",
    "HAS_Z3",
    "ROUNDINGS",
    "Check",
    "Method",
    "Proof",
    "ProofError",
    "Refutation",
    "Status",
    "assert_same",
    "evaluate_rounded",
    "prove",
]
