"""Attributes: the compile-time constants of operations. Immutable and interned like types, so equality is identity."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
import struct
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from .location import quote
from .types import RankedTensor, ScalarType, Type, VTensorType, f64, i1, i64


class Attribute:
    """Base of all attributes. `str(a)` is the text form, `a.value` the Python value."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        raise NotImplementedError  # every subclass has a value; this only declares it

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class _Valued(Attribute):
    """An interned attribute that holds one Python value, and its text once that was asked for."""

    __slots__ = ("_text", "_value")
    _value: Any
    _text: str | None

    @property
    def value(self) -> Any:
        return self._value

    def _make_text(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self._text = self._make_text()
        return text


A = TypeVar("A", bound=_Valued)


def _intern(cls: type[A], table: dict[Any, Any], key: Any, value: Any) -> A:
    found = table.get(key)
    if found is None:
        found = object.__new__(cls)
        found._value = value
        found._text = None
        table[key] = found
    return found


class UnitAttr(_Valued):
    """A fact without a value: the key alone is printed."""

    __slots__ = ()
    _interned: ClassVar[dict[None, UnitAttr]] = {}

    def __new__(cls) -> UnitAttr:
        return _intern(cls, cls._interned, None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitAttr, ()

    def _make_text(self) -> str:
        return "unit"


class BoolAttr(_Valued):
    """`true` or `false`."""

    __slots__ = ()
    _interned: ClassVar[dict[bool, BoolAttr]] = {}

    def __new__(cls, value: bool | np.bool_) -> BoolAttr:
        if not isinstance(value, (bool, np.bool_)):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a bool, not {value!r}")
        return _intern(cls, cls._interned, bool(value), bool(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return BoolAttr, (self._value,)

    def _make_text(self) -> str:
        return "true" if self._value else "false"


TRUE: Final = BoolAttr(True)
FALSE: Final = BoolAttr(False)


class IntAttr(_Valued):
    """An integer of a scalar integer type: `3 : i64`. Raises OverflowError when the value does not fit the type."""

    __slots__ = ("type",)
    type: ScalarType
    _interned: ClassVar[dict[tuple[int, ScalarType], IntAttr]] = {}

    def __new__(cls, value: int, type: ScalarType = i64) -> IntAttr:
        if value.__class__ is not int:
            value = _as_int(value)
        found = cls._interned.get((value, type))
        if found is None:
            if not type.format.is_integer:
                raise TypeError(f"an integer attribute has an integer type, not {type}")
            bits, signed = type.format.bits, type.format.is_signed
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            if not low <= value <= high:
                raise OverflowError(f"{value} does not fit {type}, which holds {low} to {high}")
            found = _intern(cls, cls._interned, (value, type), value)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return IntAttr, (self._value, self.type)

    def _make_text(self) -> str:
        return f"{self._value} : {self.type}"


def _as_int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"expected an int, not {value!r}")
    return int(cast(int, value))


def _as_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"expected a float, not {value!r}")
    return float(cast(float, value))


def float_text(value: float, type: ScalarType = f64) -> str:
    """The shortest decimal that reads back as the same float of `type`; NaN and infinities as the bits in hex."""
    dtype = type.dtype
    if not np.isfinite(value):
        bits = np.array(value, dtype).tobytes() if type is not f64 else struct.pack("<d", value)
        return "0x" + bits[::-1].hex().upper()
    text = repr(float(value)) if type is f64 else str(dtype.type(value))
    if "e" in text:  # a float literal of the text format has a point before its exponent
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text if "." in text else text + ".0"


class FloatAttr(_Valued):
    """A float of a scalar float type: `0.5 : f64`. The value is rounded to the type (nearest even) when it is made."""

    __slots__ = ("type",)
    type: ScalarType
    _interned: ClassVar[dict[tuple[bytes, ScalarType], FloatAttr]] = {}

    def __new__(cls, value: float, type: ScalarType = f64) -> FloatAttr:
        if value.__class__ is not float:
            value = _as_float(value)
        if not type.is_float:
            raise TypeError(f"a float attribute has a float type, not {type}")
        if type is not f64:
            with np.errstate(over="ignore"):
                value = float(type.dtype.type(value))
        key = (struct.pack("<d", value), type)  # by bits: zeros of both signs differ, NaN payloads too
        found = cls._interned.get(key)
        if found is None:
            found = _intern(cls, cls._interned, key, value)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatAttr, (self._value, self.type)

    def _make_text(self) -> str:
        return f"{float_text(self._value, self.type)} : {self.type}"


class StrAttr(_Valued):
    """A string."""

    __slots__ = ()
    _interned: ClassVar[dict[str, StrAttr]] = {}

    def __new__(cls, value: str) -> StrAttr:
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a str, not {value!r}")
        found = cls._interned.get(value)
        if found is None:
            value.encode("utf-8")  # a lone surrogate has no text form: UnicodeEncodeError, a ValueError
            found = _intern(cls, cls._interned, value, value)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return StrAttr, (self._value,)

    def _make_text(self) -> str:
        return quote(self._value)


class SymbolRefAttr(_Valued):
    """The name of a symbol, as `@main`."""

    __slots__ = ()
    _interned: ClassVar[dict[str, SymbolRefAttr]] = {}

    def __new__(cls, value: str) -> SymbolRefAttr:
        StrAttr(value)
        return _intern(cls, cls._interned, value, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return SymbolRefAttr, (self._value,)

    def _make_text(self) -> str:
        return symbol_text(self._value)


def symbol_text(name: str) -> str:
    """`@name`, quoted when it is no plain identifier."""
    plain = name.replace(".", "_").replace("$", "_").replace("-", "_")
    return "@" + (name if plain.isidentifier() and plain.isascii() else quote(name))


class TypeAttr(_Valued):
    """A type used as an attribute."""

    __slots__ = ()
    _interned: ClassVar[dict[Type, TypeAttr]] = {}

    def __new__(cls, value: Type) -> TypeAttr:
        if not isinstance(value, Type):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"expected a Type, not {value!r}")
        return _intern(cls, cls._interned, value, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return TypeAttr, (self._value,)

    def _make_text(self) -> str:
        return str(self._value)


class ArrayAttr(_Valued):
    """A sequence of attributes: `["a", 1, 0.5]`. `value` is the tuple of their Python values."""

    __slots__ = ("elements",)
    elements: tuple[Attribute, ...]
    _interned: ClassVar[dict[tuple[Attribute, ...], ArrayAttr]] = {}

    def __new__(cls, elements: Iterable[Any]) -> ArrayAttr:
        key = tuple(as_attribute(e) for e in elements)
        found = cls._interned.get(key)
        if found is None:
            found = _intern(cls, cls._interned, key, tuple(e.value for e in key))
            found.elements = key
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrayAttr, (self.elements,)

    def _make_text(self) -> str:
        # Inside an array the default types i64 and f64 are left out, as MLIR does.
        parts: list[str] = []
        for element in self.elements:
            if isinstance(element, IntAttr) and element.type is i64:
                parts.append(str(element.value))
            elif isinstance(element, FloatAttr) and element.type is f64 and np.isfinite(element.value):
                parts.append(float_text(element.value))
            else:
                parts.append(str(element))
        return f"[{', '.join(parts)}]"


class DenseArrayAttr(_Valued):
    """A flat sequence of numbers of one scalar type: `array<i64: 1, 2>`. `value` is a tuple."""

    __slots__ = ("type",)
    type: ScalarType
    _interned: ClassVar[dict[tuple[Any, ScalarType], DenseArrayAttr]] = {}

    def __new__(cls, values: Iterable[int | float | bool], type: ScalarType = i64) -> DenseArrayAttr:
        values = tuple(values)
        found = None
        if type is i64:
            found = cls._interned.get((values, type))
            if found is not None and all(v.__class__ is int for v in values):
                return found
        wrap: Callable[[Any], Any]
        if type.is_float:
            wrap = lambda v: FloatAttr(v, type).value  # noqa: E731
        elif type is i1:
            wrap = lambda v: BoolAttr(v).value  # noqa: E731
        else:
            wrap = lambda v: IntAttr(v, type).value  # noqa: E731
        values = tuple(wrap(v) for v in values)
        key = (np.array(values, np.float64).tobytes() if type.is_float else values, type)
        found = cls._interned.get(key)
        if found is None:
            found = _intern(cls, cls._interned, key, values)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseArrayAttr, (self._value, self.type)

    def _make_text(self) -> str:
        if self.type.is_float:
            parts = [float_text(v, self.type) for v in self._value]
        elif self.type is i1:
            parts = ["true" if v else "false" for v in self._value]
        else:
            parts = [str(v) for v in self._value]
        return f"array<{self.type}: {', '.join(parts)}>" if parts else f"array<{self.type}>"


_DENSE_TEXT_LIMIT: Final = 64
"""Above this many elements a dense attribute prints its bytes as one hex string."""


class DenseAttr(_Valued):
    """Numbers in a tensor type: `dense<[[1.0, 2.0]]> : !pd.vtensor<1x2xf32>`. `value` is a read-only array.

    For small constants: data of weights lives in the `WeightStore`, because interning looks at every byte.

    Args:
        value: anything `np.asarray` takes; converted to the element type's dtype when that loses nothing.
        type: a static ranked tensor type; by default a vtensor of the array's shape and dtype.

    Raises:
    ------
        TypeError: a dtype without a scalar type. ValueError: a shape that is not the type's, a value lost.
    """

    __slots__ = ("type",)
    type: RankedTensor
    _interned: ClassVar[dict[tuple[RankedTensor, bytes], DenseAttr]] = {}

    def __new__(cls, value: Any, type: RankedTensor | None = None) -> DenseAttr:
        array: NDArray[Any] = np.asarray(value)
        if type is None:
            type = VTensorType(array.shape, scalar_type_of(array.dtype))
        dtype = type.element.dtype
        if array.dtype != dtype:
            converted = array.astype(dtype)
            same = (converted.astype(array.dtype) == array) | (array != array)
            if not bool(np.all(same)):
                raise ValueError(f"values of dtype {array.dtype} are lost in {type}; convert them first")
            array = converted
        if array.shape != type.shape:
            raise ValueError(f"an array of shape {array.shape} does not fit {type}")
        data = np.ascontiguousarray(array).tobytes()
        found = cls._interned.get((type, data))
        if found is None:
            array = np.frombuffer(data, dtype).reshape(type.shape)  # over bytes: read-only
            found = _intern(cls, cls._interned, (type, data), array)
            found.type = type
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseAttr, (self._value, self.type)

    def _make_text(self) -> str:
        array = cast("NDArray[Any]", self._value)
        element = self.type.element
        flat = array.reshape(-1)
        data = flat.tobytes()
        size = array.itemsize
        if array.size > 1 and data == data[:size] * array.size:
            body = _number_text(flat[0], element)
        elif array.size > _DENSE_TEXT_LIMIT:
            body = f'"0x{data.hex().upper()}"'
        else:
            body = _nested_text([_number_text(v, element) for v in flat], array.shape)
        return f"dense<{body}> : {self.type}"


def _number_text(value: Any, element: ScalarType) -> str:
    if element.is_float:
        return float_text(float(value), element)
    if element is i1:
        return "true" if value else "false"
    return str(int(value))


def _nested_text(parts: list[str], shape: tuple[int, ...]) -> str:
    """Row-major `parts` in the brackets of `shape`; level by level from the innermost axis."""
    if not parts and shape:
        return ""
    for extent in reversed(shape):
        parts = [f"[{', '.join(parts[i : i + extent])}]" for i in range(0, len(parts), extent)]
    return parts[0]


def scalar_type_of(dtype: np.dtype[Any] | type[Any]) -> ScalarType:
    """The scalar type whose values `dtype` holds. Raises TypeError when no format of the machine does."""
    name = np.dtype(dtype).name
    spelled = _SCALAR_OF_DTYPE.get(name)
    if spelled is None:
        raise TypeError(f"no scalar type holds dtype {name}; known dtypes: {', '.join(sorted(_SCALAR_OF_DTYPE))}")
    return ScalarType.of(spelled)


_SCALAR_OF_DTYPE: Final = {
    "bool": "i1", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}  # fmt: skip


class DictAttr(_Valued, Mapping[str, Any]):
    """String keys, sorted, to attributes; found by binary search. The attributes of every operation are one of these.

    Operations with equal attributes share one object, which is what makes comparing them cheap.
    """

    __slots__ = ("_keys", "_values")
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

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return self is other

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
    """A dictionary key: bare when it is an identifier (dots and dashes allowed inside), else quoted."""
    plain = key.replace(".", "_").replace("$", "_").replace("-", "_")
    return key if plain.isidentifier() and plain.isascii() and key[0] not in ".$-" else quote(key)


def dict_attr(keys: tuple[str, ...], values: tuple[Attribute, ...]) -> DictAttr:
    """The interned dictionary of keys that are already sorted and distinct, and attributes in their order."""
    found = DictAttr._interned.get((keys, values))
    if found is None:
        found = _intern(DictAttr, DictAttr._interned, (keys, values), None)
        found._keys = keys
        found._values = values
    return found


EMPTY_DICT: Final = dict_attr((), ())


class EnumAttr(_Valued):
    """A member of an enumeration that was registered with `enum_attr`: `#tx8be<memscope_mode DDR>`."""

    __slots__ = ()
    _interned: ClassVar[dict[enum.Enum, EnumAttr]] = {}

    def __new__(cls, value: enum.Enum) -> EnumAttr:
        if type(value) not in _enum_names:
            raise TypeError(f"{type(value).__name__} is not registered as an attribute; decorate it with @enum_attr")
        return _intern(cls, cls._interned, value, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return EnumAttr, (self._value,)

    def _make_text(self) -> str:
        dialect, name = _enum_names[type(self._value)].split(".", 1)
        return f"#{dialect}<{name} {self._value.value}>"


_enum_names: dict[type[enum.Enum], str] = {}
E_ = TypeVar("E_", bound=type[enum.Enum])
S_ = TypeVar("S_", bound="type[StructAttr]")


def enum_attr(name: str) -> Callable[[E_], E_]:
    """Make the members of an `enum.Enum` usable as attributes.

    Args:
        name: `dialect.mnemonic`. The member values are the spellings.
    """

    def register(cls: E_) -> E_:
        _split_name(name)
        for member in cls:
            if not isinstance(member.value, str):
                raise TypeError(
                    f"the value of {cls.__name__}.{member.name} is its spelling, a str, not {member.value!r}"
                )
        _enum_names[cls] = name
        return cls

    return register


def enum_attr_name(cls: type[enum.Enum]) -> str:
    """The `dialect.mnemonic` an enumeration was registered under. Raises KeyError when it was not."""
    return _enum_names[cls]


class _InternedStruct(type):
    """Makes equal instances of a structured attribute one object."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        return cast("type[StructAttr]", cls)._interned.setdefault(made, made)


class StructAttr(Attribute, metaclass=_InternedStruct):
    """Base of attributes with named fields: a frozen attrs class under `@struct_attr("dialect.mnemonic")`."""

    __slots__ = ()
    attr_name: ClassVar[str] = ""
    _interned: ClassVar[dict[Any, Any]] = {}

    @property
    def value(self) -> Self:
        return self

    def fields(self) -> dict[str, Any]:
        """Field names to Python values; fields that are None are left out."""
        names = [a.name for a in attrs.fields(type(self))]  # pyright: ignore[reportArgumentType]  (subclasses are attrs classes)
        return {n: getattr(self, n) for n in names if getattr(self, n) is not None}

    def __str__(self) -> str:
        return f"#{self.attr_name}<{DictAttr(self.fields())}>"


def struct_attr(name: str) -> Callable[[S_], S_]:
    """Register a frozen attrs subclass of `StructAttr` as `dialect.mnemonic`; its text is `#name<{field = value}>`."""

    def register(cls: S_) -> S_:
        _split_name(name)
        if not attrs.has(cls) or not issubclass(cls, StructAttr):
            raise TypeError(f"{cls.__name__} is no attrs subclass of StructAttr")
        cls.attr_name = name
        return cls

    return register


def _split_name(name: str) -> tuple[str, str]:
    dialect, _, mnemonic = name.partition(".")
    if not dialect or not mnemonic:
        raise ValueError(f"an attribute is named 'dialect.mnemonic', not {name!r}")
    return dialect, mnemonic


class OpaqueAttr(_Valued):
    """An attribute of a dialect that is not loaded: its text is kept as it was read (`#foo.bar<…>`)."""

    __slots__ = ()
    _interned: ClassVar[dict[str, OpaqueAttr]] = {}

    def __new__(cls, text: str) -> OpaqueAttr:
        return _intern(cls, cls._interned, text, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueAttr, (self._value,)

    def _make_text(self) -> str:
        return self._value


def _sequence(value: Sequence[Any]) -> Attribute:
    kinds = {v.__class__ for v in value}
    if kinds == {int}:
        return DenseArrayAttr(value, i64)
    if kinds == {float}:
        return DenseArrayAttr(value, f64)
    if kinds == {bool}:
        return DenseArrayAttr(value, i1)
    return ArrayAttr(value)


_CONVERT: Final[dict[type, Callable[[Any], Attribute]]] = {
    bool: BoolAttr,
    int: IntAttr,
    float: FloatAttr,
    str: StrAttr,
    tuple: _sequence,
    list: _sequence,
    dict: DictAttr,
    np.ndarray: DenseAttr,
    type(None): lambda _: UnitAttr(),
}


def as_attribute(value: Any) -> Attribute:
    """The attribute for a bool, int (i64), float (f64), str, sequence, dict, Type, ndarray or enum member, or itself.

    Raises:
    ------
        TypeError: there is no attribute for such a value.
    """
    convert = _CONVERT.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, Attribute):
        return value
    if isinstance(value, Type):
        return TypeAttr(value)
    if isinstance(value, enum.Enum):
        return EnumAttr(value)
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return as_attribute(cast(Any, value).item())
    raise TypeError(f"no attribute holds a {type(value).__name__}: {value!r}")
