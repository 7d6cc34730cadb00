"""Walks a program in order and builds ours with the converters of the registry.

What the program writes in place is storage, a `!pd.tensor`, from where it is computed on; everything else is values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from tx8ir.core import (
    DYNAMIC,
    Builder,
    FunctionType,
    IrError,
    NamedLocation,
    Operation,
    Program,
    TensorType,
    Value,
    VTensorType,
    WeightError,
    at_location,
)
from tx8ir.core.ir.builder import insert_here
from tx8ir.core.weights.store import TensorData
from tx8ir.dialects import builtin, func, pd
from tx8ir.frontends.known import KnownValues

from . import control
from .document import Document, PaddleBlock, PaddleOp, ResultType
from .errors import PaddleImportError
from .inplace import VIEWS, writes, written_values
from .missing import check_operators
from .node import PaddleNode
from .registry import Converted, find_converter, functional_of

Tensors: TypeAlias = Mapping[str, tuple[VTensorType, TensorData]]
"""Types and data of parameters, by name."""
Entry: TypeAlias = "Value | tuple[Value, ...]"
"""What a number stands for: a tensor (storage, where the program writes it), or a list of them."""

_PARAMETERS: Final = ("builtin.parameter", "builtin.constant")


def parameters_of(document: Document, *, lasting: bool) -> dict[str, VTensorType]:
    """Names and types of what a program reads from a file of parameters.

    Args:
        document: the program.
        lasting: whether inputs that outlive a run (`learning_rate_0`) are among them, as in programs that train.
    """
    found: dict[str, VTensorType] = {}
    for op in document.block.walk():
        if op.name in _PARAMETERS or (lasting and op.name == "pd_op.data" and op.persistable):
            type_ = op.results[0][1].tensor if op.results else None
            if type_ is not None:
                found[parameter_name(op)] = type_
    return found


def parameter_name(op: PaddleOp) -> str:
    """The name of what an operation reads from the file of parameters, or is fed."""
    for key in ("parameter_name", "value", "name"):
        name = op.attributes.get(key)
        if isinstance(name, str):
            return name
    return op.label


class ProgramImporter:
    """One import: what the numbers stand for, and the program that grows.

    Attributes:
        document: the program of Paddle.
        tensors: its parameters.
    """

    def __init__(self, document: Document, tensors: Tensors, dimensions: Mapping[str, int]) -> None:
        self.document = document
        self.tensors = tensors
        self._dimensions = dict(dimensions)
        self._open: list[str] = []
        self._program = Program.empty()
        self._entries: dict[int, Entry] = {}
        self._absent: dict[int, PaddleOp] = {}
        self._written = written_values(document.block)
        self._known = KnownValues()
        self._results: dict[str, Value] = {}
        self._inputs: dict[int, Value] = {}
        self._used: set[int] | None = None

    # --- errors ------------------------------------------------------------------------------------------------------

    def error(self, message: str, op: PaddleOp | None = None, needs: Sequence[str] = ()) -> PaddleImportError:
        """The error to raise about an operation, or the program."""
        return PaddleImportError(
            message,
            file=self.document.file,
            version=self.document.version,
            node=None if op is None else op.label,
            operator=None if op is None else op.name,
            place="" if op is None else op.place,
            needs=needs,
        )

    def open(self, message: str, op: PaddleOp) -> PaddleImportError:
        """The error to raise where dynamic extents of inputs would have to be known."""
        if not self._open:
            return self.error(message, op)
        given = ", ".join(f'"{place}": 4' for place in self._open)
        return self.error(f"{message}; give those of the inputs: load(…, dimensions={{{given}}})", op, self._open)

    # --- values ------------------------------------------------------------------------------------------------------

    def entry(self, number: int, op: PaddleOp) -> Entry:
        """What a number stands for.

        Raises:
            PaddleImportError: nothing that is computed before the operation.
        """
        found = self._entries.get(number)
        if found is None and (maker := self._absent.get(number)) is not None:
            raise self.error(f"uses a result of {maker.label!r} ({maker.name}) that is not computed", op)
        if found is None:
            raise self.error(f"uses the value %{number}, which is not computed before", op)
        return found

    def known(self, value: Value) -> Any:
        """The elements of a small tensor of the program that do not depend on inputs, or None."""
        return self._known.find(value)

    def is_used(self, op: PaddleOp, *indices: int) -> bool:
        """Whether one of these results of an operation is used."""
        if self._used is None:
            self._used = {number for other in self.document.block.walk() for number in other.operands}
        return any(index < len(op.results) and op.results[index][0] in self._used for index in indices)

    def parameter(self, name: str, data: TensorData, type_: VTensorType, *, written: bool = False) -> Value:
        """Add a parameter to the program's weights; its content, or its storage."""
        weights = self._program.weights
        unique = weights.unique_name(name)
        weights.add(unique, data, type_)
        return self._stored(unique, type_, written)

    def _stored(self, name: str, type_: VTensorType, written: bool) -> Value:
        if written:
            self._program.weights[name].is_mutable = True
        out = TensorType(type_.shape, type_.element) if written else type_
        return builtin.GetParameterOp(parameter=name, out=out).out

    def define(self, number: int, value: Entry) -> None:
        """Let a number stand for something: storage with that content, where the program writes it."""
        if number in self._written and isinstance(value, Value) and not isinstance(value.type, TensorType):
            value = builtin.ToTensorOp(value).results[0]
        self._entries[number] = value

    def fits(self, value: Value, declared: VTensorType, op: PaddleOp) -> None:
        """Check a result against its declared type.

        Raises:
            PaddleImportError: it is another.
        """
        found = value.type
        assert isinstance(found, TensorType | VTensorType)
        shapes = zip(found.shape, declared.shape, strict=False)
        same_rank = len(found.shape) == len(declared.shape)
        if (
            found.element is not declared.element
            or not same_rank
            or any(a != b and DYNAMIC not in (a, b) for a, b in shapes)
        ):
            raise self.error(f"a result is declared as {declared}; it comes to {found}", op)

    # --- the program -------------------------------------------------------------------------------------------------

    def run(self) -> Program:
        """Build the program."""
        check_operators(self.document)
        ops = self.document.block.ops
        fed = [op for op in ops if op.name in ("pd_op.data", "pd_op.feed") and parameter_name(op) not in self.tensors]
        types = [self._declared(op) for op in fed]
        if self._dimensions:
            given = ", ".join(map(repr, self._dimensions))
            raise self.error(f"dimensions are given for {given}; dynamic are {', '.join(self._open) or 'none'}")
        names = _distinct([parameter_name(op) for op in fed])
        with Builder.at_end(self._program.body), at_location(NamedLocation("main")):
            main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()), arg_names=tuple(names))
        block = main.body.block
        self._inputs = {op.results[0][0]: argument for op, argument in zip(fed, block.args, strict=True)}
        with Builder.at_end(block):
            self.import_ops(self.document.block)
            func.ReturnOp(list(self._results.values()))
        main.set_attribute("result_names", tuple(self._results))
        main.set_attribute("function_type", FunctionType(types, [value.type for value in self._results.values()]))
        try:
            self._program.verify()
        except IrError as error:
            raise self.error(f"is malformed, or beyond what is supported: {error.message}") from error
        return self._program

    def _declared(self, op: PaddleOp) -> VTensorType:
        type_ = op.results[0][1].tensor if len(op.results) == 1 else None
        if type_ is None:
            raise self.error("declares no tensor", op)
        shape = list(type_.shape)
        for axis, extent in enumerate(shape):
            if extent == DYNAMIC:
                place = f"{parameter_name(op)}[{axis}]"
                shape[axis] = self._dimensions.pop(place, DYNAMIC)
                if shape[axis] == DYNAMIC:
                    self._open.append(place)
        return VTensorType(shape, type_.element)

    def import_block(self, block: PaddleBlock, arguments: Sequence[Value]) -> list[Value]:
        """Import the operations of a region; what its end gives."""
        if len(arguments) != len(block.arguments):
            raise self.error(f"gives {len(arguments)} values to a block of {len(block.arguments)}")
        for (number, _), argument in zip(block.arguments, arguments, strict=True):
            self.define(number, argument)
        return self.import_ops(block)

    def import_ops(self, block: PaddleBlock) -> list[Value]:
        """Import operations; what the `cf.yield` at their end gives."""
        for op in block.ops:
            if op.name == "cf.yield":
                node = PaddleNode(self, op)
                return [node.operand(index) for index in range(node.count)]
            self._import(op)
        return []

    def _import(self, op: PaddleOp) -> None:
        node = PaddleNode(self, op)
        try:
            with at_location(NamedLocation(op.label)):
                self._convert(node)
        except PaddleImportError:
            raise
        except IrError as error:
            raise self.error(error.message, op) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError) as error:
            # What a file can hold is more than converters foresee; the cause is kept for who wants to know.
            raise self.error(
                f"is malformed, or beyond what is supported: {type(error).__name__}: {error}", op
            ) from error

    def _convert(self, node: PaddleNode) -> None:
        op = node.proto
        match op.name:
            case "builtin.parameter" | "builtin.constant" | "pd_op.data" | "pd_op.feed":
                self._read(node)
            case "builtin.set_parameter":
                self._set(node)
            case "pd_op.fetch" | "builtin.shadow_output":
                self._give(node)
            case "builtin.combine":
                self.define(op.results[0][0], tuple(node.operand(index) for index in range(node.count)))
            case "builtin.split":
                for (number, _), item in zip(op.results, node.list(0), strict=True):
                    self.define(number, item)
            case "builtin.slice":
                self.define(op.results[0][0], node.list(0)[node.int("index")])
            case "cf.stack_create" | "cf.tuple_push":
                self._absent.update((number, op) for number, _ in op.results)  # for gradients of loops
            case "pd_op.if" | "pd_op.while":
                self._define(node, control.CONVERTERS[op.name](node))
            case _:
                self._apply(node)

    # --- inputs, parameters and results ------------------------------------------------------------------------------

    def _read(self, node: PaddleNode) -> None:
        number, declared = node.proto.results[0]
        if number in self._inputs:
            self.define(number, self._inputs[number])
            return
        if declared.tensor is None:
            raise node.error(f"reads {declared.text}; supported are tensors")
        name = parameter_name(node.proto)
        if node.proto.name in ("pd_op.data", "pd_op.feed") and name not in self.tensors:
            raise node.error("is an input inside of a region")
        written, weights = number in self._written, self._program.weights
        if name in weights:
            self.define(number, self._stored(name, declared.tensor, written))
            return
        found = self.tensors.get(name)
        if found is None:
            raise node.error(f"reads the parameter {name!r}, of which there is no data")
        type_, data = found
        try:
            weights.add(name, data, type_)
        except WeightError as error:
            raise node.error(f"parameter {name!r}: {error.message}") from error
        self.define(number, self._stored(name, type_, written))

    def _set(self, node: PaddleNode) -> None:
        name = parameter_name(node.proto)
        value = node.operand(0)
        variable = self._program.weights.get(name)
        if variable is None:  # written without being read
            found = self.tensors.get(name)
            if found is None:
                raise node.error(f"writes the parameter {name!r}, of which there is no data")
            self._program.weights.add(name, found[1], found[0])
            variable = self._program.weights[name]
        variable.is_mutable = True
        builtin.SetParameterOp(value, parameter=name)

    def _give(self, node: PaddleNode) -> None:
        names = (node.proto.attributes.get(key) for key in ("name", "output_name"))
        name = next((name for name in names if isinstance(name, str)), node.label)
        self._results[_unique(name, self._results)] = node.operand(0)

    # --- operators ---------------------------------------------------------------------------------------------------

    def _apply(self, node: PaddleNode) -> None:
        found = find_converter(node.operator)
        if found is None:
            functional = functional_of(node.operator)
            found = find_converter(functional) if functional is not None else None
        if found is None:
            raise node.error("the operator is not supported")
        place = node.place(0) if node.proto.short in VIEWS else None
        if place is not None and isinstance(place.type, TensorType):
            self._define(node, self._shown(node, place))
            return
        self._define(node, found.function(node))

    def _shown(self, node: PaddleNode, place: Value) -> Converted:
        """A view of storage, which shows what is written to it."""
        shape = node.result().shape
        return place if node.proto.short == "share_data_" else pd.reshape(place, shape=shape).out

    def _define(self, node: PaddleNode, converted: Converted) -> None:
        values = _values(converted)
        written = {result: operand for operand, result in writes(node.proto).items()}
        for index, (number, declared) in enumerate(node.proto.results):
            if declared.is_nothing:
                continue
            value = values[index] if index < len(values) else None
            place = node.place(written[index]) if index in written else None
            if value is not None:
                self._check(node, value, declared)
            if place is not None and isinstance(value, Value):
                self._entries[number] = self._write(node, place, value)
            elif value is not None:
                self.define(number, value)
            else:
                self._absent[number] = node.proto

    def _check(self, node: PaddleNode, value: Entry, declared: ResultType) -> None:
        if isinstance(value, Value):
            if declared.tensor is None:
                raise node.error(f"has a result that is {declared.text}; supported are tensors")
            self.fits(value, declared.tensor, node.proto)
        elif declared.items is None or len(declared.items) != len(value):
            raise node.error(f"comes to a list of {len(value)}; declared is {declared.text}")

    def _write(self, node: PaddleNode, place: Value, value: Value) -> Value:
        """Write a value to storage, by the operation that does so in place where it has one."""
        if not isinstance(place.type, TensorType):
            raise node.error("writes what is no storage")
        op = value.defining_op
        form = pd.inplace_form(type(op)) if op is not None else None
        source = op.operands[0].defining_op if op is not None and op.operands else None
        if (
            form is not None
            and op is not None
            and isinstance(source, builtin.ToVTensorOp)
            and source.operands[0] is place
            and not op.results[0].has_uses
        ):
            made = form.create((place, *op.operands[1:]), [place.type], attributes=op.attributes, location=op.location)
            op.erase()
            if not source.results[0].has_uses:
                source.erase()
            insert_here(made)
            return place
        pd.assign_(place, value)
        return place


def _values(converted: Converted) -> list[Entry | None]:
    items = converted if isinstance(converted, Sequence) else [converted]
    values: list[Entry | None] = []
    for item in items:
        if isinstance(item, Operation):
            values += item.results
        elif isinstance(item, Value) or item is None:
            values.append(item)
        else:
            values.append(tuple(item))
    return values


def _distinct(names: Sequence[str]) -> list[str]:
    found: dict[str, Any] = {}
    for name in names:
        found[_unique(name, found)] = None
    return list(found)


def _unique(name: str, taken: Mapping[str, Any]) -> str:
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
