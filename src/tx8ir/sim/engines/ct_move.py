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
from tx8ir.sim.memory import Memory, Placed
from tx8ir.target.formats import Format

from .functions import operand
from .registry import Machine, Step, executes
from .windows import pad, windows

Array = NDArray[Any]


def load_shaped(memory: Memory, placed: Placed, format: Format, shape: tuple[int, ...]) -> Array:
    """A whole tensor [tiles, *shape] of a format, from either layout."""
    if placed.access.aligned is not None:
        return memory.load_tensor(placed)
    dense = memory.load(placed, format)
    return dense.reshape(len(dense), *shape)


def store_shaped(memory: Memory, placed: Placed, values: Array) -> None:
    """Write a whole tensor [tiles, *shape] to either layout, behind a copy so that sources may lie where it goes."""
    if placed.access.aligned is not None:
        memory.store_tensor(placed, np.ascontiguousarray(values))
    else:
        memory.store(placed, values.reshape(len(values), -1).copy())


def _move(op: MoveOp, move: Callable[[Array], Array]) -> Step:
    """A step that gives the operand [tiles, *shape] to `move` and stores the result."""
    format, shape = Format.named(op.format), op.shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        store_shaped(machine.memory, dst, move(load_shaped(machine.memory, src, format, shape)))

    return step


@executes(MirrorOp)
def decode_mirror(op: MirrorOp) -> Step:
    """Reverse one axis."""
    axis = AXES[op.axis] + 1
    return _move(op, lambda x: np.flip(x, axis))


@executes(TransposeOp)
def decode_transpose(op: TransposeOp) -> Step:
    """Permute the axes."""
    perm = (0, *(axis + 1 for axis in op.perm))
    return _move(op, lambda x: x.transpose(perm))


@executes(RotateOp)
def decode_rotate(op: RotateOp) -> Step:
    """Turn H and W counterclockwise."""
    turns = ROTATIONS[op.function]
    return _move(op, lambda x: np.rot90(x, turns, (2, 3)))


@executes(PadOp)
def decode_pad(op: PadOp) -> Step:
    """Surround H and W with a value given by its bits."""
    format, pads = Format.named(op.format), op.pads
    value = np.array([op.value], f"u{format.bytes}").view(format.dtype)[0]
    return _move(op, lambda x: pad(x, pads, value))


@executes(Img2ColOp)
def decode_img2col(op: Img2ColOp) -> Step:
    """Lay the window of each position out as a row."""
    kernel, strides, pads, dilations, out_shape = op.kernel, op.strides, op.pads, op.dilations, op.out_shape

    def columns(x: Array) -> Array:
        view = windows(pad(x, pads, np.zeros((), x.dtype)), kernel, strides, dilations, out_shape[1:3])
        return view.reshape(len(x), *out_shape)

    return _move(op, columns)


@executes(Nchw2NhwcOp)
@executes(Nhwc2NchwOp)
def decode_image_order(op: Nchw2NhwcOp | Nhwc2NchwOp) -> Step:
    """Move the channels behind or before the image."""
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
def decode_concat(op: ConcatOp) -> Step:
    """Join two tensors."""
    format, axis, lhs_shape, rhs_shape = Format.named(op.format), AXES[op.axis] + 1, op.lhs_shape, op.rhs_shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        lhs, rhs, dst = placed
        memory = machine.memory
        parts = (load_shaped(memory, lhs, format, lhs_shape), load_shaped(memory, rhs, format, rhs_shape))
        store_shaped(memory, dst, np.concatenate(parts, axis))

    return step


@executes(TdmaReshapeOp)
def decode_tdma_reshape(op: TdmaReshapeOp) -> Step:
    """Write the same elements in another shape and layout."""
    format, src_shape, dst_shape = Format.named(op.format), op.src_shape, op.dst_shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = load_shaped(machine.memory, src, format, src_shape)
        store_shaped(machine.memory, dst, np.ascontiguousarray(x).reshape(len(x), *dst_shape))

    return step


@executes(MaskGatherOp)
def decode_maskgather(op: MaskGatherOp) -> Step:
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
