"""Arithmetic on floating formats whose result is rounded once, in any mode.

Exact-enough results in double precision, of operands that fp32 holds (as it holds those of all narrower formats): a
conversion of them to a format (`rounding.convert`) is the one rounding of the exact number, whatever the mode.

- A product has at most 48 significant bits, and double precision has all of it.
- A sum may need 277 bits. Its rounding error is a double as well (TwoSum: Knuth, 1969); where that is not zero, the sum
  is rounded to odd, which keeps it off every number of the format and every midpoint (Boldo and Melquiond, 2008).
- A quotient or a square root that is not a number of a format, nor a midpoint of two, is further from all of these than
  double precision is wide: with m of 25 bits, x - m*y and x - m*m are multiples of more than 2**-53 of x.

To nearest even, fp32 arithmetic rounded again to a narrower format is rounded once as well, as long as fp32 has twice
the digits and two more (Figueroa, 1995). It does not below its least normal number, where it keeps fewer digits: there
`multiply_nearest` and `divide_nearest` take the way by double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.target.formats import BF16, F32, TF32, Format
from tx8ir.target.rounding import Rounding, single_to_odd

__all__ = ["add", "divide_nearest", "exp", "leaky_relu", "log", "multiply_nearest", "settle_subnormal", "subtract"]

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]


def exp(x: Array) -> Array:
    """e**x, the same bits for the same number wherever it lies.

    NumPy has vector code for rising addresses and calls the C library for falling ones, which rounds differently.
    """
    return np.exp(np.asarray(x, order="C"))


def log(x: Array) -> Array:
    """ln(x), the same bits for the same number wherever it lies; see `exp`."""
    return np.log(np.asarray(x, order="C"))


def add(x: Doubles, y: Doubles, rounding: Rounding) -> Doubles:
    """The sum of fp32 numbers, for one rounding in this mode to fp32 or a narrower format; they broadcast.

    An exact zero of numbers that are not both +0 is -0 when rounding down, as IEEE 754 says.
    """
    total = np.asarray(x + y)
    part = total - x
    error = (x - (total - part)) + (y - part)  # NaN where the sum is not finite
    bits = total.view(np.int64)
    inexact = (error < 0) | (error > 0)
    inexact &= bits & 1 == 0
    if inexact.any():
        np.add(bits, np.where(np.signbit(error) == np.signbit(total), 1, -1), out=bits, where=inexact)
    if rounding is Rounding.DOWNWARD:
        np.copyto(total, -0.0, where=(total == 0) & (np.signbit(x) | np.signbit(y)))
    return total


def subtract(x: Doubles, y: Doubles, rounding: Rounding) -> Doubles:
    """The difference of fp32 numbers; see `add`."""
    return add(x, -y, rounding)


def multiply_nearest(x: Array, y: Array, format: Format) -> Array:
    """The product of numbers of a format, in their type, such that rounding to nearest even rounds it once."""
    return settle_subnormal(np.asarray(x * y), (x, y), np.multiply, format)


def divide_nearest(x: Array, y: Array, format: Format) -> Array:
    """The quotient of numbers of a format; see `multiply_nearest`."""
    return settle_subnormal(np.asarray(x / y), (x, y), np.divide, format)


def leaky_relu(x: Array, slope: float, format: Format) -> Array:
    """X where it is not negative, else slope * x, of numbers of a format; see `multiply_nearest`.

    The slope is an fp32 number on the chip, so that a product with one of 16 bits has more digits than fp32.
    """
    if x.dtype != np.float32:
        return np.where(x >= 0, x, x * x.dtype.type(slope))
    factor = np.float32(slope)
    product = x * factor if format is F32 else single_to_odd(x.astype(np.float64) * np.float64(factor))
    return np.where(x >= 0, x, product)


_SMALL = np.uint32(0x00FFFFFF)
"""Below the least normal number of fp32, for bits shifted left by one, less one; zero is beyond it."""


def settle_subnormal(
    found: Array, operands: tuple[Array, ...], function: Callable[..., Array], format: Format
) -> Array:
    """`found`, fp32 results about to be rounded to nearest even to `format`, in place without fp32's own rounding.

    Where they are below the normal numbers, `function` is evaluated in double precision and rounded to odd. Operands
    broadcast to the results; other types than fp32, and formats that need nothing, are left alone.
    """
    if format not in (BF16, TF32) or found.dtype != np.float32:
        return found
    size = np.asarray(found.view(np.uint32) << np.uint32(1))  # without the sign
    size -= np.uint32(1)  # zero becomes the largest
    if not size.size or np.minimum.reduce(size, axis=None) > _SMALL:
        return found
    small = size <= _SMALL
    wide = [np.broadcast_to(x, found.shape)[small].astype(np.float64) for x in operands]
    found[small] = single_to_odd(function(*wide))
    return found
