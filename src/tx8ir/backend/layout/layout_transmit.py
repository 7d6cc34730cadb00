"""`layout-transmit`: logical layouts spread from `Gemm` and `Conv` over the graph."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, logical_layout, tensor_type
from tx8ir.backend.layout.infer_layout import InferLayout, fit_layout
from tx8ir.backend.layout.layout_init import UNKNOWN
from tx8ir.backend.layout.relabel import may_have, relabel
from tx8ir.core import Operation, Program, Value
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class LayoutTransmit(Pass):
    """Spreads the known `layout_str` breadth-first, forward and backward, through `InferLayout`.

    Starts at the operands and results of `Gemm` and `Conv` and at ops whose layout was given; the first name to reach a
    value stays. Ops that cannot say (reshape, broadcast, gather) stop it; values it does not reach become `Tensor`
    (dim 0 is 1) or `NTensor`. Afterwards `layout_str` of an op is that of its result, also for `Gemm` and `Conv`.

    A value that is read as weights and as a feature gets both names: see `relabel`.

    Assumes: `layout-init` ran. Guarantees: no "Unknown" is left; an op's operands and result are weights together, or
    not, as its kernel takes them. Cost: O(values + uses).
    """

    name: ClassVar[str] = "layout-transmit"

    def run(self, program: Program) -> None:
        known: dict[Value, str] = {}
        queue: deque[Value] = deque()

        def learn(value: Value, layout: str | None) -> None:
            t = tensor_type(value)
            if layout is None or t is None or value in known:
                return
            fitted = fit_layout(layout, t.shape)
            if fitted is not None and may_have(value, fitted):
                known[value] = fitted
                queue.append(value)

        ops = list(backend_ops(program))
        for op in ops:
            layout = op.layout_str
            if layout is None or layout == UNKNOWN:
                continue
            if "-" in layout:
                lhs, rhs, out = layout.split("-")
                learn(op.operands[0], lhs)
                learn(op.operands[1], rhs)
                learn(op.results[0], out)
            else:
                for value in op.results:
                    learn(value, layout)
        while queue:
            value = queue.popleft()
            for user in dict.fromkeys(use.owner for use in value.uses):
                model = _spreads(user)
                if model is not None:
                    learn(user.results[0], model.forward([known.get(v) for v in user.operands]))
            producer = value.defining_op
            model = _spreads(producer) if producer is not None else None
            if producer is not None and model is not None:
                for operand, layout in zip(producer.operands, model.backward(known[value]), strict=True):
                    learn(operand, layout)

        def layout_of(value: Value) -> str:
            return known[value] if value in known else logical_layout(tx8be.ranked(value, "value").shape)

        for op in ops:
            if not op.results or (t := tensor_type(op.results[0])) is None:
                continue
            reached = known.get(op.results[0])
            op.set_attribute("layout_str", reached if reached is not None else logical_layout(t.shape))
            self.count("layouts spread" if reached is not None else "layouts by shape")
        self.count("relabelled", relabel(ops, layout_of))


def _spreads(op: Operation) -> InferLayout | None:
    """The op's `InferLayout`, None at ops that name their layouts themselves or cannot say."""
    return None if isinstance(op, tx8be.GemmOp | tx8be.ConvOp) else op.interface(InferLayout)
