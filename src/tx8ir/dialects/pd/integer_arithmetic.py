"""Remainders, and the bits of integers; all broadcast."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Commutative, ConditionallySpeculatable, RankedTensor
from tx8ir.dialects.domains import ANYTHING, NOT_ZERO, Domain, OperandDomains

from .declaration import OnnxOperator
from .elementwise_binary import ElementwiseBinaryOp


class _RemainderOp(ElementwiseBinaryOp, ConditionallySpeculatable, OperandDomains):
    """Base of the remainders; an integer divided by 0 is an error at evaluation."""

    has_inplace_form = False
    mixed_precision = "deny"

    def can_fail(self) -> bool:
        return not (isinstance(self.y.type, RankedTensor) and self.y.type.element.is_float)

    def operand_domains(self) -> tuple[Domain, ...]:
        return (ANYTHING, NOT_ZERO if self.can_fail() else ANYTHING)

    def _check(self, y: NDArray[Any]) -> None:
        if y.dtype.kind != "f" and not np.all(y):
            raise ZeroDivisionError("an integer is divided by 0")


class RemainderOp(_RemainderOp, name="pd.remainder"):
    """out = x - y * floor(x / y): the remainder with the sign of y, as Python's `%`. NaN for floats divided by 0."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        self._check(y)
        return np.remainder(x, y)


class FmodOp(_RemainderOp, name="pd.fmod"):
    """out = x - y * trunc(x / y): the remainder with the sign of x, as C's `fmod`. NaN for floats divided by 0."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        self._check(y)
        return np.fmod(x, y)


class _BitsOp(ElementwiseBinaryOp):
    """Base of the operations on bits."""

    accepts: ClassVar[Any] = "integer"
    has_inplace_form = False


class BitwiseAndOp(_BitsOp, name="pd.bitwise_and", traits=(Commutative,)):
    """out = the bits that x and y both have."""

    onnx = OnnxOperator("BitwiseAnd", 18, 18)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.bitwise_and(x, y)


class BitwiseOrOp(_BitsOp, name="pd.bitwise_or", traits=(Commutative,)):
    """out = the bits that x or y has."""

    onnx = OnnxOperator("BitwiseOr", 18, 18)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.bitwise_or(x, y)


class BitwiseXorOp(_BitsOp, name="pd.bitwise_xor", traits=(Commutative,)):
    """out = the bits in which x and y differ."""

    onnx = OnnxOperator("BitwiseXor", 18, 18)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.bitwise_xor(x, y)


def _width(x: NDArray[Any], bits: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Distances that do not go beyond the number: whether they fit, and the distance where they do."""
    fits = (x >= 0) & (x.astype(np.uint64) < bits)
    return fits, np.where(fits, x, np.zeros((), x.dtype))


class BitwiseLeftShiftOp(_BitsOp, name="pd.bitwise_left_shift"):
    """out = x * 2^y, its low bits: 0 where y is the width of the format or more, or negative."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        fits, distance = _width(y, 8 * x.dtype.itemsize)
        return np.where(fits, np.left_shift(x, distance), np.zeros((), x.dtype))


class BitwiseRightShiftOp(_BitsOp, name="pd.bitwise_right_shift"):
    """out = floor(x / 2^y): an arithmetic shift. Where y is the width of the format or more, or negative, the sign."""

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        fits, distance = _width(y, 8 * x.dtype.itemsize)
        sign = np.where(x < 0, np.asarray(-1).astype(x.dtype), np.zeros((), x.dtype))
        return np.where(fits, np.right_shift(x, distance), sign)
