"""func: functions, calls and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core.attrs.attributes import (
    EMPTY_DICT,
    ArrayAttr,
    DictAttr,
    StrAttr,
    SymbolRefAttr,
    TypeAttr,
    symbol_text,
)
from tx8ir.core.attrs.builtin_attributes import NestedSymbolRefAttr
from tx8ir.core.attrs.lexer import VALUE_NAME
from tx8ir.core.attrs.types import FunctionType, TupleType, Type
from tx8ir.core.context import Dialect
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Region
from tx8ir.core.ir.calls import CallableLike, CallLike
from tx8ir.core.ir.interfaces import SymbolUser
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.symbol_table import SymbolReference, Symbols, SymbolTables
from tx8ir.core.ir.traits import IsolatedFromAbove, Symbol, Terminator
from tx8ir.core.ir.value import Value
from tx8ir.core.location import Location
from tx8ir.core.opdef.fields import (
    VariadicOperand,
    VariadicResult,
    attribute,
    region,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.opdef.op import Op
from tx8ir.core.text.custom_format import CustomFormat

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer


class FunctionOp(Op, CallableLike, traits=(IsolatedFromAbove, Symbol)):
    """A symbol with a body that takes arguments, with the text of MLIR's functions; what dialects share of these."""

    sym_name: str = attribute(doc="the symbol it is called by")
    function_type: FunctionType = attribute(doc="what it takes and gives")
    sym_visibility: str | None = attribute(default=None, doc='"private", "nested" or "public", which is meant without')
    arg_attrs: ArrayAttr | None = attribute(default=None, doc="a dictionary for each argument")
    res_attrs: ArrayAttr | None = attribute(default=None, doc="a dictionary for each result")
    arg_names: tuple[str, ...] | None = attribute(default=None, doc="public names of what it takes", discardable=True)
    result_names: tuple[str, ...] | None = attribute(
        default=None, doc="public names of what it gives", discardable=True
    )
    body: Region = region()

    region_is_optional = True
    names_arguments = True

    def initialize(self) -> None:
        if len(self.body) == 1 and not self.body.block.args and self.body.block.first_op is None:
            for type in self.function_type.inputs:
                self.body.block.add_argument(type)

    def callable_region(self) -> Region:
        return self.body

    def verify_op(self) -> None:
        inputs, results = self.function_type.inputs, self.function_type.results
        for key, given, count in (
            ("arg_attrs", self.arg_attrs, len(inputs)),
            ("res_attrs", self.res_attrs, len(results)),
        ):
            if given is not None and not _are_dictionaries(given, count):
                raise VerifyError(f"{key} of @{self.sym_name} must be {count} dictionaries, not {given}", self)
        if self.sym_visibility not in (None, *VISIBILITIES):
            raise VerifyError(
                f"sym_visibility of @{self.sym_name} is {self.sym_visibility!r}, expected one of {VISIBILITIES}", self
            )
        if not len(self.body):
            if self.sym_visibility in (None, "public"):
                raise VerifyError(
                    f"{self.name} @{self.sym_name} has no body, which only a private function may lack", self
                )
            return
        given = tuple(a.type for a in self.body.block.args)
        if given != inputs:
            shown = ", ".join(map(str, given))
            raise VerifyError(
                f"the entry block of @{self.sym_name} takes ({shown}), its type is {self.function_type}", self
            )
        # One tuple of results has a name per element.
        tuple_of = results[0] if len(results) == 1 else None
        num_results = len(tuple_of) if isinstance(tuple_of, TupleType) else len(results)
        for key, names, count in (
            ("arg_names", self.arg_names, len(inputs)),
            ("result_names", self.result_names, num_results),
        ):
            if names is not None and (len(names) != count or len(set(names)) != count):
                raise VerifyError(f"{key} of @{self.sym_name} must be {count} distinct names, not {list(names)}", self)

    def print_custom(self, printer: Printer) -> None:
        kind = self.function_type
        results = [f"{printer.type(t)}{_braces(printer, self.res_attrs, i)}" for i, t in enumerate(kind.results)]
        bare = len(results) == 1 and self.res_attrs is None and not isinstance(kind.results[0], FunctionType)
        arrow = f" -> {results[0]}" if bare else f" -> ({', '.join(results)})" if results else ""
        if len(self.body):
            takes = [printer.argument(a, _braces(printer, self.arg_attrs, a.index)) for a in self.body.block.args]
        else:
            takes = [f"{printer.type(t)}{_braces(printer, self.arg_attrs, i)}" for i, t in enumerate(kind.inputs)]
        visibility = f"{self.sym_visibility} " if self.sym_visibility is not None else ""
        printer.write(f"{self.name} {visibility}{symbol_text(self.sym_name)}({', '.join(takes)}){arrow}")
        printer.write(printer.attributes(self.attributes, _IN_HEADER, " attributes "))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        visibility = next((word for word in VISIBILITIES if parser.accept(word)), None)
        name = parser.symbol()
        parser.expect("(", "after the name of a function")
        parser.skip_space()
        first_at = parser.pos
        arguments, types, argument_attributes = _parse_arguments(parser)
        results: list[Type] = []
        result_attributes: list[DictAttr] = []
        if parser.accept("->"):
            results, result_attributes = _parse_results(parser)
        entries = dict(parser.dictionary()) if parser.accept("attributes") else {}
        for key in _IN_HEADER:
            if key in entries and (key != "sym_visibility" or visibility is not None):
                parser.fail(f"'{key}' is said by the header of a function, so not in its attributes")
        entries["sym_name"] = StrAttr(name)
        entries["function_type"] = TypeAttr(FunctionType(types, results))
        if visibility is not None:
            entries["sym_visibility"] = StrAttr(visibility)
        for key, dictionaries in (("arg_attrs", argument_attributes), ("res_attrs", result_attributes)):
            if any(dictionaries):
                entries[key] = ArrayAttr(dictionaries)
        attributes = DictAttr(entries)

        def finish(regions: tuple[Region, ...]) -> Operation:
            return create_unchecked(cls, (), (), attributes, regions or (Region(),), (), location)

        if parser.peek() == "{":
            if len(arguments) != len(types):
                parser.fail("the arguments of a function with a body have names, as in (%a: f32)", first_at)
            return CustomFormat(finish, arguments)
        return CustomFormat(finish, has_region=False)


class FuncOp(FunctionOp, name="func.func"):
    """A function. Its entry block takes the inputs of `function_type`; made without a body, it gets an empty one.

    A private function whose region has no block is a declaration: another tool defines it.
    """


VISIBILITIES = ("private", "public", "nested")
_IN_HEADER = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")

Argument = tuple[str, int, Type, Location]


def _parse_arguments(parser: Parser) -> tuple[list[Argument], list[Type], list[DictAttr]]:
    """Arguments up to `)`: those with a name, the types and the dictionaries of all."""
    arguments: list[Argument] = []
    types: list[Type] = []
    dictionaries: list[DictAttr] = []
    while not parser.accept(")"):
        if types:
            parser.expect(",", "between arguments")
        parser.skip_space()
        at = parser.pos
        name = parser.match(VALUE_NAME)
        if name is not None:
            parser.expect(":", "after the name of an argument")
        elif arguments:
            parser.fail("expected an argument like '%arg0', as those before it have names")
        types.append(parser.type())
        dictionaries.append(parser.dictionary() if parser.peek() == "{" else EMPTY_DICT)
        if name is not None:
            arguments.append((name, at, types[-1], parser.argument_location(name)))
    return arguments, types, dictionaries


def _parse_results(parser: Parser) -> tuple[list[Type], list[DictAttr]]:
    """What stands after `->`: `T`, or `(T {…}, …)`."""
    types: list[Type] = []
    dictionaries: list[DictAttr] = []
    if not parser.accept("("):
        return [parser.type()], [EMPTY_DICT]
    while not parser.accept(")"):
        if types:
            parser.expect(",", "between results")
        types.append(parser.type())
        dictionaries.append(parser.dictionary() if parser.peek() == "{" else EMPTY_DICT)
    return types, dictionaries


def _are_dictionaries(given: ArrayAttr, count: int) -> bool:
    return len(given.elements) == count and all(isinstance(e, DictAttr) for e in given.elements)


def _braces(printer: Printer, dictionaries: ArrayAttr | None, index: int) -> str:
    """The dictionary of an argument or result, in braces, when it has entries."""
    found = dictionaries.elements[index] if dictionaries is not None else EMPTY_DICT
    return f" {printer.attribute(found)}" if found is not EMPTY_DICT else ""


class ReturnOp(Op, name="func.return", traits=(Terminator,)):
    """Ends a function and gives its results."""

    values: VariadicOperand = variadic_operand()

    def verify_op(self) -> None:
        function = self.parent_op
        if not isinstance(function, FuncOp):
            return
        expected, given = function.function_type.results, tuple(v.type for v in self.operands)
        if given != expected:
            shown, wanted = ", ".join(map(str, given)), ", ".join(map(str, expected))
            raise VerifyError(f"func.return gives ({shown}), @{function.sym_name} returns ({wanted})", self)

    def print_custom(self, printer: Printer) -> None:
        values = self.operands
        printer.write("return" + printer.attributes(self.attributes))
        if values:
            printer.write(
                f" {', '.join(map(printer.value, values))} : {', '.join(printer.type(v.type) for v in values)}"
            )

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        attributes = parser.dictionary() if parser.peek() == "{" else EMPTY_DICT
        operands = parser.operands() if parser.peek() == "%" else []
        types: list[Type] = []
        if operands:
            parser.expect(":", "before the types of the returned values")
            types.append(parser.type())
            while parser.accept(","):
                types.append(parser.type())
        values = parser.resolve(operands, tuple(types))
        return CustomFormat(lambda _: create_unchecked(cls, values, (), attributes, (), (), location), has_region=False)


class CallOp(Op, CallLike, SymbolUser, name="func.call"):
    """Runs the function `callee` on the operands."""

    inputs: VariadicOperand = variadic_operand()
    callee: SymbolRefAttr | NestedSymbolRefAttr = attribute(
        doc="the function, a symbol of the enclosing module or, as `@library::@function`, of a module in it"
    )
    outputs: VariadicResult = variadic_result()

    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def callee_symbol(self) -> str:
        callee = self.callee
        return callee.value if isinstance(callee, SymbolRefAttr) else str(callee)

    def callee_reference(self) -> SymbolReference:
        return self.callee

    def call_arguments(self) -> tuple[Value, ...]:
        return self.operands

    def function(self) -> FuncOp | None:
        """The function that is called, or None when the module around has none of that name; O(symbols)."""
        found = SymbolTables().resolve(self, self.callee)
        return found if isinstance(found, FuncOp) else None

    def verify_symbols(self, symbols: Symbols) -> None:
        function = symbols.resolve(self.callee)
        if not isinstance(function, FuncOp):
            raise VerifyError(f"func.call calls {self.callee}, which the module does not define", self)
        given = FunctionType([v.type for v in self.operands], [r.type for r in self.results])
        if given is not function.function_type:
            raise VerifyError(f"func.call is {given}, {self.callee} is {function.function_type}", self)


func = FuncOp
return_ = ReturnOp
call = CallOp

DIALECT = Dialect("func", [FuncOp, ReturnOp, CallOp])
