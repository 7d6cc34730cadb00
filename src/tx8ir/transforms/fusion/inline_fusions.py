"""`inline-fusions`: the operations of each `pd.fusion` take its place."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.core import Operation, Program
from tx8ir.dialects import pd
from tx8ir.passes import OperationPass, register_pass

NAME = "inline-fusions"


@register_pass
@attrs.frozen
class InlineFusions(OperationPass):
    """Replaces each `pd.fusion` by what is inside: the inverse of `fuse-elementwise`, up to the order of operations.

    Assumes: nothing. Guarantees: no `pd.fusion` is left; every bit stays. Idempotent. Cost: O(operations).
    Statistics: `inlined`.
    """

    name: ClassVar[str] = NAME

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("inlined", inline_fusions(root))


def inline_fusions(root: Operation) -> int:
    """Replaces each `pd.fusion` inside `root` by the operations of its body; returns how many there were."""
    fusions = [op for op in root.walk() if isinstance(op, pd.FusionOp)]
    for fusion in fusions:
        _inline(fusion)
    return len(fusions)


def _inline(fusion: pd.FusionOp) -> None:
    body = fusion.body.block
    for argument, value in zip(body.args, fusion.inputs, strict=True):
        argument.replace_all_uses_with(value)
    end = body.terminator
    assert end is not None  # it was verified
    given = end.operands
    end.erase(NAME)
    block = fusion.parent
    assert block is not None  # it was found inside another operation
    for op in list(body):
        op.detach()
        block.insert_before(op, fusion)
    fusion.replace_with(given, by=NAME)
