"""Executors of the vector unit's element-wise arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    BinaryOp,
    BinaryVSOp,
    BinaryVuVLoopOp,
    BinaryVuVOp,
    BinaryVVOp,
    ElementwiseOp,
    UnaryOp,
)
from tx8ir.sim.memory import Placed
from tx8ir.target.formats import F32, Format
from tx8ir.target.rounding import Rounding

from .ct_peripheral import store_packed
from .functions import BINARY, TRUTH, Float32, narrow, unary, widen
from .registry import Machine, Step, executes


def _elementwise(op: ElementwiseOp, compute: Callable[..., Float32], *constants: Float32) -> Step:
    """A step that gives all sources, as fp32 [tiles, elements], and `constants` to `compute` and stores the result."""
    format, rounding = Format.named(op.format), Rounding(op.rounding)
    in_place = format is F32 and isinstance(compute, np.ufunc)  # nothing to round: NumPy may write the memory itself

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        *sources, destination = placed
        operands = [widen(memory.load(source, format), format) for source in sources]
        out = memory.destination(destination, format) if in_place else None
        if out is not None:
            compute(*operands, *constants, out=out)
        else:
            result = compute(*operands, *constants)
            memory.store(destination, narrow(result, format, rounding, machine.rng))

    return step


@executes(UnaryOp)
def decode_unary(op: UnaryOp) -> Step:
    """`dst[i] = function(src[i])`."""
    return _elementwise(op, unary(op.function, op.alpha, Format.named(op.format)))


@executes(BinaryVVOp)
def decode_binary_vv(op: BinaryVVOp) -> Step:
    """`dst[i] = lhs[i] op rhs[i]`."""
    return _binary(op, _function(op))


@executes(BinaryVSOp)
def decode_binary_vs(op: BinaryVSOp) -> Step:
    """`dst[i] = src[i] op scalar`."""
    format = Format.named(op.format)
    scalar = widen(np.array([op.scalar], f"u{format.bytes}").view(format.dtype), format)
    return _binary(op, _function(op), scalar)


@executes(BinaryVuVOp)
def decode_binary_vuv(op: BinaryVuVOp) -> Step:
    """`dst[i] = src[i] op unit[i % unit_count]`."""
    return _binary(op, _cyclic(op, op.count, op.unit_count))


@executes(BinaryVuVLoopOp)
def decode_binary_vuv_loop(op: BinaryVuVLoopOp) -> Step:
    """`dst[j*n + i] = src[j*n + i] op unit[j*u + i % u]`: VuV for each block j."""
    n, u, function = op.count, op.unit_count, _function(op)
    blocks = op.full_count // n

    def compute(src: Float32, unit: Float32) -> NDArray[Any]:
        tiles = len(src)
        result = function(src.reshape(tiles, blocks, n // u, u), unit.reshape(tiles, blocks, 1, u))
        return result.reshape(tiles, blocks * n)

    return _binary(op, compute)


def _function(op: BinaryOp) -> Callable[..., NDArray[Any]]:
    """The function on fp32 arrays: values, or truth values where the result is packed."""
    return TRUTH[op.function] if op.packed else BINARY[op.function]


def _binary(op: BinaryOp, compute: Callable[..., NDArray[Any]], *constants: Float32) -> Step:
    """As `_elementwise`, of which the results may be packed bits."""
    if not op.packed:
        return _elementwise(op, compute, *constants)
    format = Format.named(op.format)

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        *sources, destination = placed
        operands = [widen(machine.memory.load(source, format), format) for source in sources]
        store_packed(machine.memory, destination, compute(*operands, *constants))

    return step


def _cyclic(op: BinaryOp, count: int, unit_count: int) -> Callable[[Float32, Float32], NDArray[Any]]:
    function = _function(op)
    if count % unit_count:
        return lambda src, unit: function(src, np.take(unit, np.arange(count) % unit_count, axis=1))

    def compute(src: Float32, unit: Float32) -> NDArray[Any]:
        tiles = len(src)
        result = function(src.reshape(tiles, count // unit_count, unit_count), unit[:, None, :])
        return result.reshape(tiles, count)

    return compute
