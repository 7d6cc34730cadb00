"""What formats written by hand share: operands, attributes and types in the order that StableHLO prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tx8ir.core import Attribute, DenseArrayAttr, DictAttr, FunctionType, Operation, Region, Type, i64
from tx8ir.core.attrs.attributes import EMPTY_DICT
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.text.custom_format import CustomFormat

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser

Name = tuple[str, int]
"""The name of a value, and where it stands."""


def attribute_dictionary(parser: Parser) -> DictAttr:
    """Read `{…}`, if it comes next."""
    return parser.dictionary() if parser.peek() == "{" else EMPTY_DICT


def operands_before(parser: Parser, word: str) -> list[Name]:
    """Read `%a, %b, ` up to a word, which is read too."""
    names: list[Name] = []
    while not parser.accept(word):
        if names:
            parser.expect(",", "between operands")
            if parser.accept(word):
                break
        names.append(parser.operand())
    return names


def operands_in_parentheses(parser: Parser) -> list[Name]:
    """Read `(%a, %b)`."""
    parser.expect("(", "before operands")
    if parser.accept(")"):
        return []
    names = parser.operands()
    parser.expect(")", "after operands")
    return names


def integers(parser: Parser) -> list[int]:
    """Read `[0, 1]`."""
    numbers: list[int] = []
    parser.expect("[", "before numbers")
    while not parser.accept("]"):
        if numbers:
            parser.expect(",", "between numbers")
        numbers.append(parser.element(i64))
    return numbers


def integer_array(parser: Parser) -> Attribute:
    """Read `[0, 1]` as an `array<i64>`."""
    return DenseArrayAttr(integers(parser), i64)


def balanced(parser: Parser) -> str:
    """Read brackets and what is in them, as it is written."""
    parser.skip_space()
    start, opened = parser.pos, 0
    while True:
        char = parser.peek()
        if not char:
            parser.fail("a bracket is not closed", start)
        if char == '"':
            parser.string()
            continue
        parser.skip_space()
        arrow = parser.text.startswith("->", parser.pos)
        parser.pos += 2 if arrow else 1
        opened += (char in "([{<") - (char in ")]}>" and not arrow)
        if opened <= 0:
            return parser.text[start : parser.pos]


def functional(
    cls: type[Operation], parser: Parser, names: Sequence[Name], attributes: Mapping[str, Attribute], at: int
) -> CustomFormat:
    """The rest of an operation without regions: `attr-dict : (T, …) -> U`."""
    found = {**attribute_dictionary(parser), **attributes}
    parser.expect(":", f"before the types of {cls.name}")
    signature = parser.function_type()
    return made(cls, parser, names, found, signature, at)


def made(
    cls: type[Operation],
    parser: Parser,
    names: Sequence[Name],
    attributes: Mapping[str, Attribute],
    signature: FunctionType,
    at: int,
) -> CustomFormat:
    """An operation without regions."""
    values = parser.resolve(list(names), signature.inputs)
    op = create_unchecked(cls, values, signature.results, DictAttr(attributes), (), (), parser.here(at))
    return CustomFormat(lambda _: op, has_region=False)


def with_regions(
    cls: type[Operation],
    parser: Parser,
    names: Sequence[Name],
    attributes: Mapping[str, Attribute],
    signature: FunctionType,
    regions: tuple[Region, ...],
    at: int,
) -> Operation:
    """An operation with regions, once these are read."""
    values = parser.resolve(list(names), signature.inputs)
    return create_unchecked(cls, values, signature.results, DictAttr(attributes), regions, (), parser.here(at))


def equal_types(parser: Parser, names: Sequence[Name]) -> FunctionType:
    """Read the types of operands, which the results have too: `: T, U`."""
    types: list[Type] = []
    if names:
        parser.expect(":", "before types")
        types = parser.type_list()
    return FunctionType(types, types)
