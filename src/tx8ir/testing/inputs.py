"""Inputs for a program, drawn from a seed: ordinary numbers, and those that break careless rewrites.

The special numbers of a floating-point format are zeros of both signs, the smallest subnormal and normal numbers, the
largest finite ones, infinities and NaN; those of an integer format are 0, 1, -1 and both ends of its range.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import IrError, Program, RankedTensor
from tx8ir.dialects import pd
from tx8ir.target.formats import Format

Array: TypeAlias = NDArray[Any]
Flavour: TypeAlias = Literal["ordinary", "mixed", "special"]
"""How numbers are drawn: "ordinary" small finite numbers, "special" numbers of the format, or half and half."""

FLAVOURS: tuple[Flavour, ...] = ("ordinary", "mixed", "special")


def special_numbers(format: Format) -> Array:
    """The numbers of a format at which functions stop being smooth, in the format's dtype."""
    if format.is_bool:
        return np.array([False, True])
    if format.is_integer:
        low = -(1 << (format.bits - 1)) if format.is_signed else 0
        high = (1 << (format.bits - format.is_signed)) - 1
        numbers = [0, 1, 2, high, low, *([-1] if format.is_signed else [])]
        return np.array(numbers, np.int64 if format.is_signed else np.uint64).astype(format.dtype)
    bias = (1 << (format.exponent_bits - 1)) - 1
    normal = math.ldexp(1.0, 1 - bias)
    subnormal = math.ldexp(normal, -format.mantissa_bits)
    largest = math.ldexp(2.0 - math.ldexp(1.0, -format.mantissa_bits), bias)
    positive = [0.0, subnormal, normal, 1.0, largest, math.inf]
    return np.array([*positive, *(-x for x in positive), math.nan], np.float64).astype(format.dtype)


def draw_array(rng: np.random.Generator, shape: Sequence[int], format: Format, flavour: Flavour) -> Array:
    """An array of that shape and format's dtype."""
    special = rng.choice(special_numbers(format), tuple(shape))
    if flavour == "special" or format.is_bool:
        return np.asarray(special)
    if format.is_float:
        # Quarters are exact in every format; the others round.
        quarters = rng.integers(-8, 9, shape) / 4
        ordinary = np.where(rng.random(shape) < 0.5, quarters, rng.standard_normal(shape)).astype(format.dtype)
    else:
        ordinary = rng.integers(-3 if format.is_signed else 0, 4, shape).astype(format.dtype)
    return ordinary if flavour == "ordinary" else np.where(rng.random(shape) < 0.5, special, ordinary)


def draw_inputs(program: Program, seed: int = 0, flavour: Flavour = "ordinary") -> dict[str, Array]:
    """An array for every input of `program`, by name; dynamic extents become 2.

    Raises:
        IrError: an input that is no tensor.
    """
    drawn: dict[str, Array] = {}
    feeds = {op.feed_name: op.out.type for op in program.main.walk() if isinstance(op, pd.FeedOp)}
    for name, type_ in (program.inputs | feeds).items():
        if not isinstance(type_, RankedTensor):
            raise IrError(f"input {name!r} has type {type_}; inputs are drawn for tensors only")
        shape = tuple(2 if extent < 0 else extent for extent in type_.shape)
        # Of the name, so that an input keeps its numbers when others come and go.
        rng = np.random.default_rng([seed, FLAVOURS.index(flavour), zlib.crc32(name.encode())])
        drawn[name] = draw_array(rng, shape, type_.element.format, flavour)
    return drawn
