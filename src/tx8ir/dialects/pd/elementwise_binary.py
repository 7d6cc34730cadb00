"""Elementwise arithmetic on two tensors, with broadcasting."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Commutative,
    Compute,
    ConditionallySpeculatable,
    ElementwiseMappable,
    HasValueSemantics,
    InferTypes,
    IrError,
    NumericOperand,
    Op,
    Pure,
    RankedTensor,
    Result,
    ScalarType,
    Type,
    Value,
    numeric_operand,
    result,
)
from tx8ir.dialects import pd
from tx8ir.dialects.domains import ANYTHING, NOT_ZERO, Domain, OperandDomains
from tx8ir.dialects.samples import BROADCASTS, Kind, Sampled, pairs
from tx8ir.target.arithmetic import divide_nearest, multiply_nearest
from tx8ir.target.extrema import maximum, minimum

from . import numerics
from .declaration import Elementwise, OnnxOperator
from .gradients import full, scaled, times
from .inference import broadcast_shape, make_type, same_element, tensor_operand
from .promotion import PromotesOperands


class BroadcastingOp(
    Op,
    PromotesOperands,
    Elementwise,
    Compute,
    InferTypes,
    Sampled,
    traits=(Pure, HasValueSemantics, ElementwiseMappable),
):
    """Base of the operations on two tensors of one element type, which broadcast as in NumPy."""

    x: NumericOperand = numeric_operand(doc="[...]")
    y: NumericOperand = numeric_operand(doc="[...], broadcastable with `x`")

    mixed_precision = "infer"
    accepts: ClassVar[Kind]
    """Element types that the operands may have."""
    cases = pairs(BROADCASTS)

    def result_element(self, operands: ScalarType) -> ScalarType:
        """The element type of the result, from that of the operands."""
        return operands

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        y = tensor_operand(self, self.y, "y", kind=self.accepts)
        element = self.result_element(same_element(self, x=x, y=y))
        return (make_type((x, y), broadcast_shape(self, x=x, y=y), element),)


class ElementwiseBinaryOp(BroadcastingOp):
    """Base of the operations whose result has the element type of the operands."""

    out: Result = result(doc="the broadcast shape, the element type of the operands")

    has_inplace_form = True
    accepts = "number"

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        """The gradients of a scalar by both operands, in the broadcast shape, from `g`, the one by `out`."""
        raise IrError(f"{self.name} has no gradient", self)


class AddOp(ElementwiseBinaryOp, name="pd.add", traits=(Commutative,)):
    """out = x + y. Integers wrap."""

    vector_function = "add"
    onnx = OnnxOperator("Add", 7, 14)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return x + y

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return g, g


class SubtractOp(ElementwiseBinaryOp, name="pd.subtract"):
    """out = x - y. Integers wrap."""

    vector_function = "sub"
    onnx = OnnxOperator("Sub", 7, 14)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return x - y

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return g, scaled(g, -1.0)


class MultiplyOp(ElementwiseBinaryOp, name="pd.multiply", traits=(Commutative,)):
    """out = x * y. Integers wrap."""

    vector_function = "mul"
    onnx = OnnxOperator("Mul", 7, 14)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return multiply_nearest(x, y, tensor_operand(self, self.x, "x").element.format)

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return times(g, y), times(g, x)


class DivideOp(ElementwiseBinaryOp, ConditionallySpeculatable, OperandDomains, name="pd.divide"):
    """out = x / y. Integers truncate towards zero; an integer divided by 0 is an error at evaluation."""

    vector_function = "div"
    onnx = OnnxOperator("Div", 7, 14)

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

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        by_x = pd.divide(g, y).out
        return by_x, scaled(times(by_x, pd.divide(x, y).out), -1.0)


class MaximumOp(ElementwiseBinaryOp, name="pd.maximum", traits=(Commutative,)):
    """out = the larger of x and y; NaN if either is, and +0 is larger than -0 (IEEE 754-2019)."""

    vector_function = "max"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return maximum(x, y)

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return _of_chosen(pd.greater_than(x, y).out, g)


class MinimumOp(ElementwiseBinaryOp, name="pd.minimum", traits=(Commutative,)):
    """out = the smaller of x and y; NaN if either is, and -0 is smaller than +0 (IEEE 754-2019)."""

    vector_function = "min"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return minimum(x, y)

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        return _of_chosen(pd.greater_than(y, x).out, g)


class ElementwisePowOp(ElementwiseBinaryOp, name="pd.elementwise_pow"):
    """out = x^y, IEEE `pow`: NaN where x < 0 and y is not an integer."""

    has_inplace_form = False
    mixed_precision = "deny"
    accepts = "float"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return numerics.power(x, y)

    def gradients(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        by_x = times(times(g, y), pd.elementwise_pow(x, scaled(y, 1.0, -1.0)).out)
        return by_x, times(times(g, pd.elementwise_pow(x, y).out), pd.log(x).out)


def _of_chosen(first: Value, g: Value) -> tuple[Value, Value]:
    """The gradients: g for the operand that is chosen, else 0; of equal ones the second is (Paddle's choice)."""
    zero = full(g, 0.0)
    return pd.where(first, g, zero).out, pd.where(first, zero, g).out
