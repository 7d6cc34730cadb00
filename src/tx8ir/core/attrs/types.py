"""Types: immutable and interned, so that equal types are one object and comparing them is `is`."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self

import numpy as np

from tx8ir.core.errors import InvalidTypeError
from tx8ir.core.location import quote
from tx8ir.support.screen import fitted
from tx8ir.target.formats import ALL as ALL_FORMATS
from tx8ir.target.formats import Format

from .extensible import Extensible

DYNAMIC: Final = -1
"""A dimension whose extent is not known; printed `?`."""
NESTING_LIMIT: Final = 100
"""How deep types and attributes may nest. Text is read recursively, so whatever can be made can be read back."""
_LARGEST_EXTENT: Final = (1 << 63) - 1


class Type(Extensible):
    """Base of all types. `str(t)` is the text form. Equality is identity; pickling and copying keep it."""

    __slots__ = ("_text",)
    _text: str

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return fitted(f"{type(self).__name__}({self._text})")

    @property
    def depth(self) -> int:
        """How deep it nests: 1 for a type without types inside, at most `NESTING_LIMIT`."""
        return 1

    def _repr_html_(self) -> str:
        return f"<code>{self._text.replace('&', '&amp;').replace('<', '&lt;')}</code>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class ScalarType(Type):
    """An element format of the machine (machine.md §2), or the reference format f64."""

    __slots__ = ("format",)
    format: Format
    _interned: ClassVar[dict[str, ScalarType]] = {}

    def __new__(cls, format: Format) -> ScalarType:
        found = cls._interned.get(format.name)
        if found is None:
            found = super().__new__(cls)
            found.format = format
            found._text = format.name
            cls._interned[format.name] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ScalarType, (self.format,)

    @staticmethod
    def of(name: str) -> ScalarType:
        """The scalar type spelled `name`. Raises ValueError listing the known ones."""
        found = ScalarType._interned.get(name)
        if found is None:
            raise ValueError(f"no scalar type {name!r}; known: {', '.join(ScalarType._interned)}")
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that holds it."""
        return self.format.dtype

    @property
    def is_float(self) -> bool:
        return self.format.is_float


_BY_NAME: Final = {fmt.name: ScalarType(fmt) for fmt in ALL_FORMATS}
f64, f32, f16, bf16, tf32 = (_BY_NAME[n] for n in ("f64", "f32", "f16", "bf16", "tf32"))
i1, i4, i8, i16, i32, i64 = (_BY_NAME[n] for n in ("i1", "i4", "i8", "i16", "i32", "i64"))
ui4, ui8, ui16, ui32, ui64 = (_BY_NAME[n] for n in ("ui4", "ui8", "ui16", "ui32", "ui64"))


class RankedTensor(Type):
    """What `TensorType` and `VTensorType` share: a shape and an element type.

    Args:
        shape: extents, each from 0 to 2**63 - 1, or `DYNAMIC`.
        element: a `ScalarType`.

    Raises:
        ValueError: an extent that is negative (and not `DYNAMIC`) or too large. TypeError: not ints, or no scalar type.
    """

    __slots__ = ("element", "shape")
    shape: tuple[int, ...]
    element: ScalarType
    _prefix: ClassVar[str]
    _interned: ClassVar[dict[tuple[tuple[int, ...], ScalarType], Any]]

    def __new__(cls, shape: Iterable[int], element: ScalarType) -> Self:
        shape = tuple(shape)
        found = cls._interned.get((shape, element))
        # 1.0 and True hash like 1: the type check below must see them, so only a hit made of ints is taken.
        if found is not None and all(d.__class__ is int for d in shape):
            return found
        if not isinstance(element, ScalarType):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"the element type of a tensor is a ScalarType, not {element!r}")
        dims: list[int] = []
        for extent in shape:
            if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
                raise TypeError(f"a tensor extent is an int, not {extent!r}")
            if extent < 0 and extent != DYNAMIC:
                raise InvalidTypeError(f"a tensor extent is >= 0 or DYNAMIC (-1), not {extent}")
            if extent > _LARGEST_EXTENT:
                raise InvalidTypeError(f"a tensor extent is less than 2**63, not {hex(extent)}")
            dims.append(int(extent))
        key = (tuple(dims), element)
        found = cls._interned.get(key)
        if found is None:
            found = super().__new__(cls)
            found.shape, found.element = key
            dimensions = "".join("?x" if d == DYNAMIC else f"{d}x" for d in dims)
            found._text = f"{cls._prefix}<{dimensions}{element}>"
            cls._interned[key] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.shape, self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """True when no extent is dynamic."""
        return DYNAMIC not in self.shape

    @property
    def num_elements(self) -> int:
        """The product of the extents. Raises ValueError for a dynamic shape."""
        if not self.is_static:
            raise ValueError(f"{self} has a dynamic extent, so no number of elements")
        return math.prod(self.shape)

    def with_shape(self, shape: Iterable[int]) -> Self:
        return type(self)(shape, self.element)

    def with_element(self, element: ScalarType) -> Self:
        return type(self)(self.shape, element)

    def to_vtensor(self) -> VTensorType:
        return VTensorType(self.shape, self.element)

    def to_tensor(self) -> TensorType:
        return TensorType(self.shape, self.element)


class TensorType(RankedTensor):
    """A tensor that may share its storage and be changed behind an operation's back: `!pd.tensor<2x?xf32>`."""

    __slots__ = ()
    _prefix: ClassVar[str] = "!pd.tensor"
    _interned: ClassVar[dict[tuple[tuple[int, ...], ScalarType], Any]] = {}


class VTensorType(RankedTensor):
    """A tensor value: never changed, never aliased: `!pd.vtensor<2x?xf32>`."""

    __slots__ = ()
    _prefix: ClassVar[str] = "!pd.vtensor"
    _interned: ClassVar[dict[tuple[tuple[int, ...], ScalarType], Any]] = {}


class _Sequence(Type):
    """Interning shared by the types that are a tuple of types."""

    __slots__ = ("_depth", "elements")
    elements: tuple[Type, ...]
    _depth: int
    _open: ClassVar[str]
    _interned: ClassVar[dict[tuple[Type, ...], Any]]

    def __new__(cls, elements: Iterable[Type] = ()) -> Self:
        elements = tuple(elements)
        found = cls._interned.get(elements)
        if found is None:
            depth = _depth_around(elements)
            found = super().__new__(cls)
            found.elements = elements
            found._depth = depth
            found._text = f"{cls._open}<{', '.join(map(str, elements))}>"
            cls._interned[elements] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.elements,)

    @property
    def depth(self) -> int:
        return self._depth

    def __len__(self) -> int:
        return len(self.elements)


class ListType(_Sequence):
    """A list with one type per element: `!builtin.list<T, T>`."""

    __slots__ = ()
    _open: ClassVar[str] = "!builtin.list"
    _interned: ClassVar[dict[tuple[Type, ...], Any]] = {}


class TupleType(_Sequence):
    """A tuple: `tuple<T, T>`."""

    __slots__ = ()
    _open: ClassVar[str] = "tuple"
    _interned: ClassVar[dict[tuple[Type, ...], Any]] = {}


class DictType(Type):
    """A dictionary with string keys, kept sorted: `!builtin.dict<"a": T, "b": T>`."""

    __slots__ = ("_depth", "keys", "values")
    _depth: int
    keys: tuple[str, ...]
    values: tuple[Type, ...]
    _interned: ClassVar[dict[tuple[tuple[str, Type], ...], DictType]] = {}

    def __new__(cls, entries: Mapping[str, Type]) -> DictType:
        items = tuple(sorted(entries.items(), key=lambda item: item[0]))
        found = cls._interned.get(items)
        if found is None:
            for key, _ in items:
                if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
                    raise TypeError(f"the key of a dictionary type is a str, not {key!r}")
            depth = _depth_around(tuple(v for _, v in items))
            found = super().__new__(cls)
            found._depth = depth
            found.keys = tuple(k for k, _ in items)
            found.values = tuple(v for _, v in items)
            found._text = f"!builtin.dict<{', '.join(f'{quote(k)}: {v}' for k, v in items)}>"
            cls._interned[items] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return DictType, (dict(zip(self.keys, self.values, strict=True)),)

    @property
    def depth(self) -> int:
        return self._depth

    def __getitem__(self, key: str) -> Type:
        return dict(zip(self.keys, self.values, strict=True))[key]


class FunctionType(Type):
    """`(T, T) -> T`: what a function takes and gives."""

    __slots__ = ("_depth", "inputs", "results")
    _depth: int
    inputs: tuple[Type, ...]
    results: tuple[Type, ...]
    _interned: ClassVar[dict[tuple[tuple[Type, ...], tuple[Type, ...]], FunctionType]] = {}

    def __new__(cls, inputs: Iterable[Type], results: Iterable[Type]) -> FunctionType:
        key = (tuple(inputs), tuple(results))
        found = cls._interned.get(key)
        if found is None:
            depth = _depth_around(key[0] + key[1])
            found = super().__new__(cls)
            found._depth = depth
            found.inputs, found.results = key
            found._text = function_text(*key)
            cls._interned[key] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionType, (self.inputs, self.results)

    @property
    def depth(self) -> int:
        return self._depth


class Singleton(Type):
    """A type without parameters."""

    __slots__ = ()
    _spelling: ClassVar[str]
    _instance: ClassVar[Any] = None

    def __new__(cls) -> Self:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance._text = cls._spelling
        return cls._instance

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class NoneType(Singleton):
    """The type of an absent operand: `none`."""

    __slots__ = ()
    _spelling: ClassVar[str] = "none"
    _instance: ClassVar[Any] = None


class TokenType(Singleton):
    """The type of a value that only orders operations: `!builtin.token`."""

    __slots__ = ()
    _spelling: ClassVar[str] = "!builtin.token"
    _instance: ClassVar[Any] = None


class OpaqueType(Type):
    """A type of a dialect that is not loaded: its text is kept as it was read (`!foo.bar<…>`).

    Raises:
        ValueError: the text is not `!`, a name and, optionally, balanced angle brackets right after it.
    """

    __slots__ = ()
    _interned: ClassVar[dict[str, OpaqueType]] = {}

    def __new__(cls, text: str) -> OpaqueType:
        found = cls._interned.get(text)
        if found is None:
            from .lexer import require_opaque  # here, because only types of unknown dialects need to read text

            require_opaque(text, "!")
            found = super().__new__(cls)
            found._text = text
            cls._interned[text] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueType, (self._text,)


def _depth_around(elements: tuple[Any, ...]) -> int:
    """The depth of a type made of `elements`. Raises TypeError for what is not a type, ValueError beyond the limit."""
    depth = 1
    for element in elements:
        if not isinstance(element, Type):
            raise TypeError(f"expected a Type, not {element!r}")
        depth = max(depth, 1 + element.depth)
    if depth > NESTING_LIMIT:
        raise InvalidTypeError(f"types and attributes may nest {NESTING_LIMIT} deep at the most")
    return depth


def function_text(inputs: Iterable[Type], results: tuple[Type, ...]) -> str:
    """The text of a signature: one result that is not a function stands without parentheses."""
    if len(results) == 1 and not isinstance(results[0], FunctionType):
        return f"({', '.join(map(str, inputs))}) -> {results[0]}"
    return f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, results))})"
