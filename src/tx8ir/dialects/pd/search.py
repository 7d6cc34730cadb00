"""Where the largest and smallest elements are."""

from __future__ import annotations

from typing import Any

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
    Result,
    ScalarType,
    Type,
    attribute,
    i32,
    i64,
    operand,
    result,
)
from tx8ir.dialects.samples import Sampled, case

from .inference import fail, normalize_axis, tensor_operand


def _places(op: Op, dtype: Type) -> ScalarType:
    """The element type of places."""
    if dtype is i64 or dtype is i32:
        return i64 if dtype is i64 else i32
    raise fail(op, f"attribute `dtype` is {dtype}; expected i64 or i32")


class ArgOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics)):
    """Base: the first place along `axis` of the extreme element; of the first NaN if there is one."""

    x: Operand = operand(doc="[...], rank 1 or more")
    axis: int = attribute(default=0)
    keepdims: bool = attribute(default=False)
    dtype: Type = attribute(default=i64, doc="i64 or i32: of the places")
    out: Result = result(doc="`dtype`, the shape of `x` without the axis, or with 1 in its place")

    accepts = "number"
    cases = tuple(
        case(shape, axis=axis)
        for shape, axis in (((2, 3), 1), ((2, 3), 0), ((5,), -1), ((2, 1, 3), -2), ((0, 3), 1), ((DYNAMIC, 3), 1))
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="number")
        axis = normalize_axis(self, self.axis, x.rank)
        if x.shape[axis] == 0:
            raise fail(self, f"operand `x` has type {x}; axis {axis} has no element to choose from")
        kept = (1,) if self.keepdims else ()
        return (x.with_shape((*x.shape[:axis], *kept, *x.shape[axis + 1 :])).with_element(_places(self, self.dtype)),)


class ArgmaxOp(ArgOp, name="pd.argmax"):
    """out = the place of the largest element along `axis`, the first of several. (Paddle's `flatten` is false.)"""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.argmax(x, axis=self.axis, keepdims=self.keepdims).astype(_places(self, self.dtype).dtype)


class ArgminOp(ArgOp, name="pd.argmin"):
    """out = the place of the smallest element along `axis`, the first of several. (Paddle's `flatten` is false.)"""

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.argmin(x, axis=self.axis, keepdims=self.keepdims).astype(_places(self, self.dtype).dtype)


class TopkOp(Op, Compute, InferTypes, Sampled, name="pd.topk", traits=(Pure, HasValueSemantics)):
    """The `k` largest (or smallest) elements along `axis`, in order, and where they are; the first of equal ones first.

    NaN counts as the largest number of all. (Paddle's attribute `sorted` is true.)
    """

    x: Operand = operand(doc="[..., n, ...]")
    k: int = attribute(default=1)
    axis: int = attribute(default=-1)
    largest: bool = attribute(default=True)
    dtype: Type = attribute(default=i64, doc="i64 or i32: of the places")
    out: Result = result(doc="[..., k, ...]")
    indices: Result = result(doc="[..., k, ...] of `dtype`")

    accepts = "number"
    cases = tuple(
        case(shape, axis=axis, k=k)
        for shape, axis, k in (
            ((2, 3), -1, 2), ((2, 3), 0, 1), ((5,), 0, 5), ((2, 1, 3), 1, 0), ((0, 3), 1, 2), ((DYNAMIC, 3), 1, 2),
        )
    )  # fmt: skip

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="number")
        axis = normalize_axis(self, self.axis, x.rank)
        if self.k < 0 or (x.shape[axis] != DYNAMIC and self.k > x.shape[axis]):
            raise fail(self, f"attribute `k` is {self.k}; expected 0 to {x.shape[axis]}, the extent of axis {axis}")
        out = x.with_shape((*x.shape[:axis], self.k, *x.shape[axis + 1 :]))
        return (out, out.with_element(_places(self, self.dtype)))

    def compute(self, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.largest:  # a stable sort of the reversed axis, reversed: equal elements keep their order
            last = x.shape[self.axis] - 1
            order = last - np.flip(np.argsort(np.flip(x, self.axis), axis=self.axis, kind="stable"), self.axis)
        else:
            order = np.argsort(x, axis=self.axis, kind="stable")
        chosen = np.take(order, range(self.k), axis=self.axis)
        return np.take_along_axis(x, chosen, axis=self.axis), chosen.astype(_places(self, self.dtype).dtype)
