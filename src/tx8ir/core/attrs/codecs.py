"""How the annotation of an attribute field becomes an attribute and back."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import numpy as np

from .attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    FloatAttr,
    IntAttr,
    StrAttr,
    TypeAttr,
    as_attribute,
)
from .builtin_types import is_float
from .dense import DenseAttr
from .structured import EnumAttr, StructAttr, enum_attr_name
from .types import ScalarType, Type, f64, i1, i64


class Codec:
    """The two directions for one annotation.

    Attributes:
        expected: what to say when something else is given.
        encode: Python value to attribute; raises TypeError, ValueError or OverflowError.
        accepts: whether an attribute that was read from text or set by hand is of the right kind.
        attribute_class: the class of attributes that the annotation is, or None when it is something else.
        enumeration: the enumeration that the annotation is, or None when it is something else.
    """

    __slots__ = ("accepts", "attribute_class", "encode", "enumeration", "expected")

    def __init__(
        self,
        expected: str,
        encode: Callable[[Any], Attribute],
        accepts: Callable[[Attribute], bool],
        attribute_class: type[Attribute] | None = None,
        enumeration: type[enum.Enum] | None = None,
    ) -> None:
        self.attribute_class = attribute_class
        self.enumeration = enumeration
        self.expected = expected
        self.encode = encode
        self.accepts = accepts


def _typed(cls: type[Attribute], expected: str, encode: Callable[[Any], Attribute]) -> Codec:
    return Codec(expected, lambda v: v if isinstance(v, cls) else encode(v), lambda a: isinstance(a, cls))


def _numbers(element: ScalarType, expected: str) -> Codec:
    def encode(value: Any) -> Attribute:
        if isinstance(value, (int, float, np.integer, np.floating)):  # one number stands for a sequence of one
            value = (cast(float, value),)
        if isinstance(value, (str, bytes)) or (isinstance(value, Attribute) and not accepts(value)):
            raise TypeError(f"expected {expected}, not {value!r}")
        return value if isinstance(value, Attribute) else DenseArrayAttr(value, element)

    # An array in brackets ([1, 2]) is what other tools write for numbers too.
    def accepts(attr: Attribute) -> bool:
        if isinstance(attr, DenseArrayAttr):
            return is_float(attr.type) == element.is_float and (attr.type is i1) == (element is i1)
        return isinstance(attr, ArrayAttr) and all(_NUMBER[element](e) for e in attr.elements)

    return Codec(expected, encode, accepts)


_NUMBER: Final[dict[ScalarType, Callable[[Attribute], bool]]] = {
    i64: lambda a: isinstance(a, IntAttr),
    f64: lambda a: isinstance(a, FloatAttr),
    i1: lambda a: isinstance(a, BoolAttr),
}


def _strings(value: Any) -> Attribute:
    if isinstance(value, str) or (isinstance(value, Attribute) and not _are_strings(value)):
        raise TypeError(f"expected a tuple of str, not {value!r}")
    return value if isinstance(value, Attribute) else ArrayAttr(StrAttr(v) for v in value)


def _are_strings(attr: Attribute) -> bool:
    return isinstance(attr, ArrayAttr) and all(isinstance(e, StrAttr) for e in attr.elements)


_FIXED: Final[dict[Any, Codec]] = {
    bool: _typed(BoolAttr, "a bool", BoolAttr),
    int: _typed(IntAttr, "an int", IntAttr),
    float: _typed(FloatAttr, "a float", FloatAttr),
    str: _typed(StrAttr, "a str", StrAttr),
    tuple[int, ...]: _numbers(i64, "a tuple of int"),
    tuple[float, ...]: _numbers(f64, "a tuple of float"),
    tuple[bool, ...]: _numbers(i1, "a tuple of bool"),
    tuple[str, ...]: Codec(
        "a tuple of str",
        _strings,
        _are_strings,
    ),
    Attribute: Codec("an attribute", as_attribute, lambda _: True),
}


def codec_for(annotation: Any) -> tuple[Codec, bool]:
    """The codec of a field annotation, and whether None (absence) is allowed.

    Raises:
        TypeError: an annotation that stands for no attribute.
    """
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(annotation) if m is not type(None)]
        if len(members) > 1 and all(isinstance(m, type) and issubclass(m, Attribute) for m in members):
            return _attribute_codec(*members), len(members) < len(typing.get_args(annotation))
        if len(members) != 1 or len(typing.get_args(annotation)) != 2:
            raise TypeError(f"an attribute is annotated with one type or `T | None`, not {annotation}")
        return codec_for(members[0])[0], True
    found = _FIXED.get(annotation)
    if found is not None:
        return found, False
    if typing.get_origin(annotation) is np.ndarray:
        return _typed(DenseAttr, "an array", DenseAttr), False
    if isinstance(annotation, type):
        if annotation is Type or issubclass(annotation, Type):
            return _type_codec(annotation), False
        if issubclass(annotation, enum.Enum):
            return _enum_codec(annotation), False
        if issubclass(annotation, Attribute):
            return _attribute_codec(annotation), False
    raise TypeError(f"no attribute stands for the annotation {annotation!r}")


@cache
def struct_codecs(cls: type[StructAttr]) -> dict[str, tuple[Codec, bool]]:
    """Field names of a structured attribute to their codec and whether they may be None.

    Raises:
        TypeError: an annotation that stands for no attribute.
    """
    hints = typing.get_type_hints(cls)
    return {name: codec_for(hints[name]) for name in cls.field_names()}


def _type_codec(cls: type[Type]) -> Codec:
    def encode(value: Any) -> Attribute:
        if isinstance(value, TypeAttr):
            value = value.value
        if not isinstance(value, cls):
            raise TypeError(f"expected a {cls.__name__}, not {value!r}")
        return TypeAttr(value)

    return Codec(f"a {cls.__name__}", encode, lambda a: isinstance(a, TypeAttr) and isinstance(a.value, cls))


def _enum_codec(cls: type[enum.Enum]) -> Codec:
    enum_attr_name(cls)  # a KeyError here names an enumeration that nobody registered
    spellings = ", ".join(str(m.value) for m in cls)

    def encode(value: Any) -> Attribute:
        if isinstance(value, EnumAttr):
            value = value.value
        if not isinstance(value, cls):
            raise TypeError(f"expected a {cls.__name__} ({spellings}), not {value!r}")
        return EnumAttr(value)

    return Codec(
        f"a {cls.__name__} ({spellings})",
        encode,
        lambda a: isinstance(a, EnumAttr) and isinstance(a.value, cls),
        enumeration=cls,
    )


def _attribute_codec(cls: type[Attribute], *others: type[Attribute]) -> Codec:
    """An attribute of a class, or of one of some others; a Python value is one of the first."""
    accepted = (cls, *others)
    expected = " or ".join(f"a {one.__name__}" for one in accepted)

    def encode(value: Any) -> Attribute:
        attribute = value if isinstance(value, Attribute) or issubclass(cls, StructAttr) else cls(value)  # pyright: ignore[reportCallIssue]  (every attribute class but the base takes its value)
        if not isinstance(attribute, accepted):
            raise TypeError(f"expected {expected}, not {value!r}")
        return attribute

    return Codec(expected, encode, lambda a: isinstance(a, accepted), cls)
