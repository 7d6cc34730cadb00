"""`stablehlo`: operations that move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core import (
    Attribute,
    DenseArrayAttr,
    IntAttr,
    Op,
    Operand,
    Result,
    VariadicOperand,
    attribute,
    i64,
    operand,
    result,
    variadic_operand,
)
from tx8ir.core.text.custom_format import CustomFormat

from .reading import functional, integer_array, operands_before

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser


class BroadcastInDimOp(Op, name="stablehlo.broadcast_in_dim"):
    """Repeats elements along new axes, and along those of extent 1."""

    x: Operand = operand()
    broadcast_dimensions: Attribute = attribute()
    out: Result = result()

    assembly_format = "$x `,` `dims` `=` integers($broadcast_dimensions) attr-dict `:` functional-type($x, $out)"


class DynamicBroadcastInDimOp(Op, name="stablehlo.dynamic_broadcast_in_dim"):
    """The same, to extents that are computed."""

    x: Operand = operand()
    output_dimensions: Operand = operand()
    broadcast_dimensions: Attribute = attribute()
    out: Result = result()

    assembly_format = (
        "$x `,` $output_dimensions `,` `dims` `=` integers($broadcast_dimensions) attr-dict `:` "
        "functional-type($x, $output_dimensions, $out)"
    )


class DynamicReshapeOp(Op, name="stablehlo.dynamic_reshape"):
    """The elements in another shape, which is computed."""

    x: Operand = operand()
    output_shape: Operand = operand()
    out: Result = result()

    assembly_format = "$x `,` $output_shape attr-dict `:` functional-type($x, $output_shape, $out)"


class DynamicIotaOp(Op, name="stablehlo.dynamic_iota"):
    """The place of each element on one axis, in a shape that is computed."""

    output_shape: Operand = operand()
    iota_dimension: int = attribute()
    out: Result = result()

    assembly_format = (
        "$output_shape `,` `dim` `=` number($iota_dimension, i64) attr-dict `:` functional-type($output_shape, $out)"
    )


class GetDimensionSizeOp(Op, name="stablehlo.get_dimension_size"):
    """The extent of an axis."""

    x: Operand = operand()
    dimension: int = attribute()
    out: Result = result()

    assembly_format = "$x `,` `dim` `=` number($dimension, i64) attr-dict `:` functional-type($x, $out)"


class TransposeOp(Op, name="stablehlo.transpose"):
    """The axes in another order."""

    x: Operand = operand()
    permutation: Attribute = attribute()
    out: Result = result()

    assembly_format = "$x `,` `dims` `=` integers($permutation) attr-dict `:` functional-type($x, $out)"


class ReverseOp(Op, name="stablehlo.reverse"):
    """Some axes backwards."""

    x: Operand = operand()
    dimensions: Attribute = attribute()
    out: Result = result()

    assembly_format = "$x `,` `dims` `=` integers($dimensions) attr-dict `:` type-or-functional($x, $out)"


class PadOp(Op, name="stablehlo.pad"):
    """Elements in a frame of another, and with others between them."""

    x: Operand = operand()
    padding_value: Operand = operand()
    edge_padding_low: Attribute = attribute()
    edge_padding_high: Attribute = attribute()
    interior_padding: Attribute = attribute()
    out: Result = result()

    assembly_format = (
        "$x `,` $padding_value `,` `low` `=` integers($edge_padding_low) `,` `high` `=` integers($edge_padding_high) "
        "`,` `interior` `=` integers($interior_padding) attr-dict `:` functional-type($x, $padding_value, $out)"
    )


class SliceOp(Op, name="stablehlo.slice"):
    """Each so many elements from a start to a limit: `%x [0:4:2, 1:3]`."""

    x: Operand = operand()
    start_indices: Attribute = attribute()
    limit_indices: Attribute = attribute()
    strides: Attribute = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        name = parser.operand()
        starts: list[int] = []
        limits: list[int] = []
        strides: list[int] = []
        parser.expect("[", "before what is taken of each axis")
        while not parser.accept("]"):
            if starts:
                parser.expect(",", "between axes")
            starts.append(parser.element(i64))
            parser.expect(":", "after a start")
            limits.append(parser.element(i64))
            strides.append(parser.element(i64) if parser.accept(":") else 1)
        entries = {"start_indices": starts, "limit_indices": limits, "strides": strides}
        return functional(cls, parser, [name], {k: DenseArrayAttr(v, i64) for k, v in entries.items()}, at)


class DynamicSliceOp(Op, name="stablehlo.dynamic_slice"):
    """So many elements of each axis from a start that is computed: `%x, %i, %j, sizes = [1, 2]`."""

    x: Operand = operand()
    start_indices: VariadicOperand = variadic_operand()
    slice_sizes: Attribute = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = operands_before(parser, "sizes")
        parser.expect("=")
        return functional(cls, parser, names, {"slice_sizes": integer_array(parser)}, at)


class DynamicUpdateSliceOp(Op, name="stablehlo.dynamic_update_slice"):
    """Elements with others in place of some, from a start that is computed."""

    x: Operand = operand()
    update: Operand = operand()
    start_indices: VariadicOperand = variadic_operand()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        return functional(cls, parser, parser.operands(), {}, at)


class ConcatenateOp(Op, name="stablehlo.concatenate"):
    """Tensors one after the other along an axis: `%a, %b, dim = 0`."""

    inputs: VariadicOperand = variadic_operand()
    dimension: int = attribute()
    out: Result = result()

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        at = parser.pos
        names = operands_before(parser, "dim")
        parser.expect("=")
        return functional(cls, parser, names, {"dimension": IntAttr(parser.element(i64))}, at)
