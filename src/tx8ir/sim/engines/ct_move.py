"""Executors of the moves of whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    AXES,
    ROTATIONS,
    ConcatOp,
    Img2ColOp,
    MaskGatherOp,
    MirrorOp,
    MoveOp,
    Nchw2NhwcOp,
    Nhwc2NchwOp,
    PadOp,
    RotateOp,
    TdmaReshapeOp,
    TransposeOp,
)
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.formats import Format

from .blocks import is_displaced
from .functions import operand
from .registry import Machine, Semantics, executes
from .windows import pad, windows

Array = NDArray[Any]


def load_shaped(memory: Memory, placed: Placed, format: Format, shape: tuple[int, ...]) -> Array:
    """A whole tensor [tiles, *shape] of a format, from either layout."""
    if placed.access.aligned is not None:
        return memory.load_tensor(placed)
    dense = memory.load(placed, format)
    return dense.reshape(len(dense), *shape)


def store_shaped(memory: Memory, placed: Placed, values: Array) -> None:
    """Write a whole tensor [tiles, ...] to either layout; if dense, it may be a view of the bytes where it goes."""
    if placed.access.aligned is not None:
        shape = placed.access.aligned.shape
        memory.store_tensor(placed, np.ascontiguousarray(values).reshape(len(values), *shape))
        return
    out = memory.destination(placed, values.dtype)
    if out is not None:
        out.reshape(values.shape)[...] = values  # NumPy looks for shared bytes itself
    else:
        memory.store(placed, values.reshape(len(values), -1))


def _move(op: MoveOp, move: Callable[[Array], Array]) -> Semantics:
    """A step that gives the operand [tiles, *shape] to `move` and stores the result."""
    format, shape = Format.named(op.format), op.shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        store_shaped(machine.memory, dst, move(load_shaped(machine.memory, src, format, shape)))

    return step


@executes(MirrorOp)
def decode_mirror(op: MirrorOp) -> Semantics:
    """Reverse one axis."""
    axis = AXES[op.axis] + 1
    return _move(op, lambda x: np.flip(x, axis))


@executes(TransposeOp)
def decode_transpose(op: TransposeOp) -> Semantics:
    """Permute the axes."""
    perm = (0, *(axis + 1 for axis in op.perm))
    return _move(op, lambda x: x.transpose(perm))


@executes(RotateOp)
def decode_rotate(op: RotateOp) -> Semantics:
    """Turn H and W counterclockwise."""
    turns = ROTATIONS[op.function]
    return _move(op, lambda x: np.rot90(x, turns, (2, 3)))


@executes(PadOp)
def decode_pad(op: PadOp) -> Semantics:
    """Surround H and W with a value given by its bits."""
    format, pads = Format.named(op.format), op.pads
    value = np.array([op.value], f"u{format.bytes}").view(format.dtype)[0]
    return _move(op, lambda x: pad(x, pads, value))


@executes(Img2ColOp)
def decode_img2col(op: Img2ColOp) -> Semantics:
    """Lay the window of each position out as a row."""
    kernel, strides, pads, dilations, out_shape = op.kernel, op.strides, op.pads, op.dilations, op.out_shape

    def columns(x: Array) -> Array:
        return windows(pad(x, pads, np.zeros((), x.dtype)), kernel, strides, dilations, out_shape[1:3])

    return _move(op, columns)


@executes(Nchw2NhwcOp)
@executes(Nhwc2NchwOp)
def decode_image_order(op: Nchw2NhwcOp | Nhwc2NchwOp) -> Semantics:
    """Move the channels after or before the image."""
    format = Format.named(op.format)
    n, h, w, c = op.shape
    to_nhwc = isinstance(op, Nchw2NhwcOp)
    stored, order = ((n, c, h, w), (0, 1, 3, 4, 2)) if to_nhwc else ((n, h, w, c), (0, 1, 4, 2, 3))

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = load_shaped(machine.memory, src, format, stored)
        store_shaped(machine.memory, dst, x.transpose(order))

    return step


@executes(ConcatOp)
def decode_concat(op: ConcatOp) -> Semantics:
    """Join two tensors."""
    format, axis, lhs_shape, rhs_shape = Format.named(op.format), AXES[op.axis] + 1, op.lhs_shape, op.rhs_shape
    out_shape = op.out_shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        lhs, rhs, dst = placed
        memory = machine.memory
        parts = (load_shaped(memory, lhs, format, lhs_shape), load_shaped(memory, rhs, format, rhs_shape))
        out = memory.destination(dst, format.dtype) if dst.access.aligned is None else None
        if out is None or is_displaced(lhs, dst) or is_displaced(rhs, dst):
            store_shaped(memory, dst, np.concatenate(parts, axis))
            return
        whole = out.reshape(len(out), *out_shape)
        before, behind = np.split(whole, [lhs_shape[axis - 1]], axis)
        before[...], behind[...] = parts

    return step


@executes(TdmaReshapeOp)
def decode_tdma_reshape(op: TdmaReshapeOp) -> Semantics:
    """Write the same elements in another shape and layout."""
    format, src_shape, dst_shape = Format.named(op.format), op.src_shape, op.dst_shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = load_shaped(machine.memory, src, format, src_shape)
        store_shaped(machine.memory, dst, np.ascontiguousarray(x).reshape(len(x), *dst_shape))

    return step


@executes(MaskGatherOp)
def decode_maskgather(op: MaskGatherOp) -> Semantics:
    """Pack the chosen elements of each tile, and count them."""
    format, count = Format.named(op.format), op.count

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, mask, dst, found = placed
        chosen = operand(memory.load(mask, format), format) != np.zeros((), format.dtype)
        totals = chosen.sum(axis=1, dtype=np.int32)
        # Bits, not values: a move must not touch the payload of a NaN. Stable: chosen elements first, in their order.
        order = np.argsort(~chosen, axis=1, kind="stable")
        packed = np.take_along_axis(memory.load_bits(src, format), order, axis=1)
        filled = np.arange(count) < totals[:, None]
        memory.store(dst, np.where(filled, packed, memory.load_bits(dst, format)))
        memory.mark_where(dst, filled, format)
        memory.store(found, totals[:, None])

    return step
