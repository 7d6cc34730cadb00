"""`layout-optimize`: removes `ChannelNorm`s that repeat, undo each other, or convert a constant vector."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, set_mem_layout, tensor_type
from tx8ir.core import Builder, Program, Value, at_location
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class LayoutOptimize(Pass):
    """Cleans up after `layout-align`.

    1. Inverse pairs cancel: `ChannelNorm{false}(ChannelNorm{true}(x))` is `x`.
    2. Equal `ChannelNorm`s of one value merge into the first.
    3. A constant of rank <= 1 absorbs its `ChannelNorm`: it is stored blocked. One that is also used dense is
       stored twice.
    4. A `ChannelNorm` nobody uses goes.

    Assumes: `layout-align` ran. Guarantees: a value has at most one conversion per direction. Cost: O(uses).
    """

    name: ClassVar[str] = "layout-optimize"

    def run(self, program: Program) -> None:
        ops = list(backend_ops(program))
        norms = [op for op in ops if isinstance(op, tx8be.ChannelNormOp)]
        for norm in norms:
            inner = norm.x.defining_op
            if isinstance(inner, tx8be.ChannelNormOp) and inner.direction != norm.direction:
                norm.y.replace_all_uses_with(inner.x)
                self.count("inverse pairs")
        first: dict[tuple[Value, bool], tx8be.ChannelNormOp] = {}
        for norm in norms:
            kept = first.setdefault((norm.x, norm.direction), norm)
            if kept is not norm:
                kept.fuse_location((norm,), self.name)
                norm.y.replace_all_uses_with(kept.y)
                self.count("merged")
        for op in ops:
            if isinstance(op, tx8be.ConstantOp) and (t := tensor_type(op.y)) is not None and t.rank <= 1:
                self._absorb(op)
        for norm in reversed(norms):
            if not norm.y.has_uses:
                norm.erase(by=self.name)

    def _absorb(self, constant: tx8be.ConstantOp) -> None:
        """Let the users of a constant's conversion read a constant stored that way."""
        norms = [user for user in constant.y.users if isinstance(user, tx8be.ChannelNormOp) and user.y.has_uses]
        if not norms:
            return
        self.count("absorbed", len(norms))
        live = [u for u in constant.y.users if not (isinstance(u, tx8be.ChannelNormOp) and not u.y.has_uses)]
        direction = norms[0].direction
        if len(norms) == len(live) and all(norm.direction == direction for norm in norms):
            stored = constant
        else:
            with Builder.after(constant), at_location(constant.location):
                stored = tx8be.ConstantOp(
                    parameter=constant.parameter,
                    layout_str=constant.layout_str,
                    dev_info=constant.dev_info,
                    y=constant.y.type,
                )
        set_mem_layout(stored, blocked=direction)
        for norm in norms:
            norm.y.replace_all_uses_with(stored.y)
