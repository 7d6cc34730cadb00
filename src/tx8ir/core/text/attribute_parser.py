"""Reading types, attributes and locations."""

# The parser makes dictionaries whose keys it has sorted.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core.attrs.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DictAttr,
    FloatAttr,
    IntAttr,
    StrAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from tx8ir.core.attrs.codecs import struct_codecs
from tx8ir.core.attrs.dense import DENSE_LIMIT, DenseAttr
from tx8ir.core.attrs.floats import bits_float, float_bits
from tx8ir.core.attrs.lexer import FLOAT, HEX, IDENTIFIER, INTEGER, KEY, SYMBOL, Lexer, Source, TextLocation
from tx8ir.core.attrs.structured import EnumAttr, OpaqueAttr, StructAttr
from tx8ir.core.attrs.types import (
    DYNAMIC,
    NESTING_LIMIT,
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
from tx8ir.core.context import IrContext
from tx8ir.core.location import UNKNOWN, FileLocation, FusedLocation, Location, NamedLocation

_DIMENSION: Final = re.compile(r"([0-9]+|\?)x")
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

    def _nested(self, parse: Callable[[], Any]) -> Any:
        if self._depth >= NESTING_LIMIT:
            self.fail(f"types and attributes may nest {NESTING_LIMIT} deep at the most")
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
            if len(digits) > 19 or (digits != "?" and int(digits) >= 1 << 63):
                self.fail("this extent is too large: it must be less than 2**63", start)
            shape.append(DYNAMIC if digits == "?" else int(digits))
        start = self.pos
        word = self.match(IDENTIFIER)
        if word not in _SCALARS:
            found = repr(word) if word else self._found()
            self.fail(f"expected an extent like '8x' or an element type like 'f32', found {found}", start)
        self.expect(">", "after the element type of a tensor")
        return cls(shape, _SCALARS[word])

    def _dialect_type(self) -> Type:
        start = self.pos
        self.pos += 1
        name = self.name_here("the name of a dialect type right after '!'")
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
        dialect, _, mnemonic = name.partition(".")
        read = self.context.type_reader(dialect, mnemonic)
        if read is not None:
            return read(self)
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
        return TypeAttr(self._type())

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
            return self._checked_int(self._read_hex(literal, start), element, start)
        literal = self.match(FLOAT)
        if literal is not None:
            element = self._number_type(start) if self.accept(":") else default_float
            if not element.is_float:
                self.fail(f"a float literal cannot have the type {element}", start)
            return FloatAttr(float(literal), element)
        literal = self.match(INTEGER)
        if literal is None:
            self.fail("expected a number", start)
        element = self._number_type(start) if self.accept(":") else i64
        if element.is_float:
            self.fail(f"an integer literal cannot have the type {element}; write a point", start)
        return self._checked_int(self._read_int(literal, start), element, start)

    def _number_type(self, start: int) -> ScalarType:
        found = self._type()
        if not isinstance(found, ScalarType):
            self.fail(f"a number has a scalar type, not {found}", start)
        return found

    def _read_int(self, literal: str, start: int) -> int:
        if len(literal) > 400:
            self.fail("this number is too long", start)
        return int(literal)

    def _read_hex(self, literal: str, start: int) -> int:
        if len(literal) > 400:
            self.fail("this number is too long", start)
        return int(literal, 16)

    def _checked_int(self, value: int, element: ScalarType, start: int) -> IntAttr:
        try:
            return IntAttr(value, element)
        except OverflowError as error:
            self.fail(str(error), start)

    def _bits_to_float(self, literal: str, element: ScalarType, start: int) -> float:
        bits = self._read_hex(literal, start)
        format = element.format
        if bits >> format.bits or float_bits(bits_float(bits, format), format) != bits:
            self.fail(f"these bits do not fit {element}", start)
        return bits_float(bits, format)

    def _dense_array(self) -> DenseArrayAttr:
        self.expect("<", "after 'array'")
        start = self.pos
        element = self._type()
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
            return self._checked_int(self._read_hex(literal, start), element, start).value
        if element.is_float:
            literal = self.match(FLOAT)
            if literal is None:
                self.fail(f"expected a float like 1.0, found {self._found()}", start)
            return float(literal)
        return self._checked_int(self._read_int(self.require(INTEGER, "an integer"), start), element, start).value

    def _dense(self) -> DenseAttr:
        self.expect("<", "after 'dense'")
        self.skip_space()
        start = self.pos
        # The numbers can be read only when the type after them is known, so look there first.
        end = self._end_of_dense()
        self.pos = end
        self.expect(">", "after the numbers of a dense attribute")
        self.expect(":", "before the type of a dense attribute")
        tensor = self._type()
        if not isinstance(tensor, RankedTensor) or not tensor.is_static:
            self.fail(f"a dense attribute has a static tensor type, not {tensor}", end)
        if tensor.num_elements > DENSE_LIMIT:
            self.fail(f"{tensor} has more than {DENSE_LIMIT} elements, too many for a dense attribute", end)
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
            try:
                return DenseAttr(np.frombuffer(data, dtype).reshape(tensor.shape), tensor).value
            except ValueError as error:
                self.fail(str(error), start)
        if self.peek() == ">":
            if count:
                self.fail(f"{tensor} has {count} elements, found none", start)
            return np.empty(tensor.shape, dtype)
        if self.peek() != "[":
            return np.broadcast_to(_array([self._element(tensor.element)], tensor.element)[0], tensor.shape)
        values, shape = self._nested_numbers(tensor.element)
        if shape != tensor.shape:
            self.fail(f"the numbers have the shape {shape}, {tensor} has {tensor.shape}", start)
        return _array(values, tensor.element).reshape(tensor.shape)

    def _nested_numbers(self, element: ScalarType) -> tuple[list[Any], tuple[int, ...]]:
        """Numbers in nested brackets, and the shape that the brackets give."""

        def parse() -> tuple[list[Any], tuple[int, ...]]:
            if self.peek() != "[":
                return [self._element(element)], ()
            self.pos += 1
            values: list[Any] = []
            inner: tuple[int, ...] | None = None
            count = 0
            while not self.accept("]"):
                if count:
                    self.expect(",", "between the elements of a dense attribute")
                self.skip_space()
                row = self.pos
                part, shape = self._nested(parse)
                if inner is not None and shape != inner:
                    self.fail(f"the rows of a dense attribute have different shapes: {inner} and {shape}", row)
                inner = shape
                values += part
                count += 1
            return values, (count, *(inner or ()))

        return parse()

    def _dialect_attribute(self) -> Attribute:
        start = self.pos
        self.pos += 1
        name = self.name_here("the name of a dialect attribute right after '#'")
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
        self.pos = start
        return OpaqueAttr(self.opaque())

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
        self.skip_space()
        inside = self.pos
        entries = self.dictionary()
        self.expect(">", f"after the fields of #{cls.attr_name}")
        codecs = struct_codecs(cls)
        for key, found in entries.items():
            if key not in codecs:
                self.fail(f"#{cls.attr_name} has no field '{key}'; its fields are: {', '.join(codecs)}", inside)
            codec, _ = codecs[key]
            # Numbers are held as Python numbers, so one of another width would come out changed.
            if not codec.accepts(found) or getattr(found, "type", i64) not in (i64, f64, i1):
                self.fail(f"field {key} of #{cls.attr_name} is {found}, expected {codec.expected}", inside)
        try:
            return cast("Callable[..., Attribute]", cls)(**entries.value)
        except (TypeError, ValueError, OverflowError) as error:
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


def _array(values: list[Any], element: ScalarType) -> NDArray[Any]:
    """Numbers as an array of the element's dtype, floats bit by bit (NumPy makes signalling NaN quiet)."""
    if not element.is_float:
        return np.array(values, element.dtype)
    words = [float_bits(value, element.format) for value in values]
    return np.array(words, f"<u{element.dtype.itemsize}").view(element.dtype)
