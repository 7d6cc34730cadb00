"""Element types of PyTorch: the schema's numbers, and how types are promoted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tx8ir.core import ScalarType, Value, bf16, f16, f32, f64, i1, i8, i16, i32, i64, ui8, ui16
from tx8ir.frontends.values import tensor_type

ELEMENTS: Final[dict[int, ScalarType]] = {
    1: ui8,
    2: i8,
    3: i16,
    4: i32,
    5: i64,
    6: f16,
    7: f32,
    8: f64,
    12: i1,
    13: bf16,
    28: ui16,
}
"""Scalar type of each number of the schema that is supported."""

_NAMES: Final = {
    9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
}  # fmt: skip


class ElementError(ValueError):
    """An element type that is not supported; the caller adds the place."""


def element_of(number: int) -> ScalarType:
    """The scalar type of a number of the schema.

    Raises:
        ElementError: there is none.
    """
    element = ELEMENTS.get(number)
    if element is None:
        known = ", ".join(map(str, ELEMENTS.values()))
        raise ElementError(f"element type {_NAMES.get(number, number)} is not supported; supported are {known}")
    return element


def kind_of(element: ScalarType) -> int:
    """0 for truth values, 1 for integers, 2 for floating-point numbers."""
    return 2 if element.is_float else 0 if element is i1 else 1


def wider(a: ScalarType, b: ScalarType) -> ScalarType:
    """`torch.promote_types`."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda element: (kind_of(element), element.format.bits))
    if kind_of(low) < kind_of(high):
        return high
    if low.format.bits == high.format.bits:  # f16 and bf16, ui8 and i8
        return f32 if low.is_float else {8: i16, 16: i32}[low.format.bits]
    if high is ui16:
        return i32
    return high


def promoted(operands: Iterable[Value | float]) -> ScalarType:
    """`torch.result_type`: tensors with axes count most, then those without, then numbers.

    What counts less changes the type only where it is of a higher kind.
    """
    ranked: list[ScalarType | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Value):
            type_ = tensor_type(operand)
            place, element = (0 if type_.rank else 1), type_.element
        else:
            place, element = 2, i1 if isinstance(operand, bool) else i64 if isinstance(operand, int) else f32
        before = ranked[place]
        ranked[place] = element if before is None else wider(before, element)
    result: ScalarType | None = None
    for element in ranked:
        if result is None:
            result = element
        elif element is not None and kind_of(element) > kind_of(result):
            result = element if result is i1 or element.is_float else wider(result, element)
    assert result is not None
    return result
