"""The bits of numbers, read as another format."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    ElementwiseMappable,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    Result,
    ScalarType,
    Type,
    attribute,
    f32,
    i8,
    i32,
    operand,
    result,
    tf32,
    ui8,
    ui32,
)
from tx8ir.dialects.samples import Sampled, case, of

from .inference import fail, tensor_operand


class BitcastOp(
    Op, Compute, InferTypes, Sampled, name="pd.bitcast", traits=(Pure, HasValueSemantics, ElementwiseMappable)
):
    """out = the bits of x as numbers of `dtype`, which is as wide. (Paddle: `view_dtype`.)"""

    x: Operand = operand(doc="[...] of any element type of whole bytes")
    dtype: Type = attribute(default=i32)
    out: Result = result(doc="[...] of `dtype`")

    accepts = "float"
    cases = (
        *(
            case(of((2, 3), source), dtype=to)
            for source, to in ((f32, i32), (i32, f32), (tf32, i32), (ui32, f32), (i8, ui8), (ui8, i8))
        ),
        *(case(of(shape, f32)) for shape in ((), (0,), (5,), (2, 1, 3), (DYNAMIC, 3))),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        if not isinstance(self.dtype, ScalarType):
            raise fail(self, f"attribute `dtype` is {self.dtype}; expected a scalar type")
        widths = x.element.format.bits, self.dtype.format.bits
        if widths[0] != widths[1] or widths[0] < 8:
            raise fail(self, f"operand `x` has type {x}; {self.dtype} is not as wide, or no whole bytes")
        return (x.with_element(self.dtype),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        assert isinstance(self.dtype, ScalarType)
        stored = x.astype(tensor_operand(self, self.x, "x").element.dtype)
        found = stored.view(self.dtype.dtype)
        return found.astype(x.dtype) if self.dtype.is_float and x.dtype.kind == "f" else _working(found, self.dtype)


def _working(found: NDArray[Any], element: ScalarType) -> NDArray[Any]:
    """Floats of any format in single precision, which holds those of 32 bits and less; others as they are."""
    return found.astype("float32") if element.is_float and element.format.bits < 64 else found
