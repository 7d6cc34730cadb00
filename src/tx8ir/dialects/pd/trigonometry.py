"""Trigonometric and hyperbolic functions and their inverses, element by element; angles in radians."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from numpy.typing import NDArray

from tx8ir.core import Value
from tx8ir.dialects import pd

from . import numerics
from .declaration import OnnxOperator, Primal
from .elementwise_unary import ElementwiseUnaryOp
from .gradients import scaled, times


def _over(g: Value, denominator: Value) -> Value:
    return pd.divide(g, denominator).out


def _root_of(x: Value, square: float, constant: float) -> Value:
    """sqrt(square * x² + constant)."""
    return pd.sqrt(scaled(pd.square(x).out, square, constant)).out


_LARGEST = 710.0
"""Of larger numbers the hyperbolic functions are infinite in every format."""


def sinh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) > _LARGEST else math.sinh(x)


def cosh(x: float) -> float:
    return math.inf if abs(x) > _LARGEST else math.cosh(x)


def artanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


class _NumberFunctionOp(ElementwiseUnaryOp):
    """Base of the operations that are a function of Python's `math`, number by number."""

    has_inplace_form = False
    function: ClassVar[Callable[[float], float]]

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return numerics.by_number(type(self).function, x)


class TanOp(_NumberFunctionOp, name="pd.tan"):
    """out = tan(x)."""

    onnx = OnnxOperator("Tan", 7, 22)
    interval = (-1.4, 1.4)
    function = math.tan

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, scaled(pd.square(at.out).out, 1.0, 1.0))


class AsinOp(_NumberFunctionOp, name="pd.asin"):
    """out = arcsin(x), from -pi/2 to pi/2; NaN outside of [-1, 1]."""

    onnx = OnnxOperator("Asin", 7, 22)
    interval = (-0.9, 0.9)
    function = math.asin

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(g, _root_of(at.x, -1.0, 1.0))


class AcosOp(_NumberFunctionOp, name="pd.acos"):
    """out = arccos(x), from 0 to pi; NaN outside of [-1, 1]."""

    onnx = OnnxOperator("Acos", 7, 22)
    interval = (-0.9, 0.9)
    function = math.acos

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(scaled(g, -1.0), _root_of(at.x, -1.0, 1.0))


class AtanOp(_NumberFunctionOp, name="pd.atan"):
    """out = arctan(x), from -pi/2 to pi/2."""

    onnx = OnnxOperator("Atan", 7, 22)
    interval = (-9.0, 9.0)
    function = math.atan

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(g, scaled(pd.square(at.x).out, 1.0, 1.0))


class SinhOp(_NumberFunctionOp, name="pd.sinh"):
    """out = sinh(x) = (e^x - e^-x) / 2."""

    onnx = OnnxOperator("Sinh", 9, 22)
    interval = (-9.0, 9.0)
    function = staticmethod(sinh)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, pd.cosh(at.x).out)


class CoshOp(_NumberFunctionOp, name="pd.cosh"):
    """out = cosh(x) = (e^x + e^-x) / 2."""

    onnx = OnnxOperator("Cosh", 9, 22)
    interval = (-9.0, 9.0)
    function = staticmethod(cosh)

    def gradient(self, at: Primal, g: Value) -> Value:
        return times(g, pd.sinh(at.x).out)


class AsinhOp(_NumberFunctionOp, name="pd.asinh"):
    """out = arsinh(x) = ln(x + sqrt(x² + 1))."""

    onnx = OnnxOperator("Asinh", 9, 22)
    interval = (-9.0, 9.0)
    function = math.asinh

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(g, _root_of(at.x, 1.0, 1.0))


class AcoshOp(_NumberFunctionOp, name="pd.acosh"):
    """out = arcosh(x) = ln(x + sqrt(x² - 1)); NaN below 1."""

    onnx = OnnxOperator("Acosh", 9, 22)
    interval = (1.1, 9.0)
    function = math.acosh

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(g, _root_of(at.x, 1.0, -1.0))


class AtanhOp(_NumberFunctionOp, name="pd.atanh"):
    """out = artanh(x) = ln((1 + x) / (1 - x)) / 2: infinite at -1 and 1, NaN beyond."""

    onnx = OnnxOperator("Atanh", 9, 22)
    interval = (-0.9, 0.9)
    function = staticmethod(artanh)

    def gradient(self, at: Primal, g: Value) -> Value:
        return _over(g, scaled(pd.square(at.x).out, -1.0, 1.0))
