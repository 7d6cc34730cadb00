"""ml_program: MLIR's globals of a module, and containers of machine-learning programs.

A global begins each evaluation with its initial value. Neither of the containers can be called by `func.call`, as in
MLIR; whatever a peer keeps there is read, verified, printed and passed on. The operations with tokens
(`global_load_graph`, `global_store_graph`, `token`) are not defined; `allow_unregistered` keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tx8ir.core import (
    Attribute,
    Dialect,
    MemoryEffect,
    MemoryEffects,
    NamedStorage,
    Op,
    Operand,
    Operation,
    Pure,
    Result,
    StrAttr,
    Symbol,
    SymbolRefAttr,
    Terminator,
    Type,
    UnitAttr,
    VariadicOperand,
    VerifyError,
    attribute,
    operand,
    result,
    variadic_operand,
)
from tx8ir.core.attrs.attributes import DictAttr, TypeAttr, symbol_text
from tx8ir.core.ir.interfaces import SymbolUser
from tx8ir.core.ir.memory import EffectKind
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.text.custom_format import CustomFormat

from .func import VISIBILITIES, FunctionOp

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer


class GlobalOp(Op, name="ml_program.global", traits=(Symbol,)):
    """A variable of the module, or a constant.

    ml_program.global private mutable @counter(dense<0> : tensor<i32>) : tensor<i32>
    """

    sym_name: str = attribute(doc="the symbol it is loaded and stored by")
    type: Type = attribute(doc="of what it holds")
    is_mutable: UnitAttr | None = attribute(default=None, doc="it may be stored to")
    value: Attribute | None = attribute(default=None, doc="what it holds first")
    sym_visibility: str | None = attribute(default=None, doc='"private", "nested" or "public", which is meant without')

    def verify_op(self) -> None:
        if self.is_mutable is None and self.value is None:
            raise VerifyError(f"@{self.sym_name} is not a mutable global, so it needs a value", self)
        if self.sym_visibility not in (None, *VISIBILITIES):
            raise VerifyError(f"sym_visibility of @{self.sym_name} is {self.sym_visibility!r}", self)

    def print_short(self, printer: Printer) -> None:
        visibility = f"{self.sym_visibility} " if self.sym_visibility is not None else ""
        mutable = "mutable " if self.is_mutable is not None else ""
        value = f"({printer.attribute(self.value)})" if self.value is not None else ""
        printer.write(f"{self.name} {visibility}{mutable}{symbol_text(self.sym_name)}{value} : ")
        printer.write(printer.type(self.type) + printer.attributes(self.attributes, _IN_HEADER))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        visibility = next((word for word in VISIBILITIES if parser.accept(word)), None)
        entries: dict[str, Attribute] = {}
        if visibility is not None:
            entries["sym_visibility"] = StrAttr(visibility)
        if parser.accept("mutable"):
            entries["is_mutable"] = UnitAttr()
        entries["sym_name"] = StrAttr(parser.symbol())
        if parser.accept("("):
            entries["value"] = parser.attribute()
            parser.expect(")", "after the value of a global")
        parser.expect(":", "before the type of a global")
        entries["type"] = TypeAttr(parser.type())
        if parser.peek() == "{":
            entries |= dict(parser.dictionary())
        op = create_unchecked(cls, (), (), DictAttr(entries), (), (), location)
        return CustomFormat(lambda _: op, has_region=False)


_IN_HEADER = ("sym_name", "type", "is_mutable", "value", "sym_visibility")


def _global_of(op: Operation, symbols: Mapping[str, Operation]) -> GlobalOp:
    """The global that an operation names. Raises VerifyError when there is none."""
    symbol = op.attributes["global"]
    found = symbols.get(symbol.value)
    if not isinstance(found, GlobalOp):
        raise VerifyError(f"{op.name} names {symbol}, which is not a global of the module", op)
    return found


class GlobalLoadOp(Op, MemoryEffects, SymbolUser, name="ml_program.global_load"):
    """out = what a global holds now.

    %0 = ml_program.global_load @counter : tensor<i32>
    """

    symbol: SymbolRefAttr = attribute(name="global")
    out: Result = result()

    assembly_format = "$symbol `:` type($out) attr-dict"

    def memory_effects(self) -> Sequence[MemoryEffect]:
        return [MemoryEffect(EffectKind.READ, NamedStorage("global", self.symbol.value))]

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        _global_of(self, symbols)


class GlobalLoadConstOp(Op, SymbolUser, name="ml_program.global_load_const", traits=(Pure,)):
    """out = what a global holds that is not mutable.

    %0 = ml_program.global_load_const @table : tensor<4xf32>
    """

    symbol: SymbolRefAttr = attribute(name="global")
    out: Result = result()

    assembly_format = "$symbol `:` type($out) attr-dict"

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        if _global_of(self, symbols).is_mutable is not None:
            raise VerifyError(f"{self.symbol} is mutable, so no constant: load it by ml_program.global_load", self)


class GlobalStoreOp(Op, MemoryEffects, SymbolUser, name="ml_program.global_store"):
    """Lets a mutable global hold another value.

    ml_program.global_store @counter = %0 : tensor<i32>
    """

    value: Operand = operand()
    symbol: SymbolRefAttr = attribute(name="global")

    assembly_format = "$symbol `=` $value `:` type($value) attr-dict"

    def memory_effects(self) -> Sequence[MemoryEffect]:
        return [MemoryEffect(EffectKind.WRITE, NamedStorage("global", self.symbol.value))]

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        if _global_of(self, symbols).is_mutable is None:
            raise VerifyError(f"{self.symbol} is not mutable", self)


class FuncOp(FunctionOp, name="ml_program.func"):
    """A function of a machine-learning program, ended by `ml_program.return`.

    ml_program.func @compute(%arg0: i32) -> i32 {
      ml_program.return %arg0 : i32
    }
    """


class SubgraphOp(FunctionOp, name="ml_program.subgraph"):
    """A function whose body is one block, in an order in which every value is defined before its uses.

    It is ended by `ml_program.output`.

        ml_program.subgraph @compute(%arg0: i32) -> i32 {
          ml_program.output %arg0 : i32
        }
    """

    def verify_op(self) -> None:
        super().verify_op()
        if len(self.body) > 1:
            raise VerifyError(f"ml_program.subgraph @{self.sym_name} has {len(self.body)} blocks, expected one", self)


class EndOp(Op, traits=(Terminator,)):
    """Ends a container and gives its results."""

    values: VariadicOperand = variadic_operand()

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    container: type[FunctionOp]

    def verify_op(self) -> None:
        parent = self.parent_op
        if parent is None:
            return
        if not isinstance(parent, self.container):
            raise VerifyError(f"{self.name} ends {parent.name}, it belongs into {self.container.name}", self)
        given, expected = tuple(v.type for v in self.operands), parent.function_type.results
        if given != expected:
            shown, wanted = ", ".join(map(str, given)), ", ".join(map(str, expected))
            raise VerifyError(f"{self.name} gives ({shown}), @{parent.sym_name} returns ({wanted})", self)


class ReturnOp(EndOp, name="ml_program.return"):
    """Ends a function and gives its results.

    ml_program.return %0 : i32
    """

    container = FuncOp


class OutputOp(EndOp, name="ml_program.output"):
    """Ends a subgraph and gives its results.

    ml_program.output %0 : i32
    """

    container = SubgraphOp


func = FuncOp
subgraph = SubgraphOp
return_ = ReturnOp
output = OutputOp
global_load = GlobalLoadOp
global_load_const = GlobalLoadConstOp
global_store = GlobalStoreOp

DIALECT = Dialect(
    "ml_program",
    [GlobalOp, GlobalLoadOp, GlobalLoadConstOp, GlobalStoreOp, FuncOp, SubgraphOp, ReturnOp, OutputOp],
)
