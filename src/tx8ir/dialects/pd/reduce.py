"""Reductions over axes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    RankedTensor,
    Result,
    ScalarType,
    Type,
    attribute,
    i1,
    i32,
    i64,
    operand,
    result,
)
from tx8ir.dialects.samples import ELEMENTS, Kind, Sampled, case
from tx8ir.target.casting import cast
from tx8ir.target.extrema import largest, smallest

from .inference import fail, normalize_axes, tensor_operand
from .numerics import mean, total

REDUCTIONS = (
    case((2, 3), axis=(1,)),
    *(
        case(shape, axis=axis, keepdim=keepdim)
        for keepdim in (False, True)
        for shape, axes in (
            ((2, 3), ((), (0,), (-1,), (0, 1), (-2,))),
            ((5,), ((), (0,), (-1,))),
            ((), ((),)),
            ((1, 3), ((0,), (1,))),
            ((2, 1, 3), ((1,), (-3, -1), (2, 0), (0, 1, 2))),
            ((2, 3, 1, 2), ((2,), (1, 3))),
            ((2, 1, 2, 3, 1), ((-2, 1),)),
            ((0, 3), ((1,),)),
            ((DYNAMIC, 3), ((0,), (1,), ())),
        )
        for axis in axes
    ),
)
"""Reductions that have an element to choose from: all axes, one, several, counted from either end, in any order."""
EMPTY_REDUCTIONS = (
    case((0,), axis=(0,)),
    case((2, 0), axis=(-1,), keepdim=True),
    case((2, 0, 3)),
    case((0, 3), axis=(0,)),
)
"""Reductions over no element."""


class ReductionOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics)):
    """Base of the reductions. `axis` lists the axes, none for all; `keepdim` keeps them with extent 1."""

    x: Operand = operand(doc="[...]")
    axis: tuple[int, ...] = attribute(default=())
    keepdim: bool = attribute(default=False)
    out: Result = result(doc="the shape of `x` without the reduced axes, or with 1 in their place")

    accepts: ClassVar[Kind] = "number"
    """Element types that `x` may have."""
    cases = REDUCTIONS

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced axes, ascending, counted from the front."""
        rank = tensor_operand(self, self.x, "x").rank
        return tuple(sorted(normalize_axes(self, self.axis, rank))) if self.axis else tuple(range(rank))

    def _reduced(self) -> RankedTensor:
        """The type of `x` after the reduction."""
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        axes = set(self.axes)
        if self.keepdim:
            return x.with_shape(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        return x.with_shape(extent for axis, extent in enumerate(x.shape) if axis not in axes)

    def infer_types(self) -> tuple[Type, ...]:
        return (self._reduced(),)


class SumOp(ReductionOp, name="pd.sum"):
    """out = sum of x over the axes, added in row-major order of those axes (`numerics.total`).

    The result has element type `dtype`; without it that of `x`, and i64 for i1 and i32 (Paddle's rule).
    """

    accepts = "any"

    dtype: Type | None = attribute(default=None)

    cases = (
        *REDUCTIONS,
        *EMPTY_REDUCTIONS,
        *(case((2, 3), axis=(0,), dtype=element) for element in ELEMENTS["any"]),
    )

    def _element(self) -> ScalarType:
        if self.dtype is None:
            element = tensor_operand(self, self.x, "x").element
            return i64 if element in (i1, i32) else element
        if not isinstance(self.dtype, ScalarType):
            raise fail(self, f"attribute `dtype` is {self.dtype}; expected a scalar type")
        return self.dtype

    def infer_types(self) -> tuple[Type, ...]:
        return (self._reduced().with_element(self._element()),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        terms = cast(x, tensor_operand(self, self.x, "x").element.format, self._element().format)
        return total(terms, axes=self.axes, keepdims=self.keepdim)


class MeanOp(ReductionOp, name="pd.mean"):
    """out = sum of x over the axes / number of elements summed; NaN over no elements."""

    accepts = "float"
    cases = (*REDUCTIONS, *EMPTY_REDUCTIONS)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return mean(x, axes=self.axes, keepdims=self.keepdim)


class ProdOp(ReductionOp, name="pd.prod"):
    """out = product of x over the axes, in the element type of x; integers wrap. (Paddle calls the axes `dims`.)"""

    cases = (*REDUCTIONS, *EMPTY_REDUCTIONS)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.multiply.reduce(x, axis=self.axes, keepdims=self.keepdim, dtype=x.dtype)


class ExtremumOp(ReductionOp):
    """Base of `max` and `min`, which no axis of extent 0 may enter."""

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        empty = [axis for axis in self.axes if x.shape[axis] == 0]
        if empty:
            raise fail(self, f"operand `x` has type {x}; axis {empty[0]} has no element to choose from")
        return super().infer_types()


class MaxOp(ExtremumOp, name="pd.max"):
    """out = the largest element of x over the axes; NaN if there is one, and +0 is larger than -0."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return largest(x, axes=self.axes, keepdims=self.keepdim)


class MinOp(ExtremumOp, name="pd.min"):
    """out = the smallest element of x over the axes; NaN if there is one, and -0 is smaller than +0."""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return smallest(x, axes=self.axes, keepdims=self.keepdim)
