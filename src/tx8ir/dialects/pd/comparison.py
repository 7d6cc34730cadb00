"""Comparisons, logic on truth values, and selection by a truth value; all broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Commutative,
    Compute,
    ElementwiseMappable,
    HasValueSemantics,
    InferTypes,
    NumericOperand,
    Op,
    Operand,
    Pure,
    Result,
    ScalarType,
    Type,
    i1,
    numeric_operand,
    operand,
    result,
)
from tx8ir.dialects.samples import BROADCASTS, Sampled, case, of

from .declaration import OnnxOperator
from .elementwise_binary import BroadcastingOp
from .inference import broadcast_shape, make_type, same_element, tensor_operand
from .promotion import PromotesOperands


class ComparisonOp(BroadcastingOp):
    """Base of the operations from two tensors of one element type to truth values."""

    out: Result = result(doc="the broadcast shape, of i1")

    accepts = "any"

    def result_element(self, operands: ScalarType) -> ScalarType:
        return i1


class EqualOp(ComparisonOp, name="pd.equal", traits=(Commutative,)):
    """out = (x == y): false if either is NaN, true for -0 and +0."""

    vector_function = "eq"
    onnx = OnnxOperator("Equal", 7, 19)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.equal(x, y)


class NotEqualOp(ComparisonOp, name="pd.not_equal", traits=(Commutative,)):
    """out = (x != y): true if either is NaN."""

    vector_function = "ne"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.not_equal(x, y)


class GreaterThanOp(ComparisonOp, name="pd.greater_than"):
    """out = (x > y): false if either is NaN."""

    vector_function = "gt"
    onnx = OnnxOperator("Greater", 7, 13)
    accepts = "number"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.greater(x, y)


class GreaterEqualOp(ComparisonOp, name="pd.greater_equal"):
    """out = (x >= y): false if either is NaN."""

    vector_function = "ge"
    onnx = OnnxOperator("GreaterOrEqual", 12, 16)
    accepts = "number"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.greater_equal(x, y)


class LessThanOp(ComparisonOp, name="pd.less_than"):
    """out = (x < y): false if either is NaN."""

    vector_function = "lt"
    onnx = OnnxOperator("Less", 7, 13)
    accepts = "number"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.less(x, y)


class LessEqualOp(ComparisonOp, name="pd.less_equal"):
    """out = (x <= y): false if either is NaN."""

    vector_function = "le"
    onnx = OnnxOperator("LessOrEqual", 12, 16)
    accepts = "number"

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.less_equal(x, y)


class LogicalAndOp(ComparisonOp, name="pd.logical_and", traits=(Commutative,)):
    """out = x and y are both not zero (true)."""

    onnx = OnnxOperator("And", 7, 7)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.logical_and(x, y)


class LogicalOrOp(ComparisonOp, name="pd.logical_or", traits=(Commutative,)):
    """out = x or y is not zero (true)."""

    onnx = OnnxOperator("Or", 7, 7)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.logical_or(x, y)


class WhereOp(
    Op,
    PromotesOperands,
    Compute,
    InferTypes,
    Sampled,
    name="pd.where",
    traits=(Pure, HasValueSemantics, ElementwiseMappable),
):
    """out = x where condition is true, y elsewhere. What is not selected does not matter, NaN included."""

    condition: Operand = operand(doc="[...] of i1")
    x: NumericOperand = numeric_operand(doc="[...], broadcastable with the others")
    y: NumericOperand = numeric_operand(doc="[...], broadcastable with the others, the element type of `x`")
    out: Result = result(doc="the broadcast shape, the element type of `x`")

    cases = (
        *(case(of(x, i1), x, y) for x, y in BROADCASTS),
        *(case(of(c, i1), x, y) for c, x, y in (((3,), (2, 3), ()), ((), (2,), (2,)), ((2, 3), (3,), (2, 1)))),
    )

    def infer_types(self) -> tuple[Type, ...]:
        condition = tensor_operand(self, self.condition, "condition", kind="bool")
        x = tensor_operand(self, self.x, "x")
        y = tensor_operand(self, self.y, "y")
        element = same_element(self, x=x, y=y)
        return (make_type((condition, x, y), broadcast_shape(self, condition=condition, x=x, y=y), element),)

    def compute(self, condition: NDArray[Any], x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.where(condition, x, y)
