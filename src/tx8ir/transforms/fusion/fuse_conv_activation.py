"""`fuse-conv-activation`: a convolution takes over the relu after it."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.core import Operation, Program, VTensorType, detached
from tx8ir.dialects import pd
from tx8ir.passes import OperationPass, register_pass


@register_pass
@attrs.frozen
class FuseConvActivation(OperationPass):
    """Rewrites `relu(conv2d(x, w, b))` to one `pd.fused_conv2d_add_act`, bit for bit in reference precision.

    In a rounded format the result is rounded once instead of twice, which for relu makes no difference either. Integers
    that overflow wrap before a relu and not after it, so those stay.

    Assumes: nothing. Fires only on vtensors of floating-point numbers, and where nobody else reads the convolution.
    Guarantees: no such pair is left. Idempotent. Cost: O(operations). Statistics: `fused`.
    """

    name: ClassVar[str] = "fuse-conv-activation"

    def run_on(self, root: Operation, program: Program) -> None:
        with detached():
            for op in [op for op in root.walk() if isinstance(op, pd.ReluOp)]:
                conv = op.x.defining_op
                if not isinstance(conv, pd.Conv2dOp) or not conv.out.has_one_use:
                    continue
                kind = conv.out.type
                if not isinstance(kind, VTensorType) or not kind.element.is_float or op.out.type is not kind:
                    continue
                made = pd.FusedConv2dAddActOp.create(
                    conv.operands,
                    [op.out.type],
                    conv.attributes.with_entry("activation", "relu"),
                    location=conv.location,
                )
                made.fuse_location((op,), self.name)
                block = op.parent
                assert block is not None  # it was found by walking
                block.insert_before(made, op)
                op.replace_with(made, by=self.name)
                conv.erase(by=self.name)
                self.count("fused")
