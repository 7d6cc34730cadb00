"""func: functions, calls and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tx8ir.core.attrs.attributes import EMPTY_DICT, DictAttr, StrAttr, SymbolRefAttr, TypeAttr, symbol_text
from tx8ir.core.attrs.lexer import VALUE_NAME
from tx8ir.core.attrs.types import FunctionType, TupleType, Type
from tx8ir.core.context import Dialect
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.calls import CallableLike, CallLike
from tx8ir.core.ir.interfaces import SymbolUser
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.traits import IsolatedFromAbove, Symbol, Terminator
from tx8ir.core.ir.value import Value
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


class FuncOp(Op, CallableLike, name="func.func", traits=(IsolatedFromAbove, Symbol)):
    """A function. Its entry block takes the inputs of `function_type`; made without a body, it gets an empty one."""

    sym_name: str = attribute(doc="the symbol it is called by")
    function_type: FunctionType = attribute(doc="what it takes and gives")
    arg_names: tuple[str, ...] | None = attribute(default=None, doc="public names of what it takes")
    result_names: tuple[str, ...] | None = attribute(default=None, doc="public names of what it gives")
    body: Region = region()

    def initialize(self) -> None:
        if len(self.body) == 1 and not self.body.block.args and self.body.block.first_op is None:
            for type in self.function_type.inputs:
                self.body.block.add_argument(type)

    def callable_region(self) -> Region:
        return self.body

    def verify_op(self) -> None:
        inputs, results = self.function_type.inputs, self.function_type.results
        if not len(self.body):
            raise VerifyError(f"func.func @{self.sym_name} has no body", self)
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
        results = self.function_type.results
        if len(results) == 1 and not isinstance(results[0], FunctionType):
            arrow = f" -> {results[0]}"
        else:
            arrow = f" -> ({', '.join(map(str, results))})" if results else ""
        printer.write(f"func.func {symbol_text(self.sym_name)}({printer.arguments(self.body.block)}){arrow}")
        printer.write(printer.attributes(self.attributes, ("sym_name", "function_type"), " attributes "))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        name = parser.symbol()
        arguments: list[tuple[str, int, Type]] = []
        parser.expect("(", "after the name of a function")
        while not parser.accept(")"):
            if arguments:
                parser.expect(",", "between arguments")
            parser.skip_space()
            at = parser.pos
            argument = parser.require(VALUE_NAME, "an argument like '%arg0'")
            parser.expect(":", "after the name of an argument")
            arguments.append((argument, at, parser.type()))
        results: tuple[Type, ...] = ()
        if parser.accept("->"):
            results = parser.type_tuple() if parser.peek() == "(" else (parser.type(),)
        entries = dict(parser.dictionary()) if parser.accept("attributes") else {}
        for key in ("sym_name", "function_type"):
            if key in entries:
                parser.fail(f"'{key}' is said by the header of a function, so not in its attributes")
        entries["sym_name"] = StrAttr(name)
        entries["function_type"] = TypeAttr(FunctionType([t for _, _, t in arguments], results))
        attributes = DictAttr(entries)
        return CustomFormat(lambda regions: create_unchecked(cls, (), (), attributes, regions, (), location), arguments)


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
            printer.write(f" {', '.join(map(printer.value, values))} : {', '.join(str(v.type) for v in values)}")

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
    callee: SymbolRefAttr = attribute(doc="the function, a symbol of the enclosing module")
    outputs: VariadicResult = variadic_result()

    def callee_symbol(self) -> str:
        return self.callee.value

    def call_arguments(self) -> tuple[Value, ...]:
        return self.operands

    def function(self) -> FuncOp | None:
        """The function that is called, or None when the module around has none of that name; O(symbols)."""
        for ancestor in self.ancestors():
            if ancestor.name == "builtin.module":
                return _find(ancestor.regions[0].block, self.callee.value)
        return None

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        function = symbols.get(self.callee.value)
        if not isinstance(function, FuncOp):
            raise VerifyError(f"func.call calls {self.callee}, which the module does not define", self)
        given = FunctionType([v.type for v in self.operands], [r.type for r in self.results])
        if given is not function.function_type:
            raise VerifyError(f"func.call is {given}, {self.callee} is {function.function_type}", self)


def _find(block: Block, name: str) -> FuncOp | None:
    for op in block:
        if isinstance(op, FuncOp) and op.sym_name == name:
            return op
    return None


func = FuncOp
return_ = ReturnOp
call = CallOp

DIALECT = Dialect("func", [FuncOp, ReturnOp, CallOp])
