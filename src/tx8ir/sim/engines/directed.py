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
from tx8ir.target.vector_functions import vector_function

Doubles: TypeAlias = NDArray[np.float64]
DoubleFunction: TypeAlias = Callable[[tuple[Doubles, ...], Rounding], Doubles]
"""Computes from operands that broadcast, to be rounded in the mode."""


def unary_in_double(function: str, alpha: float | None) -> DoubleFunction | None:
    """The function of one argument, its parameter bound if it has one; None when it has nothing to round."""
    compute = vector_function(function).in_double(alpha)
    return None if compute is None else lambda operands, _: compute(operands[0])


BINARY_IN_DOUBLE: dict[str, DoubleFunction] = {
    "add": lambda operands, rounding: arithmetic.add(operands[0], operands[1], rounding),
    "sub": lambda operands, rounding: arithmetic.subtract(operands[0], operands[1], rounding),
    "mul": lambda operands, _: operands[0] * operands[1],
    "div": lambda operands, _: operands[0] / operands[1],
}
"""Of two arguments. `max`, `min`, relations and logic have nothing to round."""
