"""Walks a module of StableHLO in order and builds the program with the converters of the registry."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    ArrayAttr,
    Block,
    Builder,
    DictAttr,
    FunctionType,
    IrError,
    NamedLocation,
    Operation,
    Program,
    RankedTensor,
    StrAttr,
    SymbolRefAttr,
    Terminator,
    Value,
    VTensorType,
    at_location,
)
from tx8ir.core.attrs.lexer import TextLocation
from tx8ir.core.location import CallSiteLocation, FileLocation, FusedLocation, Location
from tx8ir.dialects import builtin, func, pd
from tx8ir.frontends.errors import MissingOperator
from tx8ir.frontends.known import KnownValues
from tx8ir.frontends.values import tensor_type

from . import control
from .errors import StableHloImportError
from .missing import check_operators, operator_of
from .node import StableHloNode
from .registry import Converted, find_converter

DEEPEST: Final = 64
"""Calls and regions may be nested so deep."""
MOST: Final = 1 << 22
"""Operations that a module may have once its private functions are inlined."""


def import_module(module: Operation, file: str, dimensions: Mapping[str, int] | None) -> Program:
    """Import a module.

    Raises:
        StableHloImportError: see `load`.
    """
    return ModuleImporter(module, file, dimensions or {}).run()


class ModuleImporter:
    """One import: what the values of the module have become, and the program that grows.

    Attributes:
        module: the module.
        file: its name for messages.
        is_lifted: whether operations for one element are being built for tensors.
    """

    def __init__(self, module: Operation, file: str, dimensions: Mapping[str, int]) -> None:
        self.module = module
        self.file = file
        self.is_lifted = False
        self._dimensions = dict(dimensions)
        self._program = Program.empty()
        self._values: dict[Value, Value] = {}
        self._known = KnownValues()
        self._functions: dict[str, func.FuncOp] = {}
        self._open: list[str] = []
        self._depth = 0
        self._count = 0

    # --- errors and places -------------------------------------------------------------------------------------------

    def error(
        self,
        message: str,
        op: Operation | None = None,
        needs: Sequence[str] = (),
        *,
        missing: Sequence[MissingOperator] = (),
        node: str | None = None,
        operator: str | None = None,
    ) -> StableHloImportError:
        """The error to raise about an operation, or the module."""
        return StableHloImportError(
            message,
            file=self.file,
            node=node if op is None else self.label(op),
            operator=operator if op is None else operator_of(op),
            needs=needs,
            missing=missing,
        )

    def open(self, message: str, op: Operation | None) -> StableHloImportError:
        """The error to raise where dynamic extents of inputs would have to be known."""
        if not self._open:
            return self.error(f"{message}; they depend on values", op)
        given = ", ".join(f'"{place}": 4' for place in self._open)
        return self.error(f"{message}; give those of the inputs: load(…, dimensions={{{given}}})", op, self._open)

    def label(self, op: Operation) -> str:
        """The name that an operation has in the text, else where it stands."""
        location = op.location
        return location.name or (f"line {location.line}" if isinstance(location, TextLocation) else "unnamed")

    def place(self, op: Operation) -> str:
        """The line of the user's source that an operation comes from, or an empty string."""
        work: list[Location] = [op.location]
        while work:
            location = work.pop()
            if isinstance(location, FileLocation):
                return f"{location.file}:{location.line}"
            if isinstance(location, NamedLocation):
                work.append(location.child)
            elif isinstance(location, CallSiteLocation):
                work.append(location.callee)
            elif isinstance(location, FusedLocation):
                work += reversed(location.locations)
        return ""

    # --- values ------------------------------------------------------------------------------------------------------

    def parameter(self, name: str, data: NDArray[Any], type_: VTensorType) -> Value:
        """Add a parameter to the program's weights and read it."""
        weights = self._program.weights
        unique = weights.unique_name(name)
        weights.add(unique, data, type_)
        return builtin.GetParameterOp(parameter=unique, out=type_).out

    def known(self, value: Value) -> NDArray[Any] | None:
        """The elements of a small tensor of the program that do not depend on inputs, or None."""
        return self._known.find(value)

    # --- the program -------------------------------------------------------------------------------------------------

    def run(self) -> Program:
        """Build the program."""
        check_operators(self)
        self._functions = {op.sym_name: op for op in self.module.walk() if isinstance(op, func.FuncOp)}
        main = self._main()
        entry, given = self._entry(main)
        names = [_argument_name(argument, index) for index, argument in enumerate(main.body.block.args)]
        types = [
            self._declared(argument, name)
            for argument, name in zip(entry.args, [names[index] for index in given], strict=True)
        ]
        names = _distinct([names[index] for index in given])
        if self._dimensions:
            places = ", ".join(map(repr, self._dimensions))
            raise self.error(f"dimensions are given for {places}; dynamic are {', '.join(self._open) or 'none'}")
        with Builder.at_end(self._program.body), at_location(NamedLocation("main")):
            made = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()), arg_names=tuple(names))
        with Builder.at_end(made.body.block):
            results = self.run_block(entry, made.body.block.args)
            func.ReturnOp(results)
        made.set_attribute("result_names", tuple(_distinct(_result_names(main, len(results)))))
        made.set_attribute("function_type", FunctionType(types, [value.type for value in results]))
        try:
            self._program.verify()
        except IrError as error:
            raise self.error(f"is malformed, or beyond what is supported: {error.message}") from error
        return self._program

    def _main(self) -> func.FuncOp:
        public = [f for f in self._functions.values() if f.sym_visibility in (None, "public")]
        found = self._functions.get("main", public[0] if len(public) == 1 else None)
        if found is None or not len(found.body):
            listed = ", ".join(f"@{f.sym_name}" for f in public) or "none"
            raise self.error(f"has no function @main with a body; its public functions are {listed}")
        if len(found.body) != 1:
            raise self.error(f"@{found.sym_name} has {len(found.body)} blocks; expected one", found)
        return found

    def _entry(self, main: func.FuncOp) -> tuple[Block, list[int]]:
        """The block to import, and which argument of `main` each of its arguments is a part of."""
        block = main.body.block
        first, last = block.first_op, block.terminator
        if first is None or last is None or first.name != "sdy.manual_computation":
            return block, list(range(len(block.args)))
        if list(last.operands) != list(first.results) or len(list(block)) != 2:
            raise self.error("has operations after it, which is not supported: each device would compute them", first)
        given = [value.index for value in first.operands if value in block.args]
        if len(given) != len(first.operands):
            raise self.error("takes what is not an argument of @main, which is not supported", first)
        return first.regions[0].block, given

    def _declared(self, argument: Value, name: str) -> VTensorType:
        type_ = argument.type
        if not isinstance(type_, RankedTensor):
            raise self.error(f"input {name!r} has the type {type_}; supported are tensors of numbers of the machine")
        shape = list(type_.shape)
        for axis, extent in enumerate(shape):
            if extent == DYNAMIC:
                place = f"{name}[{axis}]"
                shape[axis] = self._dimensions.pop(place, DYNAMIC)
                if shape[axis] == DYNAMIC:
                    self._open.append(place)
        return VTensorType(shape, type_.element)

    # --- operations --------------------------------------------------------------------------------------------------

    def run_block(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Import the operations of a block; what its terminator gives."""
        if len(arguments) != len(block.args):
            raise self.error(f"gives {len(arguments)} values to a block of {len(block.args)}", block.parent_op)
        if self._depth == DEEPEST:
            raise self.error(f"regions and calls are nested more than {DEEPEST} deep", block.parent_op)
        self._depth += 1
        self._values.update(zip(block.args, arguments, strict=True))
        try:
            for op in block:
                if op.has_trait(Terminator):
                    return [self._value(value, op) for value in op.operands]
                self._import(op)
        finally:
            self._depth -= 1
        raise self.error("has a block without an end", block.parent_op)

    @contextmanager
    def lifted(self) -> Generator[None]:
        """Build operations for one element for tensors."""
        before, self.is_lifted = self.is_lifted, True
        try:
            yield
        finally:
            self.is_lifted = before

    def call(self, symbol: str, arguments: Sequence[Value], op: Operation) -> list[Value]:
        """Import the body of a function as if it stood here."""
        callee = self._functions.get(symbol)
        if callee is None or len(callee.body) != 1:
            raise self.error(f"calls @{symbol}, which the module does not define", op)
        outer, self._values = self._values, {}
        try:
            return self.run_block(callee.body.block, arguments)
        finally:
            self._values = outer

    def _value(self, value: Value, op: Operation) -> Value:
        found = self._values.get(value)
        if found is None:
            raise self.error("uses a value that is not computed before", op)
        return found

    def _import(self, op: Operation) -> None:
        self._count += 1
        if self._count > MOST:
            raise self.error(f"the module has more than {MOST} operations once its functions are inlined", op)
        operator = operator_of(op)
        operands = [self._value(value, op) for value in op.operands]
        declared = [value.type.to_vtensor() for value in op.results if isinstance(value.type, RankedTensor)]
        if len(declared) != len(op.results):
            raise self.error(f"has results of {', '.join(str(r.type) for r in op.results)}; supported are tensors", op)
        node = StableHloNode(self, op, operator, operands, declared)
        try:
            with at_location(_location_of(op)):
                values = _values(self._converted(node))
        except StableHloImportError:
            raise
        except IrError as error:
            raise self.error(error.message, op) from error
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
            # What a text can say is more than converters foresee; the cause is kept for who wants to know.
            raise self.error(
                f"is malformed, or beyond what is supported: {type(error).__name__}: {error}", op
            ) from error
        if len(values) != len(declared):
            raise self.error(f"comes to {len(values)} results; the text declares {len(declared)}", op)
        for value, type_, result in zip(values, declared, op.results, strict=True):
            self._check(value, type_, op)
            self._values[result] = value

    def _converted(self, node: StableHloNode) -> Converted:
        op = node.proto
        if op.name in ("func.call", "stablehlo.composite"):
            symbol = op.attributes.get("callee" if op.name == "func.call" else "decomposition")
            if not isinstance(symbol, SymbolRefAttr):
                raise node.error(f"calls {symbol}; expected a function of the module")
            return self.call(symbol.value, node.operands, op)
        convert = control.CONVERTERS.get(op.name)
        if convert is not None:
            if self.is_lifted:
                raise node.error("stands in a body that works on single elements, which is not supported")
            return convert(node)
        found = find_converter(node.operator)
        if found is None:
            raise node.error("the operator is not supported")
        if self.is_lifted and not found.is_elementwise:
            raise node.error(
                "stands in a body that works on single elements, where only elementwise ones are supported"
            )
        if not self.is_lifted and node.results and all(0 in type_.shape and type_.is_static for type_ in node.results):
            return [pd.full(shape=type_.shape, value=0.0, dtype=type_.element).out for type_ in node.results]
        return found.function(node)

    def _check(self, value: Value, declared: VTensorType, op: Operation) -> None:
        found = tensor_type(value)
        if found.element is not declared.element or not (self.is_lifted or _fits(found.shape, declared.shape)):
            raise self.error(f"a result is declared as {declared}; it comes to {found}", op)


def _values(converted: Converted) -> list[Value]:
    items = [] if converted is None else converted if isinstance(converted, Sequence) else [converted]
    values: list[Value] = []
    for item in items:
        values += item.results if isinstance(item, Operation) else [item]
    return values


def _fits(found: Sequence[int], declared: Sequence[int]) -> bool:
    return len(found) == len(declared) and all(
        a == b or DYNAMIC in (a, b) for a, b in zip(found, declared, strict=True)
    )


def _location_of(op: Operation) -> Location:
    """The location of what is built for an operation; it does not hold on to the text."""
    location = op.location
    return location.resolve() if isinstance(location, TextLocation) else location


def _argument_name(argument: Value, index: int) -> str:
    location = getattr(argument, "location", None)
    name = location.name if isinstance(location, Location) else None
    return _plain(name or "") or f"arg{index}"


def _result_names(main: func.FuncOp, count: int) -> list[str]:
    attributes = main.res_attrs
    names: list[str] = []
    for index in range(count):
        entry = attributes.elements[index] if isinstance(attributes, ArrayAttr) else None
        info = entry.get("jax.result_info") if isinstance(entry, DictAttr) else None
        names.append((_plain(info.value) if isinstance(info, StrAttr) else "") or f"result_{index}")
    return names


def _plain(name: str) -> str:
    """A name of letters, digits and underscores."""
    return re.sub(r"\W+", "_", name).strip("_")


def _distinct(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        count, unique = 1, name
        while unique in found:
            count += 1
            unique = f"{name}_{count}"
        found.append(unique)
    return found
