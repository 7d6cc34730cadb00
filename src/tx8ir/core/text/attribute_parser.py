"""Reading attributes."""

# The parser makes dictionaries whose keys it has sorted.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final, cast

from tx8ir.core.attrs.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DictAttr,
    StrAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from tx8ir.core.attrs.builtin_attributes import (
    DistinctAttr,
    LocationAttr,
    NestedSymbolRefAttr,
    StridedLayoutAttr,
    TypedAttr,
)
from tx8ir.core.attrs.codecs import struct_codecs
from tx8ir.core.attrs.lexer import IDENTIFIER, INTEGER, KEY, SYMBOL, Source
from tx8ir.core.attrs.structured import EnumAttr, FlagsAttr, OpaqueAttr, StructAttr
from tx8ir.core.attrs.types import DYNAMIC, f64, i1, i64
from tx8ir.core.context import IrContext

from .affine_parser import AffineParser


class AttributeParser(AffineParser):
    """Reads types, attributes and locations of the dialects of a context."""

    def __init__(self, source: Source, context: IrContext, allow_unregistered: bool) -> None:
        super().__init__(source, context, allow_unregistered)
        self.attribute_aliases: dict[str, Attribute] = {}

    def attribute(self) -> Attribute:
        """Read an attribute."""
        return self._nested(self._attribute)

    def _attribute(self) -> Attribute:
        char = self.peek()
        start = self.pos
        if char == '"':
            return self._perhaps_typed(StrAttr(self.string()))
        if char == "{":
            return self.dictionary()
        if char == "[":
            return self._array()
        if char == "@":
            return self._symbol_reference()
        if char == "#":
            return self._dialect_attribute()
        if char.isdigit() or (char and char in "-+"):
            return self.number()
        word = self.match(IDENTIFIER)
        if word is not None:
            read = _KEYWORDS.get(word)
            if read is not None and (word != "loc" or self.peek() == "("):
                return read(self)
            self.pos = start
        if char == "" or char in ",}])>:=":
            self.fail(f"expected an attribute, found {self._found()}", start)
        return TypeAttr(self._type())

    def _symbol_reference(self) -> Attribute:
        names = [self.symbol()]
        while self.accept("::"):
            names.append(self.symbol())
        return SymbolRefAttr(names[0]) if len(names) == 1 else NestedSymbolRefAttr(names)

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

    def _dialect_attribute(self) -> Attribute:
        start = self.pos
        self.pos += 1
        name = self.name_here("the name of a dialect attribute right after '#'")
        dialect, _, mnemonic = name.partition(".")
        if mnemonic:
            found = self.context.attribute_class(dialect, mnemonic)
            if found is not None and issubclass(found, StructAttr):
                return self._struct(found, start) if found.field_names() else found()
            if found is not None and issubclass(found, FlagsAttr):
                return self.flags(found)
            if found is not None and self.accept("<"):
                return self._enum(found)
        elif not self.text.startswith("<", self.pos):
            alias = self.attribute_aliases.get(name)
            if alias is None and self.is_location(name):
                self.pos = start
                return LocationAttr(self.location_called())
            if alias is None:
                self.fail(f"the alias '#{name}' is not defined before", start)
            return alias
        else:
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
        return self._perhaps_typed(OpaqueAttr(self.opaque()))

    def _perhaps_typed(self, attribute: Attribute) -> Attribute:
        return TypedAttr(attribute, self.type()) if self.accept(":") else attribute

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

    def flags(self, cls: type[FlagsAttr]) -> FlagsAttr:
        """Read the flags in angle brackets."""
        self.expect("<", f"after '#{cls.attr_name}'")
        self.skip_space()
        start = self.pos
        given = [self.require(IDENTIFIER, "a flag")]
        while self.accept(","):
            given.append(self.require(IDENTIFIER, "a flag"))
        self.expect(">", f"after the flags of #{cls.attr_name}")
        try:
            return cls(given)
        except ValueError as error:
            self.fail(str(error), start)

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

    def _strided(self) -> Attribute:
        self.expect("<", "after 'strided'")
        self.expect("[", "before the strides")
        strides: list[int] = []
        while not self.accept("]"):
            if strides:
                self.expect(",", "between strides")
            strides.append(self._step())
        offset = 0
        if self.accept(","):
            self.expect("offset", "after the strides")
            self.expect(":", "after 'offset'")
            offset = self._step()
        self.expect(">", "after a strided layout")
        return StridedLayoutAttr(strides, offset)

    def _step(self) -> int:
        at = self.pos
        return DYNAMIC if self.accept("?") else self.read_int(self.require(INTEGER, "a number or '?'"), at)

    def _distinct(self) -> Attribute:
        self.expect("[", "after 'distinct'")
        at = self.pos
        number = self.read_int(self.require(INTEGER, "a number"), at)
        self.expect("]", "after the number of a distinct attribute")
        self.expect("<", "before a distinct attribute")
        inside = None if self.peek() == ">" else self.attribute()
        self.expect(">", "after a distinct attribute")
        return DistinctAttr(number, inside)


# What reads the rest of an attribute after the word that it starts with.
_KEYWORDS: Final[dict[str, Callable[[AttributeParser], Attribute]]] = {
    "true": lambda _: BoolAttr(True),
    "false": lambda _: BoolAttr(False),
    "unit": lambda _: UnitAttr(),
    "array": lambda parser: parser.number_array(),
    "dense": lambda parser: parser.dense(),
    "dense_resource": lambda parser: parser.resource(),
    "sparse": lambda parser: parser.sparse(),
    "opaque": lambda parser: parser.opaque_elements(),
    "affine_map": lambda parser: parser.affine_map(),
    "affine_set": lambda parser: parser.affine_set(),
    "strided": lambda parser: parser._strided(),
    "distinct": lambda parser: parser._distinct(),
    "loc": lambda parser: LocationAttr(parser.location_after_keyword()),
}
