"""Evaluation in any rounding mode: each operation rounds as IEEE 754 says, in the mode.

In nearest-even this is what the interpreter does anyway. In the others, addition, subtraction, multiplication,
division, `square`, `sqrt`, `reciprocal` and casts give the exact result rounded once; `scale`, `rsqrt` and `leaky_relu`
round after each of their steps in fp32, as in nearest-even; all others are computed in fp64 and rounded once.
"""

# The functions of a table.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Program, RankedTensor, ScalarType
from tx8ir.dialects import pd
from tx8ir.interpreter import Interpreter, RuntimeValue
from tx8ir.target.formats import F32, F64
from tx8ir.target.rounding import Rounding, convert
from tx8ir.testing.passes.perturbation import rounded_format

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]

ROUNDINGS: Final = (Rounding.NEAREST_EVEN, Rounding.TOWARD_ZERO, Rounding.UPWARD, Rounding.DOWNWARD)
"""The modes of which IEEE 754 says what the result is; nearest-even, which programs mean, is the first."""

NAMES: Final[Mapping[Rounding, str]] = {
    Rounding.NEAREST_EVEN: "nearest-even",
    Rounding.TOWARD_ZERO: "toward zero",
    Rounding.UPWARD: "upward",
    Rounding.DOWNWARD: "downward",
}


@attrs.frozen(eq=False)
class Evaluation:
    """What a program gives on many numbers at once.

    Attributes:
        results: by name, each [numbers] or of shape ().
        is_undefined: for which numbers it has no result, since an integer is divided by 0; [numbers] or of shape ().
    """

    results: Mapping[str, Array]
    is_undefined: NDArray[np.bool_]


def evaluate_rounded(program: Program, inputs: Mapping[str, Array], rounding: Rounding) -> Evaluation:
    """Runs `main`, rounding in that mode; an integer divided by 0 is not an error but noted.

    Raises:
        ValueError: stochastic rounding. EvaluationError: see `Interpreter.run`.
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"{rounding!r} is not one of the modes {', '.join(NAMES.values())}")
    computer = _Computer(rounding)
    with np.errstate(all="ignore"):  # signalling NaNs are among all numbers
        results = Interpreter(program, computer=computer).run(inputs)
    return Evaluation(results, np.asarray(computer.undefined))


class _Computer:
    """Computes operations in a rounding mode (`interpreter.Computer`)."""

    def __init__(self, rounding: Rounding) -> None:
        self.rounding = rounding
        self.undefined: Any = np.False_

    def __call__(self, op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        if isinstance(op, pd.DivideOp) and op.can_fail():
            x, y = (np.asarray(value) for value in given)
            self.undefined = self.undefined | (y == 0)
            return compute(x, np.where(y == 0, y.dtype.type(1), y))
        format = rounded_format(op)
        if self.rounding is Rounding.NEAREST_EVEN or format is None or not op.operands:
            return compute(*given)
        if isinstance(op, pd.CastOp):
            kind = op.x.type
            assert isinstance(kind, RankedTensor)
            if not (isinstance(op.dtype, ScalarType) and op.dtype.is_float):
                return compute(*given)
            source = F32 if kind.element.is_float else kind.element.format
            rounded = convert(np.asarray(given[0]), source, format, self.rounding)
        else:
            doubles = [np.asarray(value).astype(np.float64) for value in given]
            function = _DIRECTED.get(op.__class__)
            exact = compute(*doubles) if function is None else function(op, self.rounding, *doubles)
            rounded = convert(np.asarray(exact), F64, format, self.rounding)
        return rounded.astype(np.float32)


def _add(x: Doubles, y: Doubles, rounding: Rounding) -> Doubles:
    """The sum of fp32 numbers, for one rounding in this mode to fp32 or a narrower format.

    fp64 may not hold it. Then it is rounded to odd, which keeps it off every number of those formats (Boldo and
    Melquiond, 2008); TwoSum (Knuth, 1969) gives its rounding error.
    """
    total = np.asarray(x + y)
    part = total - x
    error = (x - (total - part)) + (y - part)  # NaN where the sum is not finite
    inexact = ((error < 0) | (error > 0)) & (total.view(np.int64) & 1 == 0)
    total = np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total)
    if rounding is Rounding.DOWNWARD:
        total = np.where((total == 0) & (np.signbit(x) | np.signbit(y)), -0.0, total)
    return total


def _single(x: Doubles, rounding: Rounding) -> Doubles:
    """Rounded to fp32."""
    return convert(np.asarray(x), F64, F32, rounding).astype(np.float64)


def _scale(op: Operation, rounding: Rounding, x: Doubles) -> Doubles:
    assert isinstance(op, pd.ScaleOp)
    scale, bias = np.asarray([op.scale, op.bias]).astype(np.float32).astype(np.float64)
    if op.bias_after_scale:
        return _add(_single(x * scale, rounding), np.broadcast_to(bias, x.shape), rounding)
    return _single(_add(x, np.broadcast_to(bias, x.shape), rounding), rounding) * scale


def _leaky_relu(op: Operation, rounding: Rounding, x: Doubles) -> Doubles:
    assert isinstance(op, pd.LeakyReluOp)
    return np.where(x >= 0, x, _single(x * np.float64(np.float32(op.negative_slope)), rounding))


_DIRECTED: Final[Mapping[type[Operation], Callable[..., Doubles]]] = {
    pd.AddOp: lambda _, rounding, x, y: _add(x, y, rounding),
    pd.SubtractOp: lambda _, rounding, x, y: _add(x, -y, rounding),
    pd.MultiplyOp: lambda _, rounding, x, y: x * y,
    pd.DivideOp: lambda _, rounding, x, y: x / y,
    pd.ScaleOp: _scale,
    pd.LeakyReluOp: _leaky_relu,
    pd.SquareOp: lambda _, rounding, x: x * x,
    pd.SqrtOp: lambda _, rounding, x: np.sqrt(x),
    pd.ReciprocalOp: lambda _, rounding, x: 1 / x,
    pd.RsqrtOp: lambda _, rounding, x: 1 / _single(np.sqrt(x), rounding),
}
"""What, converted to the format in the mode, is the result. fp64 holds products of fp32 numbers; a quotient or a square
root that is not a number of a format is further from all of these than fp64 is wide."""
