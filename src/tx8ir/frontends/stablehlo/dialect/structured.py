"""`stablehlo`: products, convolutions and reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DictAttr,
    FunctionType,
    Op,
    OpaqueAttr,
    Operand,
    Operation,
    Region,
    Result,
    StrAttr,
    Type,
    VariadicOperand,
    VariadicResult,
    attribute,
    i1,
    i64,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.attrs.builtin_types import element_of, tensor_type
from tx8ir.core.attrs.lexer import IDENTIFIER, KEY
from tx8ir.core.ir.block import Block
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.location import UNKNOWN, Location
from tx8ir.core.text.custom_format import CustomFormat

from .enums import FftType, RngAlgorithm
from .reading import (
    Name,
    attribute_dictionary,
    balanced,
    functional,
    integer_array,
    integers,
    operands_in_parentheses,
    with_regions,
)
from .structures import ReturnOp

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser


def _precision(parser: Parser) -> Attribute:
    parser.expect("[", "before precisions")
    words: list[Attribute] = []
    while not parser.accept("]"):
        if words:
            parser.expect(",", "between precisions")
        words.append(StrAttr(parser.require(IDENTIFIER, "a precision")))
    return ArrayAttr(words)


class DotGeneralOp(Op, name="stablehlo.dot_general"):
    """Products summed over some axes, with some axes that both have.

    `%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]`
    """

    x: Operand = operand()
    y: Operand = operand()
    dot_dimension_numbers: Attribute = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = [parser.operand()]
        parser.expect(",")
        names.append(parser.operand())
        axes: dict[str, tuple[list[int], list[int]]] = {}
        entries: dict[str, Attribute] = {}
        while parser.accept(","):
            parser.skip_space()
            start = parser.pos
            word = parser.require(IDENTIFIER, "batching_dims, contracting_dims, precision or algorithm")
            parser.expect("=")
            if word in ("batching_dims", "contracting_dims"):
                left = integers(parser)
                parser.expect("x", "between the axes of both")
                axes[word] = left, integers(parser)
            elif word == "precision":
                entries["precision_config"] = _precision(parser)
            elif word == "algorithm":
                entries["algorithm"] = OpaqueAttr(f"#stablehlo.dot_algorithm{balanced(parser)}")
            else:
                parser.fail(f"expected batching_dims, contracting_dims, precision or algorithm, found {word!r}", start)
        batch, inner = (axes.get(word, ([], [])) for word in ("batching_dims", "contracting_dims"))
        entries["dot_dimension_numbers"] = OpaqueAttr(
            f"#stablehlo.dot<lhs_batching_dimensions = {batch[0]}, rhs_batching_dimensions = {batch[1]}, "
            f"lhs_contracting_dimensions = {inner[0]}, rhs_contracting_dimensions = {inner[1]}>"
        )
        return functional(cls, parser, names, entries, at)


class DotOp(Op, name="stablehlo.dot"):
    """A product of vectors and matrices."""

    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = [parser.operand()]
        parser.expect(",")
        names.append(parser.operand())
        entries: dict[str, Attribute] = {}
        if parser.accept(","):
            parser.expect("precision")
            parser.expect("=")
            entries["precision_config"] = _precision(parser)
        return functional(cls, parser, names, entries, at)


class ConvolutionOp(Op, name="stablehlo.convolution"):
    """Windows of an image times a filter.

    `(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]}`
    """

    x: Operand = operand()
    filter: Operand = operand()
    dimension_numbers: Attribute = attribute()
    window_strides: Attribute | None = attribute(default=None)
    padding: Attribute | None = attribute(default=None)
    lhs_dilation: Attribute | None = attribute(default=None)
    rhs_dilation: Attribute | None = attribute(default=None)
    window_reversal: Attribute | None = attribute(default=None)
    feature_group_count: int = attribute()
    batch_group_count: int = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = operands_in_parentheses(parser)
        parser.expect("dim_numbers")
        parser.expect("=")
        left = balanced(parser)
        parser.expect("x", "between the axes of image and filter")
        right = balanced(parser)
        parser.expect("->", "before the axes of the result")
        entries: dict[str, Attribute] = {
            "dimension_numbers": OpaqueAttr(f"#stablehlo.conv<{left}x{right}->{balanced(parser)}>")
        }
        parser.expect(",")
        parser.expect("window")
        parser.expect("=")
        parser.expect("{")
        while not parser.accept("}"):
            parser.accept(",")
            parser.skip_space()
            start = parser.pos
            word = parser.require(KEY, "stride, pad, lhs_dilate, rhs_dilate or reverse")
            parser.expect("=")
            if word == "pad":
                entries["padding"] = _pairs(parser)
            elif word == "reverse":
                entries["window_reversal"] = _truths(parser)
            elif word in _WINDOW:
                entries[_WINDOW[word]] = integer_array(parser)
            else:
                parser.fail(f"expected stride, pad, lhs_dilate, rhs_dilate or reverse, found {word!r}", start)
        return functional(cls, parser, names, entries, at)


_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def _pairs(parser: Parser) -> Attribute:
    """`[[0, 1], [0, 1]]`, one after the other."""
    numbers: list[int] = []
    parser.expect("[", "before paddings")
    while not parser.accept("]"):
        if numbers:
            parser.expect(",", "between paddings")
        numbers += integers(parser)
    return DenseArrayAttr(numbers, i64)


def _truths(parser: Parser) -> Attribute:
    values: list[Attribute] = []
    parser.expect("[", "before truth values")
    while not parser.accept("]"):
        if values:
            parser.expect(",", "between truth values")
        # They are written as numbers, too.
        values.append(BoolAttr(bool(parser.element(i1 if parser.peek() in "tf" else i64))))
    return ArrayAttr(values)


class FftOp(Op, name="stablehlo.fft"):
    """A Fourier transform."""

    x: Operand = operand()
    fft_type: FftType = attribute()
    fft_length: Attribute = attribute()
    out: Result = result()

    assembly_format = (
        "$x `,` `type` `=` member($fft_type) `,` `length` `=` integers($fft_length) attr-dict `:` "
        "functional-type($x, $out)"
    )


class RngBitGeneratorOp(Op, name="stablehlo.rng_bit_generator"):
    """Bits drawn from a state, and the next state."""

    initial_state: Operand = operand()
    rng_algorithm: RngAlgorithm = attribute()
    outputs: VariadicResult = variadic_result()

    assembly_format = (
        "$initial_state `,` `algorithm` `=` member($rng_algorithm) attr-dict `:` "
        "functional-type($initial_state, $outputs)"
    )


class CholeskyOp(Op, name="stablehlo.cholesky"):
    """The triangular matrix whose product with its transpose is the given one: `%a, lower = true`."""

    a: Operand = operand()
    lower: bool = attribute(default=False)
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = [parser.operand()]
        lower = False
        if parser.accept(","):
            parser.expect("lower")
            parser.expect("=")
            lower = bool(parser.element(i1))
        entries = {**attribute_dictionary(parser), "lower": BoolAttr(lower)}
        parser.expect(":")
        type = parser.type()
        values = parser.resolve(names, (type,))
        op = create_unchecked(cls, values, (type,), DictAttr(entries), (), (), parser.here(at))
        return CustomFormat(lambda _: op, has_region=False)


class ReduceOp(Op, name="stablehlo.reduce"):
    """Elements along some axes combined into one.

    `(%x init: %zero) applies stablehlo.add across dimensions = [1] : (…) -> T`, or with a body:
    `(%x init: %a), (%y init: %b) across dimensions = [0] : (…) -> (…) reducer(%p: T, %q: T) (%r: U, %s: U) { … }`
    """

    inputs: VariadicOperand = variadic_operand(doc="the tensors, and after them a first value for each")
    dimensions: Attribute = attribute()
    body: Region = region()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        inputs: list[Name] = []
        firsts: list[Name] = []
        while parser.accept("("):
            inputs.append(parser.operand())
            parser.expect("init")
            parser.expect(":")
            firsts.append(parser.operand())
            parser.expect(")", "after a first value")
            parser.accept(",")
        applied = None
        if parser.accept("applies"):
            parser.skip_space()
            start = parser.pos
            applied = parser.context.op_class(parser.require(KEY, "an operation like stablehlo.add"))
            if applied is None:
                parser.fail("expected an operation like stablehlo.add", start)
        parser.expect("across")
        parser.expect("dimensions")
        parser.expect("=")
        entries: dict[str, Attribute] = {"dimensions": integer_array(parser)}
        entries = {**attribute_dictionary(parser), **entries}
        parser.expect(":")
        signature = parser.function_type()
        names = [*inputs, *firsts]
        if applied is not None:
            body = Region([_applying(applied, signature, parser.here(at))])
            op = with_regions(cls, parser, names, entries, signature, (body,), at)
            return CustomFormat(lambda _: op, has_region=False)
        parser.expect("reducer")
        pairs: list[list[tuple[str, int, Type]]] = []
        while parser.accept("("):
            pairs.append([])
            while not parser.accept(")"):
                if pairs[-1]:
                    parser.expect(",", "between arguments")
                name, place, type, _ = parser.argument()
                pairs[-1].append((name, place, type))
        if any(len(pair) != 2 for pair in pairs):
            parser.fail("a reducer has two arguments for each tensor")
        arguments = [(*pair[side], UNKNOWN) for side in (0, 1) for pair in pairs]

        def finish(regions: tuple[Region, ...]) -> Operation:
            return with_regions(cls, parser, names, entries, signature, regions, at)

        return CustomFormat(finish, arguments, isolated=False)


def _applying(cls: type[Operation], signature: FunctionType, location: Location) -> Block:
    """A body of one operation."""
    scalar = tensor_type((), element_of(signature.inputs[0]))
    block = Block((scalar, scalar))
    op = block.append(create_unchecked(cls, tuple(block.args), (scalar,), DictAttr({}), (), (), location))
    block.append(create_unchecked(ReturnOp, (op.results[0],), (), DictAttr({}), (), (), location))
    return block
