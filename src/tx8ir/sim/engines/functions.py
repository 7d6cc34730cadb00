"""The vector unit's functions of two arguments on fp32 arrays, and the ways between formats.

Those of one argument are in `target.vector_functions`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.target import extrema
from tx8ir.target.formats import BF16, F16, F32, TF32, Format
from tx8ir.target.rounding import Rounding, convert
from tx8ir.target.vector_functions import Kernel, Scratch, settled, simple

Array: TypeAlias = NDArray[Any]
Float32: TypeAlias = NDArray[np.float32]

_TF32_BITS = np.uint32(0xFFFFE000)


def leaky_relu(x: Float32, alpha: float) -> Float32:
    """Pass x where x >= 0, give alpha * x elsewhere."""
    return np.where(x >= 0, x, x * np.float32(alpha))


_ONCE: dict[str, np.ufunc] = {"mul": np.multiply, "div": np.divide}
"""Functions that may give numbers below fp32's normal ones, where it has too few digits to be rounded again."""


# -- two operands -----------------------------------------------------------------------------------------------------

TRUTH: dict[str, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}
"""The functions of two arguments whose results are truth values; they broadcast."""

_ARITHMETIC: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    **TRUTH,
}


def _maximum(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    x, y = operands
    extrema.maximum(x, y, out, scratch.take("signs", out.shape, F32.dtype))


def _minimum(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    x, y = operands
    extrema.minimum(x, y, out, scratch.take("signs", out.shape, F32.dtype))


EXTREMA: dict[str, Kernel] = {"max": _maximum, "min": _minimum}


def binary(function: str, format: Format) -> Kernel:
    """The function of two arguments for operands of a format; they broadcast. Truth values become 1.0 and 0.0."""
    if function in EXTREMA:
        return EXTREMA[function]
    ufunc = _ARITHMETIC[function]
    return settled(ufunc, format) if function in _ONCE and format is not F32 else simple(ufunc)


# -- formats ----------------------------------------------------------------------------------------------------------


def operand(array: Array, format: Format) -> Array:
    """Elements as an engine reads them: of tf32 without the 13 mantissa bits that it does not have."""
    return (array.view(np.uint32) & _TF32_BITS).view(np.float32) if format is TF32 else array


def widen(array: Array, format: Format) -> Float32:
    """Elements of a floating format as fp32, exactly. An fp32 array is given back as it is."""
    return operand(array, format).astype(np.float32, copy=False)


def narrow(
    array: Float32, format: Format, rounding: Rounding = Rounding.NEAREST_EVEN, rng: np.random.Generator | None = None
) -> Array:
    """fp32 results rounded to a floating format: the one rounding of an instruction."""
    assert format in (F32, F16, BF16, TF32)
    return array if format is F32 else convert(array, F32, format, rounding, rng)
