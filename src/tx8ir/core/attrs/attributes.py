"""Attributes: the compile-time constants of operations. Immutable and interned like types, so equality is identity."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar, cast

import numpy as np

from tx8ir.core.errors import InvalidTypeError
from tx8ir.core.location import quote
from tx8ir.support.screen import fitted

from .builtin_types import FloatType, IndexType, IntegerType, integer_range, is_integer
from .extensible import Extensible
from .floats import float_bits, round_float
from .types import NESTING_LIMIT, ScalarType, Type, f64, i1, i64


class Attribute(Extensible):
    """Base of all attributes. `str(a)` is the text form, `a.value` the Python value."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        raise NotImplementedError  # every subclass has a value; this only declares it

    @property
    def depth(self) -> int:
        """How deep it nests: 1 for an attribute without others inside, at most `types.NESTING_LIMIT`."""
        return 1

    def __repr__(self) -> str:
        return fitted(f"{type(self).__name__}({self})")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Valued(Attribute):
    """An interned attribute that holds one Python value, and its text once that was asked for."""

    __slots__ = ("_text", "_value")
    _value: Any
    _text: str | None

    @property
    def value(self) -> Any:
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value,)  # a class that takes more says so

    def _make_text(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self._text = self._make_text()
        return text


A = TypeVar("A", bound=Valued)


def intern(cls: type[A], table: dict[Any, Any], key: Any, value: Any) -> A:
    found = table.get(key)
    if found is None:
        found = object.__new__(cls)
        found._value = value
        found._text = None
        table[key] = found
    return found


class TypedValued(Valued):
    """An attribute whose type says how deep it nests: that of its elements, or of what is not read."""

    __slots__ = ("type",)
    type: Type

    @property
    def depth(self) -> int:
        return self.type.depth


class UnitAttr(Valued):
    """A fact without a value: the key alone is printed."""

    __slots__ = ()
    _interned: ClassVar[dict[None, UnitAttr]] = {}

    def __new__(cls) -> UnitAttr:
        return intern(cls, cls._interned, None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitAttr, ()

    def _make_text(self) -> str:
        return "unit"


class BoolAttr(Valued):
    """`true` or `false`."""

    __slots__ = ()
    _interned: ClassVar[dict[bool, BoolAttr]] = {}

    def __new__(cls, value: bool | np.bool_) -> BoolAttr:
        if not isinstance(value, (bool, np.bool_)):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a bool, not {value!r}")
        return intern(cls, cls._interned, bool(value), bool(value))

    def _make_text(self) -> str:
        return "true" if self._value else "false"


TRUE: Final = BoolAttr(True)
FALSE: Final = BoolAttr(False)


IntegerLike: TypeAlias = ScalarType | IntegerType | IndexType
"""The integer types."""


class IntAttr(Valued):
    """An integer of an integer type: `3 : i64`. One of i1 is a `BoolAttr`.

    Raises:
        OverflowError: the value does not fit the type. TypeError: i1, or a type that is not an integer type.
    """

    __slots__ = ("type",)
    type: IntegerLike
    _interned: ClassVar[dict[tuple[int, IntegerLike], IntAttr]] = {}

    def __new__(cls, value: int, type: IntegerLike = i64) -> IntAttr:
        if value.__class__ is not int:
            value = _as_int(value)
        found = cls._interned.get((value, type))
        if found is None:
            if not is_integer(type):
                raise TypeError(f"an integer attribute has an integer type, not {type}")
            if type is i1:
                raise TypeError("an integer attribute of i1 is a BoolAttr")
            low, high = integer_range(type)
            if not low <= value <= high:
                shown = value if value.bit_length() < 200 else hex(value)
                raise OverflowError(f"{shown} does not fit {type}, which holds {low} to {high}")
            found = intern(cls, cls._interned, (value, type), value)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return IntAttr, (self._value, self.type)

    def _make_text(self) -> str:
        return f"{self._value} : {self.type}"


def depth_around(parts: Iterable[Attribute]) -> int:
    """The depth of an attribute made of `parts`. Raises ValueError beyond the limit."""
    depth = 1
    for part in parts:
        inner = part.depth
        if inner >= depth:
            depth = inner + 1
    if depth > NESTING_LIMIT:
        raise InvalidTypeError(f"types and attributes may nest {NESTING_LIMIT} deep at the most")
    return depth


def _as_int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"expected an int, not {value!r}")
    return int(cast(int, value))


def _as_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"expected a float, not {value!r}")
    return float(cast(float, value))


def float_text(value: float, type: ScalarType | FloatType = f64) -> str:
    """The shortest decimal that reads back as the same float of `type`; NaN and infinities as the bits in hex."""
    if isinstance(type, FloatType):
        type = f64
    if not math.isfinite(value):
        return f"0x{float_bits(value, type.format):0{type.format.bits // 4}X}"
    text = repr(float(value)) if type is f64 else str(type.dtype.type(value))
    if "e" in text:  # a float literal of the text format has a point before its exponent
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text if "." in text else text + ".0"


class FloatAttr(Valued):
    """A float of a scalar float type: `0.5 : f64`. The value is rounded to the type (nearest even) when it is made.

    Floats are told apart by their bits: zeros of both signs differ, and so do NaN with different payloads.
    Of a type that the machine lacks, the value is kept as it is written, and must be finite; see `FloatBitsAttr`.
    """

    __slots__ = ("type",)
    type: ScalarType | FloatType
    _interned: ClassVar[dict[tuple[bytes, ScalarType | FloatType], FloatAttr]] = {}

    def __new__(cls, value: float, type: ScalarType | FloatType = f64) -> FloatAttr:
        if value.__class__ is not float:
            value = _as_float(value)
        if isinstance(type, FloatType):
            if not math.isfinite(value):
                raise ValueError(f"{value} of {type} is written as its bits: a FloatBitsAttr")
        elif not type.is_float:
            raise TypeError(f"a float attribute has a float type, not {type}")
        elif type is not f64:
            value = round_float(value, type.format)
        key = (struct.pack("<d", value), type)  # by bits: zeros of both signs differ, NaN payloads too
        found = cls._interned.get(key)
        if found is None:
            found = intern(cls, cls._interned, key, value)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatAttr, (self._value, self.type)

    def _make_text(self) -> str:
        return f"{float_text(self._value, self.type)} : {self.type}"


class StrAttr(Valued):
    """A string."""

    __slots__ = ()
    _interned: ClassVar[dict[str, StrAttr]] = {}

    def __new__(cls, value: str) -> StrAttr:
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a str, not {value!r}")
        found = cls._interned.get(value)
        if found is None:
            value.encode("utf-8")  # a lone surrogate has no text form: UnicodeEncodeError, a ValueError
            found = intern(cls, cls._interned, value, value)
        return found

    def _make_text(self) -> str:
        return quote(self._value)


class SymbolRefAttr(Valued):
    """The name of a symbol, as `@main`."""

    __slots__ = ()
    _interned: ClassVar[dict[str, SymbolRefAttr]] = {}

    def __new__(cls, value: str) -> SymbolRefAttr:
        StrAttr(value)
        return intern(cls, cls._interned, value, value)

    def _make_text(self) -> str:
        return symbol_text(self._value)


def symbol_text(name: str) -> str:
    """`@name`, quoted when it is not a plain identifier."""
    return "@" + (name if is_bare(name) else quote(name))


class TypeAttr(Valued):
    """A type used as an attribute."""

    __slots__ = ()
    _interned: ClassVar[dict[Type, TypeAttr]] = {}

    def __new__(cls, value: Type) -> TypeAttr:
        if not isinstance(value, Type):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a Type, not {value!r}")
        return intern(cls, cls._interned, value, value)

    @property
    def depth(self) -> int:
        return self._value.depth

    def _make_text(self) -> str:
        return str(self._value)


class ArrayAttr(Valued):
    """A sequence of attributes: `["a", 1, 0.5]`. `value` is the tuple of their Python values."""

    __slots__ = ("_depth", "elements")
    elements: tuple[Attribute, ...]
    _depth: int
    _interned: ClassVar[dict[tuple[Attribute, ...], ArrayAttr]] = {}

    def __new__(cls, elements: Iterable[Any]) -> ArrayAttr:
        key = tuple(as_attribute(e) for e in elements)
        found = cls._interned.get(key)
        if found is None:
            depth = depth_around(key)
            found = intern(cls, cls._interned, key, tuple(e.value for e in key))
            found.elements = key
            found._depth = depth
        return found

    @property
    def depth(self) -> int:
        return self._depth

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrayAttr, (self.elements,)

    def _make_text(self) -> str:
        # Inside an array the default types i64 and f64 are left out, as MLIR does.
        parts: list[str] = []
        for element in self.elements:
            if isinstance(element, IntAttr) and element.type is i64:
                parts.append(str(element.value))
            elif isinstance(element, FloatAttr) and element.type is f64 and math.isfinite(element.value):
                parts.append(float_text(element.value))
            else:
                parts.append(str(element))
        return f"[{', '.join(parts)}]"


class DenseArrayAttr(Valued):
    """A flat sequence of numbers of one scalar type: `array<i64: 1, 2>`. `value` is a tuple."""

    __slots__ = ("type",)
    type: ScalarType | IntegerType
    _interned: ClassVar[dict[tuple[Any, ScalarType | IntegerType], DenseArrayAttr]] = {}

    def __new__(cls, values: Iterable[int | float | bool], type: ScalarType | IntegerType = i64) -> DenseArrayAttr:
        values = tuple(values)
        found = None
        if type is i64:
            found = cls._interned.get((values, type))
            if found is not None and all(v.__class__ is int for v in values):
                return found
        wrap: Callable[[Any], Any]
        is_float = isinstance(type, ScalarType) and type.is_float
        if isinstance(type, ScalarType) and type.is_float:
            wrap = lambda v: round_float(_as_float(v), type.format)  # noqa: E731
        elif type is i1:
            wrap = lambda v: BoolAttr(v).value  # noqa: E731
        else:
            wrap = lambda v: IntAttr(v, type).value  # noqa: E731
        values = tuple(wrap(v) for v in values)
        key = (struct.pack(f"<{len(values)}d", *values) if is_float else values, type)
        found = cls._interned.get(key)
        if found is None:
            found = intern(cls, cls._interned, key, values)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseArrayAttr, (self._value, self.type)

    def _make_text(self) -> str:
        if isinstance(self.type, ScalarType) and self.type.is_float:
            parts = [float_text(v, self.type) for v in self._value]
        elif self.type is i1:
            parts = ["true" if v else "false" for v in self._value]
        else:
            parts = [str(v) for v in self._value]
        return f"array<{self.type}: {', '.join(parts)}>" if parts else f"array<{self.type}>"


class DictAttr(Valued, Mapping[str, Any]):
    """String keys, sorted, to attributes; found by binary search. The attributes of every operation are one of these.

    Operations with equal attributes share one object, which is what makes comparing them cheap.
    """

    __slots__ = ("_depth", "_keys", "_values")
    _depth: int
    _keys: tuple[str, ...]
    _values: tuple[Attribute, ...]
    _interned: ClassVar[dict[tuple[tuple[str, ...], tuple[Attribute, ...]], DictAttr]] = {}

    def __new__(cls, entries: Mapping[str, Any] | None = None) -> DictAttr:
        if entries.__class__ is DictAttr:
            return cast(DictAttr, entries)
        if not entries:
            return EMPTY_DICT
        keys = tuple(sorted(entries))
        for key in keys:
            StrAttr(key)
        return dict_attr(keys, tuple(as_attribute(entries[k]) for k in keys))

    def __reduce__(self) -> tuple[Any, ...]:
        return DictAttr, (dict(zip(self._keys, self._values, strict=True)),)

    @property
    def depth(self) -> int:
        return self._depth

    @property
    def value(self) -> dict[str, Any]:
        return {k: v.value for k, v in zip(self._keys, self._values, strict=True)}

    def __getitem__(self, key: str) -> Attribute:
        index = bisect_left(self._keys, key)
        if index < len(self._keys) and self._keys[index] == key:
            return self._values[index]
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        keys = self._keys
        index = bisect_left(keys, key)
        if index < len(keys) and keys[index] == key:
            return self._values[index]
        return default

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> ItemsView[str, Attribute]:
        return dict(zip(self._keys, self._values, strict=True)).items()

    # A mapping compares by its items; this one is interned. Methods of Python here would be called for every hash.
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]  (Mapping declares none)
    __eq__ = object.__eq__

    def with_entry(self, key: str, value: Any) -> DictAttr:
        """This dictionary with `key` set; O(size)."""
        return DictAttr({**dict(zip(self._keys, self._values, strict=True)), key: value})

    def without(self, key: str) -> DictAttr:
        """This dictionary with `key` left out, if it was there."""
        return DictAttr({k: v for k, v in zip(self._keys, self._values, strict=True) if k != key})

    def _make_text(self) -> str:
        parts = [
            key_text(k) if isinstance(v, UnitAttr) else f"{key_text(k)} = {v}"
            for k, v in zip(self._keys, self._values, strict=True)
        ]
        return f"{{{', '.join(parts)}}}"


def key_text(key: str) -> str:
    """A dictionary key: bare when it is an identifier (dots allowed inside), else quoted."""
    return key if is_bare(key) and "-" not in key else quote(key)


def is_bare(name: str) -> bool:
    """True for a key or symbol that needs no quotes: an identifier, with dots, dashes and `$` allowed inside."""
    plain = name.replace(".", "_").replace("$", "_").replace("-", "_")
    return plain.isidentifier() and plain.isascii() and name[0] not in ".$-"


def dict_attr(keys: tuple[str, ...], values: tuple[Attribute, ...]) -> DictAttr:
    """The interned dictionary of keys that are already sorted and distinct, and attributes in their order."""
    found = DictAttr._interned.get((keys, values))
    if found is None:
        depth = depth_around(values)
        found = intern(DictAttr, DictAttr._interned, (keys, values), None)
        found._depth = depth
        found._keys = keys
        found._values = values
    return found


EMPTY_DICT: Final = dict_attr((), ())


def _sequence(value: Sequence[Any]) -> Attribute:
    kinds = {v.__class__ for v in value}
    if kinds == {int}:
        return DenseArrayAttr(value, i64)
    if kinds == {float}:
        return DenseArrayAttr(value, f64)
    if kinds == {bool}:
        return DenseArrayAttr(value, i1)
    return ArrayAttr(value)


CONVERSIONS: Final[dict[type[Any], Callable[[Any], Attribute]]] = {
    bool: BoolAttr,
    int: IntAttr,
    float: FloatAttr,
    str: StrAttr,
    tuple: _sequence,
    list: _sequence,
    dict: DictAttr,
    type(None): lambda _: UnitAttr(),
}
"""What makes an attribute of a Python value, by its class. Arrays and registered enumerations are added elsewhere."""


def as_attribute(value: Any) -> Attribute:
    """The attribute for a bool, int (i64), float (f64), str, sequence, dict, Type, ndarray or enum member, or itself.

    Raises:
        TypeError: there is no attribute for such a value.
    """
    convert = CONVERSIONS.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, Attribute):
        return value
    if isinstance(value, Type):
        return TypeAttr(value)
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return as_attribute(cast(Any, value).item())
    raise TypeError(f"no attribute holds a {type(value).__name__}: {value!r}")
