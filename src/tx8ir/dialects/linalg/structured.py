"""What all structured operations are, and `linalg.generic`, which says everything itself."""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tx8ir.core import (
    DYNAMIC,
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DictAttr,
    EnumAttr,
    IndexType,
    InferTypes,
    Op,
    Operation,
    RecursiveEffects,
    Region,
    RegionBranch,
    RegionEdge,
    Result,
    StrAttr,
    Terminator,
    Type,
    Value,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    attribute,
    enum_attr,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.attrs.affine import Expression
from tx8ir.core.attrs.builtin_types import element_of
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.ir.traits import MapsNumbers, Pure
from tx8ir.core.opdef.definition import SEGMENTS, segment_sizes
from tx8ir.core.text.custom_format import CustomFormat
from tx8ir.dialects.tensor.declaration import is_ranked

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer


@enum_attr("linalg.iterator_type", dotted=True)
class IteratorType(enum.Enum):
    """What a dimension of the grid is: in any order, or one after the other."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    WINDOW = "window"


class StructuredOp(Op, RegionBranch, traits=(RecursiveEffects,)):
    """Base: inputs, then outputs, which are tensors or numbers, and a region for each place of a grid.

    It is not a `LoopLike`: what its region asks for its place (`linalg.index`) must not leave it.
    """

    @property
    @abstractmethod
    def maps(self) -> Sequence[AffineMapAttr]:
        """For each operand the place of its element, from that of the grid."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    @property
    @abstractmethod
    def iterators(self) -> Sequence[IteratorType]:
        """What each dimension of the grid is."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    @property
    @abstractmethod
    def output_values(self) -> Sequence[Value]:
        """The last operands: what the results start from."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        return [RegionEdge(self.regions[0]), RegionEdge(None)]

    def verify_op(self) -> None:
        maps, rank = self.maps, len(self.iterators)
        if len(maps) != len(self.operands):
            raise VerifyError(f"{self.name} has {len(maps)} indexing maps for {len(self.operands)} operands", self)
        for value, map in zip(self.operands, maps, strict=True):
            shape = getattr(value.type, "shape", ())
            if map.num_dims != rank or map.num_symbols or len(map.results) != len(shape or ()):
                raise VerifyError(f"{self.name} finds elements of {value.type} in a grid of {rank} by {map}", self)
        self._verify_extents()
        if [r.type for r in self.results] != [v.type for v in self.output_values]:
            raise VerifyError(f"{self.name} gives tensors of the types of its outputs", self)
        body = self.regions[0]
        elements = [element_of(v.type) for v in self.operands]
        if len(body) != 1 or [a.type for a in body.block.args] != elements:
            shown = ", ".join(map_str(elements))
            raise VerifyError(f"the region of {self.name} is one block that takes an element of each, ({shown})", self)
        last = body.block.last_op
        if last is not None and last.has_trait(Terminator) and not isinstance(last, YieldOp):
            raise VerifyError(f"the region of {self.name} ends in {last.name}, expected linalg.yield", self)
        given = [v.type for v in last.operands] if isinstance(last, YieldOp) else None
        if given is not None and given != elements[len(elements) - len(self.output_values) :]:
            raise VerifyError(f"linalg.yield gives ({', '.join(map_str(given))}), not an element of each output", self)

    def _verify_extents(self) -> None:
        found: dict[int, int] = {}
        for value, map in zip(self.operands, self.maps, strict=True):
            for extent, expression in zip(getattr(value.type, "shape", ()), map.results, strict=True):
                at = dimension_of(expression)
                if at is not None and extent != DYNAMIC and found.setdefault(at, extent) != extent:
                    raise VerifyError(
                        f"dimension {at} of the grid of {self.name} has {extent} and {found[at]} places", self
                    )
        known = {dimension_of(expression) for map in self.maps for expression in map.results}
        missing = [n for n in range(len(self.iterators)) if n not in known]
        if missing:
            raise VerifyError(f"no operand of {self.name} says how large dimension {missing[0]} of its grid is", self)


def dimension_of(expression: Expression) -> int | None:
    """The dimension that an expression is, or None."""
    token = expression[0]
    return token[1] if len(expression) == 1 and isinstance(token, tuple) and token[0] == "d" else None


def map_str(items: Sequence[Any]) -> list[str]:
    """The texts of several things."""
    return [str(item) for item in items]


# --- ins(…) outs(…) --------------------------------------------------------------------------------------------------


def print_group(printer: Printer, word: str, values: Sequence[Value]) -> None:
    """Write ` ins(%a, %b : T, T)`, or nothing."""
    if values:
        names, types = ", ".join(map(printer.value, values)), ", ".join(printer.type(v.type) for v in values)
        printer.write(f" {word}({names} : {types})")


def parse_group(parser: Parser, word: str) -> list[Value]:
    """Read `ins(%a, %b : T, T)`, or nothing."""
    if not parser.accept(word):
        return []
    parser.expect("(", f"after '{word}'")
    names = parser.operands()
    parser.expect(":", "before the types of operands")
    types = parser.type_list()
    parser.expect(")", "after the types of operands")
    return parser.resolve(names, tuple(types))


def print_results(printer: Printer, results: Sequence[Value]) -> None:
    """Write ` -> T`, or nothing."""
    types = ", ".join(printer.type(r.type) for r in results)
    printer.write(f" -> {types}" if len(results) == 1 else f" -> ({types})" if types else "")


def parse_results(parser: Parser) -> Sequence[Type]:
    """Read `-> T`, or nothing."""
    if not parser.accept("->"):
        return ()
    return parser.type_tuple() if parser.peek() == "(" else (parser.type(),)


_SAID = ("indexing_maps", "iterator_types", "doc", "library_call")


class GenericOp(StructuredOp, InferTypes, name="linalg.generic"):
    """A structured operation that says its maps, iterators and region.

    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    """

    inputs: VariadicOperand = variadic_operand(doc="tensors, or numbers that are the same everywhere")
    outputs: VariadicOperand = variadic_operand(is_ranked)
    indexing_maps: ArrayAttr = attribute(doc="for each operand where its element is")
    iterator_types: ArrayAttr = attribute(doc="of each dimension of the grid")
    doc: str | None = attribute(default=None)
    library_call: str | None = attribute(default=None)
    body: Region = region(doc="takes an element of each operand, ended by linalg.yield")
    outs: VariadicResult = variadic_result()

    def infer_types(self) -> tuple[Type, ...]:
        return tuple(v.type for v in self.outputs)

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        found = self.indexing_maps.elements
        if not all(isinstance(m, AffineMapAttr) for m in found):
            raise VerifyError(f"indexing_maps of {self.name} are affine maps, not {self.indexing_maps}", self)
        return [m for m in found if isinstance(m, AffineMapAttr)]

    @property
    def iterators(self) -> Sequence[IteratorType]:
        found = [e.value for e in self.iterator_types.elements if isinstance(e, EnumAttr)]
        if len(found) != len(self.iterator_types.elements) or not all(isinstance(e, IteratorType) for e in found):
            raise VerifyError(f"iterator_types of {self.name} are not {self.iterator_types}", self)
        return found

    @property
    def output_values(self) -> Sequence[Value]:
        return self.outputs

    def print_short(self, printer: Printer) -> None:
        kinds = ", ".join(f'"{kind.value}"' for kind in self.iterators)
        more = "".join(f", {k} = {printer.attribute(self.attributes[k])}" for k in _SAID[2:] if k in self.attributes)
        maps = printer.attribute(self.indexing_maps)
        printer.write(f"{self.name} {{indexing_maps = {maps}, iterator_types = [{kinds}]{more}}}")
        print_group(printer, "ins", self.inputs)
        print_group(printer, "outs", self.outputs)
        printer.write(printer.attributes(self.attributes, (*_SAID, SEGMENTS), " attrs = "))

    def print_end(self, printer: Printer) -> None:
        print_results(printer, self.results)

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        entries = dict(parser.dictionary())
        kinds = entries.get("iterator_types")
        if isinstance(kinds, ArrayAttr):
            entries["iterator_types"] = ArrayAttr(_iterator(parser, kind) for kind in kinds.elements)
        inputs, outputs = parse_group(parser, "ins"), parse_group(parser, "outs")
        if parser.accept("attrs"):
            parser.expect("=", "after 'attrs'")
            entries |= dict(parser.dictionary())
        entries[SEGMENTS] = segment_sizes((len(inputs), len(outputs)))

        def finish(regions: tuple[Region, ...]) -> Operation:
            types = parse_results(parser)
            operands = [*inputs, *outputs]
            return create_unchecked(cls, operands, types, DictAttr(entries), regions, (), location)

        return CustomFormat(finish, isolated=False)


def _iterator(parser: Parser, kind: Attribute) -> Attribute:
    if not isinstance(kind, StrAttr):
        return kind
    known = {member.value: EnumAttr(member) for member in IteratorType}
    if kind.value not in known:
        parser.fail(f'expected an iterator type, one of {", ".join(known)}, found "{kind.value}"')
    return known[kind.value]


class YieldOp(Op, name="linalg.yield", traits=(Terminator,)):
    """Ends the region of a structured operation: the new element of each output.

    linalg.yield %0 : f32
    """

    values: VariadicOperand = variadic_operand()

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        if self.parent_op is not None and not isinstance(self.parent_op, StructuredOp):
            raise VerifyError(f"linalg.yield ends a region of {self.parent_op.name}", self)


class IndexOp(Op, name="linalg.index", traits=(Pure, MapsNumbers)):
    """The place in a dimension of the grid of the structured operation around.

    %i = linalg.index 1 : index
    """

    dim: int = attribute(doc="from 0")
    out: Result = result(IndexType())

    assembly_format = "number($dim, i64) attr-dict `:` type($out)"

    def around(self) -> StructuredOp | None:
        """The structured operation whose grid is meant."""
        return next((op for op in self.ancestors() if isinstance(op, StructuredOp)), None)

    def verify_op(self) -> None:
        around = self.around()
        if around is not None and not 0 <= self.dim < len(around.iterators):
            raise VerifyError(f"the grid of {around.name} has no dimension {self.dim}", self)
