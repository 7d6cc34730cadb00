"""What the operations of `arith` share: types, flags, folding through `Compute`, samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from tx8ir.core import DYNAMIC, Attribute, Compute, Fold, Op, Operation, Pure, Type, Value, VerifyError, i1, i64
from tx8ir.core.attrs.builtin_types import (
    IndexType,
    MemRefType,
    array_type,
    element_of,
    integer_format,
    is_float,
    is_integer,
    tensor_type,
)
from tx8ir.core.attrs.structured import FlagsAttr
from tx8ir.core.attrs.types import ScalarType, TensorType, bf16, f16, f32, f64, i4, i8, i16, i32
from tx8ir.core.ir.interfaces import ConstantMaterialization
from tx8ir.core.ir.traits import MapsNumbers
from tx8ir.dialects.samples import Sample, Sampled

from .constants import array_of, attribute_of, make_constant, type_of


class FastMathAttr(FlagsAttr):
    """What may be assumed of floats, as LLVM's fast-math flags. Kept; the interpreter assumes nothing."""

    __slots__ = ()
    attr_name = "arith.fastmath"
    flags = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
    words = {"none": (), "fast": flags}


class OverflowAttr(FlagsAttr):
    """How a result never overflows: signed, unsigned. Kept; the interpreter wraps around all the same."""

    __slots__ = ()
    attr_name = "arith.overflow"
    flags = ("nsw", "nuw")


STRICT: Final = FastMathAttr("none")
WRAPS: Final = OverflowAttr("none")


# --- types -----------------------------------------------------------------------------------------------------------


def _element(type: Type) -> Type | None:
    return None if isinstance(type, (MemRefType, TensorType)) else element_of(type)


def signless_integer_like(type: Type) -> bool:
    """A signless integer or index, or a tensor or vector of it."""
    element = _element(type)
    return element is not None and is_integer(element) and integer_format(element)[1] == "signless"


def float_like(type: Type) -> bool:
    """A float, or a tensor or vector of it."""
    element = _element(type)
    return element is not None and is_float(element)


def number_like(type: Type) -> bool:
    """A signless integer, index or float, or a tensor or vector of it."""
    return signless_integer_like(type) or float_like(type)


def bool_like(type: Type) -> bool:
    """An i1, or a tensor or vector of it."""
    return _element(type) is i1


def computed_element(value: Value) -> ScalarType:
    """The element type that a value of the machine is computed in. Raises TypeError for another type."""
    held = array_type(value.type)
    if held is None:
        raise TypeError(f"{value.type} is not a type that the machine has")
    return held.element


def width_of(value: Value) -> int:
    """The bits of an element of an integer value; 64 for index."""
    return integer_format(element_of(value.type))[0]


def same_type(op: Op, x: Value, y: Value) -> None:
    """Check that two operands have one type. Raises VerifyError."""
    if x.type is not y.type:
        raise VerifyError(f"{op.name} takes two operands of one type, not {x.type} and {y.type}", op)


def shaped(element: Type, shape: tuple[int, ...] | None) -> Type:
    """The element type itself for no shape, else the tensor of it."""
    return element if shape is None else tensor_type(shape, element)


# --- operations ------------------------------------------------------------------------------------------------------

INTEGERS: Final[tuple[Type, ...]] = (i32, i64, i16, i8, i4, i1, IndexType())
FLOATS: Final[tuple[Type, ...]] = (f32, f16, bf16, f64)
SHAPES: Final = (None, (2, 3), (), (0,), (DYNAMIC, 3))
"""Of samples; None for a number."""


class FoldingOp(Op, Compute, Fold, ConstantMaterialization, Sampled, traits=(Pure,)):
    """An operation that `compute` folds where all operands are constants."""

    most_folded: ClassVar[int | None] = None
    """Results of more elements than this are not folded: the program would grow."""

    @abstractmethod
    def compute(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        """What the result is by an identity, where not all operands are constants."""
        return None

    def fold(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        arrays = [array_of(c) for c in operands if c is not None]
        known = [array for array in arrays if array is not None]
        if len(known) != len(operands) or len(self.results) != 1 or not self._is_small():
            return self.simplify(operands)
        try:
            with np.errstate(all="ignore"):
                computed = self.compute(*known)
        except (ArithmeticError, IndexError):  # what the program does when it runs
            return None
        return attribute_of(computed, self.results[0].type)

    def materialize(self, constant: Attribute, type: Type) -> Operation | None:
        return make_constant(constant) if type_of(constant) is type else None

    def _is_small(self) -> bool:
        if self.most_folded is None:
            return True
        held = array_type(self.results[0].type)
        return held is not None and held.is_static and held.num_elements <= self.most_folded


class ArithOp(FoldingOp, traits=(MapsNumbers,)):
    """An operation on numbers or, element by element, on tensors."""

    sample_elements: ClassVar[tuple[tuple[Type, ...], ...]]
    """For each kind of sample the element types of the operands."""
    sample_attributes: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for elements in cls.sample_elements:
            for shape in SHAPES:
                yield Sample(cls, tuple(shaped(e, shape) for e in elements), {**cls.sample_attributes[0]})
        for attributes in cls.sample_attributes[1:]:
            yield Sample(cls, tuple(cls.sample_elements[0]), attributes)


def is_every(constant: Attribute | None, number: float) -> bool:
    """Whether a constant is that number in every element, with the sign of zero."""
    array = None if constant is None else array_of(constant)
    if array is None or not array.size:
        return False
    if array.dtype == np.bool_:
        number = number != 0
    return bool(np.all(array == number)) and (number != 0 or bool(np.all(np.signbit(array) == np.signbit(number))))


def zero_like(value: Value) -> Attribute | None:
    """The constant of the type of a value that is 0 everywhere; None where the extents are not known."""
    held = array_type(value.type)
    if held is None or not held.is_static:
        return None
    return attribute_of(np.zeros(held.shape, np.float64 if held.element.is_float else held.element.dtype), value.type)


__all__ = [
    "FLOATS",
    "SHAPES",
    "INTEGERS",
    "STRICT",
    "WRAPS",
    "ArithOp",
    "FastMathAttr",
    "FoldingOp",
    "OverflowAttr",
    "bool_like",
    "computed_element",
    "float_like",
    "is_every",
    "number_like",
    "same_type",
    "shaped",
    "signless_integer_like",
    "width_of",
    "zero_like",
]
