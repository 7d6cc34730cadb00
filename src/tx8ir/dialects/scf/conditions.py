"""`scf.if` and `scf.while`: choices and loops by conditions, and the operations that end regions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tx8ir.core.attrs.attributes import EMPTY_DICT, Attribute
from tx8ir.core.attrs.types import Type, i1
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.builder import built_or_discarded, discard_block
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.region_branch import LoopLike, RegionBranch, RegionEdge
from tx8ir.core.ir.traits import RecursiveEffects, Terminator
from tx8ir.core.ir.value import Value
from tx8ir.core.location import UNKNOWN, Location, at_location, caller_location
from tx8ir.core.opdef.fields import (
    Operand,
    VariadicOperand,
    VariadicResult,
    operand,
    region,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.opdef.op import Op
from tx8ir.core.text.custom_format import CustomFormat
from tx8ir.dialects.cf import one_i1, truth_of

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer

Values = Sequence[Value | Operation]
"""What a region gives: values, or operations with one result."""

EndT = TypeVar("EndT", bound=Operation)


class Yielding(Op):
    """Base of operations whose regions `scf.yield` ends."""

    leaves_out_ends = True

    @abstractmethod
    def yielded(self, region: Region) -> tuple[Sequence[Value], str] | None:
        """What the values that a region yields become, or are of the types of, and what to call it.

        None for a region that ends in something else.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it


class IfOp(Yielding, RegionBranch, name="scf.if", traits=(RecursiveEffects,)):
    """Runs `then_region` if `condition` holds, else `else_region`; its results are what that region yields.

    Without results the else region may be empty: without a block. `IfOp.build` makes both regions from functions.
    """

    condition: Operand = operand(one_i1)
    then_region: Region = region(doc="one block without arguments, ended by scf.yield")
    else_region: Region = region(doc="the same, or no block when there are no results")
    outputs: VariadicResult = variadic_result()

    region_words = ("else",)

    def yielded(self, region: Region) -> tuple[Sequence[Value], str]:
        return self.results, "the results"

    def print_short(self, printer: Printer) -> None:
        type = self.condition.type
        printer.write(f"scf.if {printer.value(self.condition)}")
        printer.write("" if type is i1 else f" : {printer.type(type)}")
        if self.results:
            printer.write(f" -> ({', '.join([printer.type(r.type) for r in self.results])})")
        printer.write(printer.attributes(self.attributes, prefix=" attributes "))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        name = parser.operand()
        type = parser.type() if parser.accept(":") else i1
        condition = parser.resolve([name], (type,))
        results: tuple[Type, ...] = ()
        if parser.accept("->"):
            results = parser.type_tuple() if parser.peek() == "(" else (parser.type(),)
        attributes = parser.dictionary() if parser.accept("attributes") else EMPTY_DICT

        def finish(regions: tuple[Region, ...]) -> Operation:
            for body in regions:
                if not results:
                    ended(body, location)
            given = (*regions, Region())[:2]
            return create_unchecked(cls, condition, results, attributes, given, (), location)

        return CustomFormat(finish, isolated=False, following=cls.region_words)

    @classmethod
    def build(
        cls, condition: Value | Operation, then: Callable[[], Values], otherwise: Callable[[], Values] | None = None
    ) -> IfOp:
        """An `scf.if` whose regions hold the operations that the functions construct, and yield what they return.

        Args:
            condition: see the class.
            then: builds the then region.
            otherwise: builds the else region; left out, the else region is empty.

        Raises:
            IrError: what a function returns is not a value. The types are checked by the verifier.
            What a function raises; what was built by then is discarded.
        """
        location = caller_location()
        then_region, end = filled((), then, YieldOp, location)
        regions = [then_region]
        with or_discarded(regions):
            regions.append(Region() if otherwise is None else filled((), otherwise, YieldOp, location)[0])
            types = [v.type for v in end.values]
            with at_location(location):
                return cls(condition, then_region=then_region, else_region=regions[1], outputs=types)

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        if source is None:
            return [RegionEdge(region) for region in self.regions]
        results = self.results
        return [RegionEdge(None, range(len(results)), results)]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        edges = self.region_edges(source)
        truth = truth_of(operands[0]) if source is None else None
        return edges if truth is None else [edges[0 if truth else 1]]

    def fill_region(self, region: Region) -> None:
        block = region.append(Block())  # empty, so that nobody looks for the region inside
        block.append(YieldOp.create((), location=self.location))

    def verify_op(self) -> None:
        for name, body in (("then", self.then_region), ("else", self.else_region)):
            if len(body) > 1 or (not len(body) and name == "then"):
                raise VerifyError(f"the {name} region of scf.if has {len(body)} blocks, expected one", self)
            if not len(body):
                if self.results:
                    raise VerifyError("scf.if with results needs an else region, which gives them too", self)
                continue
            if body.block.args:
                raise VerifyError(f"the {name} region of scf.if takes arguments; it sees the values around it", self)
            verify_ending(self, body, f"the {name} region of scf.if", YieldOp)


class WhileOp(Yielding, RegionBranch, LoopLike, name="scf.while", traits=(RecursiveEffects,)):
    """A loop. `before` runs first, with the operands; it ends in `scf.condition`, which decides whether to go on.

    If it does, `after` runs with the values that `scf.condition` gives, and its `scf.yield` gives the arguments of the
    next run of `before`. If it does not, the values that `scf.condition` gives are the results. So the operands, the
    arguments of `before` and what `after` yields have the same types; so have the values of `scf.condition`, the
    arguments of `after` and the results. A pass may assume that the loop ends. `WhileOp.build` makes it from functions.
    """

    inits: VariadicOperand = variadic_operand(doc="the first arguments of `before`")
    before: Region = region(doc="one block, ended by scf.condition")
    after: Region = region(doc="one block, ended by scf.yield")
    outputs: VariadicResult = variadic_result()

    region_words = ("do",)
    names_arguments = True

    def yielded(self, region: Region) -> tuple[Sequence[Value], str] | None:
        return (self.operands, "the loop-carried values") if region is self.after else None

    def print_short(self, printer: Printer) -> None:
        pairs = zip(self.before.block.args, self.inits, strict=True)
        shown = ", ".join(f"{printer.argument_name(a)} = {printer.value(v)}" for a, v in pairs)
        types = printer.signature([v.type for v in self.inits], tuple(r.type for r in self.results))
        printer.write(f"scf.while{f' ({shown})' if shown else ''} : {types}")

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes, prefix=" attributes "))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        given = parser.assignments() if parser.peek() == "(" else []
        parser.expect(":", "before the types of scf.while")
        at = parser.pos
        signature = parser.function_type()
        if len(signature.inputs) != len(given):
            parser.fail(f"scf.while has {len(given)} arguments and {len(signature.inputs)} types of them", at)
        inits = parser.resolve([value for _, value in given], signature.inputs)
        types = zip(given, signature.inputs, strict=True)
        arguments = [(name, place, type, UNKNOWN) for ((name, place), _), type in types]

        def finish(regions: tuple[Region, ...]) -> Operation:
            attributes = parser.dictionary() if parser.accept("attributes") else EMPTY_DICT
            ended(regions[-1], location)
            return create_unchecked(cls, inits, signature.results, attributes, regions, (), location)

        return CustomFormat(finish, arguments, isolated=False, following=cls.region_words)

    @classmethod
    def build(
        cls,
        inits: Values,
        before: Callable[..., tuple[Value | Operation, Values]],
        after: Callable[..., Values],
    ) -> WhileOp:
        """An `scf.while` whose regions hold the operations that the functions construct.

        Args:
            inits: the first loop-carried values.
            before: takes the loop-carried values; returns the condition and the values to go on with.
            after: takes the values to go on with; returns the next loop-carried values.

        Raises:
            IrError: what a function returns is not a value. The types are checked by the verifier.
            What a function raises; what was built by then is discarded.
        """
        location = caller_location()
        carried = [v.type if isinstance(v, Value) else v.result.type for v in inits]
        before_region, end = filled(carried, before, lambda given: ConditionOp(*given), location)
        regions = [before_region]
        with or_discarded(regions):
            passed = [v.type for v in end.values]
            regions.append(filled(passed, after, YieldOp, location)[0])
            with at_location(location):
                return cls(inits, before=before_region, after=regions[1], outputs=passed)

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        before, after = self.regions
        if source is before:
            results = self.results
            passed = range(1, len(results) + 1)
            return [RegionEdge(after, passed, after.block.args), RegionEdge(None, passed, results)]
        arguments = before.block.args
        return [RegionEdge(before, range(len(arguments)), arguments)]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        edges = self.region_edges(source)
        truth = truth_of(operands[0]) if len(edges) == 2 else None
        return edges if truth is None else [edges[0 if truth else 1]]

    def trip_count(self) -> None:
        """Not said here; `analysis.trip_count` finds it for a loop with a counter."""

    def verify_op(self) -> None:
        passed = tuple(r.type for r in self.results)
        for name, body, taken in (
            ("before", self.before, tuple(v.type for v in self.operands)),
            ("after", self.after, passed),
        ):
            if len(body) != 1:
                raise VerifyError(f"the {name} region of scf.while has {len(body)} blocks, expected one", self)
            given = tuple(a.type for a in body.block.args)
            if given != taken:
                source = "its operands" if name == "before" else "its results"
                raise VerifyError(
                    f"the {name} region of scf.while takes {shown(given)}, {source} are {shown(taken)}", self
                )
        verify_ending(self, self.before, "the before region of scf.while", ConditionOp)
        verify_ending(self, self.after, "the after region of scf.while", YieldOp)


class YieldOp(Op, name="scf.yield", traits=(Terminator,)):
    """Ends a region of `scf.if`, giving its results, or the after region of `scf.while`, giving the next values."""

    values: VariadicOperand = variadic_operand()

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        parent = self.parent_op
        if parent is None:
            return  # detached, or in a block that no operation holds yet
        region = _region_of(self)
        found = parent.yielded(region) if isinstance(parent, Yielding) and region is not None else None
        if found is None:
            raise VerifyError(
                f"scf.yield ends a region of {parent.name}; it belongs into scf.if or the after region of scf.while, "
                "or another operation of scf with regions",
                self,
            )
        taken, what = found
        given, expected = tuple(v.type for v in self.operands), tuple(v.type for v in taken)
        if given != expected:
            raise VerifyError(f"scf.yield gives {shown(given)}, {what} of {parent.name} are {shown(expected)}", self)


class ConditionOp(Op, name="scf.condition", traits=(Terminator,)):
    """Ends the before region of `scf.while`: runs its after region with `values`, or gives them as its results."""

    condition: Operand = operand(one_i1, doc="whether the loop goes on")
    values: VariadicOperand = variadic_operand()

    assembly_format = "`(` $condition implied-type($condition, i1) `)` attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        parent = self.parent_op
        if parent is None:
            return
        if not isinstance(parent, WhileOp) or _region_of(self) is not parent.before:
            raise VerifyError(
                f"scf.condition ends a region of {parent.name}; it belongs into the before region of scf.while", self
            )
        given, expected = tuple(v.type for v in self.values), tuple(r.type for r in parent.results)
        if given != expected:
            raise VerifyError(
                f"scf.condition gives {shown(given)}, the results of scf.while are {shown(expected)}", self
            )


def ended(body: Region, location: Location) -> None:
    """Put an `scf.yield` of nothing at the end of a block without one, which MLIR leaves out."""
    last = body.blocks[-1] if len(body) else body.append(Block())
    if last.terminator is None:
        last.append(YieldOp.create((), location=location))


def filled(
    arg_types: Sequence[Type], fill: Callable[..., Any], end: Callable[[Any], EndT], location: Location
) -> tuple[Region, EndT]:
    """A region with one block, which `fill` fills, given the arguments; and the terminator made of what it returns."""
    block = Block(arg_types)
    with built_or_discarded(block):
        given = fill(*block.args)
        with at_location(location):
            terminator = end(given)
    return Region([block]), terminator


@contextmanager
def or_discarded(regions: list[Region]) -> Generator[None]:
    """Discard what the regions hold when the operation around them is not made."""
    try:
        yield
    except BaseException:
        for region in regions:
            for block in region:
                discard_block(block)
        raise


def verify_ending(op: Operation, body: Region, what: str, kind: type[Operation]) -> None:
    last = body.block.last_op
    if last is not None and last.has_trait(Terminator) and not isinstance(last, kind):
        raise VerifyError(f"{what} ends in {last.name}, expected {kind.name}", op)


def _region_of(op: Operation) -> Region | None:
    return op.parent.parent if op.parent is not None else None


def shown(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"


def condition_of(loop: WhileOp) -> ConditionOp:
    """The end of its before region."""
    return cast(ConditionOp, loop.before.block.terminator)


def yield_of(loop: WhileOp) -> YieldOp:
    """The end of its after region."""
    return cast(YieldOp, loop.after.block.terminator)
