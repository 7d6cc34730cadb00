"""Reading the backend graph: its block, its values, and the layout a value has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tx8ir.core import Block, BlockArgument, IrError, NoneType, Operation, Program, RankedTensor, Value, VTensorType
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr, GroupOp, ReturnOp, ScheduleOp
from tx8ir.target.chip import Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout

#: Logical layouts of convolution weights: all axes but the last flatten, there is no batch.
WEIGHT_LAYOUTS = ("HWOI", "HWIO", "OIHW")


def main_block(program: Program) -> Block:
    """The block of `main`. Raises `CompileError` when its body is not one block."""
    blocks = program.main.body.blocks
    if len(blocks) != 1:
        raise CompileError(
            f"main has {len(blocks)} blocks; the backend compiles straight-line programs", op=program.main
        )
    return blocks[0]


def backend_ops(program: Program) -> Iterator[BackendOp]:
    """The tx8be ops of `main` in order, groups not entered. The op just given may be erased.

    Raises `CompileError` naming `lower-to-tx8be` at an op of another dialect.
    """
    for op in main_block(program):
        if isinstance(op, BackendOp):
            yield op
        elif op.name != "func.return":
            raise CompileError(f"{op.name} is not a backend op; run lower-to-tx8be before this pass", op=op)


def tensor_type(value: Value) -> VTensorType | None:
    """The type of a tensor value, None for `none` and tuples."""
    return value.type if isinstance(value.type, VTensorType) else None


def logical_layout(shape: Sequence[int]) -> str:
    """The logical layout of a value that is not a CNN feature: `Tensor` when dim 0 is 1, else `NTensor`."""
    return "Tensor" if not shape or shape[0] == 1 else "NTensor"


def mem_layout(layout_str: str | None, rank: int, *, blocked: bool) -> MemLayout:
    """The physical layout of a value of this logical layout and rank, dense or channel-blocked.

    Convolution weights have no batch (HWOI is `Cx` over H·W·O); everything else goes by rank.
    """
    return MemLayout.for_rank(1 if layout_str in WEIGHT_LAYOUTS else rank, blocked=blocked)


def set_mem_layout(op: BackendOp, *, blocked: bool) -> None:
    """Set `dev_info.mem_layout` of an op with one tensor result, keeping the other fields of a `dev_info` it has."""
    rank = len(tx8be.ranked(op.results[0], "result").shape)
    layout = mem_layout(op.layout_str, rank, blocked=blocked)
    info = op.dev_info
    op.set_attribute("dev_info", DevAttr(layout) if info is None else info.with_layout(layout))


def is_constant(op: Operation | None) -> bool:
    """True for the ops whose value is known when the program is compiled."""
    return isinstance(op, tx8be.ConstantOp | tx8be.LoadConstOp)


class CompileError(IrError):
    """A correct program that the backend cannot compile: which op, its shapes, what is missing, and where it is."""


def ranked_type(value: Value) -> RankedTensor:
    """The type of `value`, which must be a tensor."""
    if not isinstance(value.type, RankedTensor):
        raise IrError(f"expected a tensor value, got {value.type}", op=value.defining_op)
    return value.type


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return ranked_type(value).shape


def optional_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of a tensor value, None for the absent operand."""
    return None if isinstance(value.type, NoneType) else shape_of(value)


def format_of(value: Value) -> Format:
    """The number format of a tensor value."""
    return ranked_type(value).element.format


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


def region_tiles(group: tx8be.GroupOp, target: Target) -> tuple[int, ...]:
    """Ids of the tiles of `dev_region`, in row-major order; all tiles of the chip when there is none."""
    region = group.dev_region
    if region is None:
        return tuple(range(target.tiles))
    return tuple(
        target.tile_id(x, y)
        for x in range(region.x, region.x + region.dx)
        for y in range(region.y, region.y + region.dy)
    )


def schedule_of(group: GroupOp) -> ScheduleOp | None:
    """The schedule of a group, as `schedule-groups` makes it; None of a group that has none."""
    return next((op for op in group.body.block if isinstance(op, ScheduleOp)), None)
