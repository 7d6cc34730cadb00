"""Sums and products of the elements so far, along an axis."""

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
    Result,
    Type,
    attribute,
    operand,
    result,
)
from tx8ir.dialects.samples import Kind, Sampled, case

from .inference import normalize_axis, tensor_operand

_CASES = (
    case((2, 3), axis=1),
    case((2, 3), axis=0, reverse=True),
    case((5,), exclusive=True),
    *(case(shape, axis=axis) for shape, axis in (((2, 1, 3), -2), ((0, 3), 1), ((2, 0), 1), ((DYNAMIC, 3), 1))),
)


class CumulativeOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics)):
    """Base: out[i] combines x[0] … x[i] along `axis`; x[0] … x[i - 1] if `exclusive`; from the end if `reverse`."""

    x: Operand = operand(doc="[...], rank 1 or more")
    axis: int = attribute(default=-1)
    exclusive: bool = attribute(default=False)
    reverse: bool = attribute(default=False)
    out: Result = result(doc="[...], the type of `x`")

    accepts: ClassVar[Kind] = "number"
    """Element types that `x` may have."""
    cases = _CASES
    accumulate: ClassVar[Any]
    """The NumPy function whose `accumulate` it is."""

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind=self.accepts)
        normalize_axis(self, self.axis, x.rank)
        return (x,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        flipped = np.flip(x, self.axis) if self.reverse else x
        out = self.accumulate.accumulate(flipped, axis=self.axis, dtype=x.dtype)
        if self.exclusive:
            first = np.full_like(np.take(out, [0], self.axis), self.accumulate.identity) if out.size else out
            rest = np.take(out, range(out.shape[self.axis] - 1), self.axis) if out.size else out
            out = np.concatenate([first, rest], self.axis) if out.size else out
        return np.flip(out, self.axis) if self.reverse else out


class CumsumOp(CumulativeOp, name="pd.cumsum"):
    """out = the sum of the elements so far along `axis`; integers wrap. (Paddle's attribute `flatten` is false.)"""

    accumulate = np.add


class CumprodOp(CumulativeOp, name="pd.cumprod"):
    """out = the product of the elements so far along `axis`; integers wrap. (Paddle calls the axis `dim`.)"""

    accumulate = np.multiply
