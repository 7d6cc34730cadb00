"""Options of passes: which types they may have, how their values are read from text and printed, what they are for."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core import ElementLike, ScalarType, element_type
from tx8ir.support.screen import fitting_repr

OptionValue: TypeAlias = "bool | int | float | str | enum.Enum | tuple[OptionValue, ...] | None"

WORD: Final = re.compile(r"[A-Za-z0-9_.+\-/:*]+")
"""What needs no quotes."""

_HELP: Final = "tx8ir.help"


class ElementChoice(enum.Enum):
    """Base of enumerations of element types, by their spelling in the IR; another spelling finds the same member."""

    @classmethod
    def _missing_(cls, value: object) -> ElementChoice | None:
        choices = [ScalarType.of(member.value) for member in cls]
        found = str(element_type(typing.cast("ElementLike", value), choices, what=cls.__name__.lower()))
        return next(member for member in cls if member.value == found)


class Quoted(str):
    """A quoted string: never read as `none`."""

    __slots__ = ()


def option(default: Any, help: str, *, validator: Any = None) -> Any:
    """The field of a pass that is an option.

    Args:
        default: its value when it is not given.
        help: one sentence, shown by `tx8ir opt --list` and in the table of passes.
        validator: an attrs validator; what it raises (`ValueError`, `TypeError`) is shown with the pass's name.
    """
    return attrs.field(default=default, validator=validator, metadata={_HELP: help})


@attrs.frozen
class Option:
    """One option of a pass, described.

    Attributes:
        name: as written in a pipeline, with hyphens.
        type: in words: `an integer`, `one of fast, best`, `a list [...] of a string`.
        default: as written in a pipeline.
        help: what it is for.
    """

    __repr__ = fitting_repr

    name: str
    type: str
    default: str
    help: str


def option_fields(cls: type[Any]) -> list[attrs.Attribute[Any]]:
    """The fields of a pass class that are options."""
    return [field for field in attrs.fields(cls) if field.init]


def describe_options(cls: type[Any]) -> tuple[Option, ...]:
    """The options of a pass class. Their help is that given to `option`, or the paragraph `name: …` in its docs."""
    return tuple(
        Option(
            field.name.replace("_", "-"),
            type_in_words(field.type),
            print_value(default_of(field)),
            field.metadata.get(_HELP) or _help_in_docstring(cls, field.name),
        )
        for field in option_fields(cls)
    )


def _help_in_docstring(cls: type[Any], name: str) -> str:
    text = inspect.cleandoc(cls.__doc__ or "")
    found = re.search(
        rf"^(?P<indent> *){name}: (?P<help>.*(?:\n(?P=indent) +.*|\n(?! *\w+: ) *\S.*)*)", text, re.MULTILINE
    )
    return " ".join(found["help"].split()) if found else ""


def default_of(field: attrs.Attribute[Any]) -> Any:
    """The value of an option that is not given."""
    factory: Callable[[], Any] | None = getattr(field.default, "factory", None)  # of an attrs.Factory
    return field.default if factory is None else factory()


def is_expressible(kind: Any) -> bool:
    """Whether text can express the values of a type."""
    if kind in (bool, int, float, str) or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return True
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return len(args) == 2 and args[1] is Ellipsis and is_expressible(args[0])
    if origin in (types.UnionType, typing.Union):
        return len(args) == 2 and types.NoneType in args and all(a is types.NoneType or is_expressible(a) for a in args)
    return False


def type_in_words(kind: Any) -> str:
    """An expressible type, for people."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(str(member.value) for member in kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return f"a list [...] of {type_in_words(args[0])}"
    if origin in (types.UnionType, typing.Union):
        return f"{type_in_words(next(a for a in args if a is not types.NoneType))} or none"
    return {bool: "true or false", int: "an integer", float: "a number", str: "a string"}[kind]


def print_options(configured: object) -> str:
    """The options of a pass object that differ from their default, as `{a=1,b=x}`; nothing when all are at theirs."""
    parts: list[str] = []
    for field in option_fields(type(configured)):
        value = getattr(configured, field.name)
        if value != default_of(field):
            parts.append(f"{field.name.replace('_', '-')}={print_value(value)}")
    return f"{{{','.join(parts)}}}" if parts else ""


def print_value(value: Any) -> str:
    """A value as a pipeline has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return print_value(value.value)
    if isinstance(value, tuple):
        return f"[{','.join(print_value(item) for item in typing.cast('tuple[Any, ...]', value))}]"
    if isinstance(value, str):
        if WORD.fullmatch(value) and value != "none":
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def read_value(raw: str | list[Any], kind: Any) -> OptionValue:
    """`raw` (a word, a `Quoted` string or a list) as a `kind`. Raises `ValueError` or `KeyError` when it is none."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if raw == "none" and not isinstance(raw, Quoted):
            return None
        return read_value(raw, next(a for a in args if a is not types.NoneType))
    if origin is tuple:
        if not isinstance(raw, list):
            raise ValueError(raw)
        return tuple(read_value(item, args[0]) for item in raw)
    if not isinstance(raw, str):
        raise ValueError(raw)
    if kind is bool:
        return {"true": True, "false": False}[raw]
    if kind is str:
        return str(raw)
    if kind is int:
        return int(raw, 0)
    if kind is float:
        return float(raw)
    for member in kind:
        if str(member.value) == raw:
            return member
    return kind(raw)
