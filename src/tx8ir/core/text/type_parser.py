"""Reading types."""

# The tables of readers at the end call the methods of the class.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, cast

from tx8ir.core.attrs.affine import AffineMapAttr
from tx8ir.core.attrs.attributes import Attribute
from tx8ir.core.attrs.builtin_attributes import StridedLayoutAttr
from tx8ir.core.attrs.builtin_types import (
    FLOAT_WIDTHS,
    ComplexType,
    FloatType,
    IndexType,
    MemRefType,
    Signedness,
    VectorType,
    integer_type,
    tensor_type,
)
from tx8ir.core.attrs.lexer import IDENTIFIER, INTEGER, Lexer, Source
from tx8ir.core.attrs.types import (
    DYNAMIC,
    NESTING_LIMIT,
    DictType,
    FunctionType,
    ListType,
    NoneType,
    OpaqueType,
    ScalarType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    VTensorType,
)
from tx8ir.core.context import IrContext

_DIMENSION: Final = re.compile(r"([0-9]+|\?)x")
_INTEGER_TYPE: Final = re.compile(r"(s?i|ui)([0-9]{1,9})")
_SIGNEDNESS: Final[dict[str, Signedness]] = {"i": "signless", "si": "signed", "ui": "unsigned"}
_SCALARS: Final[dict[str, ScalarType]] = {
    name: ScalarType.of(name)
    for name in (
        "f64", "f32", "f16", "bf16", "tf32", "i1", "i4", "i8", "i16", "i32", "i64",
        "ui4", "ui8", "ui16", "ui32", "ui64",
    )
}  # fmt: skip


class TypeParser(Lexer):
    """Reads types of the dialects of a context."""

    def __init__(self, source: Source, context: IrContext, allow_unregistered: bool) -> None:
        super().__init__(source)
        self.context = context
        self.allow_unregistered = allow_unregistered
        self.type_aliases: dict[str, Type] = {}
        self._depth = 0

    def _nested(self, parse: Callable[[], Any]) -> Any:
        if self._depth >= NESTING_LIMIT:
            self.fail(f"types and attributes may nest {NESTING_LIMIT} deep at the most")
        self._depth += 1
        try:
            return parse()
        finally:
            self._depth -= 1

    @abstractmethod
    def attribute(self) -> Attribute:
        """Read an attribute."""
        raise NotImplementedError  # attributes are read by the class that knows them

    def made(self, make: Callable[[], Any], at: int) -> Any:
        """What `make` makes; what it refuses is an error at offset `at`."""
        try:
            return make()
        except (ValueError, TypeError, OverflowError) as error:
            self.fail(str(error), at)

    def type(self) -> Type:
        """Read a type."""
        return self._nested(self._type)

    def _type(self) -> Type:
        char = self.peek()
        if char == "!":
            return self._dialect_type()
        if char == "(":
            return self.function_type()
        start = self.pos
        word = self.match(IDENTIFIER)
        found = self._builtin_type(word, start) if word is not None else None
        if found is not None:
            return found
        if word is None:
            self.fail(f"expected a type, found {self._found()}", start)
        self.fail(f"unknown type '{word}'", start)

    def _builtin_type(self, word: str, start: int) -> Type | None:
        """The builtin type that starts with `word`, which has been read; None when there is none."""
        scalar = _SCALARS.get(word)
        if scalar is not None:
            return scalar
        read = _READERS.get(word)
        if read is not None:
            return read(self)
        if word in FLOAT_WIDTHS:
            return FloatType(word)
        integer = _INTEGER_TYPE.fullmatch(word)
        if integer is not None:
            sign, width = integer.groups()
            return self.made(lambda: integer_type(int(width), _SIGNEDNESS[sign]), start)
        return None

    def function_type(self) -> FunctionType:
        """Read `(T, …) -> T` or `(T, …) -> (T, …)`."""
        inputs = self.type_tuple()
        self.expect("->", "after the operand types")
        return self._function_results(inputs)

    def _function_results(self, inputs: tuple[Type, ...]) -> FunctionType:
        """The function type from `inputs` to what is read after its arrow."""
        if self.peek() != "(":
            return FunctionType(inputs, (self.type(),))
        results = self.type_tuple()
        if self.accept("->"):  # these were the inputs of the one result, which is itself a function type
            results = (self._nested(lambda inner=results: self._function_results(inner)),)
        return FunctionType(inputs, results)

    def type_tuple(self) -> tuple[Type, ...]:
        """Read `(T, …)`."""
        self.expect("(", "before a list of types")
        types: list[Type] = []
        if not self.accept(")"):
            types = self.type_list()
            self.expect(")", "after a list of types")
        return tuple(types)

    def type_list(self) -> list[Type]:
        """Read `T, …`, one at least."""
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        return types

    def _types_in_angles(self) -> list[Type]:
        self.expect("<")
        if self.accept(">"):
            return []
        types = self.type_list()
        self.expect(">", "after a list of types")
        return types

    # -- shaped types ---------------------------------------------------------------------------------------------

    def dimensions(self) -> list[int]:
        """Read `2x?x`: extents, each followed by an x."""
        shape: list[int] = []
        while True:
            start = self.pos
            digits = self.match(_DIMENSION)
            if digits is None:
                return shape
            shape.append(DYNAMIC if digits == "?" else self._extent(digits, start))

    def _extent(self, digits: str, start: int) -> int:
        if len(digits) > 19 or int(digits) >= 1 << 63:
            self.fail("this extent is too large: it must be less than 2**63", start)
        return int(digits)

    def _shape(self) -> list[int] | None:
        """Extents, or None for `*x`."""
        if not self.accept("*"):
            return self.dimensions()
        if not self.text.startswith("x", self.pos):
            self.fail(f"expected 'x' after '*', found {self._found()}")
        self.pos += 1
        return None

    def _element_type(self) -> Type:
        """The element type of a tensor, vector or memref."""
        start = self.pos
        word = self.match(IDENTIFIER)
        if word is None and self.peek() and self.peek() in "!(":
            return self.type()
        found = self._nested(lambda: self._builtin_type(word, start)) if word is not None else None
        if found is None:
            shown = repr(word) if word is not None else self._found()
            self.fail(f"expected an extent like '8x' or an element type like 'f32', found {shown}", start)
        return found

    def _machine_tensor(self, cls: type[VTensorType | TensorType]) -> Type:
        """What follows `!pd.vtensor`: a tensor whose elements the machine has."""
        self.expect("<", "after the name of the type")
        shape = self.dimensions()
        start = self.pos
        element = self._element_type()
        if not isinstance(element, ScalarType):
            self.fail(f"the elements of this tensor have a format of the machine, like f32, not {element}", start)
        self.expect(">", "after the element type of a tensor")
        return cls(shape, element)

    def _tensor(self) -> Type:
        self.expect("<", "after 'tensor'")
        start = self.pos
        shape = self._shape()
        element = self._element_type()
        encoding = self.attribute() if self.accept(",") else None
        self.expect(">", "after the element type of a tensor")
        return self.made(lambda: tensor_type(shape, element, encoding), start)

    def _vector(self) -> Type:
        self.expect("<", "after 'vector'")
        start = self.pos
        shape: list[int] = []
        scalable: list[bool] = []
        while True:
            static = self.dimensions()
            shape += static
            scalable += [False] * len(static)
            if not self.accept("["):
                break
            at = self.pos
            shape.append(self._extent(self.require(INTEGER, "an extent"), at))
            scalable.append(True)
            self.expect("]", "after a scalable extent")
            if not self.text.startswith("x", self.pos):
                self.fail(f"expected 'x' after a scalable extent, found {self._found()}")
            self.pos += 1
        element = self._element_type()
        self.expect(">", "after the element type of a vector")
        return self.made(lambda: VectorType(shape, element, scalable), start)

    def _memref(self) -> Type:
        self.expect("<", "after 'memref'")
        start = self.pos
        shape = self._shape()
        element = self._element_type()
        rest: list[Attribute] = []
        while self.accept(","):
            rest.append(self.attribute())
        self.expect(">", "at the end of a memref type")
        if len(rest) > 2:
            self.fail("a memref type has a layout and a memory space, and nothing after them", start)
        # One alone is the layout when it is one.
        layout = rest.pop(0) if rest and (len(rest) == 2 or _is_layout(rest[0])) else None
        space = rest[0] if rest else None
        return self.made(lambda: MemRefType(shape, element, layout, space), start)

    def _complex(self) -> Type:
        self.expect("<", "after 'complex'")
        start = self.pos
        element = self.type()
        self.expect(">", "after the element type of a complex number")
        return self.made(lambda: ComplexType(element), start)

    # -- types of dialects ----------------------------------------------------------------------------------------

    def _dialect_type(self) -> Type:
        start = self.pos
        self.pos += 1
        name = self.name_here("the name of a dialect type right after '!'")
        read = _DIALECT_READERS.get(name)
        if read is not None:
            return read(self)
        dialect, dot, mnemonic = name.partition(".")
        if not dot and not self.text.startswith("<", self.pos):
            alias = self.type_aliases.get(name)
            if alias is None:
                self.fail(f"the alias '!{name}' is not defined before", start)
            return alias
        reader = self.context.type_reader(dialect, mnemonic)
        if reader is not None:
            return reader(cast(Any, self))
        if not self.allow_unregistered:
            self.fail(f"unknown type '!{name}'; allow_unregistered=True keeps it as it is", start)
        self.pos = start
        return OpaqueType(self.opaque())

    def _dict_type(self) -> Type:
        entries: dict[str, Type] = {}
        self.expect("<")
        while not self.accept(">"):
            if entries:
                self.expect(",", "between the entries of a dictionary type")
            start = self.pos
            key = self.string()
            self.expect(":", "after the key of a dictionary type")
            if key in entries:
                self.fail(f"the key {key!r} comes twice", start)
            entries[key] = self.type()
        return DictType(entries)


def _is_layout(attribute: Attribute) -> bool:
    """Whether an attribute alone after a memref's element type is its layout: otherwise it is the memory space."""
    return isinstance(attribute, (AffineMapAttr, StridedLayoutAttr))


# What reads the rest of a type after its name, by name.
_READERS: Final[dict[str, Callable[[TypeParser], Type]]] = {
    "tensor": lambda parser: parser._tensor(),
    "vector": lambda parser: parser._vector(),
    "memref": lambda parser: parser._memref(),
    "complex": lambda parser: parser._complex(),
    "tuple": lambda parser: TupleType(parser._types_in_angles()),
    "index": lambda _: IndexType(),
    "none": lambda _: NoneType(),
}
_DIALECT_READERS: Final[dict[str, Callable[[TypeParser], Type]]] = {
    "pd.vtensor": lambda parser: parser._machine_tensor(VTensorType),
    "pd.tensor": lambda parser: parser._machine_tensor(TensorType),
    "builtin.list": lambda parser: ListType(parser._types_in_angles()),
    "builtin.token": lambda _: TokenType(),
    "builtin.dict": lambda parser: parser._dict_type(),
}
