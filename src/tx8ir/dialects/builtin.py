"""builtin: the module, constants, reading and writing the parameters of a program, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tx8ir.core.attrs.attributes import Attribute, DictAttr, symbol_text
from tx8ir.core.attrs.dense import DenseAttr
from tx8ir.core.attrs.types import DictType, ListType, RankedTensor, TensorType, Type, VTensorType
from tx8ir.core.context import Dialect
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Region
from tx8ir.core.ir.builder import insert_here
from tx8ir.core.ir.interfaces import Compute, Fold, InferTypes, ParameterAccess
from tx8ir.core.ir.memory import Element, Snapshot, StorageAliases
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.ir.traits import ConstantLike, IsolatedFromAbove, NoTerminator, Pure, ReadOnly, SymbolTable
from tx8ir.core.ir.value import Value
from tx8ir.core.opdef.fields import (
    Operand,
    Result,
    VariadicOperand,
    VariadicResult,
    attribute,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from tx8ir.core.opdef.op import Op
from tx8ir.core.text.custom_format import CustomFormat
from tx8ir.dialects.samples import ELEMENTS, SHAPES, Sampled, case, each

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer


class ModuleOp(Op, name="builtin.module", traits=(IsolatedFromAbove, NoTerminator, SymbolTable)):
    """The outermost operation of a program: functions and other symbols in one block."""

    sym_name: str | None = attribute(default=None, doc="its own symbol, where it stands in another module")
    sym_visibility: str | None = attribute(default=None, doc='"private", "nested" or "public", which is meant without')
    body: Region = region(doc="the symbols")

    def print_custom(self, printer: Printer) -> None:
        name = f" {symbol_text(self.sym_name)}" if self.sym_name is not None else ""
        printer.write(f"module{name}" + printer.attributes(self.attributes, ("sym_name",), " attributes "))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        name = parser.symbol() if parser.peek() == "@" else None
        attributes = parser.dictionary() if parser.accept("attributes") else DictAttr()
        if name is not None:
            if "sym_name" in attributes:
                parser.fail("'sym_name' is said by the header of a module, so not in its attributes")
            attributes = attributes.with_entry("sym_name", name)
        return CustomFormat(lambda regions: create_unchecked(cls, (), (), attributes, regions, (), location))

    def verify_op(self) -> None:
        if len(self.body) != 1 or self.body.block.args:
            raise VerifyError("builtin.module holds one block without arguments", self)


class ConstantOp(Op, Compute, Fold, InferTypes, Sampled, name="builtin.constant", traits=(Pure, ConstantLike)):
    """A tensor that is written in the program. For small data; weights belong into the `WeightStore`."""

    value: DenseAttr = attribute(doc="the numbers, with their type")
    out: Result = result(doc="of the type of `value`")

    cases = tuple(
        case(value=DenseAttr(numbers, VTensorType(numbers.shape, element)))
        for element in ELEMENTS["any"]
        for numbers in (
            np.arange(6).reshape(2, 3).astype(element.dtype),
            np.ones((2, 2), element.dtype),
            np.ones((), element.dtype),
            np.zeros((0,), element.dtype),
            np.arange(5).reshape(1, 5).astype(element.dtype),
        )
    )

    def infer_types(self) -> tuple[Type, ...]:
        return (self.value.type.to_vtensor(),)

    def compute(self) -> Any:
        return self.value.value

    def fold(self, operands: Sequence[Attribute | None]) -> Attribute:
        return self.value


class GetParameterOp(Op, ParameterAccess, Snapshot, name="builtin.get_parameter", traits=(ReadOnly,)):
    """The variable `name` of the program's store: a vtensor is a snapshot of it, a tensor shares its storage."""

    parameter: str = attribute(name="name", doc="the name of the variable")
    out: Result = result((RankedTensor,), doc="of the shape and element type of the variable")

    def parameter_reads(self) -> Mapping[str, Type]:
        return {self.parameter: self.out.type}

    def parameter_writes(self) -> Mapping[str, Type]:
        return {self.parameter: self.out.type} if isinstance(self.out.type, TensorType) else {}

    def snapshot(self) -> Value:
        type = _ranked(self.out.type).to_vtensor()
        return insert_here(GetParameterOp.create((), [type], self.attributes)).results[0]


class SetParameterOp(Op, ParameterAccess, name="builtin.set_parameter"):
    """Makes a tensor the new content of the variable `name` of the program's store."""

    value: Operand = operand((RankedTensor,))
    parameter: str = attribute(name="name", doc="the name of the variable")

    def parameter_reads(self) -> Mapping[str, Type]:
        return {}

    def parameter_writes(self) -> Mapping[str, Type]:
        return {self.parameter: self.value.type}


class GetCombineParameterOp(Op, ParameterAccess, name="builtin.get_combine_parameter", traits=(ReadOnly,)):
    """Several variables of the program's store at once, as a list; see `GetParameterOp` for each."""

    parameters: tuple[str, ...] = attribute(name="names", doc="the names of the variables, distinct")
    out: Result = result((ListType,), doc="of one tensor for each name")

    def verify_op(self) -> None:
        _verify_names(self, self.parameters, self.out.type)

    def parameter_reads(self) -> Mapping[str, Type]:
        return dict(zip(self.parameters, _elements(self.out.type), strict=True))

    def parameter_writes(self) -> Mapping[str, Type]:
        return {name: t for name, t in self.parameter_reads().items() if isinstance(t, TensorType)}


class SetCombineParameterOp(Op, ParameterAccess, name="builtin.set_combine_parameter"):
    """Makes the tensors of a list the new contents of several variables of the program's store."""

    values: Operand = operand((ListType,), doc="of one tensor for each name")
    parameters: tuple[str, ...] = attribute(name="names", doc="the names of the variables, distinct")

    def verify_op(self) -> None:
        _verify_names(self, self.parameters, self.values.type)

    def parameter_reads(self) -> Mapping[str, Type]:
        return {}

    def parameter_writes(self) -> Mapping[str, Type]:
        return dict(zip(self.parameters, _elements(self.values.type), strict=True))


class CombineOp(Op, Compute, InferTypes, StorageAliases, name="builtin.combine", traits=(Pure,)):
    """A list of the operands, in order."""

    inputs: VariadicOperand = variadic_operand(doc="of any types")
    out: Result = result((ListType,))

    def infer_types(self) -> tuple[Type, ...]:
        return (ListType([v.type for v in self.inputs]),)

    def compute(self, *inputs: Any) -> Any:
        return inputs

    def storage_aliases(self) -> Sequence[tuple[Element, Value]]:
        return [(Element(self.out, index), value) for index, value in enumerate(self.inputs)]


class SliceOp(Op, Compute, Fold, InferTypes, StorageAliases, name="builtin.slice", traits=(Pure,)):
    """The element at `index` of a list."""

    x: Operand = operand((ListType,))
    index: int = attribute(doc="from 0")
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        elements = _elements(self.x.type)
        if not 0 <= self.index < len(elements):
            raise VerifyError(f"builtin.slice takes element {self.index} of a list of {len(elements)}", self)
        return (elements[self.index],)

    def compute(self, x: Any) -> Any:
        return x[self.index]

    def storage_aliases(self) -> Sequence[tuple[Value, Element]]:
        return [(self.out, Element(self.x, self.index))]

    def fold(self, operands: Sequence[Attribute | None]) -> Value | None:
        made = self.x.defining_op
        return made.operands[self.index] if isinstance(made, CombineOp) else None


class SplitOp(Op, Compute, InferTypes, StorageAliases, name="builtin.split", traits=(Pure,)):
    """All elements of a list, in order."""

    x: Operand = operand((ListType,))
    outputs: VariadicResult = variadic_result()

    def infer_types(self) -> tuple[Type, ...]:
        return _elements(self.x.type)

    def compute(self, x: Any) -> Any:
        return x[0] if len(self.outputs) == 1 else x

    def storage_aliases(self) -> Sequence[tuple[Value, Element]]:
        return [(value, Element(self.x, index)) for index, value in enumerate(self.outputs)]


class MakeDictOp(Op, Compute, InferTypes, StorageAliases, name="builtin.make_dict", traits=(Pure,)):
    """A dictionary of the operands, under `keys` in the same order."""

    inputs: VariadicOperand = variadic_operand(doc="of any types")
    keys: tuple[str, ...] = attribute(doc="distinct, one for each operand")
    out: Result = result((DictType,))

    def infer_types(self) -> tuple[Type, ...]:
        if len(set(self.keys)) != len(self.inputs) or len(self.keys) != len(self.inputs):
            raise VerifyError(
                f"builtin.make_dict takes {len(self.inputs)} values, so as many distinct keys, not {list(self.keys)}",
                self,
            )
        return (DictType({key: v.type for key, v in zip(self.keys, self.inputs, strict=True)}),)

    def compute(self, *inputs: Any) -> Any:
        return dict(zip(self.keys, inputs, strict=True))

    def storage_aliases(self) -> Sequence[tuple[Element, Value]]:
        return [(Element(self.out, key), value) for key, value in zip(self.keys, self.inputs, strict=True)]


class GetItemOp(Op, Compute, Fold, InferTypes, StorageAliases, name="builtin.get_item", traits=(Pure,)):
    """What a dictionary holds under `key`."""

    x: Operand = operand((DictType,))
    key: str = attribute()
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        type = self.x.type
        if not isinstance(type, DictType) or self.key not in type.keys:
            raise VerifyError(f"builtin.get_item wants the key {self.key!r}, its operand is {type}", self)
        return (type[self.key],)

    def compute(self, x: Any) -> Any:
        return x[self.key]

    def storage_aliases(self) -> Sequence[tuple[Value, Element]]:
        return [(self.out, Element(self.x, self.key))]

    def fold(self, operands: Sequence[Attribute | None]) -> Value | None:
        made = self.x.defining_op
        return made.operands[made.keys.index(self.key)] if isinstance(made, MakeDictOp) else None


class ToTensorOp(Op, Compute, InferTypes, Sampled, name="builtin.to_tensor", traits=(ReadOnly,)):
    """A deep copy of a vtensor (or tensor) into storage of its own, which may then be changed."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    cases = each(SHAPES)

    def infer_types(self) -> tuple[Type, ...]:
        return (_ranked(self.x.type).to_tensor(),)

    def compute(self, x: Any) -> Any:
        return np.array(x)


class ToVTensorOp(Op, Compute, InferTypes, Sampled, name="builtin.to_vtensor", traits=(ReadOnly,)):
    """A deep copy of a tensor as a value: what it holds now."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    cases = each(SHAPES)

    def infer_types(self) -> tuple[Type, ...]:
        return (_ranked(self.x.type).to_vtensor(),)

    def compute(self, x: Any) -> Any:
        return np.array(x)


class UnrealizedConversionCastOp(Op, name="builtin.unrealized_conversion_cast", traits=(Pure,)):
    """Values of some types for values of others, while types are converted: whoever converts the rest resolves it.

    It has no meaning of its own, and cannot be evaluated. A cast of what a cast of the other way made is that itself.
    """

    inputs: VariadicOperand = variadic_operand()
    outputs: VariadicResult = variadic_result(doc="one at least")

    assembly_format = "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict"

    def verify_op(self) -> None:
        if not self.results:
            raise VerifyError(f"{self.name} has no result; a cast gives one at least", self)


def _ranked(type: Type) -> TensorType:
    if not isinstance(type, RankedTensor):
        raise VerifyError(f"expected a tensor, not {type}")
    return type.to_tensor()


def _elements(type: Type) -> tuple[Type, ...]:
    if not isinstance(type, ListType):
        raise VerifyError(f"expected a list, not {type}")
    return type.elements


def _verify_names(op: Op, names: tuple[str, ...], type: Type) -> None:
    elements = _elements(type)
    if len(names) != len(elements) or len(set(names)) != len(names):
        raise VerifyError(f"{op.name} has a list of {len(elements)}, so as many distinct names, not {list(names)}", op)
    for name, element in zip(names, elements, strict=True):
        if not isinstance(element, RankedTensor):
            raise VerifyError(f"{op.name} has variable {name!r} as {element}, expected a tensor", op)


module = ModuleOp
constant = ConstantOp
get_parameter = GetParameterOp
set_parameter = SetParameterOp
get_combine_parameter = GetCombineParameterOp
set_combine_parameter = SetCombineParameterOp
combine = CombineOp
slice_ = SliceOp
split = SplitOp
make_dict = MakeDictOp
get_item = GetItemOp
to_tensor = ToTensorOp
to_vtensor = ToVTensorOp
unrealized_conversion_cast = UnrealizedConversionCastOp

DIALECT = Dialect(
    "builtin",
    [
        ModuleOp,
        ConstantOp,
        GetParameterOp,
        SetParameterOp,
        GetCombineParameterOp,
        SetCombineParameterOp,
        CombineOp,
        SliceOp,
        SplitOp,
        MakeDictOp,
        GetItemOp,
        ToTensorOp,
        ToVTensorOp,
        UnrealizedConversionCastOp,
    ],
)
