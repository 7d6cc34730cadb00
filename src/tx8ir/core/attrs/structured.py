"""Attributes that dialects define: enumerations, records with named fields, and those of dialects not loaded."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar, cast

from tx8ir.support.screen import fitting_repr

from .attributes import CONVERSIONS, Attribute, DictAttr, Valued, intern


class EnumAttr(Valued):
    """A member of an enumeration that was registered with `enum_attr`: `#tx8be<memscope_mode DDR>`."""

    __slots__ = ()
    _interned: ClassVar[dict[enum.Enum, EnumAttr]] = {}

    def __new__(cls, value: enum.Enum) -> EnumAttr:
        if type(value) not in _enum_names:
            raise TypeError(f"{type(value).__name__} is not registered as an attribute; decorate it with @enum_attr")
        return intern(cls, cls._interned, value, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return EnumAttr, (self._value,)

    def _make_text(self) -> str:
        name = _enum_names[type(self._value)]
        if type(self._value) in _dotted:
            return f"#{name}<{self._value.value}>"
        dialect, mnemonic = name.split(".", 1)
        return f"#{dialect}<{mnemonic} {self._value.value}>"


_enum_names: dict[type[enum.Enum], str] = {}
_dotted: set[type[enum.Enum]] = set()
E_ = TypeVar("E_", bound=type[enum.Enum])
S_ = TypeVar("S_", bound="type[StructAttr]")


def enum_attr(name: str, *, dotted: bool = False) -> Callable[[E_], E_]:
    """Make the members of an `enum.Enum` usable as attributes.

    Args:
        name: `dialect.mnemonic`. The member values are the spellings.
        dotted: written `#dialect.mnemonic<member>`; by default `#dialect<mnemonic member>`. MLIR has both.
    """

    def register(cls: E_) -> E_:
        _split_name(name)
        for member in cls:
            if not isinstance(member.value, str):
                raise TypeError(
                    f"the value of {cls.__name__}.{member.name} is its spelling, a str, not {member.value!r}"
                )
        _enum_names[cls] = name
        if dotted:
            _dotted.add(cls)
        CONVERSIONS[cls] = EnumAttr
        return cls

    return register


def enum_attr_name(cls: type[enum.Enum]) -> str:
    """The `dialect.mnemonic` an enumeration was registered under. Raises KeyError when it was not."""
    return _enum_names[cls]


class _InternedStruct(type):
    """Makes equal instances of a structured attribute one object."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made: StructAttr = super().__call__(*args, **kwargs)
        # By the attributes that the fields are: 1, 1.0 and True are equal in Python, and no field may have no text.
        return StructAttr._interned.setdefault((cls, DictAttr(made.fields())), made)


class StructAttr(Attribute, metaclass=_InternedStruct):
    """Base of attributes with named fields, or none: a frozen attrs class under `@struct_attr("dialect.mnemonic")`."""

    __slots__ = ()
    attr_name: ClassVar[str] = ""
    _interned: ClassVar[dict[tuple[type, DictAttr], Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_struct, (type(self), {n: getattr(self, n) for n in self.field_names()})

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple([a.name for a in cast(Any, cls).__attrs_attrs__])

    @property
    def depth(self) -> int:
        return 1 + DictAttr(self.fields()).depth

    @property
    def value(self) -> Self:
        return self

    def fields(self) -> dict[str, Any]:
        """Field names to Python values; fields that are None are left out."""
        return {n: getattr(self, n) for n in self.field_names() if getattr(self, n) is not None}

    def __str__(self) -> str:
        return f"#{self.attr_name}<{DictAttr(self.fields())}>" if self.field_names() else f"#{self.attr_name}"


class SparseStructAttr(StructAttr):
    """A structured attribute whose text leaves out the fields that have their default."""

    __slots__ = ()

    def fields(self) -> dict[str, Any]:
        """Field names to Python values; fields that have their default are left out."""
        declared = cast(Any, type(self)).__attrs_attrs__
        return {a.name: value for a in declared if (value := getattr(self, a.name)) != a.default}


def _make_struct(cls: type[StructAttr], fields: dict[str, Any]) -> Any:
    """For pickle: the interned instance."""
    return cast(Any, cls)(**fields)


def struct_attr(name: str) -> Callable[[S_], S_]:
    """Register a frozen attrs subclass of `StructAttr` as `dialect.mnemonic`; its text is `#name<{field = value}>`."""

    def register(cls: S_) -> S_:
        _split_name(name)
        if not hasattr(cls, "__attrs_attrs__") or not issubclass(cls, StructAttr):
            raise TypeError(f"{cls.__name__} is not an attrs subclass of StructAttr")
        cls.attr_name = name
        # Equal instances are one object; compared by value, 0.0 and -0.0 or 1 and True would be mixed up.
        cls.__eq__ = object.__eq__
        cls.__hash__ = object.__hash__
        if cls.__repr__.__code__.co_filename.startswith("<attrs generated"):
            cls.__repr__ = fitting_repr
        return cls

    return register


def _split_name(name: str) -> tuple[str, str]:
    dialect, _, mnemonic = name.partition(".")
    if not dialect or not mnemonic:
        raise ValueError(f"an attribute is named 'dialect.mnemonic', not {name!r}")
    return dialect, mnemonic


class FlagsAttr(Valued):
    """Base of sets of flags: `#arith.overflow<nsw, nuw>`. `value` is a tuple of names, in the order of the class.

    A subclass has an `attr_name` ("dialect.mnemonic") and `flags`; `words` are names for several flags or none.

    Args:
        flags: names, or one name.

    Raises:
        ValueError: a name that is not a flag.
    """

    __slots__ = ()
    attr_name: ClassVar[str] = ""
    flags: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"none": ()}
    _interned: ClassVar[dict[tuple[type, tuple[str, ...]], Any]] = {}

    def __new__(cls, flags: str | Iterable[str] = ()) -> Self:
        given: set[str] = set()
        for flag in (flags,) if isinstance(flags, str) else flags:
            if flag not in cls.words and flag not in cls.flags:
                known = ", ".join((*cls.words, *cls.flags))
                raise ValueError(f"#{cls.attr_name} has no flag {flag!r}; its flags are: {known}")
            given.update(cls.words.get(flag, (flag,)))
        kept = tuple(flag for flag in cls.flags if flag in given)
        return intern(cls, cls._interned, (cls, kept), kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value,)

    @property
    def parameters(self) -> str:
        """The flags in angle brackets."""
        word = next((word for word, flags in self.words.items() if flags == self._value), None)
        return f"<{', '.join(self._value) if word is None else word}>"

    def _make_text(self) -> str:
        return f"#{self.attr_name}{self.parameters}"


class OpaqueAttr(Valued):
    """An attribute of a dialect that is not loaded: its text is kept as it was read (`#foo.bar<…>`).

    Raises:
        ValueError: the text is not `#`, a name and, optionally, balanced angle brackets right after it.
    """

    __slots__ = ()
    _interned: ClassVar[dict[str, OpaqueAttr]] = {}

    def __new__(cls, text: str) -> OpaqueAttr:
        if text not in cls._interned:
            from .lexer import require_opaque  # here, because only attributes of unknown dialects need to read text

            require_opaque(text, "#")
        return intern(cls, cls._interned, text, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueAttr, (self._value,)

    def _make_text(self) -> str:
        return self._value
