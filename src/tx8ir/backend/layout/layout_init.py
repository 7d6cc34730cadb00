"""`layout-init`: the logical layouts that are known from the op alone."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, logical_layout
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, register_pass

UNKNOWN = "Unknown"


@register_pass
@attrs.frozen
class LayoutInit(Pass):
    """Gives every op a first `layout_str`.

    `Gemm` and `Conv` get one layout per tensor operand and one for the result, joined by "-" ("Tensor-NTensor-Tensor",
    "NHWC-HWOI-NHWC"), `Tuple` and `Output` "Tuple", every other op "Unknown". A layout that is there already stays.

    Assumes: a tx8be graph. Guarantees: every op but `None` has a `layout_str`. Cost: O(ops).
    """

    name: ClassVar[str] = "layout-init"

    def run(self, program: Program) -> None:
        for op in backend_ops(program):
            if isinstance(op, tx8be.NoneOp) or op.layout_str not in (None, UNKNOWN):
                continue
            match op:
                case tx8be.GemmOp():
                    shapes = (tx8be.ranked(v, "operand").shape for v in (op.lhs, op.rhs, op.out))
                    layout = "-".join(logical_layout(shape) for shape in shapes)
                case tx8be.ConvOp():
                    layout = "NHWC-HWOI-NHWC"
                case tx8be.TupleOp() | tx8be.OutputOp():
                    layout = "Tuple"
                case _:
                    layout = UNKNOWN
            op.set_attribute("layout_str", layout)
            self.count("layouts set", layout != UNKNOWN)
