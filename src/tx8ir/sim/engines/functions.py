"""The functions of the vector unit, from fp32 arrays to fp32 arrays.

Those that IEEE 754 defines are correctly rounded. The others must be within 2 ulp of the format: for f32 they are
computed in double precision, for the narrower formats in fp32, where NumPy's few ulp are a small part of one of theirs.
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
_TF32_BITS = np.uint32(0xFFFFE000)
_CHUNK = 1 << 14  # elements


def relu(x: Float32) -> Float32:
    """The larger of x and 0; NaN for NaN, +0 for both zeros."""
    y = np.maximum(x, _ZERO)
    y += _ZERO  # maximum may take either zero; -0 + +0 is +0
    return y


def leaky_relu(x: Float32, alpha: float) -> Float32:
    """Pass x where x >= 0, give alpha * x elsewhere."""
    return np.where(x >= 0, x, x * np.float32(alpha))


def _neg(x: Float32) -> Float32:
    return _ZERO - x  # +0 for both zeros


def _exp_lp(x: Float32) -> Float32:
    return np.exp2((x * _LOG2_E).astype(np.float64)).astype(np.float32)


def _sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    e = np.exp(-np.abs(x))  # never overflows, so that small results keep their bits
    return np.where(x >= 0, 1, e) / (1 + e)


_EXACT: dict[str, Unary] = {
    "abs": np.abs,
    "recip": np.reciprocal,
    "square": np.square,
    "sqrt": np.sqrt,
    "neg": _neg,
    "relu": relu,
    "exp_lp": _exp_lp,
    "not": lambda x: (x == _ZERO).astype(np.float32),
}

_APPROXIMATE: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "log2": np.log2,
    "ln": np.log,
    "pow2": np.exp2,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
}


def _in_double(function: Callable[[NDArray[Any]], NDArray[Any]]) -> Unary:
    """Evaluate on [tiles, elements] in double precision, in pieces that stay in the cache."""

    def evaluate(x: Float32) -> Float32:
        result = np.empty(x.shape, np.float32)
        columns = max(1, _CHUNK // len(x))
        for start in range(0, x.shape[1], columns):
            piece = slice(start, start + columns)
            result[:, piece] = function(x[:, piece].astype(np.float64))
        return result

    return evaluate


def unary(function: str, alpha: float | None, format: Format) -> Unary:
    """The function of one argument for operands of a format, its parameter bound if it has one."""
    if function in _EXACT:
        return _EXACT[function]
    if function in _APPROXIMATE:
        approximate = _APPROXIMATE[function]
        return _in_double(approximate) if format is F32 else approximate
    assert alpha is not None
    if function == "leakyrelu":
        return lambda x: leaky_relu(x, alpha)
    assert function == "satrelu"
    return lambda x: np.minimum(relu(x), np.float32(alpha))


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


def _as_values(truth: np.ufunc) -> Binary:
    return lambda a, b: truth(a, b).astype(np.float32)


BINARY: dict[str, Binary] = {
    "max": np.maximum,
    "min": np.minimum,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    **{name: _as_values(truth) for name, truth in TRUTH.items()},
}
"""The functions of two arguments; they broadcast. Truth values are 1.0 and 0.0."""


def operand(array: NDArray[Any], format: Format) -> NDArray[Any]:
    """Elements as an engine reads them: of tf32 without the 13 mantissa bits that it does not have."""
    return (array.view(np.uint32) & _TF32_BITS).view(np.float32) if format is TF32 else array


def widen(array: NDArray[Any], format: Format) -> Float32:
    """Elements of a floating format as fp32, exactly. An fp32 array is given back as it is."""
    return operand(array, format).astype(np.float32, copy=False)


def narrow(
    array: Float32, format: Format, rounding: Rounding = Rounding.NEAREST_EVEN, rng: np.random.Generator | None = None
) -> NDArray[Any]:
    """fp32 results rounded to a floating format: the one rounding of an instruction."""
    assert format in (F32, F16, BF16, TF32)
    return array if format is F32 else convert(array, F32, format, rounding, rng)
