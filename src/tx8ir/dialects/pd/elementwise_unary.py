"""Elementwise operations on one tensor."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Compute,
    ElementwiseMappable,
    HasValueSemantics,
    InferTypes,
    IrError,
    Op,
    Operand,
    Pure,
    Result,
    ScalarType,
    Type,
    Value,
    attribute,
    f32,
    i1,
    operand,
    result,
)
from tx8ir.dialects import pd
from tx8ir.dialects.samples import ELEMENTS, SHAPES, Kind, Sampled, case, each
from tx8ir.target.arithmetic import divide_nearest, exp, leaky_relu, log, multiply_nearest
from tx8ir.target.casting import cast
from tx8ir.target.extrema import maximum

from . import numerics
from .declaration import Elementwise, OnnxOperator, Primal
from .gradients import full, scaled, times, zeros
from .inference import fail, number_of, tensor_operand


class ElementwiseUnaryOp(
    Op, Elementwise, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics, ElementwiseMappable)
):
    """Base of the operations whose result has the type of their one operand.

    An operation is one class: its name and formula, `compute`, `gradient`, and the attributes of `Elementwise`.
    """

    x: Operand = operand(doc="[...]")
    out: Result = result(doc="[...], the type of `x`")

    has_inplace_form = True
    accepts: ClassVar[Kind] = "float"
    """Element types that `x` may have."""
    cases = each(SHAPES)

    def gradient(self, at: Primal, g: Value) -> Value:
        """The gradient of a scalar by `x`, from `g`, the one by `out`: operations at the active `Builder`."""
        raise IrError(f"{self.name} has no gradient", self)

    def infer_types(self) -> tuple[Type, ...]:
        return (tensor_operand(self, self.x, "x", kind=self.accepts),)


class ReluOp(ElementwiseUnaryOp, name="pd.relu"):
    """out = max(x, 0): NaN stays NaN, +0 for both zeros."""

    accepts = "number"
    vector_function = "relu"
    onnx = OnnxOperator("Relu", 6, 14)
    mixed_precision = "infer"

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return maximum(x, np.zeros((), x.dtype))

    def gradient(self, at: Primal, g: Value) -> Value:
        zero = full(g, 0.0)
        return pd.where(pd.greater_than(at.out, zero), g, zero).out


class LeakyReluOp(ElementwiseUnaryOp, name="pd.leaky_relu"):
    """out = x where x >= 0, negative_slope * x elsewhere."""

    vector_function = "leakyrelu"
    onnx = OnnxOperator("LeakyRelu", 6, 16, numbers={"alpha": ("negative_slope", 0.01)})
    mixed_precision = "infer"

    negative_slope: float = attribute(default=0.02)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return leaky_relu(x, self.negative_slope, tensor_operand(self, self.x, "x").element.format)

    def gradient(self, at: Primal, g: Value) -> Value:
        return pd.where(pd.greater_equal(at.x, full(g, 0.0)), g, scaled(g, self.negative_slope)).out


class GeluOp(ElementwiseUnaryOp, name="pd.gelu"):
    """out = x * Phi(x), Phi the normal distribution function (arXiv:1606.08415).

    With `approximate`, the tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
    """

    mixed_precision = "infer"
    interval = (-6.0, 6.0)

    approximate: bool = attribute(default=False)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.gelu(x, approximate=self.approximate)

    def gradient(self, at: Primal, g: Value) -> Value:
        x = at.x
        square = pd.square(x).out
        if self.approximate:
            root = math.sqrt(2 / math.pi)
            inner = scaled(times(x, scaled(square, 0.044715, 1.0)), root)
            tanh = pd.tanh(inner).out
            slope = times(scaled(pd.square(tanh).out, -1.0, 1.0), scaled(square, 3 * 0.044715 * root, root))
            return times(g, scaled(pd.add(scaled(tanh, 1.0, 1.0), times(x, slope)).out, 0.5))
        below = scaled(pd.erf(scaled(x, math.sqrt(0.5))).out, 0.5, 0.5)
        density = scaled(pd.exp(scaled(square, -0.5)).out, 1 / math.sqrt(2 * math.pi))
        return times(g, pd.add(below, times(x, density)).out)


class SoftplusOp(ElementwiseUnaryOp, name="pd.softplus"):
    """out = log(1 + exp(beta x)) / beta, and x where beta x > threshold. `beta` is not 0."""

    vector_function = "softplus"
    # Without the switch to x, as in ONNX: log(1 + exp(1000)) is 1000 in every format.
    onnx = OnnxOperator("Softplus", 1, 22, fixed={"threshold": 1000.0})
    interval = (-30.0, 30.0)

    beta: float = attribute(default=1.0)
    threshold: float = attribute(default=20.0)

    refuses = {"beta": (0.0,)}

    def infer_types(self) -> tuple[Type, ...]:
        if self.beta == 0.0:
            raise fail(self, "attribute `beta` is 0; expected another value")
        return super().infer_types()

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.softplus(x, beta=self.beta, threshold=self.threshold)

    def gradient(self, at: Primal, g: Value) -> Value:
        inner = scaled(at.x, self.beta)
        return pd.where(pd.greater_than(inner, full(g, self.threshold)), g, times(g, pd.sigmoid(inner).out)).out


class TanhOp(ElementwiseUnaryOp, name="pd.tanh"):
    """out = tanh(x)."""

    vector_function = "tanh"
    onnx = OnnxOperator("Tanh", 6, 13)
    mixed_precision = "infer"
    interval = (-5.0, 5.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.tanh(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, scaled(pd.square(at.out).out, -1.0, 1.0))


class SigmoidOp(ElementwiseUnaryOp, name="pd.sigmoid"):
    """out = 1 / (1 + exp(-x))."""

    vector_function = "sigmoid"
    onnx = OnnxOperator("Sigmoid", 6, 13)
    mixed_precision = "infer"
    interval = (-40.0, 40.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.sigmoid(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        out = at.out
        return times(times(g, out), scaled(out, -1.0, 1.0))


class ErfOp(ElementwiseUnaryOp, name="pd.erf"):
    """out = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x."""

    onnx = OnnxOperator("Erf", 9, 13)
    interval = (-4.0, 4.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.erf(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, scaled(pd.exp(scaled(pd.square(at.x).out, -1.0)).out, 2 / math.sqrt(math.pi)))


class ExpOp(ElementwiseUnaryOp, name="pd.exp"):
    """out = e^x."""

    vector_function = "exp"
    onnx = OnnxOperator("Exp", 6, 13)
    interval = (-20.0, 20.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return exp(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, at.out)


class LogOp(ElementwiseUnaryOp, name="pd.log"):
    """out = ln(x): -inf at 0, NaN below."""

    vector_function = "ln"
    onnx = OnnxOperator("Log", 6, 13)
    interval = (0.001, 20.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return log(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return pd.divide(g, at.x).out


class SqrtOp(ElementwiseUnaryOp, name="pd.sqrt"):
    """out = sqrt(x): NaN below 0, -0 at -0."""

    vector_function = "sqrt"
    onnx = OnnxOperator("Sqrt", 6, 13)
    mixed_precision = "infer"
    interval = (0.0, 20.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.sqrt(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return pd.divide(scaled(g, 0.5), at.out).out


class RsqrtOp(ElementwiseUnaryOp, name="pd.rsqrt"):
    """out = 1 / sqrt(x): infinite at 0, NaN below."""

    vector_function = "rsqrt"
    interval = (0.001, 20.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return 1 / np.sqrt(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        out = at.out
        return times(scaled(g, -0.5), times(out, pd.square(out).out))


class ReciprocalOp(ElementwiseUnaryOp, name="pd.reciprocal"):
    """out = 1 / x."""

    vector_function = "recip"
    onnx = OnnxOperator("Reciprocal", 6, 13)
    interval = (0.1, 20.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return divide_nearest(np.ones((), x.dtype), x, tensor_operand(self, self.x, "x").element.format)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(scaled(g, -1.0), pd.square(at.out).out)


class SinOp(ElementwiseUnaryOp, name="pd.sin"):
    """out = sin(x), x in radians."""

    vector_function = "sin"
    onnx = OnnxOperator("Sin", 7, 22)
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.sin(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, pd.cos(at.x).out)


class CosOp(ElementwiseUnaryOp, name="pd.cos"):
    """out = cos(x), x in radians."""

    vector_function = "cos"
    onnx = OnnxOperator("Cos", 7, 22)
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.cos(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(scaled(g, -1.0), pd.sin(at.x).out)


class FloorOp(ElementwiseUnaryOp, name="pd.floor"):
    """out = the largest integer <= x, in the format of x."""

    onnx = OnnxOperator("Floor", 6, 13)
    mixed_precision = "infer"
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.floor(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return zeros(g)


class AbsOp(ElementwiseUnaryOp, name="pd.abs"):
    """out = |x|. The smallest integer of a signed format stays as it is (two's complement)."""

    accepts = "number"
    vector_function = "abs"
    onnx = OnnxOperator("Abs", 6, 13)
    mixed_precision = "infer"
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.abs(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        x, zero = at.x, full(g, 0.0)
        negative = pd.where(pd.greater_than(zero, x), scaled(g, -1.0), zero)
        return pd.where(pd.greater_than(x, zero), g, negative).out


class SquareOp(ElementwiseUnaryOp, name="pd.square"):
    """out = x * x."""

    accepts = "number"
    vector_function = "square"
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return multiply_nearest(x, x, tensor_operand(self, self.x, "x").element.format)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(scaled(g, 2.0), at.x)


class PowOp(ElementwiseUnaryOp, name="pd.pow"):
    """out = x^y with one exponent for all elements: NaN where x < 0 and y is not an integer."""

    y: float = attribute(default=1.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.power(x, np.asarray(self.y, dtype=x.dtype))

    def gradient(self, at: Primal, g: Value) -> Value:
        """The product g y x^(y - 1); zeros for the exponent 0."""
        return times(scaled(g, self.y), pd.pow(at.x, y=self.y - 1.0).out) if self.y else zeros(g)


class ScaleOp(ElementwiseUnaryOp, name="pd.scale"):
    """out = scale * x + bias, or scale * (x + bias) if not `bias_after_scale`.

    For an integer tensor, `scale` and `bias` are numbers of its element type.
    """

    mixed_precision = "infer"
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

    def gradient(self, at: Primal, g: Value) -> Value:
        """`scale` times g, wherever the bias is added."""
        return scaled(g, self.scale)


class IsnanOp(
    Op,
    Elementwise,
    Compute,
    InferTypes,
    Sampled,
    name="pd.isnan",
    traits=(Pure, HasValueSemantics, ElementwiseMappable),
):
    """out = whether x is NaN."""

    accepts = "float"
    onnx = OnnxOperator("IsNaN", 9, 20)
    mixed_precision = "infer"
    cases = each(SHAPES)

    x: Operand = operand(doc="[...], floating-point")
    out: Result = result(doc="[...] of i1")

    def infer_types(self) -> tuple[Type, ...]:
        return (tensor_operand(self, self.x, "x", kind="float").with_element(i1),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.isnan(x)


class LogicalNotOp(
    Op,
    Elementwise,
    Compute,
    InferTypes,
    Sampled,
    name="pd.logical_not",
    traits=(Pure, HasValueSemantics, ElementwiseMappable),
):
    """out = whether x is zero (false)."""

    onnx = OnnxOperator("Not", 1, 1)
    mixed_precision = "infer"
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
