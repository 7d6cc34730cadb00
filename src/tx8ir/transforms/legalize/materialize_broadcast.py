"""`materialize-broadcast`: operands of elementwise operations are stretched by an operation of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import DYNAMIC, ElementwiseMappable, Operation, Program, RankedTensor, Value
from tx8ir.dialects import pd
from tx8ir.passes import OperationPass, option, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.transforms.cleanup.patterns.shape import static_value


class ExplicitOperands(RewritePattern[Operation]):
    """f(x, y) → f(x, expand(y)): every operand gets the shape of the result.

    Args:
        scalars: whether operands of one element do.
    """

    name = "explicit_operands"
    roots = (ElementwiseMappable, pd.InplaceOp)

    def __init__(self, scalars: bool) -> None:
        self.scalars = scalars

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        if isinstance(op, pd.InplaceOp) and ElementwiseMappable not in op.counterpart.info.traits:
            return False
        kind = op.results[0].type
        if not isinstance(kind, RankedTensor) or DYNAMIC in kind.shape:
            return False
        narrow = [index for index, value in enumerate(op.operands) if self._is_narrow(value, kind)]
        for index in narrow:
            rewriter.set_operand(op, index, _stretched(op.operands[index], kind, rewriter))
        return bool(narrow)

    def _is_narrow(self, value: Value, result: RankedTensor) -> bool:
        kind = value.type
        if not isinstance(kind, RankedTensor) or kind.shape == result.shape:
            return False
        return self.scalars or any(extent != 1 for extent in kind.shape)


def _stretched(value: Value, kind: RankedTensor, rewriter: Rewriter) -> Value:
    own = static_value(value)
    if own is not None and own.num_elements == kind.num_elements:
        return rewriter.insert(pd.ReshapeOp(value, shape=kind.shape)).out
    return rewriter.insert(pd.ExpandOp(value, shape=kind.shape)).out


@register_pass
@attrs.frozen
class MaterializeBroadcast(OperationPass):
    """Gives every operand of an elementwise operation the shape of the result, through `pd.expand` where it stretches.

    A value that only gets axes of extent 1 goes through `pd.reshape` instead, which moves nothing. Later passes then
    need no broadcasting rule of their own: two operations on operands of equal types work element by element.

    With `scalars=false` operands of one element are left out: many machines take them as they are (the TX8 as part of
    the instruction), and passes that look for a number go on finding it.

    Assumes: nothing; also fires on in-place operations and on tensors, which are read where the operation reads them.
    Guarantees: operands and result of each operation that is elementwise (`ElementwiseMappable`, or in place one that
    is) have one shape, where the result's is static; a dynamic one is left as it is, since `pd.expand` spells extents.
    Keeps every bit. Idempotent; `canonicalize` does not undo it, and `cse` merges expansions that are equal.
    Cost: O(operations); each expanded value takes the space of the result until it is fused or evaluated.
    From BladeDISC's DhloBroadcastSimplifier. Statistics: `explicit_operands` (operations changed).
    """

    name: ClassVar[str] = "materialize-broadcast"

    scalars: bool = option(True, "also stretch operands of one element")

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return (ExplicitOperands(self.scalars),)

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, self.patterns(), fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
