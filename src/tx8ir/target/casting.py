"""What a cast between element types computes: `pd.cast`, `tx8be.Cast` and constants made of numbers.

- To i1: whether the number is not zero.
- To an integer, from a floating format: truncated towards zero, then saturated; NaN gives 0. From an integer: the low
  bits (200 becomes -56 in i8).
- To a floating format: rounded once, to nearest even, by whoever stores the result.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.target.formats import F64, Format
from tx8ir.target.rounding import Rounding, convert

__all__ = ["cast"]

Array: TypeAlias = NDArray[Any]


def cast(x: Array, source: Format, destination: Format) -> Array:
    """`x`, numbers of format `source`, as numbers of another format, not yet rounded to a floating one.

    Floating numbers may come in any floating type, and stay in it; integers become float64. Integers of 4 bits may come
    as bytes, which is how they are computed with.
    """
    if source.is_packed and not source.is_bool:
        x = x.astype(source.dtype)
    if destination.is_float:
        if source.is_float or source.is_bool:
            return x if source.is_float else x.astype(np.float64)
        return x.astype(np.float64) if destination is F64 else _to_odd_double(x)
    if source.is_float:
        return convert(x.astype(np.float64), F64, destination, Rounding.TOWARD_ZERO)
    return convert(x, source, destination)


_EXACT = 1 << 53
"""Integers of up to this magnitude are double-precision numbers."""


def _to_odd_double(x: Array) -> NDArray[np.float64]:
    """Integers as float64, those that it may not hold rounded to odd at 41 bits or more, for one rounding to fewer."""
    result = x.astype(np.float64)
    if x.dtype.itemsize == 8:
        large = np.asarray(np.abs(result) >= _EXACT)
        whole = x[large]
        sticky = (whole & 2047 != 0).astype(x.dtype) << 11
        result[large] = ((whole & ~x.dtype.type(2047)) | sticky).astype(np.float64)
    return result
