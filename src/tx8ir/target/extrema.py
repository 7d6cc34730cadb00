"""Largest and smallest as IEEE 754-2019 defines them (`maximum`, `minimum`), for numbers and over axes.

A NaN among the numbers gives NaN, and +0 is larger than -0. `numpy.maximum` gives either zero, depending on the order
of the operands and on how it is vectorised; the interpreter and the simulator use these instead.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest", "maximum", "minimum", "smallest"]

Array: TypeAlias = NDArray[Any]

_SMALLEST = {size: (np.dtype(f"i{size}"), -(1 << 8 * size - 1)) for size in (2, 4, 8)}
"""By bytes of a number, the signed integers of its size, and the smallest of them."""
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
    # The two zeros meet only where an operand has a -0; without one any order of +0 and +0 is right.
    if not (_has_negative_zero(x) or _has_negative_zero(y)):
        return np.asarray(function(x, y, out=out))
    bits, sign = cast("tuple[Array, Any]", _words(x))
    others, _ = cast("tuple[Array, Any]", _words(y))
    combine = np.bitwise_or if negative else np.bitwise_and
    signs = np.asarray(combine(bits, others, out=None if buffer is None else buffer.view(bits.dtype)))
    if negative:
        signs &= sign
    else:
        signs |= ~sign
    found = np.asarray(function(x, y, out=out))
    combine(found.view(bits.dtype), signs, out=found.view(bits.dtype))
    return found


def _has_negative_zero(x: Array) -> bool:
    """Whether floating numbers hold a -0, whose bits are the smallest signed integer; integers hold none."""
    if x.dtype.kind in "iub" or x.dtype.itemsize not in _SMALLEST:
        return False
    integer, smallest = _SMALLEST[x.dtype.itemsize]
    return bool(x.size) and bool(np.minimum.reduce(x.view(integer), axis=None) == smallest)


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
