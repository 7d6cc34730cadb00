"""Walks the graph of an exported program once, in order, and builds the program with the converters of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from tx8ir.core import (
    Builder,
    FunctionType,
    IrError,
    NamedLocation,
    Operation,
    Program,
    Value,
    VTensorType,
    WeightError,
    at_location,
)
from tx8ir.core.files import LoadError
from tx8ir.core.schema import structure
from tx8ir.core.weights.store import TensorData
from tx8ir.dialects import builtin, func, pd
from tx8ir.frontends.values import tensor_type

from .aliases import Entry, StaleError
from .archive import Source
from .arguments import IGNORED, ArgumentError, Lookup, named, read_argument
from .dimensions import Dimensions
from .document import Graph, GraphArgument, Node, StoredSpec
from .elements import ElementError, element_of, promoted
from .errors import TorchImportError
from .missing import INLINED, check_operators, functional_of, is_about_extents
from .node import TorchNode, location_of, node_label, operator_of
from .registry import Converted, find_converter
from .signatures import REQUIRED, Signature
from .symbols import ExpressionError, Extent, Symbolic

DEEPEST: Final = 64
"""Graphs may be nested so deep."""


def import_program(source: Source, dimensions: Mapping[str, int] | None) -> Program:
    """Import an exported program.

    Raises:
        TorchImportError: see `load`.
    """
    return GraphImporter(source, Dimensions(source, dimensions)).run()


class GraphImporter(Lookup):
    """One import: what the names stand for, and the program that grows.

    Attributes:
        source: the exported program.
        entries: what the names of the graph stand for.
    """

    def __init__(self, source: Source, dimensions: Dimensions) -> None:
        self.source = source
        self.entries: dict[str, Entry] = {}
        self._dimensions = dimensions
        self._program = Program.empty()
        self._graph = source.document.graph_module.graph
        self._depth = 0
        self._used: dict[int, set[str]] = {}

    def error(self, message: str, node: Node | None = None, needs: Sequence[str] = ()) -> TorchImportError:
        """The error to raise about a node, or the program."""
        return TorchImportError(
            message,
            file=self.source.file,
            node=None if node is None else node_label(node),
            operator=None if node is None else operator_of(node.target),
            needs=needs,
        )

    # --- names -------------------------------------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        entry = self.entries.get(name)
        if entry is None:
            raise ArgumentError(f"{name!r} is neither an input of the graph nor a result of an earlier node")
        try:
            return entry.value()
        except StaleError as error:
            raise ArgumentError(f"{name!r} {error}") from error

    def number(self, name: str) -> Extent:
        value = self._graph.sym_int_values.get(name)
        if value is None:
            raise ArgumentError(f"{name!r} is not an integer of the graph")
        try:
            return self._dimensions.value_of(value)
        except ExpressionError as error:
            raise ArgumentError(f"{name!r} is an expression that cannot be read: {error}") from error

    def is_used(self, node: Node, *indices: int) -> bool:
        """Whether one of these results of a node is used."""
        key = id(self._graph)
        if key not in self._used:
            self._used[key] = used_names(self._graph)
        names = [name for output in node.outputs for name in _names(output)]
        return any(index < len(names) and names[index] in self._used[key] for index in indices)

    def define(self, name: str, entry: Entry, node: Node | None = None) -> None:
        """Let a name stand for something.

        Raises:
            TorchImportError: it does already.
        """
        if name in self.entries:
            raise self.error(f"{name!r} is defined twice; every name of a graph is defined once", node)
        self.entries[name] = entry

    def write(self, node: Node, parameter: str, value: Value) -> None:
        """Write `value` where the tensor is that an argument of a node names.

        Raises:
            TorchImportError: the tensor shows another in a way that cannot be written through.
        """
        for argument in node.inputs:
            if argument.name == parameter and (name := named(argument.arg)) is not None:
                entry = self.entries[name]
                try:
                    before = tensor_type(entry.value())
                    if before != tensor_type(value):
                        raise self.error(f"writes {tensor_type(value)} in place of {before}", node)
                    entry.write(value)
                except (StaleError, IrError) as error:
                    raise self.error(f"writes to {name!r}, which {error}", node) from error

    def parameter(self, name: str, data: TensorData, type_: VTensorType) -> Value:
        """Add a parameter to the program's weights and read it."""
        weights = self._program.weights
        unique = weights.unique_name(name)
        weights.add(unique, data, type_)
        return builtin.GetParameterOp(parameter=unique, out=type_).out

    # --- inputs and outputs ------------------------------------------------------------------------------------------

    def run(self) -> Program:
        """Build the program."""
        check_operators(self.source)
        types: list[VTensorType] = []
        names: list[str] = []
        for name in self._user_inputs():
            types.append(self.declared(self._graph, name, f"input {name!r}"))
            names.append(name)
        with Builder.at_end(self._program.body), at_location(NamedLocation("main")):
            main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()), arg_names=tuple(names))
        block = main.body.block
        for name, argument in zip(names, block.args, strict=True):
            self.define(name, Entry.of(name, argument))
        stored = self._define_stored()
        with Builder.at_end(block):
            for node in self._graph.nodes:
                self.import_node(node)
            results = self._results()
            self._keep_writes(stored)
            for name in names:
                if self.entries[name].root.version:
                    results[_unique(name, results)] = self.entries[name].value()
            func.ReturnOp(list(results.values()))
        main.set_attribute("result_names", tuple(results))
        main.set_attribute("function_type", FunctionType(types, [value.type for value in results.values()]))
        self._program.verify()
        return self._program

    def _user_inputs(self) -> list[str]:
        names: list[str] = []
        for spec in self.source.document.graph_module.signature.input_specs:
            if spec.custom_obj is not None or spec.token is not None:
                raise self.error("has an input that is a custom object or a token; only tensors are supported")
            if spec.user_input is None:
                continue
            name = named(spec.user_input.arg)
            if name is not None:
                names.append(name)
            elif "as_sym_int" in spec.user_input.arg:
                raise self.error(
                    "has an input that is a number; only tensors are: export the module with it as a constant"
                )
        if len(set(names)) < len(names):
            raise self.error(f"an input is listed twice: {', '.join(names)}")
        return names

    def _define_stored(self) -> dict[str, str]:
        """Define what is stored; returns the name in the graph of each, by its name in the module."""
        stored: dict[str, str] = {}
        for spec in self.source.document.graph_module.signature.input_specs:
            for kind in (spec.parameter, spec.buffer, spec.tensor_constant):
                if kind is None:
                    continue
                name = kind.parameter_name or kind.buffer_name or kind.tensor_constant_name
                if name is None:
                    raise self.error(f"the input {kind.arg.name!r} is stored under no name")
                self.define(kind.arg.name, Entry.lazy(name, lambda name=name, at=kind.arg.name: self._load(name, at)))
                stored[name] = kind.arg.name
        return stored

    def _load(self, name: str, at: str) -> Value:
        found = self.source.tensors.find(name)
        if found is None:
            raise self.error(f"has no data of {name!r}, which its graph reads")
        declared = self.declared(self._graph, at, f"stored tensor {name!r}")
        if found.type != declared:
            raise self.error(f"the data of {name!r} is {found.type}; its graph declares {declared}")
        try:
            with at_location(NamedLocation(name)):
                return self.parameter(name, found.data, found.type)
        except WeightError as error:
            raise self.error(f"stored tensor {name!r}: {error.message}") from error

    def _results(self) -> dict[str, Value]:
        """The results of the user, by name; what the program writes to parameters and buffers is written."""
        specs = self.source.document.graph_module.signature.output_specs
        results: dict[str, Value] = {}
        for index, spec in enumerate(specs):
            if spec.user_output is not None:
                arg = spec.user_output.arg
                name = named(arg)
                if name is not None:
                    results[_unique(name, results)] = self._output(name)
                elif "as_none" not in arg:
                    results[f"output_{index}"] = self._number(arg, index)
            elif spec.loss_output is not None:
                name = spec.loss_output.arg.name
                results[_unique(name, results)] = self._output(name)
            elif (mutation := spec.buffer_mutation or spec.parameter_mutation) is not None:
                self._write_back(mutation, mutation.buffer_name or mutation.parameter_name)
            elif (mutation := spec.user_input_mutation) is not None:
                self._write_back(mutation, None)
            else:
                raise self.error(f"output {index} is a gradient or a token, which is not supported")
        return results

    def _output(self, name: str) -> Value:
        try:
            return self.value(name)
        except ArgumentError as error:
            raise self.error(f"an output is {error}") from error

    def _number(self, arg: Mapping[str, object], index: int) -> Value:
        try:
            value = read_argument(arg, "Scalar", self)
        except ArgumentError as error:
            raise self.error(f"output {index} is {error}") from error
        if isinstance(value, Symbolic):
            raise self._open(f"output {index}", value, None)
        return TorchNode(self, Node("", (), (), {}, f"output_{index}"), ()).operand(value, promoted([value]))

    def _write_back(self, spec: StoredSpec, stored: str | None) -> None:
        """Note that an input of the graph, of the user or stored, is to be what the program gives as an output."""
        signature = self.source.document.graph_module.signature
        target = spec.user_input_name
        for given in signature.input_specs:
            kind = given.buffer or given.parameter
            if kind is not None and stored is not None and stored in (kind.buffer_name, kind.parameter_name):
                target = kind.arg.name
        if target is None or target not in self.entries:
            raise self.error(f"writes to {stored or target!r}, which is not an input of its graph")
        self.entries[target].root.write(self._output(spec.arg.name))

    def _keep_writes(self, stored: Mapping[str, str]) -> None:
        for name, at in stored.items():
            entry = self.entries[at]
            if not entry.root.version:
                continue
            variable = self._program.weights.get(name)
            if variable is None:  # written without being read
                self._load(name, at)
                variable = self._program.weights[name]
            variable.is_mutable = True
            with at_location(NamedLocation(name)):
                builtin.SetParameterOp(entry.value(), parameter=name)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def declared(self, graph: Graph, name: str, what: str) -> VTensorType:
        """The type that a graph declares for a name; `what` is it, for messages."""
        meta = graph.tensor_values.get(name)
        if meta is None:
            raise self.error(f"{what} has no type in the graph")
        try:
            return VTensorType(self._dimensions.shape(meta.sizes), element_of(meta.dtype))
        except (ElementError, ExpressionError) as error:
            raise self.error(f"{what}: {error}") from error

    def import_node(self, proto: Node) -> None:
        """Import a node."""
        operator = operator_of(proto.target)
        if is_about_extents(operator):
            return
        names = [name for output in proto.outputs for name in _names(output)]
        node = TorchNode(
            self, proto, [self.declared(self._graph, name, f"result {name!r} of node {node_label(proto)!r}")
                          for name in names if name is not None]
        )  # fmt: skip
        if operator in INLINED:
            self._inline(node, names)
            return
        found, in_place = find_converter(operator), False
        if found is None and (functional := functional_of(operator)) is not None:
            found, in_place = find_converter(functional), True
        if found is None:
            raise self.error("the operator is not supported", proto)
        try:
            with at_location(location_of(proto)):
                arguments = self._arguments(node, found.signature)
                values = _values(found.function(node, *arguments))
                if in_place and values[0] is not None:
                    values[0] = node.cast(values[0], tensor_type(arguments[0]).element)
                    if tensor_type(values[0]) != tensor_type(arguments[0]):
                        values[0] = pd.expand(values[0], shape=tensor_type(arguments[0]).shape).out
                    node.mutate(found.signature.parameters[0].name, values[0])
        except TorchImportError:
            raise
        except IrError as error:
            raise self.error(error.message, proto) from error
        except (ArgumentError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # What a file can hold is more than converters foresee; the cause is kept for who wants to know.
            raise self.error(
                f"is malformed, or beyond what is supported: {type(error).__name__}: {error}", proto
            ) from error
        shown = None
        if in_place:
            shown = self._shown(proto, found.signature.parameters[0].name)
            for name in names:
                if name is not None and shown is not None:
                    self.define(name, shown, proto)
            return
        for parameter in found.signature.parameters:
            if parameter.is_view and shown is None:
                shown = self._shown(proto, parameter.name)
        self._define_results(node, names, values, shown)

    def _shown(self, proto: Node, parameter: str) -> Entry | None:
        for argument in proto.inputs:
            if argument.name == parameter and (name := named(argument.arg)) is not None:
                return self.entries.get(name)
        return None

    def _define_results(
        self, node: TorchNode, names: Sequence[str | None], values: Sequence[Value | None], shown: Entry | None
    ) -> None:
        declared = iter(node.results)
        for index, name in enumerate(names):
            if name is None:
                continue
            expected = next(declared)
            value = values[index] if index < len(values) else None
            if value is None:
                self.define(name, Entry.lazy(name, lambda index=index: self._not_computed(node, index)), node.proto)
                continue
            type_ = tensor_type(value)
            if type_.element is not expected.element or not _fits(type_.shape, expected.shape):
                raise node.error(f"result {name!r} is declared as {expected}; it comes to {type_}")
            self.define(name, Entry.of(name, value) if shown is None else shown.shown_by(value), node.proto)

    def _not_computed(self, node: TorchNode, index: int) -> Value:
        raise node.error(f"result {index} is used, which is not supported")

    def _arguments(self, node: TorchNode, signature: Signature) -> list[Any]:
        given = {argument.name: argument.arg for argument in node.proto.inputs}
        known = {parameter.name for parameter in signature.parameters}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise node.error(f"has an argument {unknown[0]!r}; expected {signature.text}")
        is_binary = any(str(parameter) == "Tensor other" for parameter in signature.parameters)
        arguments: list[Any] = []
        for parameter in signature.parameters:
            arg = given.get(parameter.name)
            if arg is None:
                if parameter.default is REQUIRED and not parameter.is_optional:
                    raise node.error(f"has no argument {parameter.name!r}; expected {signature.text}")
                arguments.append(None if parameter.default is REQUIRED else parameter.default)
                continue
            try:
                # Operators on two tensors are given numbers, too.
                takes_number = is_binary and str(parameter) in ("Tensor self", "Tensor other")
                kind = "Operand" if takes_number else parameter.kind
                value = read_argument(arg, kind, self, is_list=parameter.is_list)
            except ArgumentError as error:
                raise node.error(f"argument {parameter.name!r} is {error}") from error
            if value is None and not parameter.is_optional and parameter.kind not in IGNORED:
                raise node.error(f"argument {parameter.name!r} is None; expected {parameter}")
            if parameter.kind != "SymInt":
                items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
                for item in items:
                    if isinstance(item, Symbolic):
                        raise self._open(f"argument {parameter.name!r}", item, node.proto)
                    if item is None and value is not None and not parameter.has_optional_items:
                        raise node.error(f"argument {parameter.name!r} has an item that is None; expected {parameter}")
            arguments.append(value)
        return arguments

    def _open(self, what: str, value: Symbolic, node: Node | None) -> TorchImportError:
        example = ", ".join(f"{name!r}: 2" for name in value.symbols)
        return self.error(
            f"{what} is {value}, which is not known on import; give the extents: load(…, dimensions={{{example}}})",
            node,
            needs=value.symbols,
        )

    def _inline(self, node: TorchNode, names: Sequence[str | None]) -> None:
        """Import the graph that is an argument of a node as if its nodes stood here."""
        graphs = [arg for argument in node.proto.inputs if (arg := argument.arg.get("as_graph")) is not None]
        operands = [name for argument in node.proto.inputs if (name := named(argument.arg)) is not None]
        if len(graphs) != 1:
            raise node.error(f"has {len(graphs)} graphs; expected 1")
        if self._depth == DEEPEST:
            raise node.error(f"graphs are nested more than {DEEPEST} deep")
        try:
            graph = structure(GraphArgument, graphs[0], self.source.file).graph
        except LoadError as error:
            raise node.error(f"its graph is damaged: {error.message}") from error
        inputs = [named(given) for given in graph.inputs]
        if len(inputs) != len(operands) or None in inputs:
            raise node.error(f"gives {len(operands)} tensors to a graph of {len(inputs)} inputs")
        outer = self.entries, self._graph
        inner = {
            cast("str", inside): outer[0][name]
            for inside, name in zip(inputs, operands, strict=True)
            if name in outer[0]
        }
        self.entries, self._graph, self._depth = inner, graph, self._depth + 1
        try:
            for proto in graph.nodes:
                self.import_node(proto)
            given = [name for output in graph.outputs for name in _names(output)]
        finally:
            (self.entries, self._graph), self._depth = outer, self._depth - 1
        for name, inside in zip(names, given, strict=False):
            if name is not None and inside is not None and inside in inner:
                self.define(name, inner[inside], node.proto)


def _values(converted: Converted) -> list[Value | None]:
    items = converted if isinstance(converted, Sequence) else [converted]
    values: list[Value | None] = []
    for item in items:
        if isinstance(item, Operation):
            values += item.results
        else:
            values.append(item)
    return values


def _names(output: Mapping[str, object]) -> list[str | None]:
    """The names of the tensors that an output of a node is, in order; None for what is not a tensor."""
    items = output.get("as_tensors")
    if isinstance(items, list):
        return [name if isinstance(name := cast("dict[str, object]", item).get("name"), str) else None
                for item in cast("list[object]", items) if isinstance(item, dict)]  # fmt: skip
    return [named(output)]


def used_names(graph: Graph) -> set[str]:
    """The names that nodes or outputs of a graph use."""
    used: set[str] = set()
    work: list[object] = [argument.arg for node in graph.nodes for argument in node.inputs]
    work += graph.outputs
    while work:
        item = work.pop()
        if isinstance(item, dict):
            entries = cast("dict[str, object]", item)
            if isinstance(name := entries.get("name"), str):
                used.add(name)
            work += entries.values()
        elif isinstance(item, list):
            work += cast("list[object]", item)
    return used


def _fits(found: Sequence[int], declared: Sequence[int]) -> bool:
    return len(found) == len(declared) and all(a == b or -1 in (a, b) for a, b in zip(found, declared, strict=True))


def _unique(name: str, taken: Mapping[str, Value]) -> str:
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
