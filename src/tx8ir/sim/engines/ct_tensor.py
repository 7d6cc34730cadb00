"""Executors of the vector unit's other work: reduce and pool, layout change, masked moves, conversion, fills."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    REDUCE_AXES,
    ChannelNormOp,
    ConvertOp,
    MaskMoveOp,
    MemsetOp,
    PoolOp,
    ReduceOp,
)
from tx8ir.sim.memory.memory import Placed
from tx8ir.target import extrema
from tx8ir.target.formats import Format
from tx8ir.target.rounding import Rounding, convert

from .blocks import blocks, is_displaced
from .functions import Float32, narrow, operand, widen
from .registry import Machine, Semantics, executes
from .windows import pad, taps

Array = NDArray[Any]

_EXTREMA = {"max": extrema.largest, "min": extrema.smallest}
_COMBINE: dict[str, Callable[..., Array]] = {
    "sum": np.add,
    "avg": np.add,
    "max": extrema.maximum,
    "min": extrema.minimum,
}


@executes(ReduceOp)
def decode_reduce(op: ReduceOp) -> Semantics:
    """Combine the elements of the reduced axes, which keep extent 1."""
    format, function = Format.named(op.format), op.function
    axes = tuple(axis + 1 for axis in REDUCE_AXES[op.axis])  # after the axis of tiles
    terms = np.float32(math.prod([op.shape[axis - 1] for axis in axes]))

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = widen(machine.memory.look_at_tensor(src, "source"), format)
        result: Float32
        if function in _EXTREMA:
            result = _EXTREMA[function](x, axes=axes, keepdims=True)
        else:
            result = np.add.reduce(x, axis=axes, keepdims=True)
        if function == "avg":
            result /= terms
        machine.memory.store_tensor(dst, narrow(result, format))

    return step


@executes(PoolOp)
def decode_pool(op: PoolOp) -> Semantics:
    """Combine the elements of each window."""
    format, function = Format.named(op.format), op.function
    kernel, strides, pads = op.kernel, op.strides, op.pads
    out_extents = op.out_shape[1:3]
    window = np.float32(kernel[0] * kernel[1])
    neutral = np.float32({"max": -np.inf, "min": np.inf}.get(function, 0.0))
    combine = _COMBINE[function]

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = pad(widen(machine.memory.look_at_tensor(src, "source"), format), pads, neutral)
        views = (view for _, view in taps(x, kernel, strides, (1, 1), out_extents))
        result: Float32 = next(views).copy()
        for view in views:
            combine(result, view, out=result)
        if function == "avg":
            result /= window
        machine.memory.store_tensor(dst, narrow(result, format))

    return step


@executes(ChannelNormOp)
def decode_channelnorm(op: ChannelNormOp) -> Semantics:
    """Copy from dense to channel-blocked or back; bits stay as they are."""
    format, shape, to_blocked = Format.named(op.format), op.shape, op.direction

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, dst = placed
        if to_blocked:
            dense = memory.load(src, format)
            memory.store_tensor(dst, dense.reshape(len(dense), *shape))
        else:
            blocked = memory.look_at_tensor(src, "source")
            memory.store(dst, blocked.reshape(len(blocked), -1))

    return step


@executes(MaskMoveOp)
def decode_maskmove(op: MaskMoveOp) -> Semantics:
    """Copy elements where the mask is not zero. Bytes of the destination that are kept stay unwritten if they were."""
    format = Format.named(op.format)

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, mask, dst = placed
        chosen = operand(memory.load(mask, format), format) != np.zeros((), format.dtype)
        # Bits, not values: a move must not touch the payload of a NaN.
        values = memory.load_bits(src, format)
        out = memory.destination(dst, format.dtype)
        if out is not None:
            np.copyto(out.view(values.dtype), values, where=chosen)
        else:
            memory.store(dst, np.where(chosen, values, memory.load_bits(dst, format)))
        memory.mark_where(dst, chosen, format)

    return step


@executes(ConvertOp)
def decode_convert(op: ConvertOp) -> Semantics:
    """Convert elements that lie at the spacing of the wider format."""
    source, destination, rounding = Format.named(op.src_format), Format.named(op.dst_format), Rounding(op.rounding)
    whole = rounding is Rounding.STOCHASTIC  # random numbers are drawn in the order of all elements

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, dst = placed
        array = memory.load(src, source)
        array = array.reshape(len(array), -1)  # of spread elements, a view without the axis of runs
        out = memory.destination(dst, destination.dtype)
        shared = is_displaced(src, dst, ends_too=False)  # elements lie alike on both sides
        target = np.empty(array.shape, destination.dtype) if out is None or shared else out.reshape(array.shape)
        for (part,), to in (((array,), target),) if whole else blocks((array,), target):
            to[...] = convert(operand(part, source), source, destination, rounding, machine.rng)
        if out is None or shared:
            memory.store(dst, target[..., None] if dst.access.walk else target)

    return step


@executes(MemsetOp)
def decode_memset(op: MemsetOp) -> Semantics:
    """Fill with one value."""
    value = np.array(op.value, f"u{Format.named(op.format).bytes}")

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        machine.memory.store(placed[0], value)

    return step
