"""builtin: the module, constants, and reading and writing the parameters of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tx8ir.core.attributes import Attribute, DictAttr
from tx8ir.core.block import Region
from tx8ir.core.context import Dialect
from tx8ir.core.dense import DenseAttr
from tx8ir.core.errors import VerifyError
from tx8ir.core.fields import Operand, Result, attribute, operand, region, result
from tx8ir.core.header import Header
from tx8ir.core.interfaces import Compute, Fold, InferTypes
from tx8ir.core.op import Op
from tx8ir.core.operation import create_unchecked
from tx8ir.core.traits import ConstantLike, IsolatedFromAbove, NoTerminator, Pure, ReadOnly, SymbolTable
from tx8ir.core.types import RankedTensor, TensorType, Type

if TYPE_CHECKING:
    from tx8ir.core.parser import Parser
    from tx8ir.core.printer import Printer


class ModuleOp(Op, name="builtin.module", traits=(IsolatedFromAbove, NoTerminator, SymbolTable)):
    """The outermost operation of a program: functions and other symbols in one block."""

    body: Region = region(doc="the symbols")

    def print_header(self, printer: Printer) -> None:
        printer.write("module" + printer.attributes(self.attributes, prefix=" attributes "))

    @classmethod
    def parse_header(cls, parser: Parser) -> Header:
        location = parser.here(parser.pos)
        attributes = parser.dictionary() if parser.accept("attributes") else DictAttr()
        return Header(lambda regions: create_unchecked(cls, (), (), attributes, regions, (), location))

    def verify_op(self) -> None:
        if len(self.body) != 1 or self.body.block.args:
            raise VerifyError("builtin.module holds one block without arguments", self)


class ConstantOp(Op, Compute, Fold, InferTypes, name="builtin.constant", traits=(Pure, ConstantLike)):
    """A tensor that is written in the program. For small data; weights belong into the `WeightStore`."""

    value: DenseAttr = attribute(doc="the numbers, with their type")
    out: Result = result(doc="of the type of `value`")

    def infer_types(self) -> tuple[Type, ...]:
        return (self.value.type.to_vtensor(),)

    def compute(self) -> Any:
        return self.value.value

    def fold(self, operands: Sequence[Attribute | None]) -> Attribute:
        return self.value


class GetParameterOp(Op, name="builtin.get_parameter", traits=(ReadOnly,)):
    """The variable `name` of the program's store: a vtensor is a snapshot of it, a tensor shares its storage."""

    parameter: str = attribute(name="name", doc="the name of the variable")
    out: Result = result((RankedTensor,), doc="of the shape and element type of the variable")


class SetParameterOp(Op, name="builtin.set_parameter"):
    """Makes a tensor the new content of the variable `name` of the program's store."""

    value: Operand = operand((RankedTensor,))
    parameter: str = attribute(name="name", doc="the name of the variable")


class ToTensorOp(Op, Compute, InferTypes, name="builtin.to_tensor"):
    """A deep copy of a vtensor (or tensor) into storage of its own, which may then be changed."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (_ranked(self.x.type).to_tensor(),)

    def compute(self, x: Any) -> Any:
        return np.array(x)


class ToVTensorOp(Op, Compute, InferTypes, name="builtin.to_vtensor", traits=(ReadOnly,)):
    """A deep copy of a tensor as a value: what it holds now."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (_ranked(self.x.type).to_vtensor(),)

    def compute(self, x: Any) -> Any:
        return np.array(x)


def _ranked(type: Type) -> TensorType:
    if not isinstance(type, RankedTensor):
        raise VerifyError(f"expected a tensor, not {type}")
    return type.to_tensor()


module = ModuleOp
constant = ConstantOp
get_parameter = GetParameterOp
set_parameter = SetParameterOp
to_tensor = ToTensorOp
to_vtensor = ToVTensorOp

DIALECT = Dialect("builtin", [ModuleOp, ConstantOp, GetParameterOp, SetParameterOp, ToTensorOp, ToVTensorOp])
