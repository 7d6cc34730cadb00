"""`reconcile-unrealized-casts`: casts that a conversion of types has left, and that take each other back."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.core import Operation, Program
from tx8ir.dialects import builtin
from tx8ir.passes import OperationPass, register_pass
from tx8ir.rewriting.conversion_rewriter import reconcile


@register_pass
@attrs.frozen
class ReconcileUnrealizedCasts(OperationPass):
    """Removes `builtin.unrealized_conversion_cast`s that nobody uses, and those that take others back.

    A cast goes when what it is given, all together, is what another cast made of values of the types that it gives.

    Assumes: nothing. Guarantees: what is left is needed, by an operation whose types were not converted. Idempotent.
    Cost: O(operations + uses of casts). Statistics: `removed`. After MLIR's pass of that name.
    """

    name: ClassVar[str] = "reconcile-unrealized-casts"

    def run_on(self, root: Operation, program: Program) -> None:
        casts = [op for op in root.walk() if isinstance(op, builtin.UnrealizedConversionCastOp)]
        self.count("removed", reconcile(casts, self.name))
