"""Executors of the vector unit's peripheral functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import (
    ArgOp,
    BilinearOp,
    Bit2FpOp,
    BitLogicOp,
    CountOp,
    ElemMaskOp,
    Lut16Op,
    Lut32Op,
    RandGenOp,
)
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.formats import F32, I1, UI8, Format
from tx8ir.target.rounding import Rounding

from .functions import Float32, narrow, operand, widen
from .registry import Machine, Semantics, executes

Array = NDArray[Any]
Words = NDArray[np.uint64]

_BYTE = np.dtype(np.uint8)


def load_packed(memory: Memory, placed: Placed, count: int) -> NDArray[np.uint8]:
    """Packed bits as 0 and 1 in bytes [tiles, count]."""
    return np.unpackbits(memory.load(placed, UI8), axis=1, count=count, bitorder="little")


def store_packed(memory: Memory, placed: Placed, bits: Array) -> None:
    """Write truth values [tiles, count] as packed bits, the unused ones of the last byte as zero."""
    memory.store(placed, np.packbits(bits, axis=1, bitorder="little"))


_BITS: dict[str, Callable[..., Array]] = {
    "not": np.bitwise_not,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@executes(BitLogicOp)
def decode_bit_logic(op: BitLogicOp) -> Semantics:
    """Logic on packed bits; the unused ones of the last byte become zero."""
    function, used = _BITS[op.function], op.count % 8

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        *sources, dst = placed
        memory = machine.memory
        bits = function(*[memory.load(s, UI8) for s in sources])
        if used:
            bits[:, -1] &= (1 << used) - 1
        memory.store(dst, bits)

    return step


@executes(Bit2FpOp)
def decode_bit2fp(op: Bit2FpOp) -> Semantics:
    """Packed bits to 1.0 and 0.0."""
    format, count = Format.named(op.format), op.count

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        machine.memory.store(dst, load_packed(machine.memory, src, count).astype(format.dtype))

    return step


@executes(CountOp)
def decode_count(op: CountOp) -> Semantics:
    """Count what is not zero."""
    format, count = Format.named(op.format), op.count

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        memory = machine.memory
        if format is I1:
            nonzero = load_packed(memory, src, count)
        else:
            nonzero = operand(memory.load(src, format), format) != np.zeros((), format.dtype)
        memory.store(dst, nonzero.sum(axis=1, keepdims=True, dtype=np.int32))

    return step


@executes(ArgOp)
def decode_arg(op: ArgOp) -> Semantics:
    """Find the first extreme; NumPy's own order, in which a NaN is one."""
    format = Format.named(op.format)
    find = np.argmax if op.function == "argmax" else np.argmin

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = machine.memory.load(src, format)
        x = widen(x, format) if format.is_float else x
        # Row by row: of rows that do not lie one after the other NumPy would make a copy.
        machine.memory.store(dst, np.array([[find(row)] for row in x], np.int32))

    return step


@executes(Lut16Op)
@executes(Lut32Op)
def decode_lut(op: Lut16Op | Lut32Op) -> Semantics:
    """Look every index up."""
    word, entries = Format.named(f"ui{8 * op.word}"), op.entries

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        memory = machine.memory
        src, table, dst = placed
        wanted = memory.load(src, word)
        outside = wanted >= entries
        if outside.any():
            position, i = (int(v) for v in np.unravel_index(int(outside.argmax()), outside.shape))
            raise Fault(
                f"index {i} of tile {src.tiles[position]} is {wanted[position, i]}; the table has entries "
                f"0..{entries - 1}",
                tile=src.tiles[position],
                addresses=src.interval(position),
            )
        memory.store(dst, np.take_along_axis(memory.load(table, word), wanted.astype(np.int64), axis=1))

    return step


# -- random numbers ---------------------------------------------------------------------------------------------------

_GAMMA, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_COLUMNS = 1 << 14
"""Numbers of a tile that are made at a time."""


def _mix(z: Words, shifted: Words) -> Words:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014), in place; `shifted` is room of the same shape."""
    for shift, factor in ((30, _MIX1), (27, _MIX2)):
        np.right_shift(z, np.uint64(shift), out=shifted)
        z ^= shifted
        z *= factor
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z


def random_words(seed: int, tiles: tuple[int, ...], count: int, start: int = 0) -> Words:
    """64 random bits for each tile and `count` elements from `start` on [tiles, count]; see `RandGenOp`."""
    one = np.array([seed], np.uint64)
    first = _mix(one, np.empty_like(one)) + np.array(tiles, np.uint64)
    first = _mix(first, np.empty_like(first))
    steps = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    steps *= _GAMMA
    words = first[:, None] + steps
    return _mix(words, np.empty_like(words))


def _pieces(seed: int, tiles: tuple[int, ...], count: int) -> Iterator[tuple[slice, slice, Words]]:
    """The words of all tiles in pieces that stay in the cache: (tiles, elements, words)."""
    rows = max(1, _COLUMNS * 2 // count)
    for tile in range(0, len(tiles), rows):
        for start in range(0, count, _COLUMNS):
            columns = min(_COLUMNS, count - start)
            words = random_words(seed, tiles[tile : tile + rows], columns, start)
            yield slice(tile, tile + rows), slice(start, start + columns), words


def _uniform(words: Words, bits: int) -> Float32:
    """In [0, 1), multiples of 2^-bits with at most 24 bits: exact in fp32."""
    top = (words >> np.uint64(64 - bits)).astype(np.int32).astype(np.float32)
    top *= np.float32(2.0**-bits)
    return top


@executes(RandGenOp)
def decode_rand_gen(op: RandGenOp) -> Semantics:
    """Fill with random numbers."""
    format, seed, count = Format.named(op.format), op.seed, op.count

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        (dst,) = placed
        dtype = format.dtype if format.is_float else np.dtype(f"u{format.bytes}")
        out = machine.memory.destination(dst, dtype)
        target = np.empty((len(dst.tiles), count), dtype) if out is None else out
        for tiles, columns, words in _pieces(seed, dst.tiles, count):
            if format.is_float:
                target[tiles, columns] = narrow(_uniform(words, format.mantissa_bits + 1), format)
            else:
                target[tiles, columns] = words >> np.uint64(64 - format.bits)
        if out is None:
            machine.memory.store(dst, target)

    return step


@executes(ElemMaskOp)
def decode_elem_mask(op: ElemMaskOp) -> Semantics:
    """Drop elements at random and scale the others."""
    format, rounding = Format.named(op.format), Rounding(op.rounding)
    seed, count, scale = op.seed, op.count, np.float32(op.scale)
    # r >= probability in fp32, as a bound on the top bits of which r is made.
    bits = F32.mantissa_bits + 1
    least = np.uint64(math.ceil(float(np.float32(op.probability)) * (1 << bits)))

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        memory, rng = machine.memory, machine.rng
        x = memory.load(src, format)
        result = memory.scratch.take("result", x.shape, F32.dtype)
        for tiles, columns, words in _pieces(seed, dst.tiles, count):
            piece = result[tiles, columns]
            np.multiply(widen(x[tiles, columns], format), scale, out=piece)
            words >>= np.uint64(64 - bits)
            # All bits or none of each, without a branch: which ones stay is random.
            piece.view(np.int32)[...] &= -(words >= least).astype(np.int32)
        memory.store(dst, narrow(result, format, rounding, rng))

    return step


# -- resampling -------------------------------------------------------------------------------------------------------


def _samples(extent: int, out_extent: int, coordinates: str) -> tuple[NDArray[np.intp], NDArray[np.intp], Float32]:
    """For each output row: the two rows it lies between and its distance from the first; see `BilinearOp`."""
    y = np.arange(out_extent)
    if coordinates == "half_pixel":
        above, below = (2 * y + 1) * extent - out_extent, 2 * out_extent
    elif coordinates == "align_corners":
        above, below = y * (extent - 1), max(out_extent - 1, 1)
    else:
        above, below = y * extent, out_extent
    first, rest = np.divmod(np.clip(above, 0, (extent - 1) * below), below)
    return first, np.minimum(first + 1, extent - 1), (rest / below).astype(np.float32)


def _combine(a: Float32, b: Float32, fraction: Float32) -> Float32:
    """RowStarts between a and b; where the fraction is 0, a itself, whatever b is."""
    return np.where(fraction == 0, a, a + fraction * (b - a))


@executes(BilinearOp)
def decode_bilinear(op: BilinearOp) -> Semantics:
    """Combine two rows, then two columns."""
    format = Format.named(op.format)
    top, bottom, down = _samples(op.shape[1], op.extents[0], op.coordinates)
    left, right, across = _samples(op.shape[2], op.extents[1], op.coordinates)
    down, across = down[:, None, None], across[:, None]

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst = placed
        x = widen(machine.memory.load_tensor(src), format)
        rows = _combine(x[:, :, top], x[:, :, bottom], down)
        result = _combine(rows[:, :, :, left], rows[:, :, :, right], across)
        machine.memory.store_tensor(dst, narrow(result, format))

    return step
