"""The functions of the vector unit, from fp32 arrays to fp32 arrays.

Those that IEEE 754 defines are correctly rounded; the others are computed in double precision and rounded to fp32,
which is within the machine's 2 ulp by far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.target.formats import BF16, F16, F32, TF32, Format
from tx8ir.target.rounding import Rounding, convert

Float32: TypeAlias = NDArray[np.float32]
Unary: TypeAlias = Callable[[Float32], Float32]
Binary: TypeAlias = Callable[[Float32, Float32], Float32]

_LOG2_E = np.float32(np.log2(np.e))
_ZERO = np.float32(0)


def _in_double(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Unary:
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


def relu(x: Float32) -> Float32:
    """The larger of x and 0; NaN for NaN, +0 for both zeros."""
    y = np.maximum(x, _ZERO)
    y += _ZERO  # maximum may take either zero; -0 + +0 is +0
    return y


def leaky_relu(x: Float32, alpha: float) -> Float32:
    """Pass x where x >= 0, give alpha * x elsewhere."""
    return np.where(x >= 0, x, x * np.float32(alpha))


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, Unary] = {
    "abs": np.abs,
    "recip": np.reciprocal,
    "square": np.square,
    "sqrt": np.sqrt,
    "rsqrt": _in_double(lambda x: 1 / np.sqrt(x)),
    "neg": lambda x: _ZERO - x,  # +0 for both zeros
    "log2": _in_double(np.log2),
    "ln": _in_double(np.log),
    "pow2": _in_double(np.exp2),
    "exp": _in_double(np.exp),
    "exp_lp": lambda x: np.exp2((x * _LOG2_E).astype(np.float64)).astype(np.float32),
    "sin": _in_double(np.sin),
    "cos": _in_double(np.cos),
    "tanh": _in_double(np.tanh),
    "sigmoid": _in_double(_sigmoid),
    "relu": relu,
    "softplus": _in_double(lambda x: np.logaddexp(x, 0.0)),
}
"""The functions of one argument without a parameter."""


def unary(function: str, alpha: float | None) -> Unary:
    """The function with its parameter, if it has one, bound."""
    if alpha is None:
        return UNARY[function]
    if function == "leakyrelu":
        return lambda x: leaky_relu(x, alpha)
    assert function == "satrelu"
    return lambda x: np.minimum(relu(x), np.float32(alpha))


def _relation(compare: Callable[[Any, Any], Any]) -> Binary:
    return lambda a, b: compare(a, b).astype(np.float32)


BINARY: dict[str, Binary] = {
    "max": np.maximum,
    "min": np.minimum,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "eq": _relation(np.equal),
    "ne": _relation(np.not_equal),
    "ge": _relation(np.greater_equal),
    "gt": _relation(np.greater),
    "le": _relation(np.less_equal),
    "lt": _relation(np.less),
}
"""The functions of two arguments; they broadcast."""


def widen(array: NDArray[Any]) -> Float32:
    """Elements of a floating format as fp32, exactly. An fp32 array is given back as it is."""
    return array.astype(np.float32, copy=False)


def narrow(
    array: Float32, format: Format, rounding: Rounding = Rounding.NEAREST_EVEN, rng: np.random.Generator | None = None
) -> NDArray[Any]:
    """fp32 results rounded to a floating format: the one rounding of an instruction."""
    assert format in (F32, F16, BF16, TF32)
    return array if format is F32 else convert(array, F32, format, rounding, rng)
