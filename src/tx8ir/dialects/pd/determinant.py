"""The determinant of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import DYNAMIC, Compute, HasValueSemantics, InferTypes, Op, Operand, Pure, Result, Type, operand, result
from tx8ir.dialects.samples import Sampled, each

from .inference import extents_match, fail, tensor_operand


class DetOp(Op, Compute, InferTypes, Sampled, name="pd.det", traits=(Pure, HasValueSemantics)):
    """out = the determinant of the last two axes, by LU decomposition; 1 for a matrix of no rows."""

    x: Operand = operand(doc="[..., n, n], floating-point")
    out: Result = result(doc="[...]")

    accepts = "float"
    cases = each(((2, 2), (3, 3), (1, 1), (2, 3, 3), (0, 2, 2), (2, 1, 5, 5), (DYNAMIC, 3, 3)))

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="float")
        if x.rank < 2 or not extents_match(x.shape[-1], x.shape[-2]):
            raise fail(self, f"operand `x` has type {x}; expected square matrices")
        return (x.with_shape(x.shape[:-2]),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.linalg.det(x), x.dtype)
