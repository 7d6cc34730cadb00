"""`arith.constant`, and constants as arrays that operations compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Attribute,
    BoolAttr,
    Compute,
    ConstantLike,
    DenseAttr,
    FloatAttr,
    Fold,
    InferTypes,
    IntAttr,
    Op,
    Pure,
    Result,
    ScalarType,
    Type,
    Value,
    VerifyError,
    VTensorType,
    attribute,
    detached,
    f32,
    f64,
    i1,
    i32,
    result,
)
from tx8ir.core.attrs.builtin_types import (
    IndexType,
    ShapedType,
    array_type,
    element_of,
    integer_format,
    is_float,
    is_integer,
)
from tx8ir.core.attrs.elements_attributes import ElementsAttr
from tx8ir.core.attrs.types import i4
from tx8ir.dialects.samples import Sample, Sampled
from tx8ir.target.formats import F32, F64
from tx8ir.target.rounding import convert


def type_of(constant: Attribute) -> Type | None:
    """The type of what an attribute says; None for one that is neither a number nor elements."""
    found = i1 if isinstance(constant, BoolAttr) else getattr(constant, "type", None)
    return found if isinstance(found, Type) else None


def array_of(constant: Attribute) -> NDArray[Any] | None:
    """The elements in what they are computed in: float32 or float64, integers of 4 bits in bytes.

    None for numbers that the machine has no format for.
    """
    kind = type_of(constant)
    held = None if kind is None else array_type(kind)
    if held is None or not isinstance(constant, (BoolAttr, IntAttr, FloatAttr, DenseAttr, ElementsAttr)):
        return None
    element = held.element
    found: Any = constant.value
    array = np.asarray(found, None if isinstance(found, np.ndarray) else np.float64 if element.is_float else None)
    if element.is_float:
        return array.astype(np.float64 if element is f64 else np.float32)
    return array.astype(np.int8 if element is i4 else element.dtype)


def known_array(value: Value) -> NDArray[Any] | None:
    """The elements of a value that a constant gives; None for any other."""
    op = value.defining_op
    constant = op.attributes.get("value") if op is not None and op.has_trait(ConstantLike) else None
    return None if constant is None else array_of(constant)


def attribute_of(array: Any, type: Type) -> Attribute | None:
    """What was computed as a constant of a type, rounded to it. None where there is no attribute for it."""
    held = array_type(type)
    if held is None:
        return None
    array = np.asarray(array)
    element = held.element
    if element.is_float:
        source = F64 if array.dtype == np.float64 else F32
        array = convert(array.astype(source.dtype, copy=False), source, element.format)
    if isinstance(type, VTensorType):
        return DenseAttr(array.astype(element.dtype), type)
    if isinstance(type, ShapedType):
        texts = ("true" if v else "false" for v in array.flat) if element is i1 else (str(int(v)) for v in array.flat)
        return None if element.is_float else ElementsAttr(type, texts)
    if element.is_float:
        return FloatAttr(float(array), element)
    return (
        BoolAttr(bool(array)) if element is i1 else IntAttr(int(array.astype(element.dtype)), cast("ScalarType", type))
    )


def _is_signless(element: Type) -> bool:
    return is_integer(element) and integer_format(element)[1] == "signless"


class ConstantOp(Op, Compute, Fold, InferTypes, Sampled, name="arith.constant", traits=(Pure, ConstantLike)):
    """A number, or the elements of a tensor or vector, that the program says."""

    value: Attribute = attribute(doc="a signless integer, a float, or elements; with its type")
    out: Result = result(doc="of the type of `value`")

    assembly_format = "attr-dict $value"

    def infer_types(self) -> tuple[Type, ...]:
        kind = type_of(self.value)
        element = None if kind is None else element_of(kind)
        if kind is not None and element is not None and (is_float(element) or _is_signless(element)):
            return (kind,)
        raise VerifyError(f"arith.constant is a signless integer, a float or elements of them, not {self.value}", self)

    def compute(self) -> Any:
        found = array_of(self.value)
        if found is None:
            raise TypeError(f"{self.out.type} is not a type that the machine has")
        return found

    def fold(self, operands: Sequence[Attribute | None]) -> Attribute:
        return self.value

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        numbers = (IntAttr(-3, i32), IntAttr(7, cast("ScalarType", IndexType())), BoolAttr(True), FloatAttr(0.5, f32))
        for value in (*numbers, DenseAttr(np.arange(6, dtype=np.int32).reshape(2, 3)), DenseAttr(np.float32(0.1))):
            yield Sample(cls, (), {"value": value})


def make_constant(value: Attribute) -> ConstantOp:
    """A detached `arith.constant`."""
    with detached():
        return ConstantOp(value=value)
