"""JSON values to attrs classes: the annotations of a class are the schema that a file is checked against.

    @attrs.frozen
    class Port:
        name: str
        shape: tuple[Extent, ...]

    port = structure(Port, json_value, file)

An annotation is `str`, `bool`, `int`, `float`, another attrs class, `tuple[T, ...]`, `Mapping[str, T]`, `T | None`, a
`Literal`, or one of these in `Annotated[T, Check(…)]`, which says what else must hold; `object` is any value as it is.
A class that is `Extensible` lets keys pass that it does not have: its format grows by others' hands.
"""

from __future__ import annotations

import math
import os
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast

import attrs

from .files import LoadError, shown

T = TypeVar("T")


@attrs.frozen
class Check:
    """What must hold of a value besides its type.

    Attributes:
        expected: what the value must be, in words.
        holds: whether it is.
    """

    expected: str
    holds: Callable[[Any], bool]


class Extensible:
    """Base of classes whose objects may have more keys than the class has fields."""

    __slots__ = ()


Natural = Annotated[int, Check("an integer from 0 to 2**63 - 1", lambda n: 0 <= n < 1 << 63)]
"""A count or a size."""
NonNegative = Annotated[float, Check("a finite number of at least 0", lambda x: x >= 0 and math.isfinite(x))]
"""An amount, such as seconds."""

_NAMES: Final[dict[Any, str]] = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}


def structure(cls: type[T], value: object, file: str | os.PathLike[str], at: str = "") -> T:
    """`value`, which was read from JSON, as an instance of the attrs class `cls`.

    Args:
        cls: the class; each of its fields is a key, those with defaults may be left out.
        value: what `decode_json` gave. It nests as deep as the class does: what lies deeper is never looked at.
        file: where it was read, for messages.
        at: the place of `value` in that file.

    Raises:
        LoadError: a key is missing or unknown, or a value is of another type or out of range.
    """
    return _object(cls, value, file, at)


def _object(cls: type[Any], value: object, file: str | os.PathLike[str], at: str) -> Any:
    fields = _fields(cls)
    keys = ", ".join(fields)
    if not isinstance(value, dict):
        raise LoadError(file, f"an object with the keys {keys}", shown(value), at)
    entries = cast("dict[str, object]", value)
    for key in () if issubclass(cls, Extensible) else entries:
        if key not in fields:
            raise LoadError(file, f"an object with the keys {keys}", f"the key {key!r:.80}", at)
    arguments: dict[str, object] = {}
    for key, (annotation, required) in fields.items():
        place = f"{at}.{key}" if at else key
        if key in entries:
            arguments[key] = _value(annotation, entries[key], file, place)
        elif required:
            raise LoadError(file, f"an object with the keys {keys}", f"none called {key!r}", at)
    return cls(**arguments)


@cache
def _fields(cls: type[Any]) -> dict[str, tuple[Any, bool]]:
    """The keys of a class: the annotation of each, and whether it has no default."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: (hints[field.name], field.default is attrs.NOTHING) for field in attrs.fields(cls)}


def _value(annotation: Any, value: object, file: str | os.PathLike[str], at: str) -> object:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        found = _value(arguments[0], value, file, at)
        for check in arguments[1:]:
            if not check.holds(found):
                raise LoadError(file, check.expected, shown(value), at)
        return found
    if origin is Literal:
        if not isinstance(value, str) or value not in arguments:
            raise LoadError(file, " or ".join(map(repr, arguments)), shown(value), at)
        return value
    if origin is Union or origin is types.UnionType:
        (member,) = [a for a in arguments if a is not type(None)]
        return None if value is None else _value(member, value, file, at)
    if origin is tuple:
        if not isinstance(value, list):
            raise LoadError(file, "a list", shown(value), at)
        items = cast("list[object]", value)
        return tuple([_value(arguments[0], item, file, f"{at}[{i}]") for i, item in enumerate(items)])
    if origin is Mapping:
        if not isinstance(value, dict):
            raise LoadError(file, "an object", shown(value), at)
        entries = cast("dict[str, object]", value)
        return {key: _value(arguments[1], item, file, f"{at}.{key:.80}") for key, item in entries.items()}
    if attrs.has(annotation):
        return _object(annotation, value, file, at)
    if annotation is object:
        return value
    fits = isinstance(value, (int, float) if annotation is float else annotation)
    if not fits or (isinstance(value, bool) and annotation is not bool):
        raise LoadError(file, _NAMES[annotation], shown(value), at)
    try:
        return float(cast(float, value)) if annotation is float else value
    except OverflowError:
        raise LoadError(file, "a number that a double holds", shown(value), at) from None
