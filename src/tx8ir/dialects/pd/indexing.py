"""Selection of rows by an index tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    ConditionallySpeculatable,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    Result,
    Type,
    attribute,
    f32,
    i32,
    i64,
    operand,
    result,
)
from tx8ir.dialects.domains import ANYTHING, Domain, OperandDomains, indices
from tx8ir.dialects.samples import Sampled, case, of

from .inference import fail, make_type, normalize_axis, tensor_operand


def check_range(index: NDArray[Any], extent: int, name: str) -> None:
    """Raise IndexError with the first entry of `index` outside [0, extent) and its place."""
    outside = (index < 0) | (index >= extent)
    if outside.any():
        place = np.argwhere(outside)[0].tolist()
        raise IndexError(f"{name}{place} is {index[tuple(place)]}; expected 0 <= index < {extent}")


class EmbeddingOp(
    Op,
    Compute,
    ConditionallySpeculatable,
    OperandDomains,
    InferTypes,
    Sampled,
    name="pd.embedding",
    traits=(Pure, HasValueSemantics),
):
    """out[..., :] = weight[x[...], :], and zeros where x is `padding_idx` (-1: no such index).

    An index outside [0, V) is an error at evaluation.
    """

    x: Operand = operand(doc="[...], integers")
    weight: Operand = operand(doc="[V, D]")
    padding_idx: int = attribute(default=-1)
    out: Result = result(doc="[..., D], the element type of `weight`")

    cases = (
        *(case(of((2,), i32), (5, 3), padding_idx=row) for row in (-1, 0, 4, 7)),
        *(case(of(shape, i64), (3, 2)) for shape in ((), (1,), (0,), (2, 3), (2, 1, 3), (DYNAMIC,), (DYNAMIC, 2))),
        case(of((2,), i32), (1, 1)),
        case(of((3,), i32), (5, 0)),
        case((2,), of((5, 3), f32)).over("integer"),
        case((2, 2), of((3, 2), f32), padding_idx=1).over("integer"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="integer")
        weight = tensor_operand(self, self.weight, "weight", rank=2)
        if self.padding_idx < -1:
            raise fail(self, f"attribute `padding_idx` is {self.padding_idx}; expected a row, or -1 for none")
        return (make_type((x, weight), (*x.shape, weight.shape[1]), weight.element),)

    def can_fail(self) -> bool:
        return True

    def operand_domains(self) -> tuple[Domain, ...]:
        return (indices(tensor_operand(self, self.weight, "weight").shape[0]), ANYTHING)

    def compute(self, x: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
        check_range(x, weight.shape[0], "x")
        rows = weight[x]
        if self.padding_idx >= 0:
            rows[x == self.padding_idx] = 0
        return rows


class GatherOp(
    Op,
    Compute,
    ConditionallySpeculatable,
    OperandDomains,
    InferTypes,
    Sampled,
    name="pd.gather",
    traits=(Pure, HasValueSemantics),
):
    """out[a..., i..., b...] = x[a..., index[i...], b...], the index replacing axis `axis` of x.

    `index` has any rank (Paddle: 0 or 1). An index outside [0, n) is an error at evaluation.
    """

    x: Operand = operand(doc="[A..., n, B...]")
    index: Operand = operand(doc="[I...], integers")
    axis: int = attribute(default=0)
    out: Result = result(doc="[A..., I..., B...]")

    cases = (
        *(case((5, 3), of((2,), i32), axis=axis) for axis in (0, 1, -1, -2)),
        *(case((3, 2), of(index, i64)) for index in ((), (1,), (0,), (2, 3), (DYNAMIC,))),
        *(case((2, 1, 3), of(index, i32), axis=axis) for index, axis in (((2,), -2), ((), 2), ((2, 2), 1))),
        case((5,), of((5,), i32)),
        case((2, 3, 1, 2), of((1,), i32), axis=3),
        case((2, 0), of((3,), i32)),
        case((DYNAMIC, 3), of((2,), i32)),
        case((DYNAMIC, 3), of((2,), i32), axis=1),
        case(of((3, 2), f32), (2,)).over("integer"),
        case(of((2, 5), f32), (3, 1), axis=-1).over("integer"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        index = tensor_operand(self, self.index, "index", kind="integer")
        axis = normalize_axis(self, self.axis, x.rank)
        return (make_type((x, index), (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), x.element),)

    def can_fail(self) -> bool:
        return True

    def operand_domains(self) -> tuple[Domain, ...]:
        return (ANYTHING, indices(tensor_operand(self, self.x, "x").shape[self.axis]))

    def compute(self, x: NDArray[Any], index: NDArray[Any]) -> NDArray[Any]:
        check_range(index, x.shape[self.axis], "index")
        return np.take(x, index, axis=self.axis)
