"""Largest and smallest as IEEE 754-2019 defines them (`maximum`, `minimum`), for numbers and over axes.

A NaN among the numbers gives NaN, and +0 is larger than -0. `numpy.maximum` gives either zero, depending on the order
of the operands and on how it is vectorised; the interpreter and the simulator use these instead.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest", "maximum", "minimum", "smallest"]

Array: TypeAlias = NDArray[Any]

_WORDS = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


def _words(x: Array) -> tuple[Array, Any] | None:
    """The bits of floating numbers as unsigned integers, and the sign bit; None for integers and truth values."""
    if x.dtype.kind in "iub" or x.dtype.itemsize not in _WORDS:
        return None
    word = _WORDS[x.dtype.itemsize]
    return x.view(word), word.type(1 << 8 * word.itemsize - 1)


def maximum(x: Array, y: Array, out: Array | None = None, buffer: Array | None = None) -> Array:
    """The larger of each two numbers of one type; they broadcast.

    Args:
        x: [...].
        y: [...].
        out: where the result goes, which may be an operand.
        buffer: memory of the shape and the type of the result for what comes in between.
    """
    return _pairwise(x, y, out, buffer, np.maximum, negative=False)


def minimum(x: Array, y: Array, out: Array | None = None, buffer: Array | None = None) -> Array:
    """The smaller of each two numbers of one type; see `maximum`."""
    return _pairwise(x, y, out, buffer, np.minimum, negative=True)


def _pairwise(
    x: Array, y: Array, out: Array | None, buffer: Array | None, function: np.ufunc, *, negative: bool
) -> Array:
    """`function`, with the sign that the result must have: that of both operands, or of either if `negative`."""
    words, others = _words(x), _words(y)
    if words is None or others is None:
        return np.asarray(function(x, y, out=out))
    bits, sign = words
    found: Array | None = None
    if out is None or not (np.may_share_memory(out, x) or np.may_share_memory(out, y)):
        found = np.asarray(function(x, y, out=out))
        # Only a zero may have the wrong sign, and only the one that loses may be wrong.
        loses = found.view(bits.dtype)
        if not (loses.size and (_has_positive_zero(loses) if negative else _has_negative_zero(loses))):
            return found
    combine = np.bitwise_or if negative else np.bitwise_and
    signs = np.asarray(combine(bits, others[0], out=None if buffer is None else buffer.view(bits.dtype)))
    if negative:
        signs &= sign
    else:
        signs |= ~sign
    found = np.asarray(function(x, y, out=out)) if found is None else found
    combine(found.view(bits.dtype), signs, out=found.view(bits.dtype))
    return found


def _has_negative_zero(bits: Array) -> bool:
    signed = bits.view(f"i{bits.itemsize}")
    return bool(np.minimum.reduce(signed, axis=None) == np.iinfo(signed.dtype).min)


def _has_positive_zero(bits: Array) -> bool:
    return int(np.count_nonzero(bits)) != bits.size


def largest(x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The largest element over the axes, in whatever order they come."""
    return _extreme(x, np.max, 0, axes, keepdims)


def smallest(x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The smallest element over the axes; see `largest`."""
    return _extreme(x, np.min, 1, axes, keepdims)


def _extreme(x: Array, function: Any, negative: int, axes: tuple[int, ...], keepdims: bool) -> Array:
    """`function` over the axes; a zero has the sign `negative` if there is such a zero, else the other sign."""
    found = np.asarray(function(x, axis=axes, keepdims=keepdims))
    words = _words(x)
    if words is None or not np.any(found == 0):
        return found
    bits, sign = words
    wins = np.any(bits == (sign if negative else sign ^ sign), axis=axes, keepdims=keepdims)
    result = np.where(found == 0, np.zeros((), x.dtype), found)
    np.negative(result, out=result, where=(found == 0) & (wins == bool(negative)))
    return result
