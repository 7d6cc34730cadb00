"""What the operations on tensors share: types, extents that are partly known, bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    BuiltinTensorType,
    IndexType,
    Operation,
    Type,
    Value,
    VerifyError,
    VTensorType,
)
from tx8ir.core.attrs.builtin_types import element_of, tensor_type
from tx8ir.core.text.assembly_format import DYNAMIC_INDEX
from tx8ir.dialects.arith.declaration import FoldingOp

Array = NDArray[Any]
INDEX: Final = IndexType()
_MOST_FOLDED = 1024


def is_tensor(type: Type) -> bool:
    """A tensor without storage, of any rank."""
    return isinstance(type, (VTensorType, BuiltinTensorType))


def is_ranked(type: Type) -> bool:
    """A tensor without storage, of a known rank."""
    return isinstance(type, (VTensorType, BuiltinTensorType)) and type.shape is not None


def shape_of(value: Value) -> tuple[int, ...]:
    """The extents of a value of a known rank; DYNAMIC for those that are not known."""
    type: Any = value.type
    return type.shape


def reshaped(type: Type, shape: Iterable[int]) -> Type:
    """The type of a tensor of the same elements in another shape."""
    return tensor_type(shape, element_of(type))


def is_compatible(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether a tensor may have both shapes."""
    return len(shape) == len(other) and all(DYNAMIC in (a, b) or a == b for a, b in zip(shape, other, strict=True))


def mixed(numbers: Sequence[int], values: Sequence[Array]) -> list[int]:
    """The numbers, where each `DYNAMIC_INDEX` is the next of the values."""
    rest = iter(values)
    return [int(next(rest)) if n == DYNAMIC_INDEX else n for n in numbers]


def extents_in_type(numbers: Sequence[int]) -> tuple[int, ...]:
    """The numbers as extents of a type."""
    return tuple(DYNAMIC if n == DYNAMIC_INDEX else n for n in numbers)


def verify_mixed(op: Operation, what: str, numbers: Sequence[int], values: Sequence[Value], count: int) -> None:
    """Check that there are so many numbers, and a value for each that is not known. Raises VerifyError."""
    if len(numbers) != count:
        raise VerifyError(f"{op.name} has {len(numbers)} {what}, expected {count}", op)
    dynamic = sum(n == DYNAMIC_INDEX for n in numbers)
    if dynamic != len(values):
        raise VerifyError(f"{op.name} has {dynamic} {what} that values give, and {len(values)} values for them", op)


def with_extents(type: Type, values: Sequence[Array]) -> tuple[int, ...]:
    """The shape of a tensor type, where each dynamic extent is the next of the values. Raises ValueError below 0."""
    shape: Any = getattr(type, "shape", ())
    found = tuple(mixed([DYNAMIC_INDEX if n == DYNAMIC else n for n in shape], values))
    if any(n < 0 for n in found):
        raise ValueError(f"an extent of {type} is {min(found)}")
    return found


def verify_extents(op: Operation, type: Type, values: Sequence[Value]) -> None:
    """Check that there is a value for each dynamic extent of a type. Raises VerifyError."""
    dynamic = sum(n == DYNAMIC for n in getattr(type, "shape", None) or ())
    if dynamic != len(values):
        raise VerifyError(f"{op.name} gives {type}, which has {dynamic} dynamic extents, for {len(values)} values", op)


def place_in(array: Array, indices: Sequence[Array]) -> tuple[int, ...]:
    """Indices of one element. Raises IndexError outside of the array; no index counts from the end."""
    place = tuple(int(i) for i in indices)
    if any(not 0 <= i < extent for i, extent in zip(place, array.shape, strict=True)):
        raise IndexError(f"there is no element at {list(place)} of a tensor of shape {list(array.shape)}")
    return place


def known_index(value: Value) -> int | None:
    """The number of an index that a constant gives, or None."""
    from tx8ir.dialects.arith.constants import known_array

    found = known_array(value)
    return None if found is None else int(found)


def is_inside(indices: Sequence[Value], shape: Sequence[int]) -> bool:
    """Whether indices are known to be of an element of every tensor of that shape."""
    known = [known_index(i) for i in indices]
    return len(known) == len(shape) and all(
        i is not None and 0 <= i < extent for i, extent in zip(known, shape, strict=True)
    )


class TensorOp(FoldingOp):
    """An operation on tensors, which folds to constants that are not large."""

    most_folded = _MOST_FOLDED


def filled(shape: Sequence[int], number: Any) -> Array:
    """A tensor of one number, in the working type of that."""
    return np.full(shape, np.asarray(number))
