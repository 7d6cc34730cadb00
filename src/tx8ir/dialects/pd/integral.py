"""Whole numbers out of any: rounding and the sign, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Value

from .declaration import OnnxOperator, Primal
from .elementwise_unary import ElementwiseUnaryOp
from .gradients import zeros


class RoundOp(ElementwiseUnaryOp, name="pd.round"):
    """out = the integer nearest to x, the even one of two, in the format of x. (Paddle's attribute `decimals` is 0.)"""

    has_inplace_form = False
    onnx = OnnxOperator("Round", 11, 22)
    mixed_precision = "infer"
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.rint(x)

    def gradient(self, at: Primal, g: Value) -> Value:
        return zeros(g)


class SignOp(ElementwiseUnaryOp, name="pd.sign"):
    """out = 1 where x > 0, -1 where x < 0, else x itself: zeros keep their sign, and NaN stays NaN."""

    accepts = "number"
    has_inplace_form = False
    onnx = OnnxOperator("Sign", 9, 13)
    mixed_precision = "infer"
    interval = (-9.0, 9.0)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        one = x.dtype.type(1)
        return np.where(x > 0, one, np.where(x < 0, -one, x)) if x.dtype.kind in "fi" else (x > 0).astype(x.dtype)

    def gradient(self, at: Primal, g: Value) -> Value:
        return zeros(g)
