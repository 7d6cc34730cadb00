"""`scf.index_switch` and `scf.execute_region`: one of several regions by a number, and one region in any case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tx8ir.core.attrs.attributes import EMPTY_DICT, Attribute, DenseArrayAttr, DictAttr, IntAttr
from tx8ir.core.attrs.builtin_types import IndexType
from tx8ir.core.attrs.types import Type, i64
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Region
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.region_branch import RegionBranch, RegionEdge
from tx8ir.core.ir.traits import RecursiveEffects
from tx8ir.core.ir.value import Value
from tx8ir.core.opdef.fields import (
    Operand,
    VariadicResult,
    attribute,
    operand,
    region,
    variadic_region,
    variadic_result,
)
from tx8ir.core.text.custom_format import CustomFormat

from .conditions import Yielding, YieldOp, ended, verify_ending

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer


def _verify_region(op: Operation, body: Region, what: str) -> None:
    if len(body) != 1 or body.block.args:
        raise VerifyError(f"{what} of {op.name} is one block without arguments", op)
    verify_ending(op, body, f"{what} of {op.name}", YieldOp)


class IndexSwitchOp(Yielding, RegionBranch, name="scf.index_switch", traits=(RecursiveEffects,)):
    """Runs the region of the case that a number is, or the default region; its results are what that region yields.

    %0 = scf.index_switch %i -> i32
    case 2 {
      scf.yield %a : i32
    }
    default {
      scf.yield %b : i32
    }
    """

    number: Operand = operand(IndexType())
    cases: tuple[int, ...] = attribute(doc="a different number for each region but the default")
    default_region: Region = region(doc="one block without arguments, ended by scf.yield")
    case_regions: tuple[Region, ...] = variadic_region(doc="the same, one for each case")
    outputs: VariadicResult = variadic_result()

    def yielded(self, region: Region) -> tuple[Sequence[Value], str]:
        return self.results, "the results"

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        if source is None:
            return [RegionEdge(region) for region in self.regions]
        results = self.results
        return [RegionEdge(None, range(len(results)), results)]

    def region_for(self, number: int) -> Region:
        """The region that runs for a number."""
        return self.regions[self.cases.index(number) + 1 if number in self.cases else 0]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        known = operands[0] if source is None else None
        return [RegionEdge(self.region_for(known.value))] if isinstance(known, IntAttr) else self.region_edges(source)

    def verify_op(self) -> None:
        if len(self.cases) != len(self.regions) - 1 or len(set(self.cases)) != len(self.cases):
            raise VerifyError(f"scf.index_switch has {len(self.regions) - 1} regions for the cases {self.cases}", self)
        for body in self.regions:
            _verify_region(self, body, "a region")

    def short_regions(self) -> Sequence[tuple[str, Region]]:
        numbers = [f"\ncase {number}" for number in self.cases]
        return list(zip((*numbers, "\ndefault"), (*self.regions[1:], *self.regions[:1]), strict=False))

    def print_short(self, printer: Printer) -> None:
        printer.write(f"scf.index_switch {printer.value(self.number)}{printer.attributes(self.attributes, ('cases',))}")
        types = ", ".join(printer.type(r.type) for r in self.results)
        printer.write(f" -> {types}" if len(self.results) == 1 else f" -> ({types})" if types else "")

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        number = parser.resolve([parser.operand()], (IndexType(),))
        entries = dict(parser.dictionary()) if parser.peek() == "{" else {}
        results: Sequence[Type] = ()
        if parser.accept("->"):
            results = parser.type_tuple() if parser.peek() == "(" else parser.type_list()
        cases: list[int] = []
        ends: list[str] = []

        def case() -> bool:
            if ends:
                return False
            if parser.accept("case"):
                cases.append(parser.element(i64))
            else:
                parser.expect("default", "after the cases of scf.index_switch")
                ends.append("default")
            return True

        def finish(regions: tuple[Region, ...]) -> Operation:
            for body in regions:
                if not results:
                    ended(body, location)
            attributes = DictAttr({**entries, "cases": DenseArrayAttr(cases)})
            return create_unchecked(cls, number, results, attributes, (regions[-1], *regions[:-1]), (), location)

        case()
        return CustomFormat(finish, isolated=False, another=case)


class ExecuteRegionOp(Yielding, RegionBranch, name="scf.execute_region", traits=(RecursiveEffects,)):
    """Runs its region once; its results are what that yields. Here the region has one block.

    %0 = scf.execute_region -> i32 {
      scf.yield %a : i32
    }
    """

    body: Region = region(doc="one block without arguments, ended by scf.yield")
    outputs: VariadicResult = variadic_result()

    def yielded(self, region: Region) -> tuple[Sequence[Value], str]:
        return self.results, "the results"

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        results = self.results
        return [RegionEdge(self.body)] if source is None else [RegionEdge(None, range(len(results)), results)]

    def verify_op(self) -> None:
        _verify_region(self, self.body, "the region")

    def print_short(self, printer: Printer) -> None:
        types = ", ".join(printer.type(r.type) for r in self.results)
        printer.write("scf.execute_region")
        printer.write(f" -> {types}" if len(self.results) == 1 else f" -> ({types})" if types else "")

    def print_end(self, printer: Printer) -> None:
        printer.write(printer.attributes(self.attributes))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        results: Sequence[Type] = ()
        if parser.accept("->"):
            results = parser.type_tuple() if parser.peek() == "(" else (parser.type(),)

        def finish(regions: tuple[Region, ...]) -> Operation:
            attributes = parser.dictionary() if parser.peek() == "{" else EMPTY_DICT
            if not results:
                ended(regions[0], location)
            return create_unchecked(cls, (), results, attributes, regions, (), location)

        return CustomFormat(finish, isolated=False)
