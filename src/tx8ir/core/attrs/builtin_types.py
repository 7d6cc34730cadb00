"""MLIR's builtin types beside those of the machine: integers of any width and sign, index, complex, vector, memref, …

Spelled as in MLIR's language reference. The machine computes with none of them; programs of other tools have them.
"""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from tx8ir.core.errors import InvalidTypeError

from .types import DYNAMIC, NESTING_LIMIT, RankedTensor, ScalarType, Singleton, Type, VTensorType, i64

if TYPE_CHECKING:
    from .attributes import Attribute

MAX_INTEGER_WIDTH: Final = (1 << 24) - 1
"""The most bits of an integer type, as in MLIR."""
_PREFIX: Final = {"signless": "i", "signed": "si", "unsigned": "ui"}
_SMALL_FLOATS: Final = (
    "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
    "f8E5M2FNUZ", "f8E8M0FNU",
)  # fmt: skip
FLOAT_WIDTHS: Final[dict[str, int]] = {
    "f80": 80,
    "f128": 128,
    **{name: int(name[1]) for name in _SMALL_FLOATS},
}
"""Bits of the floating types that are not formats of the machine, by spelling."""
_MAX_EXTENT: Final = (1 << 63) - 1

Signedness: TypeAlias = Literal["signless", "signed", "unsigned"]


class IntegerType(Type):
    """An integer type that is not a format of the machine: `si32`, `i7`, `ui3`. `integer_type` returns either kind.

    Args:
        width: bits, from 0 to 2**24 - 1.
        signedness: "signed" (`si`), "unsigned" (`ui`), or "signless" (`i`), whose numbers are written as signed.

    Raises:
        ValueError: a width out of range, or one that the machine has with that sign.
    """

    __slots__ = ("signedness", "width")
    width: int
    signedness: Signedness
    _interned: ClassVar[dict[tuple[int, str], IntegerType]] = {}

    def __new__(cls, width: int, signedness: Signedness = "signless") -> IntegerType:
        found = cls._interned.get((width, signedness))
        if found is None:
            if not 0 <= width <= MAX_INTEGER_WIDTH:
                raise InvalidTypeError(f"an integer type has 0 to {MAX_INTEGER_WIDTH} bits, not {width}")
            text = f"{_PREFIX[signedness]}{width}"
            if text in ScalarType._interned:
                raise InvalidTypeError(f"{text} is a format of the machine: ScalarType.of({text!r})")
            found = super().__new__(cls)
            found.width = width
            found.signedness = signedness
            found._text = text
            cls._interned[width, signedness] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return IntegerType, (self.width, self.signedness)


def integer_type(width: int, signedness: Signedness = "signless") -> ScalarType | IntegerType:
    """The integer type of that width and sign: a format of the machine where it has one."""
    found = ScalarType._interned.get(f"{_PREFIX[signedness]}{width}")
    return IntegerType(width, signedness) if found is None else found


class IndexType(Singleton):
    """`index`: an integer as wide as an address; 64 bits where it is computed with."""

    __slots__ = ()
    _spelling: ClassVar[str] = "index"
    _instance: ClassVar[Any] = None


class FloatType(Type):
    """A floating type that is not a format of the machine: `f8E4M3FN`, `f80`, `f128`.

    Raises:
        ValueError: MLIR has no such type.
    """

    __slots__ = ("width",)
    width: int
    _interned: ClassVar[dict[str, FloatType]] = {}

    def __new__(cls, name: str) -> FloatType:
        found = cls._interned.get(name)
        if found is None:
            if name not in FLOAT_WIDTHS:
                raise InvalidTypeError(f"no floating type {name!r}; known: {', '.join(FLOAT_WIDTHS)}")
            found = super().__new__(cls)
            found.width = FLOAT_WIDTHS[name]
            found._text = name
            cls._interned[name] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatType, (self._text,)


class ComplexType(Type):
    """A complex number of two integers or floats: `complex<f32>`.

    Raises:
        TypeError: the element type is neither.
    """

    __slots__ = ("element",)
    element: Type
    _interned: ClassVar[dict[Type, ComplexType]] = {}

    def __new__(cls, element: Type) -> ComplexType:
        found = cls._interned.get(element)
        if found is None:
            if not (is_float(element) or (is_integer(element) and not isinstance(element, IndexType))):
                raise TypeError(f"a complex number has parts of an integer or floating type, not {element}")
            found = super().__new__(cls)
            found.element = element
            found._text = f"complex<{element}>"
            cls._interned[element] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ComplexType, (self.element,)


class ShapedType(Type):
    """What `BuiltinTensorType`, `VectorType` and `MemRefType` share. `shape` is None when the rank is not known."""

    __slots__ = ("_depth", "_key", "element", "shape")
    shape: tuple[int, ...] | None
    element: Type
    _depth: int
    _key: tuple[Any, ...]

    @property
    def depth(self) -> int:
        return self._depth

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key

    @property
    def num_elements(self) -> int:
        """The product of the extents. Raises ValueError for a dynamic shape or an unknown rank."""
        if self.shape is None or DYNAMIC in self.shape:
            raise ValueError(f"{self} has no number of elements")
        count = 1
        for extent in self.shape:
            count *= extent
        return count


def _extents(shape: Iterable[int], *, what: str, dynamic: bool, least: int = 0) -> tuple[int, ...]:
    dims: list[int] = []
    for extent in shape:
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise TypeError(f"an extent of a {what} is an int, not {extent!r}")
        if extent == DYNAMIC and not dynamic:
            raise InvalidTypeError(f"a {what} has no dynamic extent")
        if (extent < least and extent != DYNAMIC) or extent > _MAX_EXTENT:
            raise InvalidTypeError(f"an extent of a {what} is {least} to 2**63 - 1, not {hex(extent)}")
        dims.append(int(extent))
    return tuple(dims)


def _shape_text(shape: tuple[int, ...] | None) -> str:
    return "*x" if shape is None else "".join("?x" if d == DYNAMIC else f"{d}x" for d in shape)


def _depth_of(*parts: Any) -> int:
    depth = 1 + max((part.depth for part in parts if part is not None), default=0)
    if depth > NESTING_LIMIT:
        raise InvalidTypeError(f"types and attributes may nest {NESTING_LIMIT} deep at the most")
    return depth


class BuiltinTensorType(ShapedType):
    """A tensor that no format of the machine holds, of unknown rank, or with an encoding: `tensor<*xf32>`.

    `tensor_type` gives a `VTensorType` instead where that says the same.

    Args:
        shape: extents or DYNAMIC; None for an unknown rank.
        element: any type.
        encoding: what a dialect says about the layout.
    """

    __slots__ = ("encoding",)
    encoding: Attribute | None
    _interned: ClassVar[dict[tuple[Any, ...], BuiltinTensorType]] = {}

    def __new__(
        cls, shape: Iterable[int] | None, element: Type, encoding: Attribute | None = None
    ) -> BuiltinTensorType:
        dims = None if shape is None else _extents(shape, what="tensor", dynamic=True)
        key = (dims, element, encoding)
        found = cls._interned.get(key)
        if found is None:
            if dims is not None and encoding is None and isinstance(element, ScalarType):
                raise InvalidTypeError(f"a tensor of {element} is a VTensorType")
            found = super().__new__(cls)
            found._depth = _depth_of(element, encoding)
            found.shape, found.element, found.encoding = key
            found._key = key
            found._text = f"tensor<{_shape_text(dims)}{element}{'' if encoding is None else f', {encoding}'}>"
            cls._interned[key] = found
        return found


def tensor_type(
    shape: Iterable[int] | None, element: Type, encoding: Attribute | None = None
) -> VTensorType | BuiltinTensorType:
    """What `tensor<…>` in a text is."""
    if shape is not None and encoding is None and isinstance(element, ScalarType):
        return VTensorType(shape, element)
    return BuiltinTensorType(shape, element, encoding)


class VectorType(ShapedType):
    """A vector of a register: `vector<4x[8]xf32>`, where the extents in brackets are scalable.

    Args:
        shape: extents, at least 1.
        element: any type.
        scalable: for each extent whether it is a multiple only known when it runs; by default none is.
    """

    __slots__ = ("scalable",)
    scalable: tuple[bool, ...]
    _interned: ClassVar[dict[tuple[Any, ...], VectorType]] = {}

    def __new__(cls, shape: Iterable[int], element: Type, scalable: Iterable[bool] | None = None) -> VectorType:
        dims = _extents(shape, what="vector", dynamic=False, least=1)
        flags = (False,) * len(dims) if scalable is None else tuple(bool(flag) for flag in scalable)
        if len(flags) != len(dims):
            raise InvalidTypeError(f"a vector of rank {len(dims)} has as many flags for scalable, not {len(flags)}")
        key = (dims, element, flags)
        found = cls._interned.get(key)
        if found is None:
            found = super().__new__(cls)
            found._depth = _depth_of(element)
            found.shape, found.element, found.scalable = key
            found._key = key
            extents = "".join(f"[{d}]x" if flag else f"{d}x" for d, flag in zip(dims, flags, strict=True))
            found._text = f"vector<{extents}{element}>"
            cls._interned[key] = found
        return found


class MemRefType(ShapedType):
    """A buffer: `memref<2x?xf32, strided<[?, 1], offset: ?>, 1 : i32>`.

    Args:
        shape: extents or DYNAMIC; None for an unknown rank.
        element: any type.
        layout: an affine map, strides, or what else a dialect has.
        memory_space: what a dialect says.
    """

    __slots__ = ("layout", "memory_space")
    layout: Attribute | None
    memory_space: Attribute | None
    _interned: ClassVar[dict[tuple[Any, ...], MemRefType]] = {}

    def __new__(
        cls,
        shape: Iterable[int] | None,
        element: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
    ) -> MemRefType:
        dims = None if shape is None else _extents(shape, what="memref", dynamic=True)
        key = (dims, element, layout, memory_space)
        found = cls._interned.get(key)
        if found is None:
            if dims is None and layout is not None:
                raise InvalidTypeError("a memref of unknown rank has no layout")
            found = super().__new__(cls)
            found._depth = _depth_of(element, layout, memory_space)
            found.shape, found.element, found.layout, found.memory_space = key
            found._key = key
            parts = "".join(f", {part}" for part in (layout, memory_space) if part is not None)
            found._text = f"memref<{_shape_text(dims)}{element}{parts}>"
            cls._interned[key] = found
        return found


# -- questions about types of either kind -------------------------------------------------------------------------


def is_float(type: Type) -> bool:
    """Whether it is a floating type."""
    return type.is_float if isinstance(type, ScalarType) else isinstance(type, FloatType)


def is_integer(type: Type) -> TypeGuard[ScalarType | IntegerType | IndexType]:
    """Whether it is an integer type, `index` and `i1` included."""
    return not type.is_float if isinstance(type, ScalarType) else isinstance(type, (IntegerType, IndexType))


def integer_format(type: Type) -> tuple[int, Signedness]:
    """Width in bits and signedness of an integer type. Raises TypeError for another type."""
    if isinstance(type, IntegerType):
        return type.width, type.signedness
    if isinstance(type, IndexType):
        return 64, "signless"
    if isinstance(type, ScalarType) and not type.is_float:
        return type.format.bits, "unsigned" if type._text.startswith("ui") else "signless"
    raise TypeError(f"{type} is not an integer type")


def integer_range(type: Type) -> tuple[int, int]:
    """The least and the greatest number that an integer of the type is written as; 0 and 1 for i1."""
    width, signedness = integer_format(type)
    if signedness == "unsigned" or (width == 1 and signedness == "signless"):
        return 0, (1 << width) - 1
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if width else (0, 0)


def element_of(type: Type) -> Type:
    """The type of the elements of a tensor, vector or memref; another type is its own."""
    return type.element if isinstance(type, (RankedTensor, ShapedType)) else type


def with_element(type: Type, element: Type) -> Type:
    """The type of the same shape with other elements; `element` itself for a type without elements."""
    if isinstance(type, (RankedTensor, BuiltinTensorType)):
        encoding = type.encoding if isinstance(type, BuiltinTensorType) else None
        return tensor_type(type.shape, element, encoding)
    if isinstance(type, VectorType):
        return VectorType(type.shape or (), element, type.scalable)
    if isinstance(type, MemRefType):
        return MemRefType(type.shape, element, type.layout, type.memory_space)
    return element


def array_type(type: Type) -> RankedTensor | None:
    """The tensor that holds what a value of the type is: a scalar has rank 0, an index 64 bits.

    None for a type that is not a number, or not one that the machine has, of unknown rank, or a memref.
    """
    if isinstance(type, RankedTensor):
        return type
    if isinstance(type, MemRefType) or (isinstance(type, VectorType) and any(type.scalable)):
        return None
    element = element_of(type)
    if isinstance(element, IndexType):
        element = i64
    shape = type.shape if isinstance(type, ShapedType) else ()
    return VTensorType(shape, element) if isinstance(element, ScalarType) and shape is not None else None


def static_shape(type: Type) -> tuple[int, ...] | None:
    """The extents of a tensor, vector or memref when all are known, else None."""
    shape = cast("tuple[int, ...] | None", getattr(type, "shape", None))
    return None if shape is None or DYNAMIC in shape else shape
