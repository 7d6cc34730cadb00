"""Copies between tensors and vtensors, made where they are needed."""

# The type of each copy is known, so nothing is inferred or checked again.
from __future__ import annotations

from typing import cast

from tx8ir.core import Block, Operation, RankedTensor, Value
from tx8ir.core.attrs.attributes import EMPTY_DICT
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.dialects import builtin


def read_before(value: Value, anchor: Operation) -> Value:
    """A new `to_vtensor` of a tensor before `anchor`, with its location."""
    type_ = cast(RankedTensor, value.type).to_vtensor()
    made = create_unchecked(builtin.ToVTensorOp, (value,), (type_,), EMPTY_DICT, (), (), anchor.location)
    return cast(Block, anchor.parent).insert_before(made, anchor).results[0]


def tensor_before(value: Value, anchor: Operation) -> Value:
    """A new `to_tensor` of a vtensor (or tensor) before `anchor`, with its location."""
    return cast(Block, anchor.parent).insert_before(_to_tensor(value, anchor), anchor).results[0]


def tensor_after(value: Value, anchor: Operation) -> Value:
    """A new `to_tensor` of a vtensor (or tensor) after `anchor`, with its location."""
    return cast(Block, anchor.parent).insert_after(_to_tensor(value, anchor), anchor).results[0]


def inserted(made: Value | Operation, anchor: Operation) -> Value:
    """A value as it is; for a new, detached operation its result, once it stands before `anchor`."""
    if isinstance(made, Value):
        return made
    return cast(Block, anchor.parent).insert_before(made, anchor).results[0]


def _to_tensor(value: Value, anchor: Operation) -> builtin.ToTensorOp:
    type_ = cast(RankedTensor, value.type).to_tensor()
    return create_unchecked(builtin.ToTensorOp, (value,), (type_,), EMPTY_DICT, (), (), anchor.location)
