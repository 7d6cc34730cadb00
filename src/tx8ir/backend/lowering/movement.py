"""Lowering of ops that only move or rename elements: shapes, slices, joins, lookups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.backend.lowering.context import Lowering, LoweringError, is_empty, lowers, ranked_type
from tx8ir.core import Value, i1
from tx8ir.dialects import builtin, pd, tx8be


@lowers(pd.ReshapeOp, pd.FlattenOp, pd.SqueezeOp, pd.UnsqueezeOp)
def lower_reshape(ctx: Lowering, op: pd.ReshapeOp) -> Sequence[Value]:
    return [ctx.reshaped(op.x, ctx.shape(op.out))]


@lowers(pd.AssignOp)
def lower_assign(ctx: Lowering, op: pd.AssignOp) -> Sequence[Value]:
    return [ctx.get(op.x)]


@lowers(builtin.ToVTensorOp, builtin.ToTensorOp)
def lower_copy(ctx: Lowering, op: builtin.ToVTensorOp) -> Sequence[Value]:
    """A copy of a value nothing changes is the value: ops that write are not lowered."""
    return [ctx.get(op.operands[0])]


@lowers(pd.TransposeOp)
def lower_transpose(ctx: Lowering, op: pd.TransposeOp) -> Sequence[Value]:
    rank = len(ctx.shape(op.x))
    return [ctx.transposed(op.x, tuple(axis % rank for axis in op.perm))]


@lowers(pd.ExpandOp)
def lower_expand(ctx: Lowering, op: pd.ExpandOp) -> Sequence[Value]:
    return [ctx.broadcast(op.x, ctx.shape(op.out))]


@lowers(pd.SliceOp)
def lower_slice(ctx: Lowering, op: pd.SliceOp) -> Sequence[Value]:
    shape = ctx.shape(op.input)
    starts, ends = [0] * len(shape), list(shape)
    for axis, start, end in zip(op.axes, op.starts, op.ends, strict=True):
        inside = range(shape[axis])[start:end]
        starts[axis], ends[axis] = inside.start, inside.stop
    return [ctx.reshape(ctx.sliced(op.input, starts, ends), ctx.shape(op.out))]


@lowers(pd.SplitOp)
def lower_split(ctx: Lowering, op: pd.SplitOp) -> Sequence[Value]:
    """One `Slice` per piece."""
    shape = ctx.shape(op.x)
    axis = op.axis % len(shape)
    pieces: list[Value] = []
    start = 0
    for piece in op.outs:
        if is_empty(piece):
            pieces.append(ctx.none())
            continue
        end = start + ctx.shape(piece)[axis]
        starts, ends = [0] * len(shape), list(shape)
        starts[axis], ends[axis] = start, end
        pieces.append(ctx.sliced(op.x, starts, ends))
        start = end
    return pieces


@lowers(pd.ConcatOp)
def lower_concat(ctx: Lowering, op: pd.ConcatOp) -> Sequence[Value]:
    pieces = [value for value in op.x if not is_empty(value)]
    element = ctx.mask_format(*pieces)
    values = [ctx.in_format(ctx.get(value), element) for value in pieces]
    if len(values) == 1:
        return values
    return [tx8be.ConcatenateOp(values, axis=op.axis % len(ctx.shape(op.out))).y]


@lowers(pd.SetValueOp)
def lower_set_value(ctx: Lowering, op: pd.SetValueOp) -> Sequence[Value]:
    """The window, joined with what lies before and after it axis by axis, the last axis first."""
    shape = ctx.shape(op.x)
    starts, ends = [0] * len(shape), list(shape)
    for axis, start, end in zip(op.axes, op.starts, op.ends, strict=True):
        inside = range(shape[axis])[start:end]
        starts[axis], ends[axis] = inside.start, inside.stop
    box = tuple(end - start for start, end in zip(starts, ends, strict=True))
    if min(box, default=1) <= 0:
        return [ctx.get(op.x)]
    dropped = {axis % len(shape) for axis in op.decrease_axis}
    window = tuple(extent for axis, extent in enumerate(box) if axis not in dropped)
    element = ctx.mask_format(op.x, op.value)
    value = ctx.in_format(ctx.reshape(ctx.broadcast(op.value, window), box), element)
    for axis in reversed(range(len(shape))):
        parts = [value]
        for position, (low, high) in ((0, (0, starts[axis])), (len(parts) + 1, (ends[axis], shape[axis]))):
            if low < high:
                frame = (*starts[:axis], low, *[0] * (len(shape) - axis - 1)), (*ends[:axis], high, *shape[axis + 1 :])
                parts.insert(position, ctx.in_format(ctx.sliced(op.x, *frame), element))
        if len(parts) > 1:
            value = tx8be.ConcatenateOp(parts, axis=axis).y
    return [value]


@lowers(pd.PadOp)
def lower_pad(ctx: Lowering, op: pd.PadOp) -> Sequence[Value]:
    """A join with constants before and after, axis by axis; a constant is padded at compile time."""
    if ctx.is_constant(op.x):
        return [ctx.derived(op.x, ("pad", op.paddings, op.pad_value), lambda _: op.compute(ctx.array(op.x)))]
    value = ctx.get(op.x)
    for axis, widths in enumerate(op.frame):
        kind = tx8be.ranked(value, "operand")
        low, high = (
            [ctx.filled(op.pad_value, (*kind.shape[:axis], width, *kind.shape[axis + 1 :]), kind.element)]
            if width
            else []
            for width in widths
        )
        if low or high:
            value = tx8be.ConcatenateOp([*low, value, *high], axis=axis).y
    return [value]


@lowers(pd.EmbeddingOp)
def lower_embedding(ctx: Lowering, op: pd.EmbeddingOp) -> Sequence[Value]:
    """Rows of a table; the row of `padding_idx` is made zero at compile time."""
    if op.padding_idx < 0:
        return [_rows(ctx, ctx.get(op.weight), op.x)]
    if not ctx.is_constant(op.weight):
        raise LoweringError(f"padding_idx is {op.padding_idx} of a table that is not an immutable parameter")
    row = op.padding_idx

    def blank(table: np.ndarray) -> np.ndarray:
        table = table.copy()
        table[row] = 0
        return table

    return [_rows(ctx, ctx.derived(op.weight, ("padding", row), blank), op.x)]


@lowers(pd.GatherOp)
def lower_gather(ctx: Lowering, op: pd.GatherOp) -> Sequence[Value]:
    """A lookup along any axis: that axis goes first, what lies after it becomes the row, and the result goes back."""
    shape, index_shape = ctx.shape(op.x), ctx.shape(op.index)
    axis = op.axis % len(shape)
    order = (axis, *range(axis), *range(axis + 1, len(shape)))
    rest = tuple(shape[a] for a in order[1:])
    if axis == 0:
        table = ctx.reshaped(op.x, (shape[0], math.prod(rest)))
    else:
        table = ctx.reshape(ctx.transposed(op.x, order), (shape[axis], math.prod(rest)))
    rows = ctx.reshape(_rows(ctx, table, op.index), (*index_shape, *rest))
    if axis == 0:
        return [rows]
    k = len(index_shape)
    perm = (*range(k, k + axis), *range(k), *range(k + axis, k + len(rest)))
    return [tx8be.TransposeOp(rows, perm=perm).y]


def _rows(ctx: Lowering, table: Value, index: Value) -> Value:
    element = ranked_type(index).element
    if element is i1 or not element.format.is_integer:
        raise LoweringError(f"the indices have element type {element}; expected an integer")
    return tx8be.GatherOp(table, ctx.get(index)).y
