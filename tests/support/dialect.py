"""A small dialect that has one of everything an operation can have: what the core is tested with.

context = test_context()                  # builtin, func and test
program = tx8ir.parse(text, context=context)
"""

from __future__ import annotations

import enum
from typing import Any

import attrs
from numpy.typing import NDArray

from tx8ir.core import (
    Attribute,
    Commutative,
    Dialect,
    HasValueSemantics,
    InferTypes,
    IrContext,
    IsolatedFromAbove,
    NoTerminator,
    Op,
    Operand,
    OptionalOperand,
    Pure,
    RankedTensor,
    Region,
    Result,
    SameOperandsAndResultType,
    StructAttr,
    SymbolRefAttr,
    Terminator,
    TupleType,
    Type,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    attribute,
    enum_attr,
    operand,
    optional_operand,
    region,
    result,
    struct_attr,
    successor,
    variadic_operand,
    variadic_result,
)


@enum_attr("test.colour")
class Colour(enum.Enum):
    """An enumeration."""

    RED = "Red"
    DARK_BLUE = "DarkBlue"


@struct_attr("test.box")
@attrs.frozen
class BoxAttr(StructAttr):
    """A record with a field of every kind."""

    size: int
    names: tuple[str, ...] = ()
    extents: tuple[int, ...] = ()
    scale: float = 1.0
    is_open: bool = False
    label: str | None = None
    colour: Colour | None = None


class UnaryOp(Op, name="test.unary", traits=(Pure, SameOperandsAndResultType)):
    """One operand, one result, one type."""

    x: Operand = operand()
    out: Result = result()


class BinaryOp(Op, name="test.binary", traits=(Pure, Commutative, SameOperandsAndResultType)):
    """Two operands of one type."""

    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()


class SourceOp(Op, name="test.source", traits=(Pure,)):
    """No operands, any number of results of any type."""

    outs: VariadicResult = variadic_result()


class ManyOp(Op, name="test.many"):
    """Any operands, one result and then any number of others."""

    inputs: VariadicOperand = variadic_operand()
    first: Result = result()
    others: VariadicResult = variadic_result()


class SegmentsOp(Op, name="test.segments", traits=(HasValueSemantics,)):
    """Operand fields that vary, told apart by `operandSegmentSizes`."""

    head: Operand = operand()
    maybe: OptionalOperand = optional_operand()
    left: VariadicOperand = variadic_operand()
    right: VariadicOperand = variadic_operand()


class PackOp(Op, InferTypes, name="test.pack", traits=(Pure,)):
    """The operands as one tuple: a result type that is inferred."""

    inputs: VariadicOperand = variadic_operand()
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (TupleType([v.type for v in self.operands]),)


class TensorsOnlyOp(Op, name="test.tensors_only"):
    """An operand whose type is constrained, and a check of its own."""

    x: Operand = operand((RankedTensor,), doc="a tensor")
    rank: int = attribute()

    def verify_op(self) -> None:
        type = self.x.type
        if isinstance(type, RankedTensor) and type.rank != self.rank:
            raise VerifyError(f"{self.name} expects a tensor of rank {self.rank}, not {type}", self)


class AttributesOp(Op, name="test.attributes"):
    """An attribute field of every kind."""

    flag: bool = attribute(default=False)
    count: int = attribute(default=0)
    ratio: float = attribute(default=0.5)
    text: str = attribute(default="")
    kind: Type | None = attribute(default=None)
    numbers: tuple[int, ...] = attribute(default=())
    ratios: tuple[float, ...] = attribute(default=())
    flags: tuple[bool, ...] = attribute(default=())
    texts: tuple[str, ...] = attribute(default=())
    array: NDArray[Any] | None = attribute(default=None)
    colour: Colour | None = attribute(default=None)
    box: BoxAttr | None = attribute(default=None)
    symbol: SymbolRefAttr | None = attribute(default=None)
    anything: Attribute | None = attribute(default=None)


class ScopeOp(Op, name="test.scope", traits=(NoTerminator,)):
    """Two regions that see the values around them."""

    inputs: VariadicOperand = variadic_operand()
    outs: VariadicResult = variadic_result()
    first: Region = region()
    second: Region = region()


class IsolatedOp(Op, name="test.isolated", traits=(NoTerminator, IsolatedFromAbove)):
    """A region that sees nothing of what is around it."""

    inputs: VariadicOperand = variadic_operand()
    outs: VariadicResult = variadic_result()
    body: Region = region()


class GraphOp(Op, name="test.graph"):
    """A region of blocks between which control goes."""

    inputs: VariadicOperand = variadic_operand()
    outs: VariadicResult = variadic_result()
    body: Region = region()


class JumpOp(Op, name="test.jump", traits=(Terminator,)):
    """Goes to one block and gives it the values of its arguments."""

    inputs: VariadicOperand = variadic_operand()
    target: Any = successor()

    def verify_op(self) -> None:
        given, taken = [v.type for v in self.operands], [a.type for a in self.target.args]
        if given != taken:
            shown, wanted = ", ".join(map(str, given)), ", ".join(map(str, taken))
            raise VerifyError(f"{self.name} gives ({shown}) to a block that takes ({wanted})", self)


class BranchOp(Op, name="test.branch", traits=(Terminator,)):
    """Goes to one of two blocks without arguments."""

    condition: Operand = operand()
    yes: Any = successor()
    no: Any = successor()

    def verify_op(self) -> None:
        if self.yes.args or self.no.args:
            raise VerifyError(f"{self.name} gives no values, so its blocks take none", self)


class StopOp(Op, name="test.stop", traits=(Terminator,)):
    """Leaves the region."""

    inputs: VariadicOperand = variadic_operand()


TEST_DIALECT = Dialect(
    "test",
    [UnaryOp, BinaryOp, SourceOp, ManyOp, SegmentsOp, PackOp, TensorsOnlyOp, AttributesOp, ScopeOp, IsolatedOp, GraphOp,
     JumpOp, BranchOp, StopOp],
    [Colour, BoxAttr],
)  # fmt: skip


def test_context() -> IrContext:
    """A new context with the dialects `builtin`, `func` and `test`, and those given nowhere else."""
    context = IrContext([TEST_DIALECT])
    context.register_lazily("builtin", "tx8ir.dialects.builtin", {"module": "builtin.module"})
    context.register_lazily("func", "tx8ir.dialects.func", {"return": "func.return"})
    return context


test_context.__test__ = False  # type: ignore[attr-defined]  (for pytest: a helper that tests import, no test)
