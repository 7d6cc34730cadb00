"""Where two readers need one value under different logical layouts: each reads it under its own name.

Of the logical layouts only that of weights matters to addresses: weights have no batch, everything else has (axis 0),
so that blocked bytes differ. Dense bytes are the same, and there the name changes for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tx8ir.backend.graph import WEIGHT_LAYOUTS, logical_layout, mem_layout, tensor_type
from tx8ir.backend.layout.infer_layout import SameLayout
from tx8ir.backend.oplib.interface import InferLayout
from tx8ir.core import Builder, OpOperand, Value, VTensorType, at_location
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr

FEATURES_ONLY = (tx8be.ConvOp, tx8be.PoolOp, tx8be.ReduceOp, tx8be.ReshapeOp)
"""Ops that know axis 0 as the batch: their results are not weights, nor what they read, but for the filter of a `Conv`.
"""


def may_have(value: Value, layout: str) -> bool:
    """Whether `value` may have this logical layout: the result of an op of `FEATURES_ONLY` is not weights."""
    return layout not in WEIGHT_LAYOUTS or not isinstance(value.defining_op, FEATURES_ONLY)


def relabel(ops: Iterable[BackendOp], layout_of: Callable[[Value], str]) -> int:
    """Gives every reader its operands as weights or as features, as it needs them; returns how many values it took.

    A constant is stored once more under the other layout; of another value a dense `Reshape` to the same shape, which
    costs nothing by itself, is the same bytes under the other name.
    """
    made: dict[tuple[Value, str], Value] = {}
    for op in ops:
        for use in op.op_operands:
            t = tensor_type(use.value)
            if t is None:
                continue
            needed = _needed(use, t, layout_of)
            if needed is None or (needed in WEIGHT_LAYOUTS) == (layout_of(use.value) in WEIGHT_LAYOUTS):
                continue
            key = use.value, needed
            if key not in made:
                made[key] = _named(use.value, t, needed)
            use.set(made[key])
    return len(made)


def _needed(use: OpOperand, t: VTensorType, layout_of: Callable[[Value], str]) -> str | None:
    """The layout an operand must have, up to whether it is one of weights; None where either will do."""
    op = use.owner
    if isinstance(op, tx8be.ConvOp) and use.index == 1:
        return "HWOI"
    if isinstance(op, FEATURES_ONLY):
        return logical_layout(t.shape)
    if isinstance(op.interface(InferLayout), SameLayout) and op.results:
        result = tensor_type(op.results[0])
        return layout_of(op.results[0]) if result is not None and result.rank == t.rank else None
    return None


def _named(value: Value, t: VTensorType, layout: str) -> Value:
    """`value` under the name `layout`."""
    producer = value.defining_op
    assert isinstance(producer, BackendOp)
    with Builder.after(producer), at_location(producer.location):
        if isinstance(producer, tx8be.ConstantOp):
            return tx8be.ConstantOp(parameter=producer.parameter, layout_str=layout, y=t).y
        dense = DevAttr(mem_layout(layout, t.rank, blocked=False))
        return tx8be.ReshapeOp(value, layout_str=layout, dev_info=dense, y=t).y
