"""Which DDR storage each value of the backend graph has, seen through groups that only alias."""

from __future__ import annotations

from tx8ir.backend.graph import CompileError, format_of, mem_layout_of, shape_of
from tx8ir.backend.memory.ddr_annotations import read_ddr_address
from tx8ir.backend.oplib.interface import AlignMode, OpLib
from tx8ir.core import BlockArgument, Value
from tx8ir.dialects import tx8be
from tx8ir.target.layout import size_bytes

__all__ = ["address_of", "storage_of", "stored_bytes"]


def stored_bytes(value: Value) -> int:
    """Bytes that `value` takes in DDR in its layout."""
    return size_bytes(shape_of(value), format_of(value), mem_layout_of(value))


def storage_of(value: Value) -> Value:
    """The value whose bytes `value` has: an input, a constant, or a result of the group that computes it.

    Raises:
        CompileError: an alias changes the bytes, or a value that is stored nowhere.
    """
    while True:
        if isinstance(value, BlockArgument):
            group = value.owner.parent_op
            if not isinstance(group, tx8be.GroupOp):
                raise CompileError("a function argument is used other than by tx8be.Input", op=group)
            value = group.inputs[value.index]
            continue
        op = value.defining_op
        if isinstance(op, tx8be.InputOp | tx8be.LoadConstOp):
            return value
        if isinstance(op, tx8be.GroupOp):
            if op.group_tag != 2:
                return value
            terminator = op.body.block.terminator
            assert isinstance(terminator, tx8be.ReturnOp)
            value = terminator.xs[op.results.index(value)]
            continue
        if isinstance(op, tx8be.ReshapeOp):
            _check_alias(op)
            value = op.x
            continue
        raise CompileError(f"the result of {op.name if op else 'no op'} is stored nowhere in DDR", op=op)


def _check_alias(op: tx8be.ReshapeOp) -> None:
    """A reshape in DDR keeps the bytes: dense on both sides, or blocked where its kernel says either will do."""
    layouts = [mem_layout_of(value) for value in (op.x, op.y)]
    library = op.interface(OpLib)
    either = library is not None and library.query().align_mode is AlignMode.BOTH
    blocked = [layout.is_blocked for layout in layouts]
    if blocked[0] != blocked[1] or (blocked[0] and not either):
        raise CompileError(f"a reshape in DDR cannot turn {layouts[0]} into {layouts[1]}", op=op)


def address_of(value: Value) -> int:
    """The DDR address of `value`, as `allocate-ddr` left it. Raises `CompileError` when there is none."""
    return read_ddr_address(storage_of(value))
