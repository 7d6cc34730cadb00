"""Canonicalization: folds and small local rewrites, applied until nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import Operation, Program
from tx8ir.passes import OperationPass, register_pass
from tx8ir.rewriting import RewritePattern, rewrite_greedily

from .patterns import canonicalization, canonicalization_patterns

__all__ = ["Canonicalize", "canonicalization", "canonicalization_patterns"]


@register_pass
@attrs.frozen
class Canonicalize(OperationPass):
    """Brings every operation to its simplest form: folds, the registered canonicalization patterns, dead code.

    Assumes: nothing. Guarantees: results keep their bits (see `patterns.registry.canonicalization`); no registered
    pattern matches any more. Idempotent. A normal form, up to `cse` and `topological-sort`, of how values are written
    in straight code: views are one `pd.reshape` of the value they start from, transpositions one `pd.transpose`; what
    computes its own operand is gone; the constant of a commutative operation stands on the right. No normal form is
    guaranteed for transpositions across axes of extent 1, for operations on constants alone (see `constant-fold`), for
    the order of two operands that are not constants, and across regions and blocks.
    Cost: O(operations + changes). Statistics: rewrites by pattern name, `fold`, and `removed` (dead operations).

    max_rewrites: the bound on rewrites, an error when hit; by default 1024 + 64 for each operation.
    """

    name: ClassVar[str] = "canonicalize"

    max_rewrites: int | None = None

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return canonicalization_patterns()

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, canonicalization_patterns(), max_rewrites=self.max_rewrites, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
        self.count("removed", result.removed)
