"""Writing rows into a copy of a tensor."""

from __future__ import annotations

from typing import Any, Final

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
    i64,
    operand,
    result,
)
from tx8ir.dialects.domains import ANYTHING, Domain, OperandDomains, indices
from tx8ir.dialects.samples import Sampled, case, of
from tx8ir.target.extrema import maximum, minimum

from .indexing import check_range
from .inference import extents_match, fail, make_type, one_of, same_element, tensor_operand

REDUCES: Final = ("assign", "add", "mul", "amin", "amax")
"""How a row that is written combines with the row that is there."""


class ScatterOp(
    Op,
    Compute,
    ConditionallySpeculatable,
    OperandDomains,
    InferTypes,
    Sampled,
    name="pd.scatter",
    traits=(Pure, HasValueSemantics),
):
    """out = x with out[index[i]] replaced by updates[i], or combined with it; one i after the other.

    `reduce` is "assign", "add", "mul", "amin" or "amax" (Paddle: `overwrite`, true for "assign"). An index outside
    [0, n) is an error at evaluation. Arithmetic is in the working precision, and rounded once.
    """

    x: Operand = operand(doc="[n, B...]")
    index: Operand = operand(doc="[m], integers")
    updates: Operand = operand(doc="[m, B...], the element type of `x`")
    reduce: str = attribute(default="assign", doc='"assign", "add", "mul", "amin" or "amax"')
    out: Result = result(doc="[n, B...]")

    accepts = "number"
    cases = (
        *(case((5, 3), of((2,), i64), (2, 3), reduce=reduce) for reduce in REDUCES),
        case((5,), of((3,), i64), (3,)),
        case((3, 2), of((0,), i64), (0, 2)),
        case((2, 1, 3), of((4,), i64), (4, 1, 3), reduce="add"),
        case((DYNAMIC, 3), of((2,), i64), (2, 3)),
        case(of((5,), f32), (2,), of((2,), f32)).over("integer"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="number")
        index = tensor_operand(self, self.index, "index", kind="integer", rank=1)
        updates = tensor_operand(self, self.updates, "updates", kind="number")
        one_of(self, "reduce", self.reduce, *REDUCES)
        element = same_element(self, x=x, updates=updates)
        expected = (*index.shape, *x.shape[1:])
        if x.rank == 0 or updates.rank != x.rank or not all(map(extents_match, updates.shape, expected)):
            raise fail(self, f"operand `updates` has type {updates}; expected {list(expected)} for `x` {x}")
        return (make_type((x, index, updates), x.shape, element),)

    def can_fail(self) -> bool:
        return True

    def operand_domains(self) -> tuple[Domain, ...]:
        return (ANYTHING, indices(tensor_operand(self, self.x, "x").shape[0]), ANYTHING)

    def compute(self, x: NDArray[Any], index: NDArray[Any], updates: NDArray[Any]) -> NDArray[Any]:
        check_range(index, x.shape[0], "index")
        out = np.array(x)
        combine: Any = {"add": np.add, "mul": np.multiply, "amin": minimum, "amax": maximum}.get(self.reduce)
        for place, row in zip(index.tolist(), updates, strict=True):
            out[place] = row if combine is None else combine(out[place], row)
        return out
