"""Arguments of nodes: JSON that says of what kind each is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from tx8ir.core import Value
from tx8ir.core.files import shown

from .elements import ElementError, element_of
from .symbols import Extent


class ArgumentError(ValueError):
    """An argument that is malformed, or of another kind than expected; the caller adds the place."""


class Lookup(Protocol):
    """Finds what names stand for."""

    def value(self, name: str) -> Value:
        """The tensor of a name. Raises ArgumentError if there is none."""
        ...

    def number(self, name: str) -> Extent:
        """The integer of a name. Raises ArgumentError if there is none."""
        ...


_INFINITE: Final = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
IGNORED: Final = ("Layout", "Device", "MemoryFormat", "Generator")
"""Kinds that say how and where numbers are kept."""
_LISTS: Final = {
    "as_tensors": "as_tensor", "as_ints": "as_int", "as_floats": "as_float", "as_bools": "as_bool",
    "as_strings": "as_string", "as_sym_ints": "as_sym_int", "as_optional_tensors": "as_optional_tensor",
}  # fmt: skip
_KINDS: Final = {
    "Tensor": ("as_tensor", "as_optional_tensor"),
    "Operand": ("as_tensor", "as_int", "as_float", "as_bool", "as_sym_int"),
    "int": ("as_int", "as_sym_int"),
    "SymInt": ("as_int", "as_sym_int"),
    "float": ("as_float", "as_int"),
    "bool": ("as_bool",),
    "str": ("as_string",),
    "Scalar": ("as_int", "as_float", "as_bool", "as_sym_int"),
    "ScalarType": ("as_scalar_type",),
}
_LARGEST: Final = 1 << 64


def named(arg: Mapping[str, object]) -> str | None:
    """The name of the tensor that an argument is, or None if it is none."""
    tensor = arg.get("as_tensor")
    if not isinstance(tensor, dict):
        return None
    name = cast("dict[str, object]", tensor).get("name")
    return name if isinstance(name, str) else None


def read_argument(arg: Mapping[str, object], kind: str, lookup: Lookup, *, is_list: bool = False) -> Any:
    """The value of an argument of a kind of `signatures`, a tuple for a list, None for none.

    Raises:
        ArgumentError: it is of another kind, or malformed.
    """
    if len(arg) != 1:
        raise ArgumentError(f"malformed: {shown(dict(arg))}; expected an object of one key")
    ((given, value),) = arg.items()
    if given == "as_none" or kind in IGNORED:
        return None
    if not is_list:
        return _item(given, value, kind, lookup)
    if given not in _LISTS:
        raise ArgumentError(f"{_words(given)} {shown(value)}; expected a list of {kind}")
    if not isinstance(value, list):
        raise ArgumentError(f"malformed: {given} is {shown(value)}; expected a list")
    return tuple([_item(_LISTS[given], item, kind, lookup) for item in cast("list[object]", value)])


def _words(given: str) -> str:
    return f"of kind {given.removeprefix('as_')},"


def _item(given: str, value: object, kind: str, lookup: Lookup) -> Any:
    if given not in _KINDS[kind]:
        raise ArgumentError(f"{_words(given)} {shown(value)}; expected {kind}")
    match given, value:
        case "as_optional_tensor", {"as_none": bool()}:
            return None
        case "as_optional_tensor", {"as_tensor": {"name": str(name)}}:
            return lookup.value(name)
        case "as_tensor", {"name": str(name)}:
            return lookup.value(name)
        case "as_sym_int", {"as_name": str(name)}:
            return lookup.number(name)
        case "as_sym_int", {"as_int": int(number)} if not isinstance(number, bool):
            return _whole(number)
        case "as_int", int(number) if not isinstance(number, bool):
            return float(_whole(number)) if kind == "float" else _whole(number)
        case "as_float", str(word) if word in _INFINITE:
            return _INFINITE[word]
        case "as_float", int() | float() if not isinstance(value, bool):
            try:
                return float(cast("float", value))
            except OverflowError:
                raise ArgumentError("a number that no double holds") from None
        case "as_bool", bool(truth):
            return truth
        case "as_string", str(text):
            return text
        case "as_scalar_type", int(number):
            try:
                return element_of(number)
            except ElementError as error:
                raise ArgumentError(str(error)) from error
        case _:
            raise ArgumentError(f"malformed: {given} is {shown(value)}")


def _whole(number: int) -> int:
    if not -_LARGEST < number < _LARGEST:
        raise ArgumentError("an integer of more than 64 bits")
    return number
