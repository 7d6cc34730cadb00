"""The numbers that two programs are compared on: all, where there are few enough, else the most telling ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target.formats import TF32, Format
from tx8ir.testing.inputs import paired_numbers, special_numbers

Array: TypeAlias = NDArray[Any]

ALL: Final = 1 << 17
"""Up to so many inputs, all are taken: one of 16 bits, with a truth value too, or two of 8 bits."""
SOME: Final = 90_000
"""How many inputs are taken otherwise, about; of three and more inputs as many again, which are drawn."""
SET: Final = 300
"""How many numbers of a format two inputs run through."""


@attrs.frozen(eq=False)
class Grid:
    """Inputs to compare programs on.

    Attributes:
        arrays: for each input as many numbers, of its format's dtype.
        is_complete: whether these are all that there are.
    """

    arrays: tuple[Array, ...]
    is_complete: bool

    @property
    def count(self) -> int:
        """How many."""
        return self.arrays[0].size if self.arrays else 1


@cache
def grid(formats: tuple[Format, ...]) -> Grid:
    """Inputs of these formats, the same every time."""
    if math.prod(_count(f) for f in formats) <= ALL:
        return Grid(_product([every_number(f) for f in formats]), is_complete=True)
    if len(formats) == 1:
        return Grid((_many_numbers(formats[0]),), is_complete=False)
    sets = [telling_numbers(f) for f in formats]
    longest = max(s.size for s in sets)
    while math.prod(min(s.size, longest) for s in sets) > SOME:
        longest -= 1
    arrays = _product([s[:longest] for s in sets])
    if any(s.size > longest for s in sets):
        rng = np.random.default_rng(len(formats))
        arrays = tuple(np.concatenate([a, rng.choice(s, SOME)]) for a, s in zip(arrays, sets, strict=True))
    return Grid(arrays, is_complete=False)


def _product(sets: Sequence[Array]) -> tuple[Array, ...]:
    return tuple(a.reshape(-1) for a in np.meshgrid(*sets, indexing="ij")) if sets else ()


def _count(format: Format) -> int:
    return 2 if format.is_bool else 1 << (19 if format is TF32 else format.bits)


def every_number(format: Format) -> Array:
    """All numbers of a format, in the order of their bits."""
    if format.is_bool:
        return np.array([False, True])
    if format.is_packed:
        low = -8 if format.is_signed else 0
        return np.arange(low, low + 16, dtype=np.int8).astype(format.dtype)
    return _of_bits(np.arange(_count(format), dtype=np.uint64), format)


def _of_bits(bits: Array, format: Format) -> Array:
    """Numbers of a format by their bits; those of tf32 are its 19."""
    word = np.dtype(f"u{format.dtype.itemsize}")
    return (bits << np.uint64(13) if format is TF32 else bits).astype(word).view(format.dtype)


def _bits(numbers: Array, format: Format) -> Array:
    bits = np.ascontiguousarray(numbers).view(f"u{format.dtype.itemsize}").astype(np.uint64)
    return bits >> np.uint64(13) if format is TF32 else bits


def _many_numbers(format: Format) -> Array:
    """65,536 numbers whose bits begin in every way, and the telling ones."""
    lowest = np.uint64(format.bits - 16)
    return np.concatenate([telling_numbers(format), _of_bits(np.arange(1 << 16, dtype=np.uint64) << lowest, format)])


@cache
def telling_numbers(format: Format) -> Array:
    """300 numbers of a format, or all: where functions stop being smooth, rounding is decided, or integers wrap."""
    if _count(format) <= 256:
        return every_number(format)
    first = np.concatenate([paired_numbers(format, many=True), special_numbers(format)])
    more = _telling_floats(format) if format.is_float else _telling_integers(format)
    # Drawn by their bits, so that all magnitudes are as likely.
    rng = np.random.default_rng(format.bits)
    drawn = _of_bits(rng.integers(0, _count(format) - 1, 4 * SET, np.uint64, endpoint=True), format)
    bits = [int(b) for b in _bits(np.concatenate([first, more, drawn]), format)]
    return _of_bits(np.array(list(dict.fromkeys(bits))[:SET], np.uint64), format)


def _telling_floats(format: Format) -> Array:
    digits, bias = format.mantissa_bits, (1 << (format.exponent_bits - 1)) - 1
    ulp = math.ldexp(1.0, -digits)
    whole = math.ldexp(1.0, digits)  # from here on, all numbers are whole
    magnitudes: list[float] = [1 + ulp, 1 - ulp / 2, 1 + 2 * ulp, 1 - ulp, 2 - ulp, 2 + 2 * ulp]
    magnitudes += [1.5, 2.5, 3.5, 0.25, 0.75, 1 / 3, 0.1, 10.0, 4.0, 5.0, 6.0, 7.0, 9.0, math.pi, 100.0]
    magnitudes += [ulp, ulp / 2, ulp * 0.75, whole, whole + 1, whole - 1, whole / 2, whole / 2 + 0.5, 2 * whole]
    magnitudes += [k + 0.5 for k in range(3, 8)]
    edges = np.array([0.0, math.ldexp(1.0, 1 - bias), math.ldexp(1.0, bias)]).astype(format.dtype)
    steps = [b + d for b in _bits(edges, format).astype(np.int64) for d in (-2, -1, 1, 2) if b + d >= 0]
    near = [float(x) for x in _of_bits(np.array(steps, np.uint64), format) if np.isfinite(x)]
    least, most = 1 - bias - digits, bias
    step = max(1, (most - least) // 40)
    powers = [math.ldexp(1.0, k) for k in (*range(-4, 5), *range(least, most + 1, step))]
    return _signed([*magnitudes, *near, *powers]).astype(format.dtype)


def _signed(magnitudes: Iterable[float]) -> Array:
    return np.array(list(itertools.chain.from_iterable((x, -x) for x in magnitudes)), np.float64)


def _telling_integers(format: Format) -> Array:
    around = [(1 << k) + d for k in range(format.bits) for d in (0, 1, -1)]
    mask = (1 << format.bits) - 1
    bits = [n & mask for k in around for n in (k, -k)]
    return _of_bits(np.array(bits, np.uint64), format)
