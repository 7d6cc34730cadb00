"""Arrays and formats: the working precision, rounding to a declared format, and what is accepted as an input."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.core import DYNAMIC, IrError, RankedTensor, ScalarType, i1
from tx8ir.target.formats import BF16, F16, F32, F64, Format
from tx8ir.target.rounding import convert

from .interfaces import Precision


class EvaluationError(IrError):
    """A program that cannot be evaluated, or inputs that do not fit it."""


@cache
def working_dtype(element: ScalarType, precision: Precision) -> np.dtype[Any]:
    """The dtype that elements are computed in: float32 or float64 for floats, bytes for 4 bits, else their own."""
    if not element.is_float:
        # NumPy neither indexes with numbers of 4 bits nor keeps their dtype in most of its functions.
        return (
            element.dtype if element.format.bits != 4 else np.dtype(np.int8 if element.format.is_signed else np.uint8)
        )
    return np.dtype(np.float64 if precision == "f64" or element.format == F64 else np.float32)


def load(array: NDArray[Any], element: ScalarType, precision: Precision) -> NDArray[Any]:
    """Stored elements in the working dtype; every format fits into it, so nothing is rounded. May be `array` itself."""
    return array.astype(working_dtype(element, precision), copy=False)


def store(array: NDArray[Any], element: ScalarType, precision: Precision) -> NDArray[Any]:
    """Values in the working dtype as they are given out: in the element's own dtype, or float64 for fp64 floats."""
    if element.is_float and precision == "f64":
        return array
    return array.astype(element.dtype, copy=False)


def store_native(array: NDArray[Any], element: ScalarType) -> NDArray[Any]:
    """A copy of values in any working dtype, rounded to `element`, in its own dtype: what a variable holds."""
    return np.array(store(round_result(array, element, "native"), element, "native"), order="C")


def round_result(array: NDArray[Any], element: ScalarType, precision: Precision) -> NDArray[Any]:
    """A computed array rounded once, to nearest even, to `element`, in the working dtype. Integers of 4 bits wrap.

    Raises:
        TypeError: floats for an integer element type, or another integer type than the declared one.
    """
    if not element.is_float:
        working = working_dtype(element, precision)
        if array.dtype not in (element.dtype, working):
            raise TypeError(f"it computes {array.dtype} where its result is declared {element}")
        return array if working == element.dtype else array.astype(element.dtype).astype(working)
    source = _FLOATS.get(array.dtype)
    if source is None:
        raise TypeError(f"it computes {array.dtype} where its result is declared {element}")
    working = working_dtype(element, precision)
    if precision == "f64" or element.format in (F32, F64):
        return array.astype(working, copy=False)
    return convert(array, source, element.format).astype(working)


_FLOATS: dict[np.dtype[Any], Format] = {f.dtype: f for f in (F64, F32, F16, BF16)}


def fits_shape(shape: tuple[int, ...], type_: RankedTensor) -> bool:
    """True if an array of `shape` can be a value of the type: dynamic extents match any."""
    return shape == type_.shape or (
        len(shape) == type_.rank and all(d in (s, DYNAMIC) for s, d in zip(shape, type_.shape, strict=True))
    )


def check_input(name: str, given: ArrayLike, type_: RankedTensor, precision: Precision) -> NDArray[Any]:
    """A caller's array as a value of `type_`, in the working dtype.

    Accepted: for a float type any of float16, bfloat16, float32 and float64, rounded once to the declared format (not
    in "f64"); for an integer type any integers in its range; for i1 booleans.

    Raises:
        EvaluationError: shape or dtype do not fit, or an integer is out of range.
    """
    array = np.asarray(given)
    if not fits_shape(array.shape, type_):
        expected = ", ".join("?" if extent == DYNAMIC else str(extent) for extent in type_.shape)
        raise EvaluationError(f"input {name!r} has shape {list(array.shape)}; expected [{expected}]")
    element = type_.element
    if element.is_float:
        if array.dtype not in _FLOATS:
            raise EvaluationError(
                f"input {name!r} has dtype {array.dtype}; expected {element.dtype} for {element}, or another of "
                f"{', '.join(map(str, _FLOATS))}, which is rounded to it"
            )
        return round_result(array, element, precision)
    if element is i1:
        if array.dtype != np.bool_:
            raise EvaluationError(f"input {name!r} has dtype {array.dtype}; expected bool for {element}")
        return array
    if array.dtype == element.dtype:
        return load(array, element, precision)
    if not np.issubdtype(array.dtype, np.integer):
        raise EvaluationError(
            f"input {name!r} has dtype {array.dtype}; expected {element.dtype} for {element}, or integers in its range"
        )
    low, high = element.format.limits
    outside = (array < low) | (array > high)
    if outside.any():
        value, place = array[outside].flat[0], np.argwhere(outside)[0].tolist()
        raise EvaluationError(f"input {name!r}{place} is {value}; expected {low} to {high} for {element}")
    return array.astype(working_dtype(element, precision))
