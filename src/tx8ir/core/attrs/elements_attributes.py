"""Elements of tensors, vectors and memrefs of any type: `dense`, `sparse`, `dense_resource` and `opaque`.

Numbers of the machine in a tensor are a `DenseAttr`; these hold the rest.
"""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import numpy as np

from tx8ir.core.location import quote

from .attributes import TypedValued, Valued, float_text, intern
from .builtin_types import (
    BuiltinTensorType,
    ComplexType,
    FloatType,
    IndexType,
    element_of,
    integer_format,
    is_float,
    is_integer,
    static_shape,
)
from .dense import nested_text
from .floats import bits_float
from .types import ScalarType, Type, i1, i64

SHAPED_LITERAL: Final = "the type of elements is a static tensor, vector or memref"


class ElementsAttr(TypedValued):
    """A literal of each element, in the type's own spelling: `dense<[1, 2]> : vector<2xindex>`.

    `value` is an array where NumPy has the numbers (index, integers to 64 bits, formats of the machine), else the
    tuple of literals.

    Args:
        type: a static tensor, vector or memref type.
        literals: as `element_literal` and `string_literal` write them: one for each element, or one for all.

    Raises:
        ValueError: another number of literals.
    """

    __slots__ = ("literals",)
    literals: tuple[str, ...]
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, type: Type, literals: Iterable[str]) -> ElementsAttr:
        found_shape = static_shape(type)
        if found_shape is None:
            raise ValueError(f"{SHAPED_LITERAL}, not {type}")
        parts = tuple(literals)
        count = _count(found_shape)
        if len(parts) > 1 and parts.count(parts[0]) == len(parts):
            parts = parts[:1]
        if len(parts) != count and (len(parts) != 1 or not count):
            raise ValueError(f"{type} has {count} elements, these are {len(parts)}")
        key = (type, parts)
        found = cls._interned.get(key)
        if found is None:
            found = intern(cls, cls._interned, key, None)
            found.type, found.literals = key
        return found

    @property
    def value(self) -> Any:
        dtype = _dtype(element_of(self.type))
        if dtype is None:
            return self.literals
        numbers = np.array([_number(text) for text in self.literals], dtype)
        shape = static_shape(self.type) or ()
        return numbers.reshape(shape) if numbers.size == _count(shape) else np.broadcast_to(numbers[0], shape)

    @property
    def is_splat(self) -> bool:
        """True when all elements are one literal."""
        return len(self.literals) == 1

    def __reduce__(self) -> tuple[Any, ...]:
        return ElementsAttr, (self.type, self.literals)

    def _make_text(self) -> str:
        shape = static_shape(self.type) or ()
        if len(self.literals) == 1 and _count(shape) != 1:
            body = self.literals[0]
        else:
            body = nested_text(list(self.literals), shape)
        return f"dense<{body}> : {self.type}"


def _count(shape: Iterable[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _dtype(element: Type) -> np.dtype[Any] | None:
    if isinstance(element, ScalarType):
        return element.dtype
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    if is_integer(element):
        width, sign = integer_format(element)
        if width <= 64:
            least = next(bits for bits in (8, 16, 32, 64) if width <= bits)
            return np.dtype(f"{'u' if sign == 'unsigned' else ''}int{least}")
    return None


def _number(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text else int(text, 0)


def literals_of_bytes(data: bytes, type: Type) -> list[str] | None:
    """The literals of little-endian elements, one after the other; None when `data` has another size, or no size.

    One element stands for all.
    """
    element, shape = element_of(type), static_shape(type) or ()
    size, parts = _storage(element)
    count = _count(shape)
    if not size or (len(data) != size * parts * count and len(data) != size * parts):
        return None
    words = [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    if isinstance(element, ComplexType):
        texts = [_bits_literal(word, element.element) for word in words]
        return [f"({real}, {imaginary})" for real, imaginary in zip(texts[::2], texts[1::2], strict=True)]
    return [_bits_literal(word, element) for word in words]


def _storage(element: Type) -> tuple[int, int]:
    """Bytes of a number, and how many numbers an element has; 0 bytes for what is not stored as bytes."""
    if isinstance(element, ComplexType):
        return _storage(element.element)[0], 2
    if isinstance(element, ScalarType):
        return (element.format.bits + 7) // 8, 1
    if isinstance(element, FloatType):
        return (element.width + 7) // 8, 1
    return ((integer_format(element)[0] + 7) // 8, 1) if is_integer(element) else (0, 1)


def _bits_literal(bits: int, element: Type) -> str:
    if isinstance(element, FloatType):
        return f"0x{bits & ((1 << element.width) - 1):0{-(-element.width // 4)}X}"
    if isinstance(element, ScalarType) and is_float(element):
        return float_text(bits_float(bits, element.format), element)
    if element is i1:
        return "true" if bits & 1 else "false"
    width, sign = integer_format(element)
    bits &= (1 << width) - 1
    return str(bits - (1 << width) if sign != "unsigned" and width and bits >> (width - 1) else bits)


class SparseAttr(TypedValued):
    """Some elements, and 0 for the others: `sparse<[[0, 1]], [5]> : tensor<2x2xi32>`.

    Args:
        indices: a `DenseAttr` of i64 of shape (count, rank).
        values: a `DenseAttr` or `ElementsAttr` of shape (count,).
        type: the type of the whole.
    """

    __slots__ = ("indices", "values")
    indices: Any
    values: Any
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, indices: Any, values: Any, type: Type) -> SparseAttr:
        key = (indices, values, type)
        found = cls._interned.get(key)
        if found is None:
            found = intern(cls, cls._interned, key, key[:2])
            found.indices, found.values, found.type = key
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseAttr, (self.indices, self.values, self.type)

    def _make_text(self) -> str:
        return f"sparse<{_body(self.indices)}, {_body(self.values)}> : {self.type}"


def _body(elements: Any) -> str:
    """What stands between the angle brackets of a dense attribute."""
    text = str(elements)
    return text[len("dense<") : text.rindex("> : ")]


def index_tensor(rows: int, columns: int) -> Type:
    """The type of the indices of a sparse attribute."""
    from .builtin_types import tensor_type

    return tensor_type((rows, columns), i64)


class DenseResourceAttr(TypedValued):
    """Elements in a blob at the end of the file: `dense_resource<name> : tensor<4xf32>`. `value` is the name.

    Args:
        name: of the blob in the section `dialect_resources: {builtin: {…}}`.
        type: the type of the whole.
        blob: its bytes, the first four the alignment; None when the text has none (it was left out).
    """

    __slots__ = ("blob",)
    blob: bytes | None
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, name: str, type: Type, blob: bytes | None = None) -> DenseResourceAttr:
        key = (name, type, blob)
        found = cls._interned.get(key)
        if found is None:
            found = intern(cls, cls._interned, key, name)
            found.type, found.blob = type, blob
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseResourceAttr, (self._value, self.type, self.blob)

    def _make_text(self) -> str:
        return f"dense_resource<{resource_key(self._value)}> : {self.type}"


def resource_key(name: str) -> str:
    """A key of the resource section: bare when it is an identifier."""
    return name if name.isascii() and name.replace(".", "_").replace("$", "_").isidentifier() else quote(name)


class OpaqueElementsAttr(Valued):
    """Elements that a dialect encodes: `opaque<"dialect", "0x00"> : tensor<1xf32>`. `value` is (dialect, text)."""

    __slots__ = ("type",)
    type: Type | None
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, dialect: str, text: str, type: Type | None = None) -> OpaqueElementsAttr:
        found = intern(cls, cls._interned, (dialect, text, type), (dialect, text))
        found.type = type
        return found

    @property
    def depth(self) -> int:
        return 1 if self.type is None else self.type.depth

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueElementsAttr, (*self._value, self.type)

    def _make_text(self) -> str:
        dialect, text = self._value
        return f"opaque<{quote(dialect)}, {quote(text)}>{'' if self.type is None else f' : {self.type}'}"


def is_string_tensor(type: Type) -> bool:
    """Whether elements of the type are written as strings: those of a type that is not a number."""
    element = element_of(type)
    return not (is_float(element) or is_integer(element) or isinstance(element, ComplexType))


def holds_numbers_of_the_machine(type: Type) -> bool:
    """Whether elements of the type are a `DenseAttr`."""
    return not isinstance(type, BuiltinTensorType) and isinstance(element_of(type), ScalarType)
