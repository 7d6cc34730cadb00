"""The functions of one argument that the TX8's vector unit has, each declared once: name, formula, and evaluation.

The instruction dialect takes names from here, the backend graph has an operation for those that name one, and the
simulator evaluates them as it says here. A function needs no more than what `VectorFunction` has no default for: the
simulator then evaluates it in double precision and rounds once. The rest makes that faster or more exact.

Functions that IEEE 754 defines are correctly rounded. The others must be within 2 ulp of the format. NumPy's fp32
functions are taken where all 2^32 operands have been found to be within that (`tests/sim/engines/test_accuracy.py`; in
brackets the most ulp that it found): sin, cos, tanh (1), log2 and ln, which is log2 times ln 2 (2), 1/sqrt (1), which
is two correctly rounded functions, and in a part of their domain exp and pow2 (2). Elsewhere these two, and for all
operands what is made of them, are computed in double precision. For the narrower formats fp32 is enough, where NumPy's
few ulp are a small part of one of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target import arithmetic
from tx8ir.target.extrema import maximum
from tx8ir.target.formats import F32, Format

__all__ = [
    "UNARY",
    "Kernel",
    "Scratch",
    "VectorFunction",
    "register",
    "relu",
    "simple",
    "unary_names",
    "vector_function",
]

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]
Float32: TypeAlias = NDArray[np.float32]


class Scratch(Protocol):
    """Memory by name."""

    def take(self, slot: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A C-contiguous array with any content, in the memory that the next call for the same `slot` gives again."""
        ...


Kernel: TypeAlias = Callable[[tuple[Float32, ...], Array, Scratch], None]
"""Computes from operands that broadcast into a result, which may be one of the operands."""
InPlace: TypeAlias = Callable[[Doubles, Scratch], object]
"""Computes in double precision, in place."""

_DOUBLE: np.dtype[Any] = np.dtype(np.float64)
_LOG2_E = np.float32(np.log2(np.e))
_LN_2 = np.float32(np.log(2))
_ZERO = np.float32(0)


class _Fresh:
    """Scratch memory for a caller that has none to use again."""

    def take(self, slot: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A new array."""
        return np.empty(shape, dtype)


def simple(function: Callable[..., Array]) -> Kernel:
    """A function of NumPy that writes where it is told."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        function(*operands, out=out)

    return compute


def settled(function: np.ufunc, format: Format) -> Kernel:
    """A function of NumPy whose results in the format are to be rounded once where fp32 has few digits."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        arithmetic.settle_subnormal(function(*operands, out=out), operands, function, format)

    return compute


def _is_of_numpy(function: VectorFunction) -> bool:
    return isinstance(function.single, np.ufunc)


@attrs.frozen(eq=False)
class VectorFunction:
    """A function of one argument of the vector unit.

    Attributes:
        name: what the instruction calls it.
        group: the function of its family in the hardware's list of names.
        formula: of x, and of alpha where there is one.
        evaluate: the function in NumPy, in the type of x, by the same steps for the same number wherever it lies; of x,
            or of x, alpha and the format where it takes alpha.
        graph_op: the operation `tx8be.…` that it computes; None for one that nothing is lowered to.
        takes_alpha: whether it has a parameter, a number that the instruction holds as fp32.
        rounds: whether the result is not one of the operands' numbers, so that the mode of rounding matters.
        single: fp32 to fp32, within 2 ulp; default: in double precision.
        one_pass: whether `single` takes one pass over its operand, as a function of NumPy does.
        short: what is enough for formats with fewer bits than fp32.
        half: fp16 to fp16, rounded to nearest: within 1 ulp for all 65,536 operands.
        once: the exact function, which may give numbers below fp32's normal ones, where it has too few digits to be
            rounded again.
        double: the function in double precision, where it is not `evaluate`.
        in_place: `double`, in place.
        bound: the function with its parameter, for operands of a format.
    """

    name: str
    group: str
    formula: str
    evaluate: Callable[..., Array]
    graph_op: str | None = None
    takes_alpha: bool = False
    rounds: bool = True
    single: Kernel | np.ufunc | None = None
    one_pass: bool = attrs.field(default=attrs.Factory(_is_of_numpy, takes_self=True))
    short: np.ufunc | None = None
    half: np.ufunc | None = None
    once: np.ufunc | None = None
    double: Callable[[Doubles], Doubles] | None = None
    in_place: InPlace | None = None
    bound: Callable[[float, Format], Kernel] | None = None

    def reference(self, x: Array, format: Format, alpha: float | None = None) -> Array:
        """What the reference interpreter computes from numbers of a format, in their type."""
        if self.takes_alpha:
            return self.evaluate(x, alpha, format)
        found = np.asarray(self.evaluate(x))
        return found if self.once is None else arithmetic.settle_subnormal(found, (x,), self.once, format)

    def kernel(self, format: Format, alpha: float | None = None) -> Kernel:
        """What the simulator computes for operands of a format, widened to fp32, before its one rounding to nearest."""
        if self.bound is not None:
            assert alpha is not None
            return self.bound(alpha, format)
        if self.once is not None and format is not F32:
            return settled(self.once, format)
        if self.short is not None and format is not F32:
            return simple(self.short)
        if isinstance(self.single, np.ufunc):
            return simple(self.single)
        return self.single or _in_double(self.in_place or self._evaluated_in_place(alpha))

    def in_double(self, alpha: float | None = None) -> Callable[[Doubles], Doubles] | None:
        """What the simulator computes before a rounding in another mode; None when there is nothing to round."""
        if not self.rounds:
            return None
        if self.double is not None:
            return self.double
        in_place = self.in_place or self._evaluated_in_place(alpha)

        def compute(x: Doubles) -> Doubles:
            found = x.copy()
            in_place(found, _Fresh())
            return found

        return compute

    def _evaluated_in_place(self, alpha: float | None) -> InPlace:
        given = () if alpha is None else (float(np.float32(alpha)), F32)  # the instruction holds an fp32 number

        def compute(x: Doubles, scratch: Scratch) -> None:
            x[...] = self.evaluate(x, *given)

        return compute


# -- in the type of the operand ---------------------------------------------------------------------------------------


def _reciprocal(x: Array) -> Array:
    return 1 / x


def _square(x: Array) -> Array:
    return x * x


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _negative(x: Array) -> Array:
    return 0 - x


def _sigmoid(x: Array) -> Array:
    e = arithmetic.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _positive_part(x: Array) -> Array:
    return maximum(x, np.zeros((), x.dtype))


def _clip(x: Array, alpha: float, format: Format) -> Array:
    return np.clip(x, 0.0, alpha) + x.dtype.type(0.0)  # +0 for both zeros


def _softplus(x: Array) -> Array:
    return np.logaddexp(x, x.dtype.type(0))


def _is_zero(x: Array) -> Array:
    return (x == 0).astype(x.dtype)


# -- as the simulator does ---------------------------------------------------------------------------------------------


def relu(x: Float32, out: Array | None = None) -> Array:
    """The larger of x and 0; NaN for NaN, +0 for both zeros."""
    y = np.maximum(x, _ZERO, out=out)
    y += _ZERO  # maximum may take either zero; -0 + +0 is +0
    return y


def _relu(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    relu(operands[0], out)


def _neg(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.subtract(_ZERO, operands[0], out=out)  # +0 for both zeros


def _not(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.equal(operands[0], _ZERO, out=out)


def _rsqrt(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.reciprocal(np.sqrt(operands[0], out=out), out=out)


def _ln(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    np.multiply(np.log2(operands[0], out=out), _LN_2, out=out)


def _in_double(function: InPlace) -> Kernel:
    """Evaluate in double precision."""

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        x = scratch.take("double", operands[0].shape, _DOUBLE)
        x[...] = operands[0]
        function(x, scratch)
        out[...] = x

    return compute


def _within(function: np.ufunc, low: float, high: float) -> Kernel:
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


_POW2 = _within(np.exp2, -np.inf, 126.0)  # 476 of all operands are off by 3 ulp, the least of them 126.54


def _exp_lp(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
    _POW2((np.multiply(operands[0], _LOG2_E, out=out),), out, scratch)


def _exp_lp_in_double(x: Doubles) -> Doubles:
    return np.exp2((x.astype(np.float32) * _LOG2_E).astype(np.float64))


def _sigmoid_in_place(x: Doubles, scratch: Scratch) -> None:
    """1 / (1 + exp(-x)): exp(-x) overflows to infinity only where the result is 0 in fp32."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def _softplus_in_place(x: Doubles, scratch: Scratch) -> None:
    """max(x, 0) + log1p(exp(-abs(x)))."""
    e = scratch.take("softplus", x.shape, x.dtype)
    np.abs(x, out=e)
    np.negative(e, out=e)
    np.exp(e, out=e)
    np.log1p(e, out=e)
    np.maximum(x, 0, out=x)
    x += e


def _clipped(alpha: float, format: Format) -> Kernel:
    bound = np.float32(alpha)

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        np.clip(operands[0], _ZERO, bound, out=out)
        np.add(out, _ZERO, out=out)  # as in relu

    return compute


def _leaky(alpha: float, format: Format) -> Kernel:
    slope = np.float32(alpha)

    def compute(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        (x,) = operands
        product = np.multiply(x, slope, out=scratch.take("leaky", x.shape, F32.dtype))
        np.copyto(product, x, where=x >= 0)
        out[...] = product

    def once(operands: tuple[Float32, ...], out: Array, scratch: Scratch) -> None:
        out[...] = arithmetic.leaky_relu(operands[0], alpha, format)

    return compute if format is F32 else once


# -- the functions ----------------------------------------------------------------------------------------------------

_ARITH, _TRANSCENDENTAL, _ACTIVATION = "arith, unary", "transcendental", "activation"

UNARY: Final[tuple[VectorFunction, ...]] = (
    VectorFunction("abs", _ARITH, "|x|", np.abs, "Abs", rounds=False, single=np.abs),
    VectorFunction("recip", _ARITH, "1/x", _reciprocal, "Recip", single=np.reciprocal, once=np.reciprocal),
    VectorFunction("square", _ARITH, "x*x", _square, "Square", single=np.square, once=np.square),
    VectorFunction("sqrt", _ARITH, "sqrt(x), NaN below zero", np.sqrt, "Sqrt", single=np.sqrt),
    VectorFunction("rsqrt", _ARITH, "1/sqrt(x)", _reciprocal_root, "Rsqrt", single=_rsqrt),
    VectorFunction(
        "neg", _ARITH, "0 - x (+0 for both zeros)", _negative, "Neg", rounds=False, single=_neg, one_pass=True
    ),
    VectorFunction("log2", _TRANSCENDENTAL, "log2(x)", np.log2, single=np.log2, half=np.log2),
    VectorFunction(
        "ln", _TRANSCENDENTAL, "ln(x)", arithmetic.log, "Log", single=_ln, short=np.log, half=np.log, double=np.log
    ),
    VectorFunction("pow2", _TRANSCENDENTAL, "2**x", np.exp2, single=_POW2, short=np.exp2, half=np.exp2),
    VectorFunction(
        "exp", _TRANSCENDENTAL, "e**x", arithmetic.exp, "Exp",
        single=_within(np.exp, -25.0, 25.0),  # three operands are off by 3 ulp: 25.994385, -38.466045 and -62.029507
        short=np.exp, half=np.exp, double=np.exp,
    ),
    VectorFunction(
        "exp_lp", _TRANSCENDENTAL, "pow2(x * log2(e)) with the product rounded to fp32", _exp_lp_in_double,
        single=_exp_lp,
    ),
    VectorFunction("sin", _TRANSCENDENTAL, "sin(x), x in radians", np.sin, "Sin", single=np.sin, half=np.sin),
    VectorFunction("cos", _TRANSCENDENTAL, "cos(x), x in radians", np.cos, "Cos", single=np.cos, half=np.cos),
    VectorFunction("tanh", _ACTIVATION, "tanh(x)", np.tanh, "Tanh", single=np.tanh, half=np.tanh),
    VectorFunction(
        "sigmoid", _ACTIVATION, "1/(1 + exp(-x))", _sigmoid, "Sigmoid", in_place=_sigmoid_in_place
    ),
    VectorFunction(
        "relu", _ACTIVATION, "max(x, 0) (+0 for both zeros)", _positive_part, "Relu",
        rounds=False, single=_relu,
    ),
    VectorFunction(
        "satrelu", _ACTIVATION, "min(max(x, 0), alpha)", _clip, takes_alpha=True, bound=_clipped
    ),
    VectorFunction(
        "leakyrelu", _ACTIVATION, "x where x >= 0 else alpha * x", arithmetic.leaky_relu, "LeakyRelu",
        takes_alpha=True, bound=_leaky,
    ),
    VectorFunction(
        "softplus", _ACTIVATION, "ln(1 + exp(x))", _softplus, "Softplus",
        in_place=_softplus_in_place,
    ),
    VectorFunction(
        "not", "logic on values", "1.0 where x is zero else 0.0", _is_zero, rounds=False,
        single=_not,
    ),
)  # fmt: skip
"""Those of the machine, in the order of the hardware's list."""

_BY_NAME: Final[dict[str, VectorFunction]] = {function.name: function for function in UNARY}


def register(function: VectorFunction) -> VectorFunction:
    """Make a function known that the machine as shipped does not have. Raises ValueError when its name is taken."""
    if function.name in _BY_NAME:
        raise ValueError(f"there is a vector function {function.name!r} already: {_BY_NAME[function.name].formula}")
    _BY_NAME[function.name] = function
    return function


def vector_function(name: str) -> VectorFunction:
    """The function of a name. Raises KeyError when there is none."""
    return _BY_NAME[name]


def unary_names() -> tuple[str, ...]:
    """The names of all functions, those of the machine first."""
    return tuple(_BY_NAME)
