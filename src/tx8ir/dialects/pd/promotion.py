"""Operands from Python: numbers and arrays become constants, and element types are promoted as Paddle does.

Paddle promotes less than NumPy: of two tensors only floating-point types, and a number never changes the type of a
tensor of its own kind (paddlepaddle.org.cn, "Introduction to Data Type Promotion"; phi/common/type_promotion.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DenseAttr,
    IrError,
    OperandLike,
    Operation,
    RankedTensor,
    ScalarType,
    Value,
    VTensorType,
    f32,
    f64,
    i1,
    i64,
    scalar_type_of,
)
from tx8ir.core.ir.value import as_value
from tx8ir.core.ir.value_class import require_insertion_point
from tx8ir.dialects import builtin, pd


def is_tensor_like(given: object) -> TypeGuard[OperandLike]:
    """Whether `operands` understands it."""
    return isinstance(given, (Value, Operation, bool, int, float, np.generic, np.ndarray))


def element_of(array: NDArray[Any]) -> ScalarType:
    """The element type that an array from Python is computed in: its own, but f32 for float64, which no chip computes.

    NumPy makes float64 of every Python float, as JAX says, who takes it for float32 as well.

    Raises:
        IrError: no element type holds its dtype.
    """
    try:
        element = scalar_type_of(array.dtype)
    except TypeError as error:
        raise IrError(f"an array of {array.dtype} cannot be a tensor: {error}") from None
    return f32 if element is f64 else element


def constant(array: NDArray[Any], element: ScalarType | None = None) -> Value:
    """An array as a constant of the program, of `element` or of what `element_of` says."""
    element = element_of(array) if element is None else element
    return builtin.constant(value=DenseAttr(array.astype(element.dtype), VTensorType(array.shape, element))).out


def promoted(x: OperandLike, y: OperandLike, what: str) -> tuple[Value, Value]:
    """Both operands as values of one element type, with casts where Paddle would cast.

    Two tensors: of two floating-point types the wider one, f32 for f16 with bf16. A number, or a tensor of rank 0,
    with a tensor: the type of the tensor if both are floating-point, integer or boolean, else the type of the higher
    kind: a number counts as f32, i64 or i1.

    Args:
        x, y: at least one of them a value or an operation.
        what: the operation, for errors.

    Raises:
        IrError: two tensors of types that are not promoted, an integer that the type does not hold, or no tensor.
    """
    first, second = _Operand(x, what), _Operand(y, what)
    element = _common(first, second, what)
    return first.cast(element, what), second.cast(element, what)


_NUMBER, _OF_RANK_0, _OF_A_RANK = range(3)


class PromotesOperands:
    """For operations on two tensors of one element type: their constructors take numbers and arrays, too.

    `pd.add(x, 1.0)` is `x + 1.0`. Two tensors are never cast by a constructor: what it makes is what was asked for.
    """

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    def coerce_operands(cls, *operands: Any) -> Sequence[Any]:
        """The last two operands with constants for what is not a value yet, and the casts that these need."""
        *others, x, y = operands
        values = [isinstance(operand, (Value, Operation)) for operand in (x, y)]
        if all(values) or not any(values) or not (is_tensor_like(x) and is_tensor_like(y)):
            return operands  # the constructor says what is wrong, if something is
        require_insertion_point(f"{cls.name} of a number or an array")
        return (*others, *promoted(x, y, cls.name))


class _Operand:
    """One operand: its element type as far as promotion goes, how much that counts, and how it becomes a value."""

    def __init__(self, given: OperandLike, what: str) -> None:
        self.given = given
        self.value: Value | None = None
        if isinstance(given, (Value, Operation)):
            self.value = as_value(given, f"operand of {what}")
            kind = self.value.type
            if not isinstance(kind, RankedTensor):
                raise IrError(f"{what} takes tensors, numbers and arrays, not a value of {kind}")
            self.element, self.strength = kind.element, _OF_A_RANK if kind.rank else _OF_RANK_0
        elif isinstance(given, np.ndarray):
            self.element, self.strength = element_of(given), _OF_A_RANK if given.ndim else _OF_RANK_0
        else:
            self.element, self.strength = _element_of_number(given), _NUMBER

    def cast(self, element: ScalarType, what: str) -> Value:
        if self.value is not None:
            return self.value if self.element is element else pd.cast(self.value, dtype=element).out
        if isinstance(self.given, np.ndarray):
            return constant(self.given, element)
        number: Any = self.given
        if not element.is_float and element is not i1:
            low, high = element.format.integer_range
            if not low <= int(number) <= high:
                raise IrError(f"{what}: {number} does not fit {element}, which holds {low} to {high}")
            if abs(number) > 1 << 53:  # more digits than the attribute of pd.full has
                return constant(np.asarray(number), element)
        return pd.full(shape=(), value=float(number), dtype=element).out


def _element_of_number(number: Any) -> ScalarType:
    if isinstance(number, (bool, np.bool_)):
        return i1
    if isinstance(number, (int, np.integer)):
        return i64
    return f32


_KINDS: Final = ("a boolean", "an integer", "a floating-point")


def _kind(element: ScalarType) -> int:
    return 2 if element.is_float else 0 if element is i1 else 1


def _common(x: _Operand, y: _Operand, what: str) -> ScalarType:
    a, b = x.element, y.element
    if a is b:
        return a
    if x.strength != y.strength:
        weak, strong = (a, b) if x.strength < y.strength else (b, a)
        return strong if _kind(weak) <= _kind(strong) else weak
    if a.is_float and b.is_float:
        return f32 if a.format.bits == b.format.bits else max(a, b, key=lambda element: element.format.bits)
    if x.strength == _OF_RANK_0:
        return max(a, b, key=lambda element: (_kind(element), element.format.bits))
    raise IrError(
        f"{what}: a tensor of {a} and one of {b} have no common element type, for only floating-point types are "
        f"promoted; cast one of them: pd.cast(x, dtype={max(a, b, key=_kind)})"
    )
