"""What the type inference of the `pd` operations shares: operand checks, broadcasting, axes, and the tensor kind.

Every function raises `VerifyError` with the operation attached; the message names the operand or attribute, what it
is and what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tx8ir.core import DYNAMIC, Operation, RankedTensor, ScalarType, TensorType, Value, VerifyError, VTensorType
from tx8ir.dialects.samples import Kind, is_kind

_EXPECTED: Mapping[Kind, str] = {
    "float": "a floating-point element type",
    "integer": "an integer element type",
    "number": "a floating-point or integer element type",
    "bool": "element type i1",
}


def fail(op: Operation, message: str) -> VerifyError:
    """The error to raise for `op`."""
    return VerifyError(f"{op.name}: {message}", op)


def tensor_operand(
    op: Operation, value: Value, name: str, *, kind: Kind = "any", rank: int | None = None
) -> RankedTensor:
    """The type of operand `name`, a tensor of that kind of elements and that rank."""
    type_ = value.type
    if not isinstance(type_, RankedTensor):
        raise fail(op, f"operand `{name}` has type {type_}; expected a tensor")
    if not is_kind(type_.element, kind):
        raise fail(op, f"operand `{name}` has type {type_}; expected {_EXPECTED[kind]}")
    if rank is not None and type_.rank != rank:
        raise fail(op, f"operand `{name}` has type {type_} of rank {type_.rank}; expected rank {rank}")
    return type_


def same_element(op: Operation, **types: RankedTensor) -> ScalarType:
    """The one element type of all these operands."""
    elements = [t.element for t in types.values()]
    if any(e is not elements[0] for e in elements):
        listed = ", ".join(f"`{name}` {t.element}" for name, t in types.items())
        raise fail(op, f"operands have different element types: {listed}; insert a pd.cast")
    return elements[0]


def make_type(sources: Sequence[RankedTensor], shape: Sequence[int], element: ScalarType) -> RankedTensor:
    """A value type if every source is one, else a `TensorType`, which promises less."""
    if any(isinstance(t, TensorType) for t in sources):
        return TensorType(shape, element)
    return VTensorType(shape, element)


def broadcast_shape(op: Operation, **types: RankedTensor) -> tuple[int, ...]:
    """The common shape by NumPy's rule: aligned at the last axis, extent 1 stretches.

    A dynamic extent against n > 1 gives n, against 1 or another dynamic one stays dynamic.
    """
    rank = max(t.rank for t in types.values())
    shape: list[int] = []
    for axis in range(-rank, 0):
        extents = {t.shape[axis] for t in types.values() if t.rank >= -axis}
        fixed = extents - {1, DYNAMIC}
        if len(fixed) > 1:
            listed = ", ".join(f"`{name}` {list(t.shape)}" for name, t in types.items())
            raise fail(op, f"shapes do not broadcast at axis {axis}: {listed}")
        shape.append(fixed.pop() if fixed else DYNAMIC if DYNAMIC in extents else 1)
    return tuple(shape)


def normalize_axis(op: Operation, axis: int, rank: int, *, attribute: str = "axis") -> int:
    """`axis` counted from the front, for a tensor of `rank` axes."""
    if not -rank <= axis < rank:
        raise fail(op, f"attribute `{attribute}` is {axis}; expected {-rank} <= {attribute} < {rank}")
    return axis % rank


def normalize_axes(op: Operation, axes: Sequence[int], rank: int, *, attribute: str = "axis") -> tuple[int, ...]:
    """Each of `axes` counted from the front, in the order given, none twice."""
    normalized = tuple(normalize_axis(op, axis, rank, attribute=attribute) for axis in axes)
    if len(set(normalized)) != len(normalized):
        raise fail(op, f"attribute `{attribute}` names an axis twice: {list(axes)} of rank {rank}")
    return normalized


def one_of(op: Operation, attribute: str, value: str, *choices: str) -> None:
    """Check that the string attribute is one of `choices`."""
    if value not in choices:
        raise fail(op, f"attribute `{attribute}` is {value!r}; expected one of {', '.join(map(repr, choices))}")


def int_list(op: Operation, attribute: str, values: Sequence[int], *, length: int, at_least: int) -> None:
    """Check the length of an integer-list attribute and the smallest value in it."""
    if len(values) != length or any(v < at_least for v in values):
        raise fail(op, f"attribute `{attribute}` is {list(values)}; expected {length} integers >= {at_least}")


def number_of(op: Operation, attribute: str, value: float, type_: RankedTensor) -> None:
    """Check that a number is one of the element type of `type_`, if that is an integer type; floats round it."""
    element = type_.element
    if element.is_float:
        return
    low, high = element.format.integer_range
    if not (value.is_integer() and low <= value <= high):
        expected = f"expected a whole number from {low} to {high} for a tensor of {element}"
        raise fail(op, f"attribute `{attribute}` is {value}; {expected}")


def extents_match(a: int, b: int) -> bool:
    """True if two extents can be equal: a dynamic one matches any."""
    return a == b or DYNAMIC in (a, b)
