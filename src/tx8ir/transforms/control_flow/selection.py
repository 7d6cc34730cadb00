"""Choosing between two values that both exist: `pd.where` on a condition of one element."""

from __future__ import annotations

from tx8ir.core import Builder, Operation, RankedTensor, Value, VTensorType, at_location
from tx8ir.dialects import pd
from tx8ir.rewriting.provenance import derived_location


def can_select(condition: Value, a: Value, b: Value) -> bool:
    """Whether `select` can choose: between static vtensors of one type, by a condition that is a value."""
    kind = a.type
    return (
        isinstance(condition.type, VTensorType) and isinstance(kind, VTensorType) and kind.is_static and b.type is kind
    )


def select(before: Operation, condition: Value, a: Value, b: Value, by: str) -> Value:
    """A new value before `before`: `a` if the condition, of one element, holds, else `b`. See `can_select`."""
    with Builder.before(before), at_location(derived_location([before.location], by)):
        kind = condition.type
        if isinstance(kind, RankedTensor) and kind.rank:
            condition = pd.reshape(condition, shape=()).out
        return pd.where(condition, a, b).out
