"""Assembly formats: the short form of an operation, declared as MLIR's `assemblyFormat` is.

    class CallOp(Op, name="func.call"):
        assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

A format is a sequence of

- a literal in backticks: a word or punctuation; nothing or a space: what stands between two others;
- `$name`: an operand, several operands, an attribute or a successor of the class, by the name of its field;
- `type($name)`: the types of operands or results; `implied-type($name, i1)`: ` : T` unless the type is i1;
- `shared-type($x, $y, …)`: the one type of single operands and results;
- `functional-type($inputs, $outputs)`: `(T, …) -> T`, of the last field after those of the others;
- `type-or-functional($x, $y, $out)`: the type of single operands and a result; `(T, U) -> V` where they differ;
- `element-type($x, $y)`: nothing; each value of the first has the element type of the second, which is said before;
- `one-of($name, eq, ne, …)`: an attribute that is the number of a word, from 0, by that word;
- `member($name)`: an attribute that is a member of an enumeration, by its word alone;
- `number($name, index)`: an integer attribute of that type, without it;
- `integers($name)`: `[0, 1]`: an `array<i64>`, by its numbers alone;
- `index-list($values, $numbers)`: `[%a, 2]`: index values, and numbers that have `DYNAMIC_INDEX` in their places;
- `$name` of a region, once: its blocks, after which the rest of the format goes on;
- `attr-dict`, once: the attributes that nothing else in the format says;
- `( … $name^ … )?`: only where the operands or the attribute marked with `^` are there.

A value whose type is not written has the only type that its field allows, or that all operands and results share
(`SameOperandsAndResultType`); else, of a result, it is inferred. An attribute with a default is written where it
differs; flags are written `<a, b>`, a unit not at all.
The generic form is always read too, and written when the format does not say all.
"""

# The printer's and the parser's halves of one thing.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from tx8ir.core.attrs.attributes import Attribute, DenseArrayAttr, DictAttr, IntAttr, StrAttr, UnitAttr
from tx8ir.core.attrs.builtin_attributes import TypedAttr
from tx8ir.core.attrs.builtin_types import element_of
from tx8ir.core.attrs.lexer import IDENTIFIER
from tx8ir.core.attrs.structured import EnumAttr, FlagsAttr
from tx8ir.core.attrs.types import FunctionType, NoneType, Type, i64
from tx8ir.core.errors import IrError
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.interfaces import InferTypes
from tx8ir.core.ir.operation import Operation, create_unchecked, discard
from tx8ir.core.ir.traits import IsolatedFromAbove, SameOperandsAndResultType
from tx8ir.core.opdef.definition import SEGMENTS, OpDef, segment_sizes
from tx8ir.core.opdef.fields import MISSING, AttributeField, Field, SuccessorField, ValueField

from .assembly_format import (
    DYNAMIC_INDEX,
    AttributeDict,
    Element,
    ElementType,
    FormatReader,
    FunctionalType,
    Group,
    IndexList,
    Integers,
    Literal,
    MemberOf,
    NumberOf,
    OneOf,
    RegionOf,
    SharedType,
    TypeOf,
    TypeOrFunctional,
    Variable,
)
from .custom_format import CustomFormat

if TYPE_CHECKING:
    from .parser import Parser
    from .printer import Printer

_TIGHT_BEFORE: Final = frozenset(",)]>")
_TIGHT_AFTER: Final = frozenset("([<")


@attrs.define
class _Parts:
    """What has been read of an operation."""

    operands: dict[str, list[tuple[str, int]]] = attrs.field(factory=dict[str, "list[tuple[str, int]]"])
    types: dict[str, list[Type]] = attrs.field(factory=dict[str, "list[Type]"])
    attributes: dict[str, Any] = attrs.field(factory=dict[str, Any])
    successors: dict[str, Block] = attrs.field(factory=dict[str, Block])


class Assembly:
    """The compiled format of an op class: it prints and parses."""

    def __init__(self, op_class: type[Any], source: str) -> None:
        self._op_class = op_class
        self._definition: OpDef = op_class.definition
        d = self._definition
        self._fields: dict[str, Field] = {
            f.name: f for f in (*d.operands, *d.results, *d.attributes, *d.successors, *d.regions)
        }
        elements = list(FormatReader(self.field, source).elements())
        at = next((i for i, e in enumerate(elements) if isinstance(e, RegionOf)), len(elements))
        self._before, self._after = elements[:at], elements[at + 1 :]
        self.has_region = at < len(elements)
        self.elements = tuple(elements)
        self._said = frozenset(f.key for f in _variables(self.elements) if isinstance(f, AttributeField))
        if d.uses_segments:
            self._said |= {SEGMENTS}
        # What `attr-dict` leaves out: attributes that have their default.
        self._usual = {
            f.key: d.codecs[f.name][0].encode(f.default)
            for f in d.attributes
            if f.key not in self._said and f.default is not MISSING and f.default is not None
        }

    def field(self, name: str) -> Field:
        """The field called `name`. Raises TypeError when the class has none."""
        found = self._fields.get(name)
        if found is None:
            raise TypeError(f"the assembly format of {self._op_class.name} names ${name}, which is not a field of it")
        return found

    def fits(self, op: Operation) -> bool:
        """Whether the format can say what attributes `op` has, verified or not."""
        if not self._usual.keys() <= op.attributes.keys():
            return False
        return all(
            _sayable(element, op) and self._has_types(element, op) and self._has_no_hidden_type(element, op)
            for element in self.elements
        )

    def _has_no_hidden_type(self, element: Element, op: Operation) -> bool:
        """Whether no attribute is a string with a type, which would be read back as a string without one."""
        if not isinstance(element, Variable) or not isinstance(element.field, AttributeField):
            return True
        found = op.attributes.get(element.field.key)
        return not (
            isinstance(found, TypedAttr) and isinstance(found.attribute, StrAttr) and self._is_string(element.field)
        )

    def _is_string(self, field: AttributeField) -> bool:
        """Whether the attribute may be a string."""
        return self._definition.codecs[field.name][0].accepts(StrAttr(""))

    def _has_types(self, element: Element, op: Operation) -> bool:
        """Whether values have the types that the format takes for granted where the declaration does not.

        A list of types has one at least: a format that may leave it out has it in a group.
        """
        if isinstance(element, TypeOf) and element.implied is None:
            return bool(self._values(element.field, op))
        if not isinstance(element, ElementType):
            return True
        wanted = element_of(self._values(element.of, op)[0].type)
        return all(value.type is wanted for value in self._values(element.field, op))

    def _default(self, field: Field) -> Attribute | None:
        """What an attribute is where the group that it is the anchor of is left out; None: it is absent."""
        if not isinstance(field, AttributeField) or field.default is MISSING or field.default is None:
            return None
        return self._definition.codecs[field.name][0].encode(field.default)

    # -- writing --------------------------------------------------------------------------------------------------

    def print(self, op: Operation, printer: Printer) -> None:
        """Write the name of `op` and what the format says up to its region, if it has one."""
        pieces: list[tuple[str, bool]] = [(op.name, False)]  # texts, and whether each is a literal
        self._write(self._before, op, printer, pieces)
        printer.write(_joined(pieces))

    def print_end(self, op: Operation, printer: Printer) -> None:
        """Write what the format says after the region of `op`."""
        pieces: list[tuple[str, bool]] = [("}", True)]
        self._write(self._after, op, printer, pieces)
        printer.write(_joined(pieces).removeprefix("}"))

    def _write(self, elements: Iterable[Element], op: Operation, printer: Printer, out: list[tuple[str, bool]]) -> None:
        for element in elements:
            if isinstance(element, Literal):
                out.append((element.text, True))
            elif isinstance(element, Group):
                if self._present(element.anchor, op):
                    self._write(element.elements, op, printer, out)
            else:
                text = self._text(element, op, printer)
                if text:
                    out.append((text, False))

    def _present(self, field: Field, op: Operation) -> bool:
        if isinstance(field, AttributeField):
            return op.attributes.get(field.key) is not self._default(field)
        assert isinstance(field, ValueField)
        return bool(self._values(field, op))

    def _values(self, field: ValueField, op: Operation) -> tuple[Any, ...]:
        d = self._definition
        if field in d.results:
            start, end = d.result_range(op, field)
            return op.results[start:end]
        start, end = d.operand_range(op, field)
        return op.operands[start:end]

    def _text(self, element: Element, op: Operation, printer: Printer) -> str:
        if isinstance(element, TypeOf):
            types = [v.type for v in self._values(element.field, op)]
            if element.implied is not None:
                return "" if types == [element.implied] else f": {printer.type(types[0])}"
            return ", ".join(map(printer.type, types))
        if isinstance(element, SharedType):
            return printer.type(self._values(element.fields[0], op)[0].type)
        if isinstance(element, OneOf):
            number: int = op.attributes[element.field.key].value
            return element.words[number]
        if isinstance(element, (MemberOf, NumberOf)):
            found = op.attributes[element.field.key].value
            return str(found.value if isinstance(found, Enum) else found)
        if isinstance(element, IndexList):
            rest = iter(self._values(element.values, op))
            numbers: tuple[int, ...] = op.attributes[element.numbers.key].value
            parts = (printer.value(next(rest)) if n == DYNAMIC_INDEX else str(n) for n in numbers)
            return f"[{', '.join(parts)}]"
        if isinstance(element, FunctionalType):
            inputs = [v.type for f in element.inputs for v in self._values(f, op)]
            return printer.signature(inputs, tuple(v.type for v in self._values(element.outputs, op)))
        if isinstance(element, TypeOrFunctional):
            inputs = [self._values(f, op)[0].type for f in element.inputs]
            output = self._values(element.output, op)[0].type
            one = all(type is output for type in inputs)
            return printer.type(output) if one else printer.signature(inputs, (output,))
        if isinstance(element, Integers):
            return str(list(op.attributes[element.field.key].value))
        if isinstance(element, AttributeDict):
            usual = [key for key, value in self._usual.items() if op.attributes[key] is value]
            return printer.attributes(op.attributes, (*self._said, *usual), "")
        if isinstance(element, ElementType):
            return ""
        assert isinstance(element, Variable)
        field = element.field
        if isinstance(field, ValueField):
            return ", ".join(map(printer.value, self._values(field, op)))
        if isinstance(field, SuccessorField):
            return printer.block(op.successors[self._definition.successors.index(field)])
        assert isinstance(field, AttributeField)
        found = op.attributes[field.key]
        if isinstance(found, UnitAttr):  # the word before it says all
            return ""
        return found.parameters if isinstance(found, FlagsAttr) else printer.attribute(found)

    # -- reading --------------------------------------------------------------------------------------------------

    def parse(self, parser: Parser) -> CustomFormat:
        """Read an operation after its name. Raises ParseError."""
        at = parser.pos
        parts = _Parts()
        self._read(self._before, parser, parts)
        if not self.has_region:
            op = self._made(parser, parts, at)
            return CustomFormat(lambda _: op, has_region=False)

        def finish(regions: tuple[Region, ...]) -> Operation:
            self._read(self._after, parser, parts)
            return self._made(parser, parts, at, regions)

        return CustomFormat(finish, isolated=IsolatedFromAbove in self._op_class.info.traits)

    def _read(self, elements: Iterable[Element], parser: Parser, parts: _Parts) -> None:
        for element in elements:
            if isinstance(element, Literal):
                if element.text.strip():
                    parser.expect(element.text, f"in {self._op_class.name}")
            elif isinstance(element, Group):
                if self._starts(element, parser):
                    self._read(element.elements, parser, parts)
                elif (default := self._default(element.anchor)) is not None:
                    parts.attributes[cast(AttributeField, element.anchor).key] = default
            elif isinstance(element, SharedType):
                shared = [parser.type()]
                parts.types |= {field.name: shared for field in element.fields}
            elif isinstance(element, OneOf):
                parts.attributes[element.field.key] = IntAttr(_read_word(element.words, parser))
            elif isinstance(element, MemberOf):
                parts.attributes[element.field.key] = self._member(element.field, parser)
            elif isinstance(element, NumberOf):
                parts.attributes[element.field.key] = IntAttr(parser.element(element.type), element.type)
            elif isinstance(element, Integers):
                parts.attributes[element.field.key] = DenseArrayAttr(_read_integers(parser), i64)
            elif isinstance(element, TypeOrFunctional):
                self._read_type_or_functional(element, parser, parts)
            elif isinstance(element, IndexList):
                self._read_index_list(element, parser, parts)
            elif isinstance(element, TypeOf):
                if element.implied is None:
                    one = element.field.count == "one"
                    parts.types[element.field.name] = [parser.type()] if one else parser.type_list()
                else:
                    parts.types[element.field.name] = [parser.type() if parser.accept(":") else element.implied]
            elif isinstance(element, FunctionalType):
                signature = parser.function_type()
                rest = list(signature.inputs)
                for field in element.inputs:
                    count = len(parts.operands.get(field.name, ())) if len(element.inputs) > 1 else len(rest)
                    parts.types[field.name], rest = rest[:count], rest[count:]
                parts.types[element.outputs.name] = list(signature.results)
            elif isinstance(element, AttributeDict):
                if parser.peek() == "{":
                    parts.attributes |= dict(parser.dictionary())
            elif isinstance(element, ElementType):
                count = len(parts.operands.get(element.field.name, ()))
                parts.types[element.field.name] = [element_of(t) for t in parts.types[element.of.name]] * count
            elif isinstance(element, Variable):
                self._read_variable(element.field, parser, parts)

    def _read_type_or_functional(self, element: TypeOrFunctional, parser: Parser, parts: _Parts) -> None:
        start = parser.pos
        found = parser.type()
        fields = (*element.inputs, element.output)
        types = (*found.inputs, *found.results) if isinstance(found, FunctionType) else (found,) * len(fields)
        if len(types) != len(fields):
            parser.fail(f"{self._op_class.name} has {len(element.inputs)} operands and a result, not {found}", start)
        parts.types |= {field.name: [type] for field, type in zip(fields, types, strict=True)}

    def _read_index_list(self, element: IndexList, parser: Parser, parts: _Parts) -> None:
        names: list[tuple[str, int]] = []
        numbers: list[int] = []
        parser.expect("[", f"before numbers of {self._op_class.name}")
        while not parser.accept("]"):
            if numbers:
                parser.expect(",", "between numbers")
            if parser.peek() == "%":
                names.append(parser.operand())
                numbers.append(DYNAMIC_INDEX)
            else:
                numbers.append(parser.element(i64))
        parts.operands[element.values.name] = names
        parts.attributes[element.numbers.key] = DenseArrayAttr(numbers)

    def _member(self, field: AttributeField, parser: Parser) -> EnumAttr:
        members = tuple(self._definition.codecs[field.name][0].enumeration or ())
        return EnumAttr(members[_read_word(tuple(m.value for m in members), parser)])

    def _starts(self, group: Group, parser: Parser) -> bool:
        first = group.elements[0]
        if isinstance(first, Literal):
            mark = parser.pos
            found = parser.accept(first.text)
            parser.pos = mark
            return found
        return parser.peek() == "%"

    def _read_variable(self, field: Field, parser: Parser, parts: _Parts) -> None:
        if isinstance(field, ValueField):
            one = field.count == "one"
            if one or parser.peek() == "%":
                parts.operands[field.name] = parser.operands() if not one else [parser.operand()]
        elif isinstance(field, SuccessorField):
            parts.successors[field.name] = parser.successor()
        else:
            assert isinstance(field, AttributeField)
            codec, _ = self._definition.codecs[field.name]
            kind = codec.attribute_class
            if kind is UnitAttr or (kind is not None and issubclass(kind, FlagsAttr)):
                parts.attributes[field.key] = parser.flags(kind) if issubclass(kind, FlagsAttr) else UnitAttr()
                return
            start = parser.pos
            # What follows a string is not a type of it here.
            is_string = self._is_string(field) and parser.peek() == '"'
            found = StrAttr(parser.string()) if is_string else parser.attribute()
            if not codec.accepts(found):
                parser.fail(f"attribute {field.key} is {found}, expected {codec.expected}", start)
            parts.attributes[field.key] = found

    def _made(self, parser: Parser, parts: _Parts, at: int, regions: tuple[Region, ...] = ()) -> Any:
        d = self._definition
        groups: list[list[Any]] = []
        shared = self._shared_type(parts)
        for field in d.operands:
            names = parts.operands.get(field.name, [])
            only = field.only_type or shared
            types = parts.types.get(field.name, [only] * len(names) if only is not None else [])
            if len(types) != len(names):
                parser.fail(f"{self._op_class.name} has {len(names)} operands {field.name} and {len(types)} types", at)
            groups.append(parser.resolve(names, tuple(types)))
        unsaid = [NoneType()] if issubclass(self._op_class, InferTypes) else []
        results: list[Type] = []
        for field in d.results:
            only = field.only_type or shared
            results += parts.types.get(field.name, unsaid if only is None else [only])
        if d.uses_segments:
            parts.attributes[SEGMENTS] = segment_sizes(map(len, groups))
        parts.attributes = {**self._usual, **parts.attributes}
        op = create_unchecked(
            self._op_class,
            [value for group in groups for value in group],
            results,
            DictAttr(parts.attributes),
            regions,
            tuple(parts.successors[f.name] for f in d.successors),
            parser.here(at),
        )
        if unsaid and NoneType() in results:
            try:
                for result, type in zip(op.results, cast(InferTypes, op).infer_types(), strict=True):
                    result._type = type
            except IrError as error:
                discard(op)
                parser.fail(error.message, at)
        return op

    def _shared_type(self, parts: _Parts) -> Type | None:
        if SameOperandsAndResultType not in self._op_class.info.traits:
            return None
        return next((types[0] for types in parts.types.values() if types), None)


def _joined(pieces: list[tuple[str, bool]]) -> str:
    """Texts with a space between them where MLIR puts one."""
    out, before, between = "", "", None
    after_punctuation = True
    for text, literal in pieces:
        if literal and not text.strip():
            between = text
            continue
        if between is None:
            tight = (
                not out
                or (literal and text[0] in _TIGHT_BEFORE)
                or (after_punctuation and before[-1] in _TIGHT_AFTER)
                or (literal and text in ("(", "[") and not after_punctuation)
                or (not literal and text[0] == "<" and before[-1].isalnum())
            )
            between = "" if tight else " "
        out += between + text
        before, between = text, None
        after_punctuation = literal and not text[-1].isalnum()
    return out


def _sayable(element: Element, op: Operation) -> bool:
    if isinstance(element, OneOf):
        found = op.attributes.get(element.field.key)
        return isinstance(found, IntAttr) and found.type is i64 and 0 <= found.value < len(element.words)
    if isinstance(element, IndexList):
        found = op.attributes.get(element.numbers.key)
        return isinstance(found, DenseArrayAttr) and found.type is i64
    if isinstance(element, Integers):
        found = op.attributes.get(element.field.key)
        return isinstance(found, DenseArrayAttr) and found.type is i64
    if isinstance(element, NumberOf):
        found = op.attributes.get(element.field.key)
        return isinstance(found, IntAttr) and found.type is element.type
    if isinstance(element, Group) and isinstance(element.anchor, AttributeField):
        return element.anchor.default in (None, MISSING) or element.anchor.key in op.attributes
    return True


def _read_integers(parser: Parser) -> list[int]:
    """`[0, 1]`."""
    numbers: list[int] = []
    parser.expect("[", "before numbers")
    while not parser.accept("]"):
        if numbers:
            parser.expect(",", "between numbers")
        numbers.append(parser.element(i64))
    return numbers


def _read_word(words: tuple[str, ...], parser: Parser) -> int:
    parser.skip_space()
    start = parser.pos
    word = parser.match(IDENTIFIER)
    if word not in words:
        parser.fail(f"expected one of {', '.join(words)}", start)
    return words.index(word)


def _variables(elements: Iterable[Element]) -> Iterator[Field]:
    for element in elements:
        if isinstance(element, (Variable, OneOf, MemberOf, NumberOf, Integers)):
            yield element.field
        elif isinstance(element, IndexList):
            yield element.numbers
        elif isinstance(element, Group):
            yield from _variables(element.elements)


@cache
def assembly_of(op_class: type[Operation]) -> Assembly | None:
    """The assembly format that an op class declares, or None. Raises TypeError for one that is wrong."""
    source: str | None = getattr(op_class, "assembly_format", None)
    return None if source is None else Assembly(op_class, source)
