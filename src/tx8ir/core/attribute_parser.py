"""Reading types, attributes and locations."""

# The parser makes dictionaries whose keys it has sorted.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
import re
import struct
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from .attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    FloatAttr,
    IntAttr,
    OpaqueAttr,
    StrAttr,
    StructAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from .context import IrContext
from .lexer import FLOAT, HEX, IDENTIFIER, INTEGER, KEY, SYMBOL, Lexer, Source, TextLocation
from .location import UNKNOWN, FileLocation, FusedLocation, Location, NamedLocation
from .types import (
    DYNAMIC,
    DictType,
    FunctionType,
    ListType,
    NoneType,
    OpaqueType,
    RankedTensor,
    ScalarType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    VTensorType,
    f64,
    i1,
    i64,
)

_DIMENSION: Final = re.compile(r"([0-9]+|\?)x")
_NESTING_LIMIT: Final = 100
"""How deep types and attributes may nest; deeper text is an error, so that reading it cannot exhaust the stack."""

_SCALARS: Final[dict[str, ScalarType]] = {
    **{s: ScalarType.of(s) for s in ("f64", "f32", "f16", "bf16", "tf32", "i1", "i4", "i8", "i16", "i32", "i64")},
    **{s: ScalarType.of(s) for s in ("ui4", "ui8", "ui16", "ui32", "ui64")},
    **{f"s{s}": ScalarType.of(s) for s in ("i4", "i8", "i16", "i32", "i64")},
}


class AttributeParser(Lexer):
    """Reads types and attributes of the dialects of a context."""

    def __init__(self, source: Source, context: IrContext, allow_unregistered: bool) -> None:
        super().__init__(source)
        self.context = context
        self.allow_unregistered = allow_unregistered
        self._depth = 0
        self._type_cache: dict[str, tuple[Type, int]] = {}

    def _nested(self, parse: Callable[[], Any]) -> Any:
        if self._depth >= _NESTING_LIMIT:
            self.fail(f"types and attributes may nest {_NESTING_LIMIT} deep at the most")
        self._depth += 1
        try:
            return parse()
        finally:
            self._depth -= 1

    # -- types ----------------------------------------------------------------------------------------------------

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
        if word in _SCALARS:
            return _SCALARS[word]
        if word == "tensor":
            return self._tensor(VTensorType)
        if word == "tuple":
            return TupleType(self._type_list())
        if word == "none":
            return NoneType()
        if word is None:
            self.fail(f"expected a type, found {self._found()}", start)
        self.fail(f"unknown type '{word}'", start)

    def function_type(self) -> FunctionType:
        """Read `(T, …) -> T` or `(T, …) -> (T, …)`."""
        inputs = self.type_tuple()
        self.expect("->", "after the operand types")
        if self.peek() == "(":
            mark = self.pos
            results = self.type_tuple()
            if (len(results) == 1 and self.accept("->")) or self.accept(
                "->"
            ):  # the one result is itself a function type
                self.pos = mark
                results = (self.type(),)
        else:
            results = (self.type(),)
        return FunctionType(inputs, results)

    def type_tuple(self) -> tuple[Type, ...]:
        """Read `(T, …)`."""
        self.expect("(", "before a list of types")
        types: list[Type] = []
        if not self.accept(")"):
            types.append(self.type())
            while self.accept(","):
                types.append(self.type())
            self.expect(")", "after a list of types")
        return tuple(types)

    def _type_list(self) -> list[Type]:
        self.expect("<")
        types: list[Type] = []
        if not self.accept(">"):
            types.append(self.type())
            while self.accept(","):
                types.append(self.type())
            self.expect(">", "after a list of types")
        return types

    def _tensor(self, cls: type[RankedTensor]) -> Type:
        self.expect("<", "after 'tensor'")
        shape: list[int] = []
        while True:
            start = self.pos
            digits = self.match(_DIMENSION)
            if digits is None:
                break
            if len(digits) > 18:
                self.fail("this extent is too large", start)
            shape.append(DYNAMIC if digits == "?" else int(digits))
        start = self.pos
        word = self.match(IDENTIFIER)
        if word not in _SCALARS:
            self.fail(
                f"expected an extent like '8x' or an element type like 'f32', found {word or self._found()!r}", start
            )
        self.expect(">", "after the element type of a tensor")
        return cls(shape, _SCALARS[word])

    def _dialect_type(self) -> Type:
        start = self.pos
        self.pos += 1
        name = self.require(IDENTIFIER, "the name of a dialect type after '!'")
        if name == "pd.vtensor":
            return self._tensor(VTensorType)
        if name == "pd.tensor":
            return self._tensor(TensorType)
        if name == "builtin.list":
            return ListType(self._type_list())
        if name == "builtin.token":
            return TokenType()
        if name == "builtin.dict":
            return self._dict_type()
        if not self.allow_unregistered:
            self.fail(f"unknown type '!{name}'; allow_unregistered=True keeps it as it is", start)
        return OpaqueType(self._opaque(start))

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

    def _opaque(self, start: int) -> str:
        """The text from `start` to the end of the balanced brackets that follow the position, if any."""
        if not self.text.startswith("<", self.pos):
            return self.text[start : self.pos]
        opened: list[tuple[str, int]] = []
        closes = {"<": ">", "(": ")", "[": "]", "{": "}"}
        while True:
            char = self.text[self.pos : self.pos + 1]
            if char == "":
                self.fail(f"'{opened[-1][0]}' is not closed", opened[-1][1])
            if char == '"':
                self.string()
                continue
            if char in closes:
                opened.append((char, self.pos))
            elif char == ">" and self.text[self.pos - 1] == "-":
                pass  # the arrow of a function type
            elif char in ">)]}":
                if closes[opened[-1][0]] != char:
                    self.fail(f"expected '{closes[opened[-1][0]]}', found '{char}'", self.pos)
                opened.pop()
                if not opened:
                    self.pos += 1
                    return self.text[start : self.pos]
            self.pos += 1

    # -- attributes -----------------------------------------------------------------------------------------------

    def attribute(self) -> Attribute:
        """Read an attribute."""
        return self._nested(self._attribute)

    def _attribute(self) -> Attribute:
        char = self.peek()
        start = self.pos
        if char == '"':
            return StrAttr(self.string())
        if char == "{":
            return self.dictionary()
        if char == "[":
            return self._array()
        if char == "@":
            return SymbolRefAttr(self.symbol())
        if char == "#":
            return self._dialect_attribute()
        if char.isdigit() or char in "-+":
            return self._number(default_float=f64)
        for word, value in (("true", BoolAttr(True)), ("false", BoolAttr(False)), ("unit", UnitAttr())):
            if self.accept(word):
                return value
        if self.accept("array"):
            return self._dense_array()
        if self.accept("dense"):
            return self._dense()
        if char == "" or char in ",}])>:=":
            self.fail(f"expected an attribute, found {self._found()}", start)
        return TypeAttr(self.type())

    def symbol(self) -> str:
        """Read `@name` or `@"name"`."""
        self.skip_space()
        if self.text.startswith('@"', self.pos):
            self.pos += 1
            return self.string()
        return self.require(SYMBOL, "a symbol like '@main'")

    def dictionary(self) -> DictAttr:
        """Read `{key = value, key}`."""
        self.expect("{")
        entries: dict[str, Attribute] = {}
        while not self.accept("}"):
            if entries:
                self.expect(",", "between attributes")
            self.skip_space()
            start = self.pos
            key = self.string() if self.peek() == '"' else self.require(KEY, "the name of an attribute")
            if key in entries:
                self.fail(f"the attribute '{key}' comes twice", start)
            entries[key] = self.attribute() if self.accept("=") else UnitAttr()
        return DictAttr(entries)

    def _array(self) -> ArrayAttr:
        self.expect("[")
        elements: list[Attribute] = []
        while not self.accept("]"):
            if elements:
                self.expect(",", "between the elements of an array")
            elements.append(self.attribute())
        return ArrayAttr(elements)

    def _number(self, default_float: ScalarType) -> Attribute:
        start = self.pos
        literal = self.match(HEX)
        if literal is not None:
            element = self._number_type(start) if self.accept(":") else i64
            if element.is_float:
                return FloatAttr(self._bits_to_float(literal, element, start), element)
            return self._checked_int(int(literal, 16), element, start)
        literal = self.match(FLOAT)
        if literal is not None:
            element = self._number_type(start) if self.accept(":") else default_float
            if not element.is_float:
                self.fail(f"a float literal cannot have the type {element}", start)
            return FloatAttr(self._read_float(literal, element), element)
        literal = self.match(INTEGER)
        if literal is None:
            self.fail("expected a number", start)
        element = self._number_type(start) if self.accept(":") else i64
        if element.is_float:
            self.fail(f"an integer literal cannot have the type {element}; write a point", start)
        return self._checked_int(self._read_int(literal, start), element, start)

    def _number_type(self, start: int) -> ScalarType:
        found = self.type()
        if not isinstance(found, ScalarType):
            self.fail(f"a number has a scalar type, not {found}", start)
        return found

    def _read_int(self, literal: str, start: int) -> int:
        if len(literal) > 400:
            self.fail("this number is too long", start)
        return int(literal)

    def _checked_int(self, value: int, element: ScalarType, start: int) -> IntAttr:
        try:
            return IntAttr(value, element)
        except OverflowError as error:
            self.fail(str(error), start)

    def _read_float(self, literal: str, element: ScalarType) -> float:
        if element is f64:
            return float(literal)
        with np.errstate(over="ignore"):
            return (
                float(element.dtype.type(literal))
                if element.dtype.kind == "f"
                else float(element.dtype.type(float(literal)))
            )

    def _bits_to_float(self, literal: str, element: ScalarType, start: int) -> float:
        size = element.format.bits // 8 if element is not f64 else 8
        size = element.dtype.itemsize if element is not f64 else size
        value = int(literal, 16)
        if value >= 1 << (8 * size):
            self.fail(f"these bits do not fit {element}", start)
        data = value.to_bytes(size, "little")
        if element is f64:
            return struct.unpack("<d", data)[0]
        return float(np.frombuffer(data, element.dtype)[0])

    def _dense_array(self) -> DenseArrayAttr:
        self.expect("<", "after 'array'")
        start = self.pos
        element = self.type()
        if not isinstance(element, ScalarType):
            self.fail(f"the elements of an array have a scalar type, not {element}", start)
        values: list[Any] = []
        if self.accept(":"):
            values.append(self._element(element))
            while self.accept(","):
                values.append(self._element(element))
        self.expect(">", "after the numbers of an array")
        return DenseArrayAttr(values, element)

    def _element(self, element: ScalarType) -> Any:
        """One bare number of a known type."""
        self.skip_space()
        start = self.pos
        if element is i1:
            if self.accept("true"):
                return True
            if self.accept("false"):
                return False
            self.fail(f"expected true or false, found {self._found()}", start)
        literal = self.match(HEX)
        if literal is not None and element.is_float:
            return self._bits_to_float(literal, element, start)
        if literal is not None:
            return self._checked_int(int(literal, 16), element, start).value
        if element.is_float:
            literal = self.match(FLOAT)
            if literal is None:
                self.fail(f"expected a float like 1.0, found {self._found()}", start)
            return self._read_float(literal, element)
        return self._checked_int(self._read_int(self.require(INTEGER, "an integer"), start), element, start).value

    def _dense(self) -> DenseAttr:
        self.expect("<", "after 'dense'")
        self.skip_space()
        start = self.pos
        # The numbers can be read only when the type behind them is known, so look there first.
        end = self._end_of_dense()
        self.pos = end
        self.expect(">", "after the numbers of a dense attribute")
        self.expect(":", "before the type of a dense attribute")
        tensor = self.type()
        if not isinstance(tensor, RankedTensor) or not tensor.is_static:
            self.fail(f"a dense attribute has a static tensor type, not {tensor}", end)
        after = self.pos
        self.pos = start
        array = self._dense_body(tensor, start)
        self.skip_space()
        if self.pos != end:
            self.fail("expected '>' after the numbers of a dense attribute")
        self.pos = after
        return DenseAttr(array, tensor)

    def _end_of_dense(self) -> int:
        if self.peek() == '"':
            self.string()
            self.skip_space()
            return self.pos
        end = self.text.find(">", self.pos)
        if end < 0:
            self.fail("expected '>' after the numbers of a dense attribute", self.pos)
        return end

    def _dense_body(self, tensor: RankedTensor, start: int) -> Any:
        dtype, count = tensor.element.dtype, tensor.num_elements
        if self.peek() == '"':
            digits = self.string()
            if not re.fullmatch(r"0x(?:[0-9A-Fa-f]{2})*", digits):
                self.fail('the bytes of a dense attribute are written as "0x…", two digits each', start)
            data = bytes.fromhex(digits[2:])
            if len(data) != count * dtype.itemsize:
                self.fail(f"{tensor} has {count * dtype.itemsize} bytes, these are {len(data)}", start)
            return np.frombuffer(data, dtype).reshape(tensor.shape)
        if self.peek() == ">":
            if count:
                self.fail(f"{tensor} has {count} elements, found none", start)
            return np.empty(tensor.shape, dtype)
        if self.peek() != "[":
            value = self._element(tensor.element)
            if count > 1 << 28:
                self.fail(f"{tensor} is too large for a dense attribute", start)
            return np.full(tensor.shape, value, dtype)
        values, shape = self._nested_numbers(tensor.element)
        if shape != tensor.shape:
            self.fail(f"the numbers have the shape {shape}, {tensor} has {tensor.shape}", start)
        return np.array(values, dtype).reshape(tensor.shape)

    def _nested_numbers(self, element: ScalarType) -> tuple[list[Any], tuple[int, ...]]:
        """Numbers in nested brackets, and the shape that the brackets give."""

        def parse() -> tuple[list[Any], tuple[int, ...]]:
            if self.peek() != "[":
                return [self._element(element)], ()
            start = self.pos
            self.pos += 1
            values: list[Any] = []
            inner: tuple[int, ...] | None = None
            count = 0
            while not self.accept("]"):
                if count:
                    self.expect(",", "between the elements of a dense attribute")
                part, shape = self._nested(parse)
                if inner is not None and shape != inner:
                    self.fail("the rows of a dense attribute have different shapes", start)
                inner = shape
                values += part
                count += 1
            return values, (count, *(inner or ()))

        return parse()

    def _dialect_attribute(self) -> Attribute:
        start = self.pos
        self.pos += 1
        name = self.require(IDENTIFIER, "the name of a dialect attribute after '#'")
        dialect, _, mnemonic = name.partition(".")
        if mnemonic:
            found = self.context.attribute_class(dialect, mnemonic)
            if found is not None and issubclass(found, StructAttr):
                return self._struct(found, start)
        elif self.text.startswith("<", self.pos):
            mark = self.pos
            self.pos += 1
            word = self.match(IDENTIFIER)
            enumeration = self.context.attribute_class(dialect, word) if word is not None else None
            if enumeration is not None and issubclass(enumeration, enum.Enum):
                return self._enum(enumeration)
            self.pos = mark
        if not self.allow_unregistered:
            self.fail(f"unknown attribute '#{name}'; allow_unregistered=True keeps it as it is", start)
        return OpaqueAttr(self._opaque(start))

    def _enum(self, enumeration: type[enum.Enum]) -> Attribute:
        self.skip_space()
        start = self.pos
        end = self.text.find(">", start)
        spelling = self.text[start : end if end >= 0 else start].strip()
        for member in enumeration:
            if member.value == spelling:
                self.pos = end + 1
                return EnumAttr(member)
        self.fail(f"expected one of {', '.join(str(m.value) for m in enumeration)}, found '{spelling}'", start)

    def _struct(self, cls: type[StructAttr], start: int) -> Attribute:
        self.expect("<", f"after '#{cls.attr_name}'")
        entries = self.dictionary()
        self.expect(">", f"after the fields of #{cls.attr_name}")
        try:
            return cast("Callable[..., Attribute]", cls)(**entries.value)
        except (TypeError, ValueError) as error:
            self.fail(f"#{cls.attr_name}: {error}", start)

    # -- locations ------------------------------------------------------------------------------------------------

    def location(self) -> Location:
        """Read `loc(…)`."""
        self.expect("loc")
        self.expect("(", "after 'loc'")
        location = self._nested(self._location)
        self.expect(")", "after a location")
        return location

    def _location(self) -> Location:
        if self.accept("unknown"):
            return UNKNOWN
        if self.accept("fused"):
            by = ""
            if self.accept("<"):
                by = self.string()
                self.expect(">")
            self.expect("[", "after 'fused'")
            parts: list[Location] = []
            while not self.accept("]"):
                if parts:
                    self.expect(",", "between locations")
                parts.append(self._nested(self._location))
            return FusedLocation(tuple(parts), by)
        text = self.string()
        if self.accept(":"):
            start = self.pos
            line = self._read_int(self.require(INTEGER, "a line number"), start)
            self.expect(":", "after the line of a location")
            return FileLocation(text, line, self._read_int(self.require(INTEGER, "a column number"), start))
        if self.accept("("):
            child = self._nested(self._location)
            self.expect(")", "after a location")
            return NamedLocation(text, child)
        return NamedLocation(text)

    def here(self, offset: int) -> Location:
        """The location of an offset in the text."""
        return TextLocation(self.source, offset)
