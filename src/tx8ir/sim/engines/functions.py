"""The functions of the vector unit on fp32 arrays.

Those that IEEE 754 defines are correctly rounded. The others must be within 2 ulp of the format. NumPy's fp32 functions
are taken where all 2^32 operands have been found to be within that (`tests/sim/engines/test_accuracy.py`; in brackets
the most ulp that it found): sin, cos, tanh (1), log2 and ln, which is log2 times ln 2 (2), 1/sqrt (1), which is two
correctly rounded functions, and in a part of their domain exp and pow2 (2). Elsewhere these two, and for all operands
what is made of them, are computed in double precision. For the narrower formats fp32 is enough, where NumPy's few ulp
are a small part of one of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.sim.memory.buffer_pool import Scratch
from tx8ir.target import arithmetic, extrema
from tx8ir.target.formats import BF16, F16, F32, TF32, Format
from tx8ir.target.rounding import Rounding, convert

Array: TypeAlias = NDArray[Any]
Float32: TypeAlias = NDArray[np.float32]
Function: TypeAlias = Callable[[tuple[Float32, ...], Array, Scratch], None]
"""Computes from operands that broadcast into a result, which may be one of the operands."""

_LOG2_E = np.float32(np.log2(np.e))
_LN_2 = np.float32(np.log(2))
_ZERO = np.float32(0)
_TF32_BITS = np.uint32(0xFFFFE000)
_DOUBLE: np.dtype[Any] = np.dtype(np.float64)


def relu(x: Float32, out: Float32 | None = None) -> Float32:
    """The larger of x and 0; NaN for NaN, +0 for both zeros."""
    y = np.maximum(x, _ZERO, out=out)
    y += _ZERO  # maximum may take either zero; -0 + +0 is +0
    return y


def leaky_relu(x: Float32, alpha: float) -> Float32:
    """Pass x where x >= 0, give alpha * x elsewhere."""
    return np.where(x >= 0, x, x * np.float32(alpha))


def _settled(function: np.ufunc, format: Format) -> Function:
    """A function of NumPy whose results in the format are to be rounded once where fp32 has few digits."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        arithmetic.settle_subnormal(function(*operands, out=out), operands, function, format)

    return compute


# -- one operand ------------------------------------------------------------------------------------------------------


def simple(function: Callable[..., Array]) -> Function:
    """A function of NumPy that writes where it is told."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        function(*operands, out=out)

    return compute


def _neg(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.subtract(_ZERO, operands[0], out=out)  # +0 for both zeros


def _relu(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    relu(operands[0], out)


def _not(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.equal(operands[0], _ZERO, out=out)


def _rsqrt(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.reciprocal(np.sqrt(operands[0], out=out), out=out)


def _ln(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.multiply(np.log2(operands[0], out=out), _LN_2, out=out)


def _in_double(function: Callable[[Array, Scratch], object]) -> Function:
    """Evaluate in double precision; `function` does so in place."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        x = scratch.take("double", operands[0].shape, _DOUBLE)
        x[...] = operands[0]
        function(x, scratch)
        out[...] = x

    return compute


def _within(function: np.ufunc, low: float, high: float) -> Function:
    """Evaluate in fp32 for `low <= x <= high`, and all other elements, which are few, in double precision."""
    least, most = np.float32(low), np.float32(high)

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        (x,) = operands
        if np.minimum.reduce(x, axis=None) >= least and np.maximum.reduce(x, axis=None) <= most:  # and none is NaN
            function(x, out=out)
            return
        beyond = ~((x >= least) & (x <= most))
        exact = function(x[beyond].astype(np.float64))
        function(x, out=out)
        out[beyond] = exact

    return compute


def _sigmoid(x: Array, scratch: Scratch) -> None:
    """1 / (1 + exp(-x)), in double precision: exp(-x) overflows to infinity only where the result is 0 in fp32."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def _softplus(x: Array, scratch: Scratch) -> None:
    """max(x, 0) + log1p(exp(-abs(x)))."""
    e = scratch.take("softplus", x.shape, x.dtype)
    np.abs(x, out=e)
    np.negative(e, out=e)
    np.exp(e, out=e)
    np.log1p(e, out=e)
    np.maximum(x, 0, out=x)
    x += e


_POW2 = _within(np.exp2, -np.inf, 126.0)  # 476 of all operands are off by 3 ulp, the least of them 126.54


def _exp_lp(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    _POW2((np.multiply(operands[0], _LOG2_E, out=out),), out, scratch)


_FUNCTIONS: dict[str, Function] = {
    "abs": simple(np.abs),
    "recip": simple(np.reciprocal),
    "square": simple(np.square),
    "sqrt": simple(np.sqrt),
    "rsqrt": _rsqrt,
    "neg": _neg,
    "relu": _relu,
    "not": _not,
    "sin": simple(np.sin),
    "cos": simple(np.cos),
    "tanh": simple(np.tanh),
    "log2": simple(np.log2),
    "ln": _ln,
    "pow2": _POW2,
    "exp": _within(np.exp, -25.0, 25.0),  # three operands are off by 3 ulp: 25.994385, -38.466045 and -62.029507
    "exp_lp": _exp_lp,
    "sigmoid": _in_double(_sigmoid),
    "softplus": _in_double(_softplus),
}

_SHORT: dict[str, Function] = {name: simple(f) for name, f in {"ln": np.log, "pow2": np.exp2, "exp": np.exp}.items()}
"""What is enough for formats with fewer bits than fp32."""

_ONCE: dict[str, np.ufunc] = {"square": np.square, "recip": np.reciprocal, "mul": np.multiply, "div": np.divide}
"""Functions that may give numbers below fp32's normal ones, where it has too few digits to be rounded again."""

HALF: dict[str, Function] = {
    **_SHORT,
    **{name: simple(f) for name, f in {"log2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh}.items()},
}
"""Functions of NumPy from fp16 to fp16, rounded to nearest: within 1 ulp for all 65,536 operands."""


def unary(function: str, alpha: float | None, format: Format) -> Function:
    """The function of one argument for operands of a format, its parameter bound if it has one."""
    if function in _ONCE and format is not F32:
        return _settled(_ONCE[function], format)
    if function in _FUNCTIONS:
        return _FUNCTIONS[function] if format is F32 else _SHORT.get(function, _FUNCTIONS[function])
    assert alpha is not None
    bound = np.float32(alpha)
    if function == "leakyrelu" and format is not F32:

        def leaky_once(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
            (x,) = operands
            out[...] = arithmetic.leaky_relu(x, alpha, format)

        return leaky_once
    if function == "leakyrelu":

        def leaky(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
            (x,) = operands
            slope = np.multiply(x, bound, out=scratch.take("leaky", x.shape, F32.dtype))
            np.copyto(slope, x, where=x >= 0)
            out[...] = slope

        return leaky
    assert function == "satrelu"

    def saturated(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        np.clip(operands[0], _ZERO, bound, out=out)
        np.add(out, _ZERO, out=out)  # as in relu

    return saturated


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


EXTREMA: dict[str, Function] = {"max": _maximum, "min": _minimum}


def binary(function: str, format: Format) -> Function:
    """The function of two arguments for operands of a format; they broadcast. Truth values become 1.0 and 0.0."""
    if function in EXTREMA:
        return EXTREMA[function]
    ufunc = _ARITHMETIC[function]
    return _settled(ufunc, format) if function in _ONCE and format is not F32 else simple(ufunc)


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
