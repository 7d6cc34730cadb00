"""Matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    NumericOperand,
    Op,
    Pure,
    RankedTensor,
    Result,
    Type,
    attribute,
    numeric_operand,
    result,
)
from tx8ir.dialects.samples import Sampled, case

from .inference import broadcast_shape, extents_match, fail, make_type, same_element, tensor_operand
from .promotion import PromotesOperands


class MatmulOp(Op, PromotesOperands, Compute, InferTypes, Sampled, name="pd.matmul", traits=(Pure, HasValueSemantics)):
    """Matrix product over the last two axes: out[..., m, n] = sum over k of x[..., m, k] * y[..., k, n].

    `transpose_x` reads x as [..., K, M], `transpose_y` reads y as [..., N, K]. The axes before the last two
    broadcast. A tensor of rank 1 is a row on the left and a column on the right, and its axis is missing from the
    result; it cannot be transposed.
    """

    x: NumericOperand = numeric_operand(doc="[..., M, K], [..., K, M] if `transpose_x`, or [K]")
    y: NumericOperand = numeric_operand(doc="[..., K, N], [..., N, K] if `transpose_y`, or [K]")
    transpose_x: bool = attribute(default=False)
    transpose_y: bool = attribute(default=False)
    out: Result = result(doc="[..., M, N], without M or N if the operand is a vector")

    accepts = "number"
    cases = (
        case((2, 3), (3, 5), transpose_x=False, transpose_y=False),
        case((3, 2), (3, 5), transpose_x=True),
        case((2, 3), (5, 3), transpose_y=True),
        case((3, 2), (5, 3), transpose_x=True, transpose_y=True),
        case((3, 3), (3, 3)),
        case((3, 3), (3, 3), transpose_x=True, transpose_y=True),
        case((3,), (3,)),
        case((3,), (3, 2)),
        case((2, 3), (3,)),
        case((2, 2, 3), (3,)),
        case((3,), (2, 5, 3), transpose_y=True),
        case((2, 1, 3), (2, 3, 5)),
        case((2, 2, 3), (3, 2)),
        case((1, 2, 3), (5, 3, 1)),
        case((2, 1, 2, 3), (3, 3, 2)),
        case((2, 3, 1, 2), (2, 3, 5, 2), transpose_y=True),
        case((1, 1), (1, 1)),
        case((2, 0), (0, 3)),
        case((0, 3), (3, 2)),
        case((DYNAMIC, 3), (3, 2)),
        case((2, DYNAMIC), (DYNAMIC, 3)),
    )

    @property
    def x_axes(self) -> tuple[int | None, int]:
        """The axes of `x` that are M (None for a vector) and K."""
        rank = tensor_operand(self, self.x, "x").rank
        if rank == 1:
            return None, 0
        return (rank - 1, rank - 2) if self.transpose_x else (rank - 2, rank - 1)

    @property
    def y_axes(self) -> tuple[int, int | None]:
        """The axes of `y` that are K and N (None for a vector)."""
        rank = tensor_operand(self, self.y, "y").rank
        if rank == 1:
            return 0, None
        return (rank - 1, rank - 2) if self.transpose_y else (rank - 2, rank - 1)

    @property
    def out_axes(self) -> tuple[int | None, int | None]:
        """The axes of the result that are M and N, None where `x` or `y` is a vector."""
        rank = tensor_operand(self, self.out, "out").rank
        n = None if self.y_axes[1] is None else rank - 1
        m = None if self.x_axes[0] is None else rank - 1 - (n is not None)
        return m, n

    def infer_types(self) -> tuple[Type, ...]:
        x = self._operand("x", transpose=self.transpose_x)
        y = self._operand("y", transpose=self.transpose_y)
        element = same_element(self, x=x, y=y)
        rows, inner_x = _outer_and_inner(x, inner_first=self.transpose_x)
        columns, inner_y = _outer_and_inner(y, inner_first=not self.transpose_y)
        if not extents_match(inner_x, inner_y):
            raise fail(
                self,
                f"K differs: {inner_x} in `x` {list(x.shape)}{' transposed' * self.transpose_x}, "
                f"{inner_y} in `y` {list(y.shape)}{' transposed' * self.transpose_y}",
            )
        batch = broadcast_shape(self, x=x.with_shape(x.shape[:-2]), y=y.with_shape(y.shape[:-2]))
        return (make_type((x, y), (*batch, *rows, *columns), element),)

    def _operand(self, name: str, *, transpose: bool) -> RankedTensor:
        type_ = tensor_operand(self, self.x if name == "x" else self.y, name, kind="number")
        if type_.rank == 0:
            raise fail(self, f"operand `{name}` has type {type_}; expected a vector or matrices")
        if type_.rank == 1 and transpose:
            raise fail(self, f"operand `{name}` has type {type_}; a vector cannot be transposed (`transpose_{name}`)")
        return type_

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.matmul(
            np.swapaxes(x, -1, -2) if self.transpose_x else x,
            np.swapaxes(y, -1, -2) if self.transpose_y else y,
        )


def _outer_and_inner(type_: RankedTensor, *, inner_first: bool) -> tuple[tuple[int, ...], int]:
    """The axis of a matrix that the result keeps (none for a vector), and the one that is summed over."""
    if type_.rank == 1:
        return (), type_.shape[0]
    first, second = type_.shape[-2:]
    return ((second,), first) if inner_first else ((first,), second)
