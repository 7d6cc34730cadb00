"""Small questions about backend ops and values that every stage asks."""

from __future__ import annotations

from tx8ir.core import BlockArgument, IrError, NoneType, RankedTensor, Value
from tx8ir.dialects.tx8be import BackendOp, GroupOp, ReturnOp
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout

__all__ = ["format_of", "mem_layout_of", "optional_shape", "shape_of", "storage_op"]


def tensor_type(value: Value) -> RankedTensor:
    """The type of `value`, which must be a tensor."""
    if not isinstance(value.type, RankedTensor):
        raise IrError(f"expected a tensor value, got {value.type}", op=value.defining_op)
    return value.type


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return tensor_type(value).shape


def optional_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of a tensor value, None for the absent operand."""
    return None if isinstance(value.type, NoneType) else shape_of(value)


def format_of(value: Value) -> Format:
    """The number format of a tensor value."""
    return tensor_type(value).element.format


def storage_op(value: Value) -> BackendOp:
    """The op whose `dev_info` describes how `value` is stored.

    A group's argument is the group's operand; a group's result is what the group returns.
    """
    while True:
        if isinstance(value, BlockArgument):
            group = value.owner.parent_op
            if not isinstance(group, GroupOp):
                raise IrError(f"a value of type {value.type} is the argument of no group", op=group)
            value = group.inputs[value.index]
            continue
        op = value.defining_op
        if isinstance(op, GroupOp):
            terminator = op.body.block.terminator
            if not isinstance(terminator, ReturnOp):
                raise IrError("the group has no tx8be.Return", op=op)
            value = terminator.xs[op.results.index(value)]
            continue
        if not isinstance(op, BackendOp):
            raise IrError(f"a value of type {value.type} comes from no backend op", op=op)
        return op


def mem_layout_of(value: Value) -> MemLayout:
    """The physical layout of `value`, as the layout passes left it in `dev_info.mem_layout`."""
    op = storage_op(value)
    if op.dev_info is None:
        raise IrError(f"{op.name} has no dev_info: the layout passes come before this stage", op=op)
    return MemLayout(op.dev_info.mem_layout)
