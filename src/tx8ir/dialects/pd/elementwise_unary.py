"""Elementwise operations on one tensor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Compute,
    ElementwiseMappable,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    Result,
    ScalarType,
    Type,
    attribute,
    f32,
    i1,
    operand,
    result,
)
from tx8ir.dialects.samples import ELEMENTS, SHAPES, Kind, Sampled, case, each
from tx8ir.target.arithmetic import divide_nearest, exp, leaky_relu, log, multiply_nearest
from tx8ir.target.casting import cast
from tx8ir.target.extrema import maximum

from . import numerics
from .inference import fail, number_of, tensor_operand


class ElementwiseUnaryOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics, ElementwiseMappable)):
    """Base of the operations whose result has the type of their one operand."""

    x: Operand = operand(doc="[...]")
    out: Result = result(doc="[...], the type of `x`")

    accepts: ClassVar[Kind] = "float"
    """Element types that `x` may have."""
    cases = each(SHAPES)

    def infer_types(self) -> tuple[Type, ...]:
        return (tensor_operand(self, self.x, "x", kind=self.accepts),)


class ReluOp(ElementwiseUnaryOp, name="pd.relu"):
    """out = max(x, 0): NaN stays NaN, +0 for both zeros."""

    accepts = "number"

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return maximum(x, np.zeros((), x.dtype))


class LeakyReluOp(ElementwiseUnaryOp, name="pd.leaky_relu"):
    """out = x where x >= 0, negative_slope * x elsewhere."""

    negative_slope: float = attribute(default=0.02)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return leaky_relu(x, self.negative_slope, tensor_operand(self, self.x, "x").element.format)


class GeluOp(ElementwiseUnaryOp, name="pd.gelu"):
    """out = x * Phi(x), Phi the normal distribution function (arXiv:1606.08415).

    With `approximate`, the tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
    """

    approximate: bool = attribute(default=False)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.gelu(x, approximate=self.approximate)


class SoftplusOp(ElementwiseUnaryOp, name="pd.softplus"):
    """out = log(1 + exp(beta x)) / beta, and x where beta x > threshold. `beta` is not 0."""

    beta: float = attribute(default=1.0)
    threshold: float = attribute(default=20.0)

    refuses = {"beta": (0.0,)}

    def infer_types(self) -> tuple[Type, ...]:
        if self.beta == 0.0:
            raise fail(self, "attribute `beta` is 0; expected another value")
        return super().infer_types()

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.softplus(x, beta=self.beta, threshold=self.threshold)


class TanhOp(ElementwiseUnaryOp, name="pd.tanh"):
    """out = tanh(x)."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.tanh(x)


class SigmoidOp(ElementwiseUnaryOp, name="pd.sigmoid"):
    """out = 1 / (1 + exp(-x))."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.sigmoid(x)


class ErfOp(ElementwiseUnaryOp, name="pd.erf"):
    """out = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.erf(x)


class ExpOp(ElementwiseUnaryOp, name="pd.exp"):
    """out = e^x."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return exp(x)


class LogOp(ElementwiseUnaryOp, name="pd.log"):
    """out = ln(x): -inf at 0, NaN below."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return log(x)


class SqrtOp(ElementwiseUnaryOp, name="pd.sqrt"):
    """out = sqrt(x): NaN below 0, -0 at -0."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.sqrt(x)


class RsqrtOp(ElementwiseUnaryOp, name="pd.rsqrt"):
    """out = 1 / sqrt(x): infinite at 0, NaN below."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return 1 / np.sqrt(x)


class ReciprocalOp(ElementwiseUnaryOp, name="pd.reciprocal"):
    """out = 1 / x."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return divide_nearest(np.ones((), x.dtype), x, tensor_operand(self, self.x, "x").element.format)


class SinOp(ElementwiseUnaryOp, name="pd.sin"):
    """out = sin(x), x in radians."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.sin(x)


class CosOp(ElementwiseUnaryOp, name="pd.cos"):
    """out = cos(x), x in radians."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.cos(x)


class FloorOp(ElementwiseUnaryOp, name="pd.floor"):
    """out = the largest integer <= x, in the format of x."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.floor(x)


class AbsOp(ElementwiseUnaryOp, name="pd.abs"):
    """out = |x|. The smallest integer of a signed format stays as it is (two's complement)."""

    accepts = "number"

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.abs(x)


class SquareOp(ElementwiseUnaryOp, name="pd.square"):
    """out = x * x."""

    accepts = "number"

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return multiply_nearest(x, x, tensor_operand(self, self.x, "x").element.format)


class PowOp(ElementwiseUnaryOp, name="pd.pow"):
    """out = x^y with one exponent for all elements: NaN where x < 0 and y is no integer."""

    y: float = attribute(default=1.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.power(x, np.asarray(self.y, dtype=x.dtype))


class ScaleOp(ElementwiseUnaryOp, name="pd.scale"):
    """out = scale * x + bias, or scale * (x + bias) if not `bias_after_scale`.

    For an integer tensor, `scale` and `bias` are numbers of its element type.
    """

    accepts = "number"

    scale: float = attribute(default=1.0)
    bias: float = attribute(default=0.0)
    bias_after_scale: bool = attribute(default=True)

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        number_of(self, "scale", self.scale, x)
        number_of(self, "bias", self.bias, x)
        return (x,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        scale, bias = np.asarray([self.scale, self.bias]).astype(x.dtype)
        return x * scale + bias if self.bias_after_scale else (x + bias) * scale


class IsnanOp(Op, Compute, InferTypes, Sampled, name="pd.isnan", traits=(Pure, HasValueSemantics, ElementwiseMappable)):
    """out = whether x is NaN."""

    accepts = "float"
    cases = each(SHAPES)

    x: Operand = operand(doc="[...], floating-point")
    out: Result = result(doc="[...] of i1")

    def infer_types(self) -> tuple[Type, ...]:
        return (tensor_operand(self, self.x, "x", kind="float").with_element(i1),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.isnan(x)


class LogicalNotOp(
    Op, Compute, InferTypes, Sampled, name="pd.logical_not", traits=(Pure, HasValueSemantics, ElementwiseMappable)
):
    """out = whether x is zero (false)."""

    cases = each(SHAPES)

    x: Operand = operand(doc="[...] of any element type")
    out: Result = result(doc="[...] of i1")

    def infer_types(self) -> tuple[Type, ...]:
        return (tensor_operand(self, self.x, "x").with_element(i1),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.logical_not(x)


class CastOp(Op, Compute, InferTypes, Sampled, name="pd.cast", traits=(Pure, HasValueSemantics, ElementwiseMappable)):
    """out = x in element type `dtype`.

    To a floating format: rounded once, to nearest even. To an integer from a floating format: truncated towards zero
    and saturated, NaN gives 0 (undefined in Paddle); from another integer: the low bits, so that 200 becomes -56 in
    i8. To i1: whether x is not zero.
    """

    x: Operand = operand(doc="[...] of any element type")
    dtype: Type = attribute(default=f32)
    out: Result = result(doc="[...] of `dtype`")

    cases = (*(case((2, 3), dtype=element) for element in ELEMENTS["any"][1:]), *each(SHAPES))

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        return (x.with_element(self._element()),)

    def _element(self) -> ScalarType:
        if not isinstance(self.dtype, ScalarType):
            raise fail(self, f"attribute `dtype` is {self.dtype}; expected a scalar type")
        return self.dtype

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        source = tensor_operand(self, self.x, "x").element.format
        return cast(x, source, self._element().format)
