"""Elementwise ops of the vector unit: binary, relations, unary, select, cast."""

from __future__ import annotations

import numpy as np

from tx8ir.core import (
    Compute,
    InferTypes,
    Operand,
    Pure,
    Result,
    Type,
    VerifyError,
    attribute,
    operand,
    result,
)
from tx8ir.target.arithmetic import divide_nearest, exp, leaky_relu, log, multiply_nearest
from tx8ir.target.casting import cast
from tx8ir.target.extrema import maximum, minimum

from .base import Array, BackendOp, in_format, is_none, ranked, require, require_element, require_shape, same_type


class BinaryOp(BackendOp, Compute, InferTypes, traits=(Pure,)):
    """Base of the two-operand elementwise ops, result in the type of `lhs`.

    `rhs` has the shape of `lhs` (vector-vector), is rank 1 with the last extent of `lhs` (vector-unit-vector: the same
    for every row), or is none while `scalar` is set (vector-scalar; the number is rounded to the operand format).
    """

    lhs: Operand = operand()
    rhs: Operand = operand(doc="shape of lhs, [last extent of lhs], or none")
    scalar: float | None = attribute(default=None)
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        lhs = ranked(self.lhs, "lhs")
        if is_none(self.rhs):
            require(self.scalar is not None, "rhs is none and there is no scalar")
            return (lhs,)
        require(self.scalar is None, f"scalar {self.scalar} is given together with rhs")
        rhs = ranked(self.rhs, "rhs")
        require_element(rhs, lhs.element, "rhs")
        if rhs.shape != lhs.shape and (lhs.rank == 0 or rhs.shape != lhs.shape[-1:]):
            raise VerifyError(
                f"rhs has shape {list(rhs.shape)}; expected {list(lhs.shape)} or {list(lhs.shape[-1:])}, "
                f"as lhs is {list(lhs.shape)}"
            )
        return (lhs,)

    def compute(self, lhs: Array, rhs: Array | None) -> Array:
        if rhs is None:
            assert self.scalar is not None
            rhs = in_format(self.scalar, lhs, ranked(self.lhs, "lhs"))
        return self.function(lhs, rhs)

    def function(self, lhs: Array, rhs: Array) -> Array:
        """The elementwise function on broadcast arrays of the working type."""
        raise NotImplementedError


class AddOp(BinaryOp, name="tx8be.Add"):
    """`out = lhs + rhs`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return lhs + rhs


class SubOp(BinaryOp, name="tx8be.Sub"):
    """`out = lhs - rhs`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return lhs - rhs


class MulOp(BinaryOp, name="tx8be.Mul"):
    """`out = lhs * rhs`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return multiply_nearest(lhs, rhs, ranked(self.lhs, "lhs").element.format)


class DivOp(BinaryOp, name="tx8be.Div"):
    """`out = lhs / rhs`; integers truncate toward zero."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        if np.issubdtype(lhs.dtype, np.integer):
            quotient = np.abs(lhs) // np.abs(rhs)
            return np.where((lhs < 0) != (rhs < 0), -quotient, quotient).astype(lhs.dtype)
        return divide_nearest(lhs, rhs, ranked(self.lhs, "lhs").element.format)


class MaxOp(BinaryOp, name="tx8be.Max"):
    """`out = max(lhs, rhs)`; NaN propagates, and +0 is larger than -0."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return maximum(lhs, rhs)


class MinOp(BinaryOp, name="tx8be.Min"):
    """`out = min(lhs, rhs)`; NaN propagates, and -0 is smaller than +0."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return minimum(lhs, rhs)


class EqOp(BinaryOp, name="tx8be.Eq"):
    """`out = 1.0 where lhs == rhs, else 0.0` (a value mask in the operand format)."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs == rhs).astype(lhs.dtype)


class NeOp(BinaryOp, name="tx8be.Ne"):
    """`out = 1.0 where lhs != rhs, else 0.0`; `Ne(x, x)` marks the NaNs."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs != rhs).astype(lhs.dtype)


class GeOp(BinaryOp, name="tx8be.Ge"):
    """`out = 1.0 where lhs >= rhs, else 0.0`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs >= rhs).astype(lhs.dtype)


class GtOp(BinaryOp, name="tx8be.Gt"):
    """`out = 1.0 where lhs > rhs, else 0.0`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs > rhs).astype(lhs.dtype)


class LeOp(BinaryOp, name="tx8be.Le"):
    """`out = 1.0 where lhs <= rhs, else 0.0`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs <= rhs).astype(lhs.dtype)


class LtOp(BinaryOp, name="tx8be.Lt"):
    """`out = 1.0 where lhs < rhs, else 0.0`."""

    def function(self, lhs: Array, rhs: Array) -> Array:
        return (lhs < rhs).astype(lhs.dtype)


class UnaryOp(BackendOp, Compute, InferTypes, traits=(Pure,)):
    """Base of the one-operand elementwise ops; the result has the operand's type."""

    x: Operand = operand()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "operand")

    def compute(self, x: Array) -> Array:
        raise NotImplementedError


class AbsOp(UnaryOp, name="tx8be.Abs"):
    """`y = |x|`."""

    def compute(self, x: Array) -> Array:
        return np.abs(x)


class RecipOp(UnaryOp, name="tx8be.Recip"):
    """`y = 1 / x`."""

    def compute(self, x: Array) -> Array:
        return divide_nearest(np.ones((), x.dtype), x, ranked(self.x, "operand").element.format)


class SquareOp(UnaryOp, name="tx8be.Square"):
    """`y = x * x`."""

    def compute(self, x: Array) -> Array:
        return multiply_nearest(x, x, ranked(self.x, "operand").element.format)


class SqrtOp(UnaryOp, name="tx8be.Sqrt"):
    """`y = sqrt(x)`; NaN below zero."""

    def compute(self, x: Array) -> Array:
        return np.sqrt(x)


class RsqrtOp(UnaryOp, name="tx8be.Rsqrt"):
    """`y = 1 / sqrt(x)`."""

    def compute(self, x: Array) -> Array:
        return 1 / np.sqrt(x)


class NegOp(UnaryOp, name="tx8be.Neg"):
    """`y = 0 - x`: +0 for both zeros."""

    def compute(self, x: Array) -> Array:
        return 0 - x


class LogOp(UnaryOp, name="tx8be.Log"):
    """`y = ln(x)`."""

    def compute(self, x: Array) -> Array:
        return log(x)


class ExpOp(UnaryOp, name="tx8be.Exp"):
    """`y = e ** x`."""

    def compute(self, x: Array) -> Array:
        return exp(x)


class SinOp(UnaryOp, name="tx8be.Sin"):
    """`y = sin(x)`, x in radians."""

    def compute(self, x: Array) -> Array:
        return np.sin(x)


class CosOp(UnaryOp, name="tx8be.Cos"):
    """`y = cos(x)`, x in radians."""

    def compute(self, x: Array) -> Array:
        return np.cos(x)


class TanhOp(UnaryOp, name="tx8be.Tanh"):
    """`y = tanh(x)`."""

    def compute(self, x: Array) -> Array:
        return np.tanh(x)


class SigmoidOp(UnaryOp, name="tx8be.Sigmoid"):
    """`y = 1 / (1 + e ** -x)`, evaluated without overflow."""

    def compute(self, x: Array) -> Array:
        e = exp(-np.abs(x))
        return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


class ReluOp(UnaryOp, name="tx8be.Relu"):
    """`y = max(x, 0)`; +0 for both zeros."""

    def compute(self, x: Array) -> Array:
        return maximum(x, np.zeros((), x.dtype))


class LeakyReluOp(UnaryOp, name="tx8be.LeakyRelu"):
    """`y = x where x >= 0, else alpha * x`; alpha is rounded to fp32."""

    alpha: float = attribute(default=0.01)

    def compute(self, x: Array) -> Array:
        return leaky_relu(x, self.alpha, ranked(self.x, "operand").element.format)


class SoftplusOp(UnaryOp, name="tx8be.Softplus"):
    """`y = ln(1 + e ** x)`, evaluated without overflow."""

    def compute(self, x: Array) -> Array:
        return np.logaddexp(x, x.dtype.type(0))


class SelectOp(BackendOp, Compute, InferTypes, name="tx8be.Select", traits=(Pure,)):
    """`out = a where cond != 0, else b`; a none operand stands for its scalar.

    `cond` is a value mask (1.0/0.0) in the format and shape of the result.
    """

    cond: Operand = operand()
    a: Operand = operand(doc="the result's type, or none with a_scalar")
    b: Operand = operand(doc="the result's type, or none with b_scalar")
    a_scalar: float | None = attribute(default=None)
    b_scalar: float | None = attribute(default=None)
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        cond = ranked(self.cond, "cond")
        for name, value, scalar in (("a", self.a, self.a_scalar), ("b", self.b, self.b_scalar)):
            if is_none(value):
                require(scalar is not None, f"{name} is none and there is no {name}_scalar")
            else:
                require(scalar is None, f"{name}_scalar {scalar} is given together with {name}")
                t = ranked(value, name)
                require_shape(t, cond.shape, name)
                require_element(t, cond.element, name)
        return (cond,)

    def compute(self, cond: Array, a: Array | None, b: Array | None) -> Array:
        sides: list[Array] = []
        for value, scalar in ((a, self.a_scalar), (b, self.b_scalar)):
            if value is None:
                assert scalar is not None
                value = in_format(scalar, cond, ranked(self.cond, "cond"))
            sides.append(value)
        return np.where(cond != 0, *sides)


class CastOp(BackendOp, Compute, name="tx8be.Cast", traits=(Pure,)):
    """Converts the elements to the result's format.

    To a floating-point format: nearest-even. From floating point to an integer: toward zero, saturating, NaN gives 0.
    From an integer to another: the low bits.
    """

    x: Operand = operand()
    y: Result = result()

    def verify_op(self) -> None:
        require_shape(ranked(self.y, "result"), ranked(self.x, "operand").shape, "result")

    def compute(self, x: Array) -> Array:
        return cast(x, ranked(self.x, "operand").element.format, ranked(self.y, "result").element.format)


RELATIONS = (EqOp, NeOp, GeOp, GtOp, LeOp, LtOp)
BINARY = (AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, *RELATIONS)
UNARY = (
    AbsOp, RecipOp, SquareOp, SqrtOp, RsqrtOp, NegOp, LogOp, ExpOp, SinOp, CosOp, TanhOp, SigmoidOp, ReluOp,
    LeakyReluOp, SoftplusOp,
)  # fmt: skip
OPS = (*BINARY, *UNARY, SelectOp, CastOp)
