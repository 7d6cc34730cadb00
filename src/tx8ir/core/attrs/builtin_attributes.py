"""MLIR's builtin attributes beside those that programs of the machine use."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from tx8ir.core.location import Location

from .attributes import Attribute, TypedValued, Valued, depth_around, intern, symbol_text
from .builtin_types import FloatType
from .types import DYNAMIC, Type


class NestedSymbolRefAttr(Valued):
    """The name of a symbol in the symbol table of another: `@module::@function`. `value` is the tuple of names.

    Raises:
        ValueError: fewer than two names; one name is a `SymbolRefAttr`.
    """

    __slots__ = ()
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, names: Iterable[str]) -> NestedSymbolRefAttr:
        key = tuple(names)
        if len(key) < 2:
            raise ValueError(f"a nested symbol reference has two names or more, not {list(key)}")
        return intern(cls, cls._interned, key, key)

    def _make_text(self) -> str:
        return "::".join(map(symbol_text, self._value))


class TypedAttr(TypedValued):
    """A string, or an attribute of a dialect that is not loaded, with a type: `"text" : !foo.bar`.

    `value` is the string or the text of the attribute.
    """

    __slots__ = ("attribute",)
    attribute: Attribute
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, attribute: Attribute, type: Type) -> TypedAttr:
        found = intern(cls, cls._interned, (attribute, type), attribute.value)
        found.attribute, found.type = attribute, type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedAttr, (self.attribute, self.type)

    def _make_text(self) -> str:
        return f"{self.attribute} : {self.type}"


class FloatBitsAttr(Valued):
    """A float of a type that the machine lacks, as its bits: `0x7F : f8E4M3FN`. `value` is the int of the bits.

    Raises:
        OverflowError: more bits than the type has.
    """

    __slots__ = ("type",)
    type: FloatType
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, bits: int, type: FloatType) -> FloatBitsAttr:
        if bits >> type.width:
            raise OverflowError(f"these bits do not fit {type}")
        found = intern(cls, cls._interned, (bits, type), bits)
        found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatBitsAttr, (self._value, self.type)

    def _make_text(self) -> str:
        return f"0x{self._value:0{-(-self.type.width // 4)}X} : {self.type}"


class StridedLayoutAttr(Valued):
    """The layout of a memref: `strided<[4, 1], offset: ?>`. `value` is (strides, offset).

    Args:
        strides: steps in elements, or DYNAMIC.
        offset: of the first element, or DYNAMIC.
    """

    __slots__ = ()
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, strides: Iterable[int], offset: int = 0) -> StridedLayoutAttr:
        key = (tuple(strides), offset)
        return intern(cls, cls._interned, key, key)

    def __reduce__(self) -> tuple[Any, ...]:
        return StridedLayoutAttr, self._value

    def _make_text(self) -> str:
        strides, offset = self._value
        shown = ", ".join(map(_extent_text, strides))
        return f"strided<[{shown}]{f', offset: {_extent_text(offset)}' if offset else ''}>"


def _extent_text(extent: int) -> str:
    return "?" if extent == DYNAMIC else str(extent)


class LocationAttr(Attribute):
    """A location used as an attribute: `loc("file":1:2)`."""

    __slots__ = ("_location",)
    _interned: ClassVar[dict[str, LocationAttr]] = {}

    def __new__(cls, location: Location) -> LocationAttr:
        found = cls._interned.get(str(location))
        if found is None:
            found = cls._interned[str(location)] = object.__new__(cls)
            found._location = location
        return found

    _location: Location

    @property
    def value(self) -> Location:
        return self._location

    def __reduce__(self) -> tuple[Any, ...]:
        return LocationAttr, (self._location,)

    def __str__(self) -> str:
        return str(self._location)


class DistinctAttr(Valued):
    """An attribute that is told apart from an equal one by a number: `distinct[0]<42 : i32>`.

    `value` is the attribute inside, or None.
    """

    __slots__ = ("_depth", "number")
    number: int
    _depth: int
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, number: int, attribute: Attribute | None) -> DistinctAttr:
        depth = depth_around(() if attribute is None else (attribute,))
        found = intern(cls, cls._interned, (number, attribute), attribute)
        found.number = number
        found._depth = depth
        return found

    @property
    def depth(self) -> int:
        return self._depth

    def __reduce__(self) -> tuple[Any, ...]:
        return DistinctAttr, (self.number, self._value)

    def _make_text(self) -> str:
        return f"distinct[{self.number}]<{'' if self._value is None else self._value}>"
