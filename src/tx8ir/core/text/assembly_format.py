"""The elements of an assembly format, and the reader of their notation; `assembly` says what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core.attrs.builtin_types import IndexType
from tx8ir.core.attrs.types import ScalarType, Type
from tx8ir.core.opdef.fields import AttributeField, Field, RegionField, ValueField

_TOKEN: Final = re.compile(r"\s*(?:`([^`]*)`|(\$?)([A-Za-z_][A-Za-z0-9_-]*)(\^?)|(\)\?|[(),]))")


@attrs.frozen
class Literal:
    text: str


@attrs.frozen
class Variable:
    field: Field


@attrs.frozen
class TypeOf:
    field: ValueField
    implied: Type | None = None


@attrs.frozen
class SharedType:
    fields: tuple[ValueField, ...]


@attrs.frozen
class OneOf:
    field: AttributeField
    words: tuple[str, ...]


@attrs.frozen
class MemberOf:
    field: AttributeField


@attrs.frozen
class NumberOf:
    field: AttributeField
    type: Any


@attrs.frozen
class IndexList:
    values: ValueField
    numbers: AttributeField


@attrs.frozen
class Integers:
    field: AttributeField


@attrs.frozen
class RegionOf:
    field: RegionField


@attrs.frozen
class FunctionalType:
    inputs: tuple[ValueField, ...]
    outputs: ValueField


@attrs.frozen
class TypeOrFunctional:
    inputs: tuple[ValueField, ...]
    output: ValueField


@attrs.frozen
class ElementType:
    field: ValueField
    of: ValueField


@attrs.frozen
class AttributeDict:
    pass


@attrs.frozen
class Group:
    elements: tuple[Element, ...]
    anchor: Field


Element: TypeAlias = (
    Literal | Variable | TypeOf | SharedType | OneOf | MemberOf | NumberOf | IndexList | RegionOf | FunctionalType
    | TypeOrFunctional | ElementType | Integers | AttributeDict | Group
)  # fmt: skip

DYNAMIC_INDEX: Final = -(1 << 63)
"""What stands in an `array<i64>` for a number that a value gives, as in MLIR."""


class FormatReader:
    """Reads a format."""

    def __init__(self, field: Callable[[str], Field], source: str) -> None:
        self._field = field
        self._source = source
        self._tokens = list(self._tokenize(source))
        self._at = 0

    def _tokenize(self, source: str) -> Iterator[tuple[str, str, bool]]:
        """Kind ("literal", "variable", "word", "mark"), text, and whether it is an anchor."""
        position = 0
        source = source.strip()
        while position < len(source):
            match = _TOKEN.match(source, position)
            if match is None:
                raise TypeError(f"an assembly format goes wrong at {source[position:]!r}")
            literal, dollar, word, anchor, mark = match.groups()
            if literal is not None:
                yield "literal", literal, False
            elif word is not None:
                yield "variable" if dollar else "word", word, bool(anchor)
            else:
                yield "mark", mark, False
            position = match.end()

    def elements(self) -> Iterator[Element]:
        while self._at < len(self._tokens):
            yield self._element()[0]

    def _next(self) -> tuple[str, str, bool]:
        if self._at >= len(self._tokens):
            raise TypeError(f"the assembly format {self._source!r} ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, mark: str) -> None:
        if self._next()[1] != mark:
            raise TypeError(f"the assembly format {self._source!r} lacks a {mark!r}")

    def _value(self) -> ValueField:
        field = self._field(self._next()[1])
        if not isinstance(field, ValueField):
            raise TypeError(f"{field.name} is neither an operand nor a result, so it has no type")
        return field

    def _element(self) -> tuple[Element, Field | None]:
        """An element, and the field that it is the anchor of."""
        kind, text, anchor = self._next()
        if kind == "literal":
            return Literal(text), None
        if kind == "variable":
            field = self._field(text)
            if isinstance(field, RegionField):
                return RegionOf(field), None
            return Variable(field), field if anchor else None
        if text == "attr-dict":
            return AttributeDict(), None
        if text == "(":
            return self._group(), None
        make = {
            "type": self._type,
            "implied-type": self._implied,
            "shared-type": self._shared,
            "functional-type": self._functional,
            "type-or-functional": self._type_or_functional,
            "element-type": self._element_type,
            "one-of": self._one_of,
            "member": self._member,
            "number": self._number,
            "index-list": self._index_list,
            "integers": self._integers,
        }.get(text)
        if make is None:
            raise TypeError(f"an assembly format has no {text!r}")
        self._expect("(")
        return make(), None

    def _group(self) -> Group:
        elements: list[Element] = []
        anchor: Field | None = None
        while self._tokens[self._at][1] != ")?":
            element, found = self._element()
            elements.append(element)
            anchor = found or anchor
        self._at += 1
        if anchor is None:
            raise TypeError(f"a group of the assembly format {self._source!r} has no anchor: $name^")
        return Group(tuple(elements), anchor)

    def _type(self) -> Element:
        field = self._value()
        self._expect(")")
        return TypeOf(field)

    def _implied(self) -> Element:
        field = self._value()
        self._expect(",")
        implied = ScalarType.of(self._next()[1])
        self._expect(")")
        return TypeOf(field, implied)

    def _shared(self) -> Element:
        return SharedType(tuple(self._values()))

    def _values(self) -> list[ValueField]:
        """The fields up to the closing parenthesis."""
        fields = [self._value()]
        while (mark := self._next()[1]) == ",":
            fields.append(self._value())
        if mark != ")":
            raise TypeError(f"the assembly format {self._source!r} lacks a ')'")
        return fields

    def _attribute(self) -> AttributeField:
        field = self._field(self._next()[1])
        if not isinstance(field, AttributeField):
            raise TypeError(f"{field.name} is not an attribute, so it has no word or number")
        return field

    def _member(self) -> Element:
        field = self._attribute()
        self._expect(")")
        return MemberOf(field)

    def _integers(self) -> Element:
        field = self._attribute()
        self._expect(")")
        return Integers(field)

    def _number(self) -> Element:
        field = self._attribute()
        self._expect(",")
        name = self._next()[1]
        self._expect(")")
        return NumberOf(field, IndexType() if name == "index" else ScalarType.of(name))

    def _index_list(self) -> Element:
        values = self._value()
        self._expect(",")
        numbers = self._attribute()
        self._expect(")")
        return IndexList(values, numbers)

    def _one_of(self) -> Element:
        field = self._attribute()
        words: list[str] = []
        while (mark := self._next()[1]) == ",":
            words.append(self._next()[1])
        if mark != ")":
            raise TypeError(f"the assembly format {self._source!r} lacks a ')'")
        return OneOf(field, tuple(words))

    def _functional(self) -> Element:
        *inputs, outputs = self._values()
        return FunctionalType(tuple(inputs), outputs)

    def _type_or_functional(self) -> Element:
        *inputs, output = self._values()
        return TypeOrFunctional(tuple(inputs), output)

    def _element_type(self) -> Element:
        field, of = self._values()
        return ElementType(field, of)
