"""The functions of the vector unit in double precision, for the rounding modes that are not to nearest even.

A result is to be rounded once, to the format of the instruction, in its mode. Arithmetic, `recip` and `sqrt` are such
that this gives the exact result rounded (`target.arithmetic`). The others are what double precision makes of them,
within 1 ulp of it, so that their rounding is that of a number which may lie beyond a number of the format that the
exact one lies below: within 2 ulp of the format, as to nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.target import arithmetic
from tx8ir.target.rounding import Rounding

Doubles: TypeAlias = NDArray[np.float64]
DoubleFunction: TypeAlias = Callable[[tuple[Doubles, ...], Rounding], Doubles]
"""Computes from operands that broadcast, to be rounded in the mode."""

_LOG2_E = np.float32(np.log2(np.e))


def _exp_lp(x: Doubles) -> Doubles:
    return np.exp2((x.astype(np.float32) * _LOG2_E).astype(np.float64))


def _sigmoid(x: Doubles) -> Doubles:
    return np.reciprocal(1 + np.exp(-x))


def _softplus(x: Doubles) -> Doubles:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


_UNARY: dict[str, Callable[[Doubles], Doubles]] = {
    "recip": np.reciprocal,
    "square": np.square,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
    "log2": np.log2,
    "ln": np.log,
    "pow2": np.exp2,
    "exp": np.exp,
    "exp_lp": _exp_lp,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
}


def unary_in_double(function: str, alpha: float | None) -> DoubleFunction | None:
    """The function of one argument, its parameter bound if it has one; None when it has nothing to round."""
    if alpha is not None:
        bound = np.float64(np.float32(alpha))  # the instruction holds an fp32 number
        if function == "leakyrelu":
            return lambda operands, _: np.where(operands[0] >= 0, operands[0], operands[0] * bound)
        assert function == "satrelu"
        return lambda operands, _: np.clip(operands[0], 0.0, bound) + 0.0  # +0 for both zeros
    compute = _UNARY.get(function)
    return None if compute is None else lambda operands, _: compute(operands[0])


BINARY_IN_DOUBLE: dict[str, DoubleFunction] = {
    "add": lambda operands, rounding: arithmetic.add(operands[0], operands[1], rounding),
    "sub": lambda operands, rounding: arithmetic.subtract(operands[0], operands[1], rounding),
    "mul": lambda operands, _: operands[0] * operands[1],
    "div": lambda operands, _: operands[0] / operands[1],
}
"""Of two arguments. `max`, `min`, relations and logic have nothing to round."""
