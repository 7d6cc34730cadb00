"""`stablehlo`: operations on each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tx8ir.core import Attribute, FunctionType, IntAttr, Op, Operand, Result, attribute, operand, result
from tx8ir.core.attrs.builtin_types import ComplexType, element_of, static_shape, tensor_type
from tx8ir.core.attrs.lexer import IDENTIFIER
from tx8ir.core.attrs.structured import EnumAttr
from tx8ir.core.text.custom_format import CustomFormat

from .enums import ComparisonDirection, ComparisonType
from .families import family
from .reading import attribute_dictionary, functional, made

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser


class UnaryOp(Op):
    """A function of each element."""

    x: Operand = operand()
    out: Result = result()

    assembly_format = "$x attr-dict `:` type-or-functional($x, $out)"


class BinaryOp(Op):
    """A function of each element of one, and that of the other."""

    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()

    assembly_format = "$x `,` $y attr-dict `:` type-or-functional($x, $y, $out)"


class ClampOp(Op, name="stablehlo.clamp"):
    """Elements between a least and a largest one."""

    least: Operand = operand()
    x: Operand = operand()
    largest: Operand = operand()
    out: Result = result()

    assembly_format = "$least `,` $x `,` $largest attr-dict `:` type-or-functional($least, $x, $largest, $out)"


class RebuiltOp(Op):
    """The same bits in another format, or elements in another shape."""

    x: Operand = operand()
    out: Result = result()

    assembly_format = "$x attr-dict `:` functional-type($x, $out)"


class ReducePrecisionOp(Op, name="stablehlo.reduce_precision"):
    """Each element rounded to so many bits of exponent and mantissa: `format = e5m10`."""

    x: Operand = operand()
    exponent_bits: int = attribute()
    mantissa_bits: int = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        name = parser.operand()
        parser.expect(",")
        parser.expect("format")
        parser.expect("=")
        start = parser.pos
        word = parser.require(IDENTIFIER, "a format like e5m10")
        exponent, _, mantissa = word.removeprefix("e").partition("m")
        if not (word.startswith("e") and exponent.isdecimal() and mantissa.isdecimal() and len(word) < 12):
            parser.fail("expected a format like e5m10", start)
        numbers = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        entries: dict[str, Attribute] = {key: IntAttr(int(text)) for key, text in numbers.items()}
        entries = {**attribute_dictionary(parser), **entries}
        parser.expect(":")
        type = parser.type()
        signature = type if isinstance(type, FunctionType) else FunctionType((type,), (type,))
        return made(cls, parser, [name], entries, signature, at)


class CompareOp(Op, name="stablehlo.compare"):
    """Whether elements are equal, less, …: `LT, %a, %b, SIGNED`."""

    x: Operand = operand()
    y: Operand = operand()
    comparison_direction: ComparisonDirection = attribute()
    compare_type: ComparisonType = attribute(default=ComparisonType.NOTYPE)
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        parser.skip_space()
        start = parser.pos
        direction = parser.require(IDENTIFIER, "a direction like LT")
        if direction not in ComparisonDirection.__members__:
            parser.fail(f"expected one of {', '.join(ComparisonDirection.__members__)}", start)
        parser.expect(",")
        names = [parser.operand()]
        parser.expect(",")
        names.append(parser.operand())
        kind = "NOTYPE"
        if parser.accept(","):
            start = parser.pos
            kind = parser.require(IDENTIFIER, "what is compared, like FLOAT")
            if kind not in ComparisonType.__members__:
                parser.fail(f"expected one of {', '.join(ComparisonType.__members__)}", start)
        entries: dict[str, Attribute] = {
            "comparison_direction": EnumAttr(ComparisonDirection[direction]),
            "compare_type": EnumAttr(ComparisonType[kind]),
        }
        return functional(cls, parser, names, entries, at)


class SelectOp(Op, name="stablehlo.select"):
    """Elements of one where a truth value holds, of the other elsewhere: `: tensor<i1>, tensor<f32>`."""

    condition: Operand = operand()
    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = parser.operands()
        entries = attribute_dictionary(parser)
        parser.expect(":")
        first = parser.type()
        if isinstance(first, FunctionType):
            return made(cls, parser, names, entries, first, at)
        parser.expect(",")
        second = parser.type()
        return made(cls, parser, names, entries, FunctionType((first, second, second), (second,)), at)


class ComplexOp(Op, name="stablehlo.complex"):
    """Complex numbers of two parts; their type says that of the parts."""

    real: Operand = operand()
    imaginary: Operand = operand()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = parser.operands()
        entries = attribute_dictionary(parser)
        parser.expect(":")
        start = parser.pos
        whole = parser.type()
        element = element_of(whole)
        if not isinstance(element, ComplexType):
            parser.fail(f"expected a tensor of complex numbers, not {whole}", start)
        part = tensor_type(static_shape(whole) or (), element.element)
        return made(cls, parser, names, entries, FunctionType((part, part), (whole,)), at)


class IotaOp(Op, name="stablehlo.iota"):
    """The place of each element on one axis."""

    iota_dimension: int = attribute()
    out: Result = result()

    assembly_format = "`dim` `=` number($iota_dimension, i64) attr-dict `:` type($out)"


class ConstantOp(Op, name="stablehlo.constant"):
    """Numbers: `dense<0> : tensor<i32>`."""

    value: Attribute = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        entries = attribute_dictionary(parser)
        parser.skip_space()
        start = parser.pos
        value = parser.attribute()
        type = getattr(value, "type", None)
        if type is None:
            parser.fail("expected elements with their type, like dense<0> : tensor<i32>", start)
        return made(cls, parser, [], {**entries, "value": value}, FunctionType((), (type,)), at)


UNARY: Final = (
    "abs", "cbrt", "ceil", "cosine", "count_leading_zeros", "exponential", "exponential_minus_one", "floor", "imag",
    "is_finite", "log", "log_plus_one", "logistic", "negate", "not", "popcnt", "real", "round_nearest_afz",
    "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
)  # fmt: skip
BINARY: Final = (
    "add", "and", "atan2", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract", "xor",
)  # fmt: skip

OPS: Final[list[type[Op]]] = [
    *family(UnaryOp, "stablehlo", (*UNARY, "convert", "uniform_dequantize", "uniform_quantize")),
    *family(BinaryOp, "stablehlo", BINARY),
    *family(RebuiltOp, "stablehlo", ("bitcast_convert", "reshape")),
    ClampOp,
    CompareOp,
    ComplexOp,
    ConstantOp,
    IotaOp,
    ReducePrecisionOp,
    SelectOp,
]
