"""Executors of the vector unit's element-wise arithmetic.

What NumPy does in one pass is one call for all tiles. What takes several is done in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

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
from tx8ir.sim.memory.memory import Placed
from tx8ir.target.formats import F16, F32, F64, Format
from tx8ir.target.rounding import Rounding, convert
from tx8ir.target.vector_functions import Kernel, simple, vector_function

from .blocks import blocks, is_displaced
from .ct_peripheral import store_packed
from .directed import BINARY_IN_DOUBLE, DoubleFunction, unary_in_double
from .functions import EXTREMA, TRUTH, Float32, binary, narrow, operand, widen
from .registry import Machine, Semantics, executes

Array = NDArray[Any]
Fold: TypeAlias = Callable[[tuple[Array, ...], Array], Iterator[tuple[tuple[Array, ...], Array]]]
"""Cuts and reshapes [tiles, elements] of sources and result so that they broadcast; the results are views."""


def _straight(sources: tuple[Array, ...], result: Array) -> Iterator[tuple[tuple[Array, ...], Array]]:
    yield sources, result


def _elementwise(
    op: ElementwiseOp,
    compute: Kernel,
    *constants: Float32,
    passes: bool,
    fold: Fold = _straight,
    direct: bool = False,
) -> Semantics:
    """A step that gives all sources as fp32, and `constants`, to `compute` and stores the result, to nearest even.

    Args:
        op: the instruction.
        compute: the function.
        constants: operands after the sources, [1, 1].
        passes: whether `compute` takes several passes over its operands.
        fold: how sources and result are laid side by side.
        direct: whether `compute` takes and gives the format itself, as it always does for f32.
    """
    format = Format.named(op.format)
    direct = direct or format is F32  # nothing to round: NumPy may write the memory itself
    whole = direct and not passes
    in_parts = not whole or fold is not _straight

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        scratch = memory.scratch
        *operands, destination = placed
        sources = tuple([memory.load(p, format) for p in operands])
        out = memory.destination(destination, format.dtype)
        if out is not None and in_parts and any(is_displaced(p, destination) for p in operands):
            out = None  # a part would overwrite what the next one reads
        result = (
            np.empty((len(destination.tiles), destination.access.nbytes // format.bytes), format.dtype)
            if out is None
            else out
        )
        for folded, target in fold(sources, result):
            for parts, to in ((folded, target),) if whole else blocks(folded, target):
                if direct:
                    compute((*parts, *constants), to, scratch)
                    continue
                wide = tuple([widen(part, format) for part in parts])
                values = scratch.take("result", to.shape, F32.dtype)
                compute((*wide, *constants), values, scratch)
                to[...] = narrow(values, format)
        if out is None:
            memory.store(destination, result)

    return step


def _directed(
    op: ElementwiseOp, compute: DoubleFunction, *constants: NDArray[np.float64], fold: Fold = _straight
) -> Semantics:
    """A step as `_elementwise`, for the modes that are not to nearest: in double precision, then rounded once."""
    format, rounding = Format.named(op.format), Rounding(op.rounding)
    whole = rounding is Rounding.STOCHASTIC  # random numbers are drawn in the order of all

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        *operands, destination = placed
        sources = tuple([operand(memory.load(p, format), format) for p in operands])
        count = destination.access.nbytes // format.bytes
        result = np.empty((len(destination.tiles), count), format.dtype)
        for folded, target in fold(sources, result):
            for parts, to in ((folded, target),) if whole else blocks(folded, target):
                doubles = compute(tuple([part.astype(np.float64) for part in (*parts, *constants)]), rounding)
                to[...] = convert(np.broadcast_to(doubles, to.shape), F64, format, rounding, machine.rng)
        memory.store(destination, result)

    return step


@executes(UnaryOp)
def decode_unary(op: UnaryOp) -> Semantics:
    """`dst[i] = function(src[i])`."""
    function, format = vector_function(op.function), Format.named(op.format)
    compute = unary_in_double(op.function, op.alpha)
    if compute is not None and op.rounding != Rounding.NEAREST_EVEN:
        return _directed(op, compute)
    if format is F16 and function.half is not None and op.rounding == Rounding.NEAREST_EVEN:
        return _elementwise(op, simple(function.half), passes=False, direct=True)
    return _elementwise(op, function.kernel(format, op.alpha), passes=not function.one_pass)


@executes(BinaryVVOp)
def decode_binary_vv(op: BinaryVVOp) -> Semantics:
    """`dst[i] = lhs[i] op rhs[i]`."""
    return _binary(op)


@executes(BinaryVSOp)
def decode_binary_vs(op: BinaryVSOp) -> Semantics:
    """`dst[i] = src[i] op scalar`."""
    format = Format.named(op.format)
    scalar = widen(np.array([[op.scalar]], f"u{format.bytes}").view(format.dtype), format)
    return _binary(op, scalar)


@executes(BinaryVuVOp)
def decode_binary_vuv(op: BinaryVuVOp) -> Semantics:
    """`dst[i] = src[i] op unit[i % unit_count]`."""
    unit_count = op.unit_count
    repeats, rest = divmod(op.count, unit_count)
    full = repeats * unit_count

    def fold(sources: tuple[Array, ...], result: Array) -> Iterator[tuple[tuple[Array, ...], Array]]:
        src, unit = sources
        shape = (len(src), repeats, unit_count)
        yield (src[:, :full].reshape(shape), unit[:, None, :]), result[:, :full].reshape(shape)
        if rest:
            yield (src[:, full:], unit[:, :rest]), result[:, full:]

    return _binary(op, fold=fold)


@executes(BinaryVuVLoopOp)
def decode_binary_vuv_loop(op: BinaryVuVLoopOp) -> Semantics:
    """`dst[j*n + i] = src[j*n + i] op unit[j*u + i % u]`: VuV for each block j."""
    n, u = op.count, op.unit_count
    blocks = op.full_count // n

    def fold(sources: tuple[Array, ...], result: Array) -> Iterator[tuple[tuple[Array, ...], Array]]:
        src, unit = sources
        shape = (len(src), blocks, n // u, u)
        yield (src.reshape(shape), unit.reshape(len(src), blocks, 1, u)), result.reshape(shape)

    return _binary(op, fold=fold)


def _binary(op: BinaryOp, *constants: Float32, fold: Fold = _straight) -> Semantics:
    """As `_elementwise`, of which the results may be packed bits."""
    function, format = op.function, Format.named(op.format)
    if function in BINARY_IN_DOUBLE and op.rounding != Rounding.NEAREST_EVEN:
        wide = [constant.astype(np.float64) for constant in constants]
        return _directed(op, BINARY_IN_DOUBLE[function], *wide, fold=fold)
    if not op.packed:
        return _elementwise(op, binary(function, format), *constants, passes=function in EXTREMA, fold=fold)
    truth = TRUTH[function]

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        *operands, destination = placed
        sources = tuple([widen(memory.load(p, format), format) for p in operands])
        bits = memory.scratch.take("truth", sources[0].shape, np.dtype(np.bool_))
        for folded, target in fold(sources, bits):
            truth(*folded, *constants, out=target)
        store_packed(memory, destination, bits)

    return step
