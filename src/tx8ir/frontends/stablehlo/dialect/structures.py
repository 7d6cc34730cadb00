"""`stablehlo`: control flow, calls of what is defined elsewhere, and operations that are printed in generic form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tx8ir.core import (
    Attribute,
    FunctionType,
    IntAttr,
    Op,
    Operand,
    Operation,
    Region,
    Result,
    StrAttr,
    Terminator,
    TupleType,
    VariadicOperand,
    VariadicResult,
    attribute,
    i32,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.location import UNKNOWN
from tx8ir.core.opdef.fields import variadic_region
from tx8ir.core.text.custom_format import CustomFormat

from .families import family
from .reading import attribute_dictionary, equal_types, functional, made, operands_in_parentheses, with_regions

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser


class ReturnOp(Op, name="stablehlo.return", traits=(Terminator,)):
    """Ends a region and gives its results."""

    values: VariadicOperand = variadic_operand()

    assembly_format = "attr-dict ($values^ `:` type($values))?"


class WhileOp(Op, name="stablehlo.while"):
    """Runs a body as long as a condition holds: `(%i = %a, %x = %b) : T, U cond { … } do { … }`."""

    inputs: VariadicOperand = variadic_operand()
    condition: Region = region()
    body: Region = region()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        pairs = parser.assignments()
        names = [value for _, value in pairs]
        signature = equal_types(parser, names)
        if len(signature.inputs) != len(names):
            parser.fail(f"stablehlo.while has {len(names)} arguments and {len(signature.inputs)} types of them", at)
        entries = parser.dictionary() if parser.accept("attributes") else attribute_dictionary(parser)
        parser.expect("cond", "before the condition of stablehlo.while")
        typed = zip(pairs, signature.inputs, strict=True)
        arguments = [(name, place, type, UNKNOWN) for ((name, place), _), type in typed]

        def finish(regions: tuple[Region, ...]) -> Operation:
            return with_regions(cls, parser, names, entries, signature, regions, at)

        return CustomFormat(finish, arguments, isolated=False, following=("do",), repeated=True)


class CustomCallOp(Op, name="stablehlo.custom_call"):
    """Something that has a name elsewhere: `@name(%a, %b) {…} : (T, U) -> V`."""

    inputs: VariadicOperand = variadic_operand()
    call_target_name: str = attribute()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        name = StrAttr(parser.symbol())
        return functional(cls, parser, operands_in_parentheses(parser), {"call_target_name": name}, at)


class CompositeOp(Op, name="stablehlo.composite"):
    """Something that has a name elsewhere, and a function that says what it computes: `"name" %a {…} : (T) -> U`."""

    inputs: VariadicOperand = variadic_operand()
    name_: str = attribute(name="name")
    decomposition: Attribute = attribute()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        entries = {"name": StrAttr(parser.string())}
        names = parser.operands() if parser.peek() == "%" else []
        return functional(cls, parser, names, entries, at)


class OptimizationBarrierOp(Op, name="stablehlo.optimization_barrier"):
    """The operands."""

    inputs: VariadicOperand = variadic_operand()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = parser.operands() if parser.peek() == "%" else []
        entries = attribute_dictionary(parser)
        return made(cls, parser, names, entries, equal_types(parser, names), at)


class TupleOp(Op, name="stablehlo.tuple"):
    """Values as one."""

    inputs: VariadicOperand = variadic_operand()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = parser.operands() if parser.peek() == "%" else []
        entries = attribute_dictionary(parser)
        parser.expect(":")
        type = parser.type()
        inputs = type.elements if isinstance(type, TupleType) else ()
        return made(cls, parser, names, entries, FunctionType(inputs, (type,)), at)


class GetTupleElementOp(Op, name="stablehlo.get_tuple_element"):
    """One value of several: `%t[0]`."""

    x: Operand = operand()
    index: int = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = [parser.operand()]
        parser.expect("[")
        index = IntAttr(parser.element(i32), i32)
        parser.expect("]")
        return functional(cls, parser, names, {"index": index}, at)


class IdOp(Op):
    """Who computes, of those that compute the same together."""

    out: Result = result()

    assembly_format = "attr-dict `:` type($out)"


class GenericOp(Op):
    """Printed in generic form."""

    inputs: VariadicOperand = variadic_operand()
    bodies: tuple[Region, ...] = variadic_region()
    outputs: VariadicResult = variadic_result()


GENERIC: Final[list[type[Op]]] = [
    *family(
        GenericOp,
        "stablehlo",
        (
            "all_gather", "all_reduce", "all_to_all", "batch_norm_grad", "batch_norm_inference", "batch_norm_training",
            "case", "collective_broadcast", "collective_permute", "dynamic_conv", "dynamic_gather", "dynamic_pad",
            "gather", "if", "map", "real_dynamic_slice", "recv", "reduce_scatter", "reduce_window", "rng", "scatter",
            "select_and_scatter", "send", "sort", "triangular_solve",
        ),
    ),
    *family(IdOp, "stablehlo", ("partition_id", "replica_id")),
]  # fmt: skip
