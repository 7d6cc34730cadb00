"""`sdy`: over how many devices a program runs, and which part each computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core import (
    FunctionType,
    Op,
    OpaqueAttr,
    Operand,
    Operation,
    Region,
    Result,
    StrAttr,
    Terminator,
    Type,
    VariadicOperand,
    VariadicResult,
    attribute,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.location import Location
from tx8ir.core.text.custom_format import CustomFormat

from .reading import attribute_dictionary, balanced, made, operands_in_parentheses, with_regions

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser


class MeshOp(Op, name="sdy.mesh"):
    """A mesh of devices: `@mesh = <["x"=4]>`."""

    sym_name: str = attribute()
    mesh: OpaqueAttr = attribute()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        name = StrAttr(parser.symbol())
        parser.expect("=")
        entries = {"sym_name": name, "mesh": OpaqueAttr(f"#sdy.mesh{balanced(parser)}")}
        entries = {**attribute_dictionary(parser), **entries}
        return made(cls, parser, [], entries, FunctionType((), ()), at)


class ShardingConstraintOp(Op, name="sdy.sharding_constraint"):
    """The operand; where its parts are."""

    x: Operand = operand()
    sharding: OpaqueAttr = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = [parser.operand()]
        entries = {"sharding": OpaqueAttr(f"#sdy.sharding{balanced(parser)}")}
        entries = {**attribute_dictionary(parser), **entries}
        parser.expect(":")
        type = parser.type()
        return made(cls, parser, names, entries, FunctionType((type,), (type,)), at)


class ManualComputationOp(Op, name="sdy.manual_computation"):
    """What each device computes of its parts.

    `(%a) in_shardings=[…] out_shardings=[…] manual_axes={"x"} (%p: T) { … } : (U) -> V`
    """

    inputs: VariadicOperand = variadic_operand()
    in_shardings: OpaqueAttr = attribute()
    out_shardings: OpaqueAttr = attribute()
    manual_axes: OpaqueAttr = attribute()
    body: Region = region()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = operands_in_parentheses(parser)
        entries = dict[str, OpaqueAttr]()
        for key in ("in_shardings", "out_shardings", "manual_axes"):
            parser.expect(key)
            parser.expect("=")
            entries[key] = OpaqueAttr(f"#sdy.{key}<{balanced(parser)}>")
        arguments = list[tuple[str, int, Type, Location]]()
        parser.expect("(", "before the arguments of a computation")
        while not parser.accept(")"):
            if arguments:
                parser.expect(",", "between arguments")
            arguments.append(parser.argument())

        def finish(regions: tuple[Region, ...]) -> Operation:
            found = {**attribute_dictionary(parser), **entries}
            parser.expect(":", "after a computation")
            return with_regions(cls, parser, names, found, parser.function_type(), regions, at)

        return CustomFormat(finish, arguments, isolated=False)


class ReturnOp(Op, name="sdy.return", traits=(Terminator,)):
    """Ends a computation and gives its results."""

    values: VariadicOperand = variadic_operand()

    assembly_format = "attr-dict ($values^ `:` type($values))?"
