"""What every element-wise function is, said once more and otherwise: number by number, with Python's math library.

Tests compare with these what `pd`, the backend graph, the simulator and the imported models compute. A new operation or
vector function needs its formula here, and in no other table: `tests/dialects/pd/test_registration.py` says when one is
missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Op
from tx8ir.dialects import pd
from tx8ir.target import vector_functions

Double = NDArray[np.float64]


@attrs.frozen
class Formula:
    """A function of one number.

    Attributes:
        number: of x, and of the attributes of the operation or `alpha` of the vector function.
        arrays: the same of arrays in double precision, by NumPy, for tests of many numbers; None: `number` of each.
        exact: whether the vector unit gives the exact result, rounded once, and not one within 2 ulp of it.
        variants: attributes besides the defaults that change the function.
        tolerance: of `pd` in double precision, relative.
    """

    number: Callable[..., float]
    arrays: Callable[[Double], Double] | None = None
    exact: bool = False
    variants: tuple[Mapping[str, Any], ...] = ()
    tolerance: float = 2e-15

    def of(self, x: NDArray[Any], **attributes: Any) -> Double:
        """The function of each number of an array: NaN outside of its domain, infinity where it overflows."""
        if self.arrays is not None and not attributes:
            return self.arrays(x.astype(np.float64))
        call = np.vectorize(lambda v: _quiet(self.number, v, attributes), otypes=[np.float64])
        return call(x.astype(np.float64)) if x.size else np.empty(x.shape)


def _quiet(function: Callable[..., float], x: float, attributes: Mapping[str, Any]) -> float:
    try:
        return float(function(x, **attributes))
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _log(x: float, base: Callable[[float], float]) -> float:
    return -math.inf if x == 0 else base(x)


def _sign_infinity(x: float) -> float:
    return math.copysign(math.inf, x)


def _power(x: float, y: float = 1.0) -> float:
    return x**y if x >= 0 or float(y).is_integer() else math.nan


def _gelu(x: float, approximate: bool = False) -> float:
    if approximate:
        return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def _softplus(x: float, beta: float = 1.0, threshold: float = 20.0) -> float:
    return x if beta * x > threshold else math.log1p(math.exp(beta * x)) / beta


def _scale(x: float, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True) -> float:
    return scale * x + bias if bias_after_scale else scale * (x + bias)


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


def _sinh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) > 711 else math.sinh(x)


def _sign(x: float) -> float:
    return x if x == 0 or math.isnan(x) else math.copysign(1.0, x)


VECTOR: Mapping[str, Formula] = {
    "abs": Formula(abs, exact=True),
    "recip": Formula(lambda x: _sign_infinity(x) if x == 0 else 1 / x, exact=True),
    "square": Formula(lambda x: x * x, exact=True),
    "sqrt": Formula(lambda x: math.sqrt(x) if x != 0 else x, exact=True),
    "rsqrt": Formula(lambda x: _sign_infinity(x) if x == 0 else 1 / math.sqrt(x), lambda x: 1 / np.sqrt(x)),
    "neg": Formula(lambda x: 0.0 - x, exact=True),
    "log2": Formula(lambda x: _log(x, math.log2), np.log2),
    "ln": Formula(lambda x: _log(x, math.log), np.log),
    "pow2": Formula(lambda x: math.pow(2.0, x), np.exp2),
    "exp": Formula(math.exp, np.exp),
    "exp_lp": Formula(
        lambda x: math.pow(2.0, float(np.float32(x) * np.float32(1.4426950408889634))),
        lambda x: np.exp2((x.astype(np.float32) * np.float32(np.log2(np.e))).astype(np.float64)),
    ),
    "sin": Formula(lambda x: math.sin(x) if math.isfinite(x) else math.nan, np.sin),
    "cos": Formula(lambda x: math.cos(x) if math.isfinite(x) else math.nan, np.cos),
    "tanh": Formula(math.tanh, np.tanh),
    "sigmoid": Formula(lambda x: 0.0 if x < -700 else 1 / (1 + math.exp(-x)), lambda x: 1 / (1 + np.exp(-x))),
    "relu": Formula(lambda x: x if x > 0 or math.isnan(x) else 0.0, exact=True),
    "satrelu": Formula(lambda x, alpha: x if math.isnan(x) else min(x, alpha) if x > 0 else 0.0, exact=True),
    "leakyrelu": Formula(lambda x, alpha: x if x >= 0 else float(np.float32(x) * np.float32(alpha)), exact=True),
    "softplus": Formula(
        lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    ),
    "not": Formula(lambda x: float(x == 0), exact=True),
}
"""By the name of a vector function."""
ALPHA = 0.75
"""The parameter that tests give to functions that take one."""

OPERATIONS: Mapping[str, Formula] = {
    "assign": Formula(lambda x: x),
    "leaky_relu": Formula(
        lambda x, negative_slope=0.02: x if x >= 0 else negative_slope * x, variants=({"negative_slope": 0.5},)
    ),
    # erfc(-6 / sqrt(2)) changes by 36 times the relative change of its argument: 8e-15 for the last bit.
    "gelu": Formula(_gelu, variants=({"approximate": True},), tolerance=1e-14),
    "softplus": Formula(_softplus, variants=({"beta": 2.0, "threshold": 3.0}, {"beta": 2.0}, {"threshold": 0.1})),
    "erf": Formula(math.erf),
    "floor": Formula(math.floor),
    "round": Formula(lambda x: math.copysign(round(x), x) if math.isfinite(x) else x),
    "sign": Formula(_sign),
    "tan": Formula(math.tan),
    "asin": Formula(math.asin),
    "acos": Formula(math.acos),
    "atan": Formula(math.atan),
    "sinh": Formula(_sinh),
    "cosh": Formula(math.cosh),
    "asinh": Formula(math.asinh),
    "acosh": Formula(math.acosh),
    "atanh": Formula(_atanh),
    "pow": Formula(_power, variants=({"y": 3.0}, {"y": 0.0}, {"y": 2.0})),
    "scale": Formula(
        _scale, variants=({"scale": 2.0, "bias": 1.0}, {"scale": 2.0, "bias": 1.0, "bias_after_scale": False})
    ),
}
"""By the name of an operation on one tensor that is not a vector function, or has attributes."""


def unary_operations() -> tuple[type[pd.ElementwiseUnaryOp], ...]:
    """Every shipped element-wise operation on one tensor whose result has its type."""
    return tuple(op for op in pd.DIALECT.ops.values() if issubclass(op, pd.ElementwiseUnaryOp))


def mnemonic(op_class: type[Op]) -> str:
    """The name without the dialect."""
    return op_class.name.partition(".")[2]


def formula_of(op_class: type[pd.ElementwiseUnaryOp]) -> Formula:
    """The formula of an operation: its own, or that of its vector function."""
    own = OPERATIONS.get(mnemonic(op_class))
    return own if own is not None else VECTOR[op_class.vector_function or mnemonic(op_class)]


def inexact() -> tuple[str, ...]:
    """The vector functions that need only be within 2 ulp, in the order of the machine's list."""
    return tuple(function.name for function in vector_functions.UNARY if not VECTOR[function.name].exact)
