"""Conversion between number formats, bit exact, in the five rounding modes of the TX8.

Rules (machine facts [P] and [B], choices [D]):

- A conversion rounds once. Overflow follows IEEE 754: nearest goes to infinity; a directed mode goes to infinity on
  its own side and stops at the largest finite value on the other; stochastic goes to infinity [D].
- Subnormals are kept, in and out. A NaN stays a NaN; which one is not specified.
- Conversion of a floating number to an integer rounds, then saturates; a NaN gives 0 [D]. Integer to integer keeps the
  low bits (200 becomes -56 in i8), as in C, NumPy and Paddle [D].
- To i1 every value but zero is True (a NaN too); from i1 come 0 and 1.
- tf32 is float32 with the low 13 mantissa bits zero, and conversion to tf32 makes them so.
- Stochastic rounding goes up with probability equal to the fraction lost, by the caller's random generator, so that
  a seed reproduces a run [D].
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from tx8ir.target.formats import F16, F32, F64, I32, TF32, Format

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rounding", "convert", "single_to_odd"]


class Rounding(enum.IntEnum):
    """Rounding modes; the values are the hardware's codes [P]."""

    NEAREST_EVEN = 0
    TOWARD_ZERO = 1
    UPWARD = 2
    DOWNWARD = 3
    STOCHASTIC = 4


def convert(
    array: NDArray[Any],
    source: Format,
    destination: Format,
    rounding: Rounding = Rounding.NEAREST_EVEN,
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    """Convert an array of format `source` (type `source.dtype`) to `destination` (type `destination.dtype`).

    Returns a new array of the same shape. `rng` is needed by stochastic rounding and used by nothing else; one number
    is drawn per element, in C order, when the conversion can be inexact.

    Raises TypeError if the array has another type, ValueError if stochastic rounding has no `rng`.
    """
    if array.dtype != source.dtype:
        raise TypeError(f"expected an array of {source.dtype} for format {source.name}, got {array.dtype}")
    if rounding == Rounding.STOCHASTIC and rng is None:
        raise ValueError("stochastic rounding needs rng=, a numpy.random.Generator (seeded, so that the run repeats)")
    values = array if array.ndim else array.reshape(1)  # NumPy's functions turn rank 0 into scalars
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _convert(values, source, destination, Rounding(rounding), rng).reshape(array.shape)


def _convert(
    array: NDArray[Any], source: Format, destination: Format, rounding: Rounding, rng: np.random.Generator | None
) -> NDArray[Any]:
    if destination.is_bool:
        return array != np.zeros((), array.dtype)
    # The float32 array that carries tf32 may hold more than tf32 does.
    if source.fits_in(destination) and not source is destination is TF32:
        return array.astype(destination.dtype)
    if destination.is_integer:
        if source.is_float:
            return _saturate_float(array, source, destination, rounding, rng)
        return _wrap(array, destination)
    if rounding is Rounding.NEAREST_EVEN:
        fast = _nearest_even(array, source, destination)
        if fast is not None:
            return fast
    if source.is_float:
        wide = array.astype(np.float64)
        return _fit(_round_float(wide, destination, rounding, rng), np.isfinite(wide), destination, rounding)
    return _fit(_round_integer(array, destination, rounding, rng), None, destination, rounding)


def _nearest_even(array: NDArray[Any], source: Format, destination: Format) -> NDArray[Any] | None:
    """Round to nearest even by a library cast or on the bits where that rounds once, else return None."""
    # NumPy rounds once from f64, f32 and 64-bit integers to f32, and from f64 and f32 to f16; integers and bf16 go to
    # f16 through f32, which is exact up to f16's overflow.
    if destination in (F16, F32, F64):
        return array.astype(destination.dtype)
    if source is F64:
        array = single_to_odd(array)
        return _to_tf32(array) if destination is TF32 else array.astype(destination.dtype)
    # ml_dtypes takes every other type to bf16 through f32, which would round twice if f32 could not hold it.
    if source is I32:
        single = _to_odd(array)
    elif source.fits_in(F32):
        single = array.astype(np.float32, copy=False)
    else:
        return None
    return _to_tf32(single) if destination is TF32 else single.astype(destination.dtype)


def _to_odd(array: NDArray[np.int32]) -> NDArray[np.float32]:
    """Integers as float32, so that rounding the result to at most 22 bits is rounding them.

    Where float32 may not hold one, its lowest 7 bits become one bit above them that says whether they were all zero:
    rounding to odd (Boldo and Melquiond, 2008).
    """
    single = array.astype(np.float32)
    if array.size and max(int(array.max()), -int(array.min())) > 1 << 24:
        large = np.abs(single) >= np.float32(1 << 24)
        whole = array[large]
        sticky = ((whole & 127) != 0).astype(np.int32) << 7
        single[large] = ((whole & ~127) | sticky).astype(np.float32)
    return single


def single_to_odd(array: NDArray[np.float64]) -> NDArray[np.float32]:
    """Double precision as float32, rounded to odd: rounding the result to at most 22 bits is rounding `array`."""
    array = np.asarray(array, np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = np.asarray(array.astype(np.float32))
        back = single.astype(np.float64)
        inexact = back != array
        if inexact.any():
            bits = single.view(np.uint32)
            bits -= np.abs(back) > np.abs(array)  # toward zero, from infinity too
            bits |= inexact
    return single


def _to_tf32(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round float32 to nearest even at 10 mantissa bits."""
    bits = array.view(np.uint32)
    rounded = bits >> np.uint32(13)
    rounded &= np.uint32(1)
    rounded += np.uint32(0x0FFF)
    rounded += bits
    rounded &= np.uint32(0xFFFFE000)
    nan = np.isnan(array)
    if nan.any():
        # A NaN must neither carry into the exponent nor lose its only bits: keep its upper payload and make it quiet.
        rounded[nan] = (bits[nan] & np.uint32(0xFFFFE000)) | np.uint32(0x00400000)
    return rounded.view(np.float32)


def _round_float(
    x: NDArray[np.float64], destination: Format, rounding: Rounding, rng: np.random.Generator | None
) -> NDArray[np.float64]:
    """Round to the destination's precision, subnormals included, with no upper bound on the exponent."""
    least_normal = 2 - (1 << (destination.exponent_bits - 1))
    finite = np.isfinite(x)
    leading = np.frexp(np.where(finite, x, 0.0))[1] - 1  # exponent of the leading bit
    ulp = np.maximum(leading, least_normal) - destination.mantissa_bits
    # Scaled so that one unit is one ulp of the destination: exact, as is the way back.
    return np.ldexp(_round_to_integer(np.ldexp(x, -ulp), rounding, rng), ulp)


def _round_to_integer(x: NDArray[Any], rounding: Rounding, rng: np.random.Generator | None) -> NDArray[Any]:
    """Round floating values to integral ones, in their own type; NaN, infinities and the sign of zero stay."""
    match rounding:
        case Rounding.NEAREST_EVEN:
            return np.rint(x)
        case Rounding.TOWARD_ZERO:
            return np.trunc(x)
        case Rounding.UPWARD:
            return np.ceil(x)
        case Rounding.DOWNWARD:
            return np.floor(x)
        case Rounding.STOCHASTIC:
            below = np.floor(x)
            up = _draw(x.shape, rng) < x - below  # False for infinities, whose difference is NaN
            return np.copysign(np.abs(below + up), x)


def _draw(shape: tuple[int, ...], rng: np.random.Generator | None) -> NDArray[np.float64]:
    assert rng is not None, "convert checks this"
    return rng.random(shape)


def _round_integer(
    array: NDArray[Any], destination: Format, rounding: Rounding, rng: np.random.Generator | None
) -> NDArray[np.float64]:
    """Round integers to the destination's significant bits by integer arithmetic; the results fit float64."""
    one = np.uint64(1)
    negative: NDArray[np.bool_] = array < 0
    bits = array.astype(np.uint64)  # modulo 2**64
    magnitude = np.where(negative, ~bits + one, bits)
    length = np.frexp(magnitude.astype(np.float64))[1].astype(np.uint64)  # in bits, one more if the cast rounded up
    length -= magnitude >> (length - (length > 0)) == 0
    length[magnitude == 0] = 0
    significant = np.uint64(destination.mantissa_bits + 1)
    shift: NDArray[np.uint64] = np.maximum(length, significant) - significant
    kept: NDArray[np.uint64] = magnitude >> shift
    lost: NDArray[np.uint64] = magnitude - (kept << shift)
    away: NDArray[np.bool_]
    match rounding:
        case Rounding.NEAREST_EVEN:
            half = (one << shift) >> one
            away = (lost > half) | ((lost == half) & (lost > 0) & (kept & one == one))
        case Rounding.TOWARD_ZERO:
            away = np.zeros(array.shape, np.bool_)
        case Rounding.UPWARD:
            away = (lost > 0) & ~negative
        case Rounding.DOWNWARD:
            away = (lost > 0) & negative
        case Rounding.STOCHASTIC:
            # Up with probability x - below, as for floating values; for a negative x up is toward zero.
            fraction = np.ldexp(lost.astype(np.float64), -shift.astype(np.int32))
            draw = _draw(array.shape, rng)
            away = np.where(negative, draw >= 1.0 - fraction, draw < fraction)
    value = np.ldexp((kept + away).astype(np.float64), shift.astype(np.int32))
    return np.where(negative, -value, value)


def _fit(
    rounded: NDArray[np.float64], finite: NDArray[np.bool_] | None, destination: Format, rounding: Rounding
) -> NDArray[Any]:
    """Cast values of the destination's precision to it, sending those beyond its range where the mode says.

    `finite` tells which inputs were finite (None: all): infinities and NaN pass in every mode.
    """
    bias = (1 << (destination.exponent_bits - 1)) - 1
    largest = float(np.ldexp(2.0 - 0.5**destination.mantissa_bits, bias))
    beyond = np.abs(rounded) > largest
    if finite is not None:
        beyond &= finite
    match rounding:
        case Rounding.NEAREST_EVEN | Rounding.STOCHASTIC:
            above, below = np.inf, -np.inf
        case Rounding.TOWARD_ZERO:
            above, below = largest, -largest
        case Rounding.UPWARD:
            above, below = np.inf, -largest
        case Rounding.DOWNWARD:
            above, below = largest, -np.inf
    fitted = np.where(beyond, np.where(rounded > 0, above, below), rounded)
    if destination is F64:
        return fitted
    # Exact from here on: through f32, since ml_dtypes knows no other way, and with NaN cut to the bits of tf32.
    single = fitted.astype(np.float32)
    return _to_tf32(single) if destination is TF32 else single.astype(destination.dtype)


def _saturate_float(
    array: NDArray[Any], source: Format, destination: Format, rounding: Rounding, rng: np.random.Generator | None
) -> NDArray[Any]:
    """Round to integral values, saturate, NaN to 0."""
    rounded = _round_to_integer(array.astype(np.float64 if source is F64 else np.float32, copy=False), rounding, rng)
    least, largest = destination.integer_range
    nan = np.isnan(rounded)
    if nan.any():
        rounded[nan] = 0
    # Compared with a power of two, which every floating type has exactly; it may not have `largest`.
    above = rounded >= float(largest + 1) if largest > 1 << 22 else None
    highest = float(np.nextafter(rounded.dtype.type(largest + 1), rounded.dtype.type(0)))
    np.clip(rounded, float(least), min(highest, float(largest)), out=rounded)
    result = rounded.astype(np.int8 if destination.is_packed else destination.dtype)
    if above is not None and above.any():
        result[above] = largest
    return result.astype(destination.dtype, copy=False)


def _wrap(array: NDArray[Any], destination: Format) -> NDArray[Any]:
    """Integers modulo a power of two, in the range of the destination."""
    if not destination.is_packed:
        return array.astype(destination.dtype)
    low = (array.astype(np.uint8) & np.uint8(15)).astype(np.int8)  # ml_dtypes does not wrap by itself
    return (((low ^ 8) - 8) if destination.is_signed else low).astype(destination.dtype)
