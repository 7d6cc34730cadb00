"""Elementwise ops of the vector unit: binary, relations, unary, select, cast."""

from __future__ import annotations

from typing import Any, ClassVar, Final, cast

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
    default_context,
    operand,
    result,
)
from tx8ir.target import casting
from tx8ir.target.arithmetic import divide_nearest, multiply_nearest
from tx8ir.target.extrema import maximum, minimum
from tx8ir.target.vector_functions import UNARY as UNARY_FUNCTIONS
from tx8ir.target.vector_functions import VectorFunction, register

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


def function_of(op_class: type[BinaryOp]) -> str:
    """The vector function of two operands that an op class is."""
    return op_class.name.removeprefix("tx8be.").lower()


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
    """Base of the one-operand elementwise ops; the result has the operand's type. Each is one vector function."""

    x: Operand = operand()
    y: Result = result()

    function: ClassVar[VectorFunction]

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "operand")

    def compute(self, x: Array) -> Array:
        return self.function.reference(x, ranked(self.x, "operand").element.format, self.parameter)

    @property
    def parameter(self) -> float | None:
        """The parameter of the function, where it takes one."""
        return None


class ParametricUnaryOp(UnaryOp):
    """Base of those whose function takes a parameter, which the instruction holds as fp32."""

    alpha: float = attribute(default=0.01)

    @property
    def parameter(self) -> float | None:
        return self.alpha


def unary_op(function: VectorFunction) -> type[UnaryOp]:
    """A new op class for a vector function, named after its `graph_op`."""
    base = ParametricUnaryOp if function.takes_alpha else UnaryOp
    namespace: dict[str, Any] = {
        "__doc__": f"`y = {function.formula}`.",
        "__module__": __name__,
        "__qualname__": f"{function.graph_op}Op",
        "function": function,
    }
    metaclass: Any = type(UnaryOp)
    return cast(
        "type[UnaryOp]", metaclass(f"{function.graph_op}Op", (base,), namespace, name=f"tx8be.{function.graph_op}")
    )


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
        return casting.cast(x, ranked(self.x, "operand").element.format, ranked(self.y, "result").element.format)


UNARY = tuple(unary_op(function) for function in UNARY_FUNCTIONS if function.graph_op is not None)
RELATIONS = (EqOp, NeOp, GeOp, GtOp, LeOp, LtOp)
BINARY = (AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, *RELATIONS)
_BY_FUNCTION: Final = {op_class.function.name: op_class for op_class in UNARY}
_BINARY_BY_FUNCTION: Final = {function_of(op_class): op_class for op_class in BINARY}


def unary_of(function: str) -> type[UnaryOp]:
    """The op class that a vector function of one operand computes. Raises KeyError when there is none."""
    return _BY_FUNCTION[function]


def binary_of(function: str) -> type[BinaryOp]:
    """The op class that a vector function of two operands computes. Raises KeyError when there is none."""
    return _BINARY_BY_FUNCTION[function]


def add_unary(function: VectorFunction) -> type[UnaryOp]:
    """Give the dialect an operation for a vector function that the machine as shipped does not have.

    The function becomes known to the instructions and the simulator as well. A lowering reaches it by `unary_of`.

    Raises:
        ValueError: there is a function of that name. IrError: there is an operation of the name `graph_op`.
    """
    dialect = default_context().dialect("tx8be")
    assert dialect is not None  # the one that this module is part of
    made = unary_op(register(function))
    dialect.add(made)
    _BY_FUNCTION[function.name] = made
    return made
