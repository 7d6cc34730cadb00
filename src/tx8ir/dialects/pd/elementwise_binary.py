"""Elementwise arithmetic on two tensors, with broadcasting."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Commutative,
    Compute,
    ElementwiseMappable,
    Fallible,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    RankedTensor,
    Result,
    Type,
    operand,
    result,
)
from tx8ir.dialects.domains import ANYTHING, NOT_ZERO, Domain, OperandDomains
from tx8ir.dialects.samples import BROADCASTS, Kind, Sampled, pairs
from tx8ir.target.arithmetic import divide_nearest, multiply_nearest
from tx8ir.target.extrema import maximum, minimum

from . import numerics
from .inference import broadcast_shape, make_type, same_element, tensor_operand


class ElementwiseBinaryOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics, ElementwiseMappable)):
    """Base of the operations on two tensors of one element type, which broadcast as in NumPy."""

    x: Operand = operand(doc="[...]")
    y: Operand = operand(doc="[...], broadcastable with `x`")
    out: Result = result(doc="the broadcast shape, the element type of the operands")

    accepts: ClassVar[Kind] = "number"
    """Element types that the operands may have."""
    cases = pairs(BROADCASTS)

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        y = tensor_operand(self, self.y, "y", kind=self.accepts)
        element = same_element(self, x=x, y=y)
        return (make_type((x, y), broadcast_shape(self, x=x, y=y), element),)


class AddOp(ElementwiseBinaryOp, name="pd.add", traits=(Commutative,)):
    """out = x + y. Integers wrap."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return x + y


class SubtractOp(ElementwiseBinaryOp, name="pd.subtract"):
    """out = x - y. Integers wrap."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return x - y


class MultiplyOp(ElementwiseBinaryOp, name="pd.multiply", traits=(Commutative,)):
    """out = x * y. Integers wrap."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return multiply_nearest(x, y, tensor_operand(self, self.x, "x").element.format)


class DivideOp(ElementwiseBinaryOp, Fallible, OperandDomains, name="pd.divide"):
    """out = x / y. Integers truncate towards zero; an integer divided by 0 is an error at evaluation."""

    def can_fail(self) -> bool:
        return not (isinstance(self.y.type, RankedTensor) and self.y.type.element.is_float)

    def operand_domains(self) -> tuple[Domain, ...]:
        return (ANYTHING, NOT_ZERO if self.can_fail() else ANYTHING)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        if x.dtype.kind == "f":  # floats are computed in f32 or f64
            return divide_nearest(x, y, tensor_operand(self, self.x, "x").element.format)
        if not np.all(y):
            raise ZeroDivisionError("an integer is divided by 0")
        # Floor division, plus one where it went below the quotient: the remainder has the divisor's sign.
        floor = x // y
        return floor + ((floor * y != x) & ((x < 0) != (y < 0))).astype(x.dtype)


class MaximumOp(ElementwiseBinaryOp, name="pd.maximum", traits=(Commutative,)):
    """out = the larger of x and y; NaN if either is, and +0 is larger than -0 (IEEE 754-2019)."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return maximum(x, y)


class MinimumOp(ElementwiseBinaryOp, name="pd.minimum", traits=(Commutative,)):
    """out = the smaller of x and y; NaN if either is, and -0 is smaller than +0 (IEEE 754-2019)."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return minimum(x, y)


class ElementwisePowOp(ElementwiseBinaryOp, name="pd.elementwise_pow"):
    """out = x^y, IEEE `pow`: NaN where x < 0 and y is no integer."""

    accepts = "float"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return numerics.power(x, y)
