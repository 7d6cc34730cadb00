"""What kind of number a float is; the result is i1, for each element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import ml_dtypes
import numpy as np

from tx8ir.core import InferTypes, Operand, Result, Type, attribute, i1, operand, result
from tx8ir.core.attrs.builtin_types import with_element
from tx8ir.dialects.arith.declaration import STRICT, ArithOp, FastMathAttr, bool_like, computed_element, float_like
from tx8ir.dialects.arith.integers import Array
from tx8ir.dialects.samples import Sample

from .floats import few_samples


class ClassificationOp(ArithOp, InferTypes):
    """A question about a float."""

    x: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(bool_like)

    assembly_format = "$x attr-dict `:` type($x)"

    def infer_types(self) -> tuple[Type, ...]:
        return (with_element(self.x.type, i1),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        return few_samples(cls, 1)


class IsFiniteOp(ClassificationOp, name="math.isfinite"):
    """out = whether x is neither infinite nor a NaN.

    %1 = math.isfinite %0 : f32
    """

    def compute(self, x: Array) -> Any:
        return np.isfinite(x)


class IsInfOp(ClassificationOp, name="math.isinf"):
    """out = whether x is infinite, of either sign.

    %1 = math.isinf %0 : f32
    """

    def compute(self, x: Array) -> Any:
        return np.isinf(x)


class IsNaNOp(ClassificationOp, name="math.isnan"):
    """out = whether x is a NaN.

    %1 = math.isnan %0 : f32
    """

    def compute(self, x: Array) -> Any:
        return np.isnan(x)


class IsNormalOp(ClassificationOp, name="math.isnormal"):
    """out = whether x is neither 0 nor subnormal, infinite or a NaN.

    %1 = math.isnormal %0 : f32
    """

    def compute(self, x: Array) -> Any:
        finfo = cast(Any, ml_dtypes).finfo  # whose stubs know no NumPy of today
        least = float(finfo(computed_element(self.x).dtype).smallest_normal)
        return np.isfinite(x) & (np.abs(x) >= least)
