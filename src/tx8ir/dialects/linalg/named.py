"""Structured operations whose maps, iterators and region their name says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    Block,
    Builder,
    DenseArrayAttr,
    DictAttr,
    InferTypes,
    Operand,
    Operation,
    Region,
    Type,
    Value,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    attribute,
    detached,
    i64,
    operand,
    region,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.attrs.affine import Expression, combine, dim
from tx8ir.core.attrs.builtin_types import element_of, integer_format, is_float
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.location import UNKNOWN, Location, at_location
from tx8ir.core.opdef.definition import SEGMENTS, segment_sizes
from tx8ir.core.text.custom_format import CustomFormat
from tx8ir.dialects import arith
from tx8ir.dialects.tensor.declaration import is_ranked

from .structured import (
    IteratorType,
    StructuredOp,
    YieldOp,
    parse_group,
    parse_results,
    print_group,
    print_results,
)

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer

PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION


def grid_map(rank: int, *expressions: Expression | int) -> AffineMapAttr:
    """A map from a grid of that rank; a number stands for the dimension."""
    return AffineMapAttr(rank, 0, [dim(e) if isinstance(e, int) else e for e in expressions])


def rank_of(value: Value) -> int:
    """How many dimensions a tensor has; 0 for a number."""
    shape: Any = getattr(value.type, "shape", ())
    return len(shape)


class ImpliedOp(StructuredOp, InferTypes):
    """Base of operations that hold the region that their name means."""

    hides_regions = True

    @abstractmethod
    def payload(self, elements: Sequence[Value]) -> Value:
        """What the region yields, from an element of each operand; operations at the active `Builder`."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def implied_block(self, location: Location) -> Block:
        """A block as the region of the operation is meant to have."""
        block = Block([element_of(v.type) for v in self.operands])
        with at_location(location), Builder.at_end(block):
            YieldOp([self.payload(block.args)])
        return block

    def initialize(self) -> None:
        body = self.regions[0]
        if len(body) == 1 and not body.block.args and body.block.first_op is None:
            made = self.implied_block(self.location)
            body.block.erase()
            body.append(made)

    def infer_types(self) -> tuple[Type, ...]:
        return tuple(v.type for v in self.output_values)

    def fits_short_form(self) -> bool:
        """Whether the region is the one that reading the short form makes."""
        if len(self.regions) != 1 or len(self.regions[0]) != 1:
            return False
        try:
            implied = self.implied_block(UNKNOWN)
        except Exception:
            return False
        return _wiring(self.regions[0].block) == _wiring(implied)


def _wiring(block: Block) -> list[Any]:
    """What a block does, the same for blocks that do the same in the same order."""
    names: dict[Value, Any] = {argument: argument.index for argument in block.args}
    found: list[Any] = [[a.type for a in block.args]]
    for number, op in enumerate(block):
        names |= {result: (number, result.index) for result in op.results}
        used = [names.get(value, value) for value in op.operands]
        found.append((op.name, op.attributes, used, [r.type for r in op.results], len(op.regions)))
    return found


def extended(value: Value, type: Type) -> Value:
    """An element as one of the wider type that is computed in; integers are signed."""
    source = value.type
    if source is type:
        return value
    if is_float(source) and is_float(type):
        return arith.ExtFOp(value, out=type).out
    if not is_float(source) and not is_float(type):
        wider = integer_format(source)[0] < integer_format(type)[0]
        return (arith.ExtSIOp if wider else arith.TruncIOp)(value, out=type).out
    return arith.SIToFPOp(value, out=type).out if is_float(type) else arith.FPToSIOp(value, out=type).out


def accumulated(x: Value, y: Value, total: Value) -> Value:
    """The sum of `total` and x * y, as an element of the type of `total`."""
    type = total.type
    x, y = extended(x, type), extended(y, type)
    if is_float(type):
        return arith.AddFOp(total, arith.MulFOp(x, y)).out
    return arith.AddIOp(total, arith.MulIOp(x, y)).out


class NamedOp(ImpliedOp):
    """Base of named operations with any number of inputs, and one output."""

    inputs: VariadicOperand = variadic_operand()
    outputs: VariadicOperand = variadic_operand(is_ranked)
    body: Region = region(doc="what the name means")
    outs: VariadicResult = variadic_result()

    num_inputs = 2

    @property
    def output_values(self) -> Sequence[Value]:
        return self.outputs

    def verify_op(self) -> None:
        if len(self.inputs) != self.num_inputs or len(self.outputs) != 1:
            raise VerifyError(f"{self.name} takes {self.num_inputs} inputs and one output", self)
        super().verify_op()

    def defaults(self) -> dict[str, Attribute]:
        """Attributes that the short form leaves out where they are like this."""
        return {}

    def print_short(self, printer: Printer) -> None:
        usual = self.defaults()
        left_out = [key for key, value in usual.items() if self.attributes.get(key) is value]
        printer.write(f"{self.name}{printer.attributes(self.attributes, (SEGMENTS, *left_out))}")
        print_group(printer, "ins", self.inputs)
        print_group(printer, "outs", self.outputs)
        print_results(printer, self.results)

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        at = parser.pos
        entries = dict(parser.dictionary()) if parser.peek() == "{" else {}
        inputs, outputs = parse_group(parser, "ins"), parse_group(parser, "outs")
        if parser.accept("attrs"):
            parser.expect("=", "after 'attrs'")
            entries |= dict(parser.dictionary())
        types = parse_results(parser)
        entries[SEGMENTS] = segment_sizes((len(inputs), len(outputs)))
        if len(inputs) != cls.num_inputs or len(outputs) != 1:
            parser.fail(f"{cls.name} takes {cls.num_inputs} inputs and one output", at)
        op = with_body(cls, [*inputs, *outputs], types, entries, location)
        for key, value in op.defaults().items():
            if key not in entries:
                op.set_attribute(key, value)
        return CustomFormat(lambda _: op, has_region=False)


def with_body(
    cls: type[Any], operands: Sequence[Value], types: Sequence[Type], entries: dict[str, Attribute], location: Location
) -> Any:
    """An operation that is read without its region."""
    body = Region()
    op = create_unchecked(cls, operands, types, DictAttr(entries), (body,), (), location)
    with detached():
        body.append(op.implied_block(location))
    return op


class FillOp(NamedOp, name="linalg.fill"):
    """out = a tensor of one number.

    %0 = linalg.fill ins(%x : f32) outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
    """

    num_inputs = 1

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        rank = rank_of(self.outputs[0])
        return [grid_map(rank), AffineMapAttr.identity(rank)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [PARALLEL] * rank_of(self.outputs[0])

    def payload(self, elements: Sequence[Value]) -> Value:
        return extended(elements[0], elements[1].type)


class ContractionOp(NamedOp):
    """Base of products whose maps may be said, where they are not the usual ones."""

    indexing_maps: ArrayAttr | None = attribute(default=None, doc="where elements are; by default as the name says")

    usual: ClassVar[tuple[AffineMapAttr, ...]]
    kinds: ClassVar[tuple[IteratorType, ...]]

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        said = self.indexing_maps
        return self.usual if said is None else [m for m in said.elements if isinstance(m, AffineMapAttr)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return self.kinds

    def initialize(self) -> None:
        super().initialize()
        if self.indexing_maps is None:
            self.indexing_maps = ArrayAttr(self.usual)

    def defaults(self) -> dict[str, Attribute]:
        return {"indexing_maps": ArrayAttr(self.usual)}

    def payload(self, elements: Sequence[Value]) -> Value:
        return accumulated(*elements)


class MatmulOp(ContractionOp, name="linalg.matmul"):
    """out = the output plus the product of two matrices.

    %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
    """

    usual = (grid_map(3, 0, 2), grid_map(3, 2, 1), grid_map(3, 0, 1))
    kinds = (PARALLEL, PARALLEL, REDUCTION)


class BatchMatmulOp(ContractionOp, name="linalg.batch_matmul"):
    """out = the output plus the products of matrices, pair by pair.

    %0 = linalg.batch_matmul ins(%a, %b : tensor<3x4x8xf32>, tensor<3x8x2xf32>) outs(%c : tensor<3x4x2xf32>)
        -> tensor<3x4x2xf32>
    """

    usual = (grid_map(4, 0, 1, 3), grid_map(4, 0, 3, 2), grid_map(4, 0, 1, 2))
    kinds = (PARALLEL, PARALLEL, PARALLEL, REDUCTION)


def _step(at: int, stride: int, within: int, dilation: int) -> Expression:
    return combine("+", combine("*", dim(at), (stride,)), combine("*", dim(within), (dilation,)))


class Conv2DNchwFchwOp(NamedOp, name="linalg.conv_2d_nchw_fchw"):
    """out = the output plus a convolution of images [N, C, H, W] by filters [F, C, KH, KW], without padding.

    %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
        ins(%x, %w : tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32>) outs(%y : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    """

    strides: NDArray[Any] = attribute(default=np.ones(2, np.int64), doc="of rows and columns")
    dilations: NDArray[Any] = attribute(default=np.ones(2, np.int64), doc="of rows and columns")

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        (sh, sw), (dh, dw) = (np.broadcast_to(a, 2).tolist() for a in (self.strides, self.dilations))
        image = grid_map(7, 0, 4, _step(2, sh, 5, dh), _step(3, sw, 6, dw))
        return [image, grid_map(7, 1, 4, 5, 6), grid_map(7, 0, 1, 2, 3)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [PARALLEL] * 4 + [REDUCTION] * 3

    def payload(self, elements: Sequence[Value]) -> Value:
        return accumulated(*elements)

    def verify_op(self) -> None:
        for numbers in (self.strides, self.dilations):
            if numbers.size not in (1, 2) or np.any(numbers < 1):
                raise VerifyError(f"{self.name} steps by two numbers of 1 or more, not {numbers.tolist()}", self)
        super().verify_op()


# --- moves and reductions: one input, one output, and a list of dimensions -------------------------------------------


class DimensionsOp(StructuredOp, InferTypes):
    """Base of operations with one input and one output, and numbers of dimensions."""

    input: Operand = operand(is_ranked)
    init: Operand = operand(is_ranked)

    key = "dimensions"

    @property
    def output_values(self) -> Sequence[Value]:
        return self.operands[1:]

    def infer_types(self) -> tuple[Type, ...]:
        return (self.init.type,)

    def print_short(self, printer: Printer) -> None:
        printer.write(self.name)
        print_group(printer, "ins", [self.input])
        print_group(printer, "outs", [self.init])
        numbers: tuple[int, ...] = self.attributes[self.key].value
        printer.write(f" {self.key} = {list(numbers)}")
        self.print_rest(printer)

    def print_rest(self, printer: Printer) -> None:
        """Write what stands after the numbers."""
        printer.write(printer.attributes(self.attributes, (self.key,)))

    @classmethod
    def parse_parts(cls, parser: Parser) -> tuple[list[Value], dict[str, Attribute]]:
        """Read operands and numbers."""
        operands = [*parse_group(parser, "ins"), *parse_group(parser, "outs")]
        parser.expect(cls.key, f"in {cls.name}")
        parser.expect("=", f"after '{cls.key}'")
        parser.expect("[", f"after '{cls.key} ='")
        numbers: list[int] = []
        while not parser.accept("]"):
            if numbers:
                parser.expect(",", "between numbers")
            numbers.append(parser.element(i64))
        if len(operands) != 2:
            parser.fail(f"{cls.name} takes one input and one output")
        return operands, {cls.key: DenseArrayAttr(numbers)}

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        operands, entries = cls.parse_parts(parser)
        if parser.peek() == "{":
            entries |= dict(parser.dictionary())
        op = with_body(cls, operands, [operands[1].type], entries, location)
        return CustomFormat(lambda _: op, has_region=False)


class TransposeOp(ImpliedOp, DimensionsOp, name="linalg.transpose"):
    """out = the input with its dimensions in another order: dimension i is the one that `permutation` has at i.

    %0 = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%y : tensor<8x4xf32>) permutation = [1, 0]
    """

    permutation: tuple[int, ...] = attribute()
    body: Region = region(doc="what the name means")
    outs: VariadicResult = variadic_result()

    key = "permutation"

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        rank, order = rank_of(self.init), self.permutation
        if sorted(order) != list(range(rank)):
            raise VerifyError(f"permutation of {self.name} is an order of {rank} dimensions, not {list(order)}", self)
        return [grid_map(rank, *(order.index(n) for n in range(rank))), AffineMapAttr.identity(rank)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [PARALLEL] * rank_of(self.init)

    def payload(self, elements: Sequence[Value]) -> Value:
        return elements[0]


class BroadcastOp(ImpliedOp, DimensionsOp, name="linalg.broadcast"):
    """out = the input along further dimensions, those of the output that `dimensions` says.

    %0 = linalg.broadcast ins(%x : tensor<4xf32>) outs(%y : tensor<4x8xf32>) dimensions = [1]
    """

    dimensions: tuple[int, ...] = attribute()
    body: Region = region(doc="what the name means")
    outs: VariadicResult = variadic_result()

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        rank = rank_of(self.init)
        kept = [n for n in range(rank) if n not in self.dimensions]
        return [grid_map(rank, *kept), AffineMapAttr.identity(rank)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [PARALLEL] * rank_of(self.init)

    def payload(self, elements: Sequence[Value]) -> Value:
        return elements[0]


class ReduceOp(DimensionsOp, name="linalg.reduce"):
    """out = the output with all elements along `dimensions` taken into it, by a region of two elements.

    %0 = linalg.reduce ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    }
    """

    dimensions: tuple[int, ...] = attribute()
    body: Region = region(doc="takes an element of the input and one of the output")
    outs: VariadicResult = variadic_result()

    names_arguments = True

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        rank = rank_of(self.input)
        return [AffineMapAttr.identity(rank), grid_map(rank, *(n for n in range(rank) if n not in self.dimensions))]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [REDUCTION if n in self.dimensions else PARALLEL for n in range(rank_of(self.input))]

    def print_rest(self, printer: Printer) -> None:
        printer.write(f"\n({printer.arguments(self.body.block)})")

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes, (self.key,)))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        operands, entries = cls.parse_parts(parser)
        parser.expect("(", "before the arguments of linalg.reduce")
        arguments = [parser.argument()]
        while parser.accept(","):
            arguments.append(parser.argument())
        parser.expect(")", "after the arguments of linalg.reduce")

        def finish(regions: tuple[Region, ...]) -> Operation:
            more = dict(parser.dictionary()) if parser.peek() == "{" else {}
            attributes = DictAttr({**entries, **more})
            return create_unchecked(cls, operands, [operands[1].type], attributes, regions, (), location)

        return CustomFormat(finish, arguments, isolated=False)
