"""`scf.for` and `scf.parallel`: loops over numbers, one after the other or in any order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from tx8ir.core.attrs.attributes import EMPTY_DICT, Attribute, DictAttr, IntAttr
from tx8ir.core.attrs.builtin_types import IndexType, integer_format, is_integer
from tx8ir.core.attrs.types import TensorType, Type, i1
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Region
from tx8ir.core.ir.int_range import InferIntRange, IntRange
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.region_branch import LoopLike, RegionBranch, RegionEdge
from tx8ir.core.ir.traits import ConstantLike, RecursiveEffects, Terminator
from tx8ir.core.ir.value import Value
from tx8ir.core.location import UNKNOWN, at_location, caller_location
from tx8ir.core.opdef.definition import SEGMENTS, segment_sizes
from tx8ir.core.opdef.fields import (
    Operand,
    VariadicOperand,
    VariadicResult,
    operand,
    region,
    variadic_operand,
    variadic_region,
    variadic_result,
)
from tx8ir.core.opdef.op import Op
from tx8ir.core.text.custom_format import CustomFormat

from .conditions import Values, Yielding, YieldOp, ended, filled, shown, verify_ending

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer

_INDEX = IndexType()


def counter(type: Type) -> bool:
    """A signless integer of several bits, or index."""
    return is_integer(type) and type is not i1 and integer_format(type)[1] == "signless"


def known_integer(value: Value) -> int | None:
    """The number that a constant gives, or None."""
    op = value.defining_op
    constant = op.attributes.get("value") if op is not None and op.has_trait(ConstantLike) else None
    return constant.value if isinstance(constant, IntAttr) else None


def rounds(lower: int, upper: int, step: int) -> int:
    """How many numbers there are from `lower` on, by a step of 1 or more, that are less than `upper`."""
    return max(0, -((lower - upper) // step))


class ForOp(Yielding, RegionBranch, LoopLike, InferIntRange, name="scf.for", traits=(RecursiveEffects,)):
    """A loop over the numbers from `lower` on, by `step`, that are less than `upper`, as signed numbers.

    Its body takes the number and the carried values; its `scf.yield` gives the next of these, which are the results
    in the end. Evaluating fails where the step is not positive. `ForOp.build` makes it from a function.

        %sum = scf.for %i = %lower to %upper step %step iter_args(%acc = %zero) -> (f32) {
          %x = tensor.extract %t[%i] : tensor<?xf32>
          %next = arith.addf %acc, %x : f32
          scf.yield %next : f32
        }
    """

    lower: Operand = operand(counter)
    upper: Operand = operand(counter, doc="of the type of `lower`")
    step: Operand = operand(counter, doc="of the type of `lower`, 1 or more")
    inits: VariadicOperand = variadic_operand(doc="the carried values at first")
    body: Region = region(doc="one block, ended by scf.yield")
    outputs: VariadicResult = variadic_result()

    names_arguments = True

    @classmethod
    def build(
        cls,
        lower: Value | Operation,
        upper: Value | Operation,
        step: Value | Operation,
        inits: Values,
        body: Callable[..., Values],
    ) -> ForOp:
        """An `scf.for` whose body holds the operations that a function constructs.

        Args:
            lower: the first number.
            upper: the first number that is too large.
            step: what is added.
            inits: the first carried values.
            body: takes the number and the carried values; returns the next carried values.

        Raises:
            IrError: what the function returns is not a value. The types are checked by the verifier.
            What the function raises; what was built by then is discarded.
        """
        location = caller_location()
        types = [v.type if isinstance(v, Value) else v.result.type for v in (lower, *inits)]
        made, _ = filled(types, body, YieldOp, location)
        with at_location(location):
            return cls(lower, upper, step, inits, body=made, outputs=types[1:])

    def yielded(self, region: Region) -> tuple[Sequence[Value], str]:
        return self.results, "the carried values"

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        body, results = self.body, self.results
        carried = body.block.args[1:]
        first = 3 if source is None else 0
        forwarded = range(first, first + len(results))
        return [RegionEdge(body, forwarded, carried), RegionEdge(None, forwarded, results)]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        edges = self.region_edges(source)
        if source is not None:
            return edges
        lower, upper = (c.value if isinstance(c, IntAttr) else None for c in operands[:2])
        return edges if lower is None or upper is None else [edges[0 if lower < upper else 1]]

    def infer_ranges(self, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
        return ()  # what it carries is forwarded

    def argument_ranges(self, region: Region, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
        """The counter is at least the lower bound, and less than the upper one."""
        lower, upper = operands[:2]
        if lower is None or upper is None:
            return (None,)
        return (IntRange.wrapped(lower.width, lower.smin, max(lower.smin, upper.smax - 1)),)

    def trip_count(self) -> int | None:
        lower, upper, step = map(known_integer, self.operands[:3])
        return None if lower is None or upper is None or not step or step < 0 else rounds(lower, upper, step)

    def always_ends(self) -> bool:
        return (known_integer(self.step) or 0) > 0

    def verify_op(self) -> None:
        if len(self.body) != 1:
            raise VerifyError(f"the body of scf.for has {len(self.body)} blocks, expected one", self)
        kinds = {v.type for v in self.operands[:3]}
        carried = [v.type for v in self.inits]
        if len(kinds) != 1:
            raise VerifyError(f"scf.for counts in one type, not in {shown([v.type for v in self.operands[:3]])}", self)
        given = [a.type for a in self.body.block.args]
        if given != [*kinds, *carried]:
            raise VerifyError(
                f"the body of scf.for takes {shown(given)}, expected the number and the carried values, "
                f"{shown([*kinds, *carried])}",
                self,
            )
        if [r.type for r in self.results] != carried:
            raise VerifyError(
                f"scf.for gives {shown([r.type for r in self.results])}, it carries {shown(carried)}", self
            )
        verify_ending(self, self.body, "the body of scf.for", YieldOp)

    def print_short(self, printer: Printer) -> None:
        number, *carried = self.body.block.args
        lower, upper, step = map(printer.value, self.operands[:3])
        printer.write(f"scf.for {printer.argument_name(number)} = {lower} to {upper} step {step}")
        if carried:
            pairs = zip(carried, self.inits, strict=True)
            given = ", ".join(f"{printer.argument_name(a)} = {printer.value(v)}" for a, v in pairs)
            types = ", ".join(printer.type(r.type) for r in self.results)
            printer.write(f" iter_args({given}) -> ({types})")
        printer.write("" if number.type is _INDEX else f" : {printer.type(number.type)}")

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        number, place = parser.operand()
        parser.expect("=", "after the name of the number that scf.for counts")
        names = [parser.operand()]
        for word in ("to", "step"):
            parser.expect(word, "in scf.for")
            names.append(parser.operand())
        given: list[tuple[tuple[str, int], tuple[str, int]]] = []
        types: tuple[Type, ...] = ()
        at = parser.pos
        if parser.accept("iter_args"):
            given = parser.assignments()
            parser.expect("->", "before the types of what scf.for carries")
            types = parser.type_tuple() if parser.peek() == "(" else (parser.type(),)
        if len(types) != len(given):
            parser.fail(f"scf.for carries {len(given)} values of {len(types)} types", at)
        kind = parser.type() if parser.accept(":") else _INDEX
        operands = parser.resolve([*names, *(value for _, value in given)], (kind,) * 3 + types)
        pairs = zip(given, types, strict=True)
        arguments = [(number, place, kind, UNKNOWN), *((n, p, type, UNKNOWN) for ((n, p), _), type in pairs)]

        def finish(regions: tuple[Region, ...]) -> Operation:
            attributes = parser.dictionary() if parser.peek() == "{" else EMPTY_DICT
            if not types:
                ended(regions[0], location)
            return create_unchecked(cls, operands, types, attributes, regions, (), location)

        return CustomFormat(finish, arguments, isolated=False)


class ParallelOp(Op, RegionBranch, LoopLike, name="scf.parallel", traits=(RecursiveEffects,)):
    """A loop over a grid, in any order: its body takes the place, and `scf.reduce` ends it.

    Each result is what the reductions make of the initial value and of what every round gives, in an order that is not
    said; evaluating takes the places in row-major order. Evaluating fails where a step is not positive.

        %sum = scf.parallel (%i, %j) = (%a, %b) to (%c, %d) step (%e, %f) init (%zero) -> f32 {
          %x = tensor.extract %t[%i, %j] : tensor<?x?xf32>
          scf.reduce (%x : f32) {
          ^bb0(%lhs: f32, %rhs: f32):
            %s = arith.addf %lhs, %rhs : f32
            scf.reduce.return %s : f32
          }
        }
    """

    lower: VariadicOperand = variadic_operand(_INDEX)
    upper: VariadicOperand = variadic_operand(_INDEX)
    step: VariadicOperand = variadic_operand(_INDEX)
    inits: VariadicOperand = variadic_operand()
    body: Region = region(doc="one block, ended by scf.reduce")
    outputs: VariadicResult = variadic_result()

    names_arguments = True
    leaves_out_ends = True

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        return [RegionEdge(self.body), RegionEdge(None)]

    def trip_count(self) -> int | None:
        numbers = [[known_integer(v) for v in field] for field in (self.lower, self.upper, self.step)]
        trips = [
            None if None in row or cast(int, row[2]) < 1 else rounds(*cast("tuple[int, int, int]", row))
            for row in zip(*numbers, strict=True)
        ]
        return None if None in trips else math.prod(cast("list[int]", trips))

    def always_ends(self) -> bool:
        return all((known_integer(v) or 0) > 0 for v in self.step)

    def end(self) -> ReduceOp | None:
        """The `scf.reduce` of the body."""
        last = self.body.block.last_op
        return last if isinstance(last, ReduceOp) else None

    def verify_op(self) -> None:
        ranks = {len(self.lower), len(self.upper), len(self.step)}
        if len(ranks) != 1 or 0 in ranks:
            raise VerifyError("scf.parallel has as many lower and upper bounds as steps, one or more", self)
        if len(self.body) != 1 or [a.type for a in self.body.block.args] != [_INDEX] * len(self.lower):
            raise VerifyError("the body of scf.parallel is one block that takes an index for each dimension", self)
        carried = [v.type for v in self.inits]
        if [r.type for r in self.results] != carried or any(isinstance(t, TensorType) for t in carried):
            raise VerifyError(f"scf.parallel gives values of the types that it starts from, {shown(carried)}", self)
        verify_ending(self, self.body, "the body of scf.parallel", ReduceOp)
        end = self.end()
        if end is not None and [v.type for v in end.operands] != carried:
            raise VerifyError(
                f"scf.reduce gives {shown([v.type for v in end.operands])}, expected {shown(carried)}", self
            )

    def print_short(self, printer: Printer) -> None:
        numbers = ", ".join(map(printer.argument_name, self.body.block.args))
        lower, upper, step = (", ".join(map(printer.value, field)) for field in (self.lower, self.upper, self.step))
        printer.write(f"scf.parallel ({numbers}) = ({lower}) to ({upper}) step ({step})")
        if self.inits:
            types = ", ".join(printer.type(r.type) for r in self.results)
            printer.write(f" init ({', '.join(map(printer.value, self.inits))}) -> ")
            printer.write(types if len(self.results) == 1 else f"({types})")

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes, (SEGMENTS,)))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        numbers = _names(parser)
        fields: list[list[tuple[str, int]]] = []
        for word in ("=", "to", "step"):
            parser.expect(word, "in scf.parallel")
            fields.append(_names(parser))
        inits: list[tuple[str, int]] = []
        types: tuple[Type, ...] = ()
        if parser.accept("init"):
            inits = _names(parser)
            parser.expect("->", "before the types of what scf.parallel gives")
            types = parser.type_tuple() if parser.peek() == "(" else (parser.type(),)
        bounds = [name for field in fields for name in field]
        operands = parser.resolve([*bounds, *inits], (_INDEX,) * len(bounds) + types)
        sizes = segment_sizes((*map(len, fields), len(inits)))
        arguments = [(name, at, _INDEX, UNKNOWN) for name, at in numbers]

        def finish(regions: tuple[Region, ...]) -> Operation:
            entries = dict(parser.dictionary()) if parser.peek() == "{" else {}
            last = regions[0].blocks[-1]
            if not types and last.terminator is None:
                last.append(ReduceOp.create((), location=location))
            attributes = DictAttr({**entries, SEGMENTS: sizes})
            return create_unchecked(cls, operands, types, attributes, regions, (), location)

        return CustomFormat(finish, arguments, isolated=False)


def _names(parser: Parser) -> list[tuple[str, int]]:
    """Read `(%a, %b)`."""
    parser.expect("(", "before values of scf.parallel")
    found = [] if parser.peek() == ")" else parser.operands()
    parser.expect(")", "after values of scf.parallel")
    return found


class ReduceOp(Op, name="scf.reduce", traits=(Terminator, RecursiveEffects)):
    """Ends the body of `scf.parallel`: for each value that it gives, a region that makes one of two.

    scf.reduce (%x : f32) {
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.addf %lhs, %rhs : f32
      scf.reduce.return %s : f32
    }
    """

    values: VariadicOperand = variadic_operand()
    reductions: tuple[Region, ...] = variadic_region(doc="one for each value, ended by scf.reduce.return")

    def short_regions(self) -> Sequence[tuple[str, Region]]:
        return [("," if number else "", body) for number, body in enumerate(self.regions)]

    def print_short(self, printer: Printer) -> None:
        names, types = ", ".join(map(printer.value, self.values)), ", ".join(printer.type(v.type) for v in self.values)
        printer.write(f"scf.reduce ({names} : {types})" if names else "scf.reduce")
        printer.write("" if self.regions else printer.attributes(self.attributes))

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        names: list[tuple[str, int]] = []
        types: list[Type] = []
        if parser.accept("("):
            names = parser.operands()
            parser.expect(":", "before the types of what scf.reduce gives")
            types = parser.type_list()
            parser.expect(")", "after the types of what scf.reduce gives")
        values = parser.resolve(names, tuple(types))

        def finish(regions: tuple[Region, ...]) -> Operation:
            attributes = parser.dictionary() if parser.peek() == "{" else EMPTY_DICT
            return create_unchecked(cls, values, (), attributes, regions, (), location)

        following = (",",) * (len(values) - 1)
        return CustomFormat(finish, has_region=bool(values), isolated=False, following=following)

    def verify_op(self) -> None:
        if self.parent_op is not None and not isinstance(self.parent_op, ParallelOp):
            raise VerifyError(f"scf.reduce ends a region of {self.parent_op.name}, it belongs into scf.parallel", self)
        if len(self.regions) != len(self.values):
            raise VerifyError(f"scf.reduce has {len(self.regions)} regions for {len(self.values)} values", self)
        for body, value in zip(self.regions, self.values, strict=True):
            if len(body) != 1 or [a.type for a in body.block.args] != [value.type] * 2:
                raise VerifyError(f"a region of scf.reduce is one block that takes two {value.type}", self)
            verify_ending(self, body, "a region of scf.reduce", ReduceReturnOp)
            last = body.block.last_op
            if isinstance(last, ReduceReturnOp) and last.value.type is not value.type:
                raise VerifyError(f"scf.reduce.return gives {last.value.type}, expected {value.type}", self)


class ReduceReturnOp(Op, name="scf.reduce.return", traits=(Terminator,)):
    """Ends a region of `scf.reduce` and gives what it makes of two values.

    scf.reduce.return %0 : f32
    """

    value: Operand = operand()

    assembly_format = "$value attr-dict `:` type($value)"

    def verify_op(self) -> None:
        if self.parent_op is not None and not isinstance(self.parent_op, ReduceOp):
            raise VerifyError(f"scf.reduce.return ends a region of {self.parent_op.name}", self)
