"""`load`: walks an ONNX graph once, in order, and builds the program with the converters of the registry."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs
import numpy as np
import onnx
import onnx.defs
import onnx.helper
from numpy.typing import NDArray

from tx8ir.core import (
    Builder,
    DenseAttr,
    FunctionType,
    IrError,
    NamedLocation,
    Operation,
    Program,
    ScalarType,
    Value,
    VTensorType,
    WeightError,
    at_location,
)
from tx8ir.core.attrs.elements import scalar_type_of
from tx8ir.dialects import builtin, func
from tx8ir.frontends.values import tensor_type

from .codes import BY_DTYPE, CODED
from .errors import OnnxImportError
from .folding import can_fold, fold
from .functions import arguments_of, find_schema, schema_body, with_arguments
from .missing import check_operators, free_names
from .model import Source, opset_versions, read
from .node import OnnxNode, node_label
from .opaque import opaque
from .registry import ONNX_DOMAINS, Converted, find_converter
from .scope import NOTHING, Entry, Roots, Scope
from .shapes import Dimensions
from .structure import Coded, Found, Given, Layout, Nothing, Parts, assemble, parts_of, structure_of
from .tensors import ELEMENTS, ExternalFiles, Known, TensorError
from .values import read_found

DEEPEST: Final = 64
"""Graphs and functions may be nested so deep."""


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto,
    *,
    dimensions: Mapping[str, int] | None = None,
    constants: Mapping[str, Given] | None = None,
    opaque: bool = False,
) -> Program:
    """Import an ONNX model.

    The program's `main` takes the graph inputs (those without an initialiser) and returns the graph outputs, under
    their ONNX names. Weights go to the `WeightStore` under theirs, as views of the decoded bytes or mapped from
    external data files; those that only steer operations (shapes, axes, exponents) become attributes. Single elements
    become `builtin.constant`. Each operation is located at the name of its node. Nodes that no output needs are left
    out. Functions become what their bodies say, loops the steps that they take, and sequences their parts (`x[0]`,
    `x[1]`, …).

    Args:
        source: a path, the bytes of a model file, or a `ModelProto` (which is not changed).
        dimensions: extents of symbolic dimensions of the inputs, by name (`{"batch": 1}`), or by place for dimensions
            without a name (`{"input_ids[0]": 1}`).
        constants: values of graph inputs, which then are not inputs of the program; inputs that name shapes, axes or
            pads have to be given, `OnnxImportError.needs` names them.
        opaque: whether an operator that is not known becomes an operation `onnx.Name` that nothing can evaluate or
            compile, with the result types that the model declares, instead of being an error.

    Returns:
        A verified program of `pd` operations on value tensors with static shapes.

    Raises:
        OnnxImportError: the file is not a sound ONNX model, or uses what is not supported; the message names file,
            node, operator and opset, and says what is supported. Operators that are lacking are listed all at once.
    """
    return import_model(source, dimensions=dimensions, constants=constants, opaque=opaque).program


def import_model(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto,
    *,
    dimensions: Mapping[str, int] | None = None,
    constants: Mapping[str, Given] | None = None,
    structured: Mapping[str, Given] | None = None,
    opaque: bool = False,
) -> Imported:
    """Import an ONNX model, as `load` does, and say how its outputs are made of the program's.

    Args:
        source, dimensions, constants, opaque: as for `load`.
        structured: examples of inputs that are sequences or optional; the program is for such of their length.

    Raises:
        OnnxImportError: see `load`.
    """
    model = read(source)
    importer = GraphImporter(model, Dimensions(model, dimensions), opaque)
    return importer.run(constants or {}, structured or {})


@attrs.frozen
class Imported:
    """An imported model.

    Attributes:
        program: the program.
        layouts: how each output of the model is made of outputs of the program.
    """

    program: Program
    layouts: Sequence[Layout]

    def outputs_of(self, results: Mapping[str, NDArray[Any]]) -> list[Any]:
        """The outputs of the model, in order: arrays, lists of arrays, None."""
        return [assemble(layout, results) for layout in self.layouts]


class GraphImporter:
    """One import: the scopes of ONNX names and the program that grows.

    Attributes:
        source: the model.
        files: its external data files.
        scope: the names that the node looked at sees.
    """

    def __init__(self, source: Source, dimensions: Dimensions, opaque: bool) -> None:
        self.source = source
        self.files = ExternalFiles(source.folder)
        self.scope = Scope(source.opsets)
        self._dimensions = dimensions
        self._opaque = opaque
        self._program = Program.empty()
        self._materialised: dict[Known, Value] = {}
        self._live: set[str] = set()

    # --- names -------------------------------------------------------------------------------------------------------

    def entry(self, reader: onnx.NodeProto | None, name: str) -> Entry:
        """Return what ONNX name `name` stands for, and what it depends on.

        Raises:
            OnnxImportError: nothing before `reader` (None for a graph's outputs) defines it.
        """
        found = self.scope.find(name)
        if found is None:
            raise self.error(
                f"{'an output of the graph' if reader is None else 'an input'} is {name!r}, "
                "which is not a graph input, no initialiser, and no output of an earlier node",
                reader,
            )
        return found

    def value_of(self, found: Value | Known) -> Value:
        """Return `found` as an IR value; a known tensor becomes a constant or a parameter, once."""
        if not isinstance(found, Known):
            return found
        value = self._materialised.get(found)
        if value is None:
            value = self._materialised[found] = self._materialise(found)
        return value

    def _materialise(self, known: Known) -> Value:
        with at_location(NamedLocation(known.name)):
            if known.type.num_elements == 1:
                op = builtin.ConstantOp(value=DenseAttr(known.array(), known.type))
            else:
                weights = self._program.weights
                name = weights.unique_name(known.name)
                weights.add(name, known.data, known.type)
                op = builtin.GetParameterOp(parameter=name, out=known.type)
        return op.out

    @contextmanager
    def elsewhere(self, program: Program) -> Generator[None]:
        """Build in another program for a while."""
        before = self._program, self._materialised
        self._program, self._materialised = program, {}
        try:
            yield
        finally:
            self._program, self._materialised = before

    def _define(self, name: str, entry: Entry, node: onnx.NodeProto | None) -> None:
        if name in self.scope.names:
            raise self.error(f"{name!r} is defined twice; every name of a graph is defined once", node)
        self.scope.names[name] = entry

    def error(self, message: str, node: onnx.NodeProto | None = None, *, needs: Iterable[str] = ()) -> OnnxImportError:
        """Return the error to raise about a node, or the model."""
        opset = self.source.opset
        if node is not None and node.domain not in ONNX_DOMAINS:
            opset = self.scope.opsets.get(node.domain, 0)
        return OnnxImportError(
            message,
            file=self.source.file,
            node=None if node is None else "/".join((*self.scope.place, node_label(node))),
            operator=None if node is None else node.op_type,
            opset=opset,
            needs=[value.name for value in self.source.graph.input if value.name in set(needs)],
        )

    # --- the walk ----------------------------------------------------------------------------------------------------

    def run(self, constants: Mapping[str, Given], structured: Mapping[str, Given]) -> Imported:
        """Build the program."""
        graph = self.source.graph
        names = [value.name for value in graph.output]
        if not names:
            raise self.error("the graph has no outputs")
        if len(set(names)) < len(names):
            raise self.error(f"an output is listed twice: {', '.join(names)}")
        nodes, self._live = live_nodes(graph)
        if not self._opaque:
            check_operators(self.source, nodes)
        self._define_initializers(self.source.initializers, self._live)
        stored = {tensor.name for tensor in self.source.initializers}
        inputs = [value for value in graph.input if value.name not in stored]
        self._bind(inputs, constants)
        inputs = [value for value in inputs if value.name not in constants]
        arguments = [item for value in inputs for item in self._arguments(value, structured)]
        with Builder.at_end(self._program.body):
            main = func.FuncOp(
                sym_name="main",
                function_type=FunctionType([type_ for _, type_ in arguments], ()),
                arg_names=tuple(name for name, _ in arguments),
                result_names=(),
            )
        block = main.body.block
        given: dict[str, Value] = dict(zip((name for name, _ in arguments), block.args, strict=True))
        for value in inputs:
            self._define(value.name, self._input(value, structured, given), None)
        with Builder.at_end(block):
            for node in nodes:
                self.import_node(node)
            layouts: list[Layout] = []
            results: dict[str, Value] = {}
            for name in names:
                layouts.append(self._output(name, self.entry(None, name).found, results))
            func.ReturnOp(list(results.values()))
        result_types = [tensor_type(value) for value in results.values()]
        for value, layout in zip(graph.output, layouts, strict=True):
            if isinstance(layout, str) and not structure_of(value):
                self._dimensions.check_output(value, tensor_type(results[layout]))
        main.set_attribute("result_names", tuple(results))
        main.set_attribute("function_type", FunctionType([type_ for _, type_ in arguments], result_types))
        self._program.verify()
        return Imported(self._program, layouts)

    def _output(self, name: str, found: Found, results: dict[str, Value]) -> Layout:
        if isinstance(found, Nothing):
            return None
        if isinstance(found, Parts):
            return [self._output(f"{name}[{index}]", part, results) for index, part in enumerate(found.items)]
        try:
            results[name] = self.value_of(found.value if isinstance(found, Coded) else found)
        except (WeightError, TensorError) as error:
            raise self.error(f"output {name!r}: {error}") from error
        return (name, found.format) if isinstance(found, Coded) else name

    def _define_initializers(self, tensors: Iterable[onnx.TensorProto], live: set[str] | None) -> None:
        for tensor in tensors:
            if live is not None and tensor.name not in live:
                continue
            try:
                self._define(tensor.name, Entry(read_found(tensor, self.files)), None)
            except TensorError as error:
                raise self.error(f"initialiser {tensor.name!r}: {error}") from error

    # --- inputs ------------------------------------------------------------------------------------------------------

    def _bind(self, inputs: Sequence[onnx.ValueInfoProto], constants: Mapping[str, Given]) -> None:
        """Define the inputs whose values are given."""
        declared = {value.name: value for value in inputs}
        for name, given in constants.items():
            value = declared.get(name)
            if value is None:
                raise self.error(f"constants[{name!r}] names no input; inputs are {', '.join(declared) or 'none'}")
            self._define(name, Entry(self._known(value, name, given)), None)

    def _known(self, value: onnx.ValueInfoProto, name: str, given: Given) -> Found:
        if given is None:
            return Nothing()
        if isinstance(given, list):
            items = tuple(self._known(value, f"{name}[{index}]", item) for index, item in enumerate(given))
            return Parts(items, _element_inside(value.type))
        array = np.asarray(given)
        coded = BY_DTYPE.get(array.dtype)
        if coded is not None:
            return Coded(Known.of_array(name, coded.stored(array), coded.storage, bound=True), coded)
        if structure_of(value):
            return Known.of_array(name, array, self._element(name, array), bound=True)
        type_ = self._dimensions.input_type(value, array.shape)
        if array.dtype != type_.element.dtype or array.shape != type_.shape:
            raise self.error(f"constants[{name!r}] is {array.dtype} {list(array.shape)}; the input is declared {type_}")
        return Known.of_array(name, array, type_.element, bound=True)

    def _element(self, name: str, array: NDArray[Any]) -> ScalarType:
        try:
            return scalar_type_of(array.dtype)
        except TypeError as error:
            raise self.error(f"input {name!r}: {error}") from error

    def _arguments(
        self, value: onnx.ValueInfoProto, structured: Mapping[str, Given]
    ) -> Iterator[tuple[str, VTensorType]]:
        """The arguments of `main` that make an input: one, or one for each tensor inside."""
        if not structure_of(value):
            yield value.name, self._dimensions.input_type(value)
            return
        if value.name not in structured:
            kind = value.type.WhichOneof("value")
            raise self.error(
                f"input {value.name!r} is a {kind}; its length has to be known: give its value", needs=[value.name]
            )
        work = [(value.name, structured[value.name])]
        while work:
            name, given = work.pop(0)
            if isinstance(given, np.ndarray):
                yield name, VTensorType(given.shape, self._element(name, given))
            elif given is not None:
                work = [*((f"{name}[{index}]", item) for index, item in enumerate(given)), *work]

    def _input(
        self, value: onnx.ValueInfoProto, structured: Mapping[str, Given], arguments: Mapping[str, Value]
    ) -> Entry:
        roots = frozenset({value.name})
        if not structure_of(value):
            coded = CODED.get(value.type.tensor_type.elem_type)
            argument = arguments[value.name]
            return Entry(argument if coded is None else Coded(argument, coded), roots)

        def found(name: str, given: Given) -> Found:
            if given is None:
                return Nothing()
            if isinstance(given, np.ndarray):
                return arguments[name]
            items = tuple(found(f"{name}[{index}]", item) for index, item in enumerate(given))
            return Parts(items, _element_inside(value.type))

        return Entry(found(value.name, structured[value.name]), roots)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def import_node(self, proto: onnx.NodeProto) -> None:
        """Import a node into the scope."""
        entries = [self.entry(proto, name) if name else NOTHING for name in proto.input]
        outputs = self._outputs(proto, entries)
        roots = self._roots(proto, entries)
        for index, name in enumerate(proto.output):
            if not name:
                continue
            output = outputs[index] if index < len(outputs) else None
            if output is None:
                if name in self._live or self.scope.depth:
                    raise self.error(
                        f"output {index} ({name!r}) is used; only the first {len(outputs)} are supported", proto
                    )
                continue
            known = not isinstance(output, Value) and all(isinstance(part, Known) for part in parts_of((output,)))
            self._define(name, Entry(output, frozenset() if known else roots), proto)

    def _roots(self, proto: onnx.NodeProto, entries: Sequence[Entry]) -> Roots:
        inner = [found for name in free_names(proto) if (found := self.scope.find(name)) is not None]
        return frozenset[str]().union(*(entry.roots for entry in (*entries, *inner)))

    def _outputs(self, proto: onnx.NodeProto, entries: Sequence[Entry]) -> Sequence[Found | None]:
        local = self.source.functions.get((proto.domain, proto.op_type, proto.overload))
        if local is not None:
            return self._call(proto, local, entries, None)
        domain = "" if proto.domain in ONNX_DOMAINS else proto.domain
        opset = self.scope.opsets.get(domain, 0)
        schema = find_schema(domain, proto.op_type, opset)
        converter = find_converter(domain, proto.op_type)
        if schema is None and converter is None:
            if self._opaque:
                return opaque(self, proto, [entry.found for entry in entries])
            raise self.error("no such operator in this opset of the standard domain", proto)
        version = opset if schema is None else schema.since_version
        node = OnnxNode(self, proto, version)
        if schema is not None:
            node.check_signature(schema)
        if converter is None or not converter.first <= version <= converter.last:
            try:
                types = [_proto_of(entry.found) for entry in entries]
                body = None if schema is None else schema_body(schema, proto, opset, types)
            except RuntimeError as error:  # bodies are text to onnx, with the node's names in it as they are
                raise node.error(f"onnx cannot write this operator's body for the node: {error}") from error
            if body is not None:
                return self._call(proto, body, entries, schema)
            if self._opaque and converter is None:
                return opaque(self, proto, [entry.found for entry in entries])
            raise node.error("this version of the operator is not supported")
        try:
            with at_location(NamedLocation("/".join((*self.scope.place, node.label)))):
                node.check_attributes(converter.attributes)
                if not converter.random and can_fold(proto, [entry.found for entry in entries]):
                    return fold(node, converter.function)
                return as_found(converter.function(node))
        except OnnxImportError:
            raise
        except (IrError, TensorError) as error:
            message = error.message if isinstance(error, IrError) else str(error)
            raise node.error(message) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # What a file can hold is more than converters foresee; the cause is kept for who wants to know.
            raise node.error(f"is malformed, or beyond what is supported: {type(error).__name__}: {error}") from error

    # --- graphs inside -----------------------------------------------------------------------------------------------

    def _call(
        self,
        proto: onnx.NodeProto,
        body: onnx.FunctionProto,
        entries: Sequence[Entry],
        schema: onnx.defs.OpSchema | None,
    ) -> list[Found | None]:
        """The outputs of a function body."""
        if len(entries) > len(body.input) or len(proto.output) > len(body.output):
            raise self.error(
                f"has {len(entries)} inputs and {len(proto.output)} outputs; "
                f"its function has {len(body.input)} and {len(body.output)}",
                proto,
            )
        opsets = {**self.scope.opsets, **opset_versions(body.opset_import)}
        with self._inside(Scope(opsets, None, (*self.scope.place, node_label(proto)), self.scope.depth + 1), proto):
            for index, name in enumerate(body.input):
                self._define(name, entries[index] if index < len(entries) else NOTHING, proto)
            arguments = arguments_of(body, proto, schema)
            wanted = [name for name, used in zip(body.output, proto.output, strict=False) if used]
            for inner in _live_of(body.node, wanted):
                self.import_node(with_arguments(inner, arguments))
            return [
                self.entry(None, name).found if used else None
                for name, used in zip(body.output, proto.output, strict=False)
            ]

    def import_graph(self, proto: onnx.NodeProto, graph: onnx.GraphProto, inputs: Sequence[Entry]) -> list[Entry]:
        """Import a graph that is an attribute of a node, on these inputs, and return its outputs."""
        if len(inputs) != len(graph.input):
            raise self.error(f"its graph {graph.name!r} has {len(graph.input)} inputs; expected {len(inputs)}", proto)
        place = (*self.scope.place, node_label(proto))
        with self._inside(Scope(self.scope.opsets, self.scope, place, self.scope.depth + 1), proto):
            self._define_initializers(graph.initializer, None)
            for value, entry in zip(graph.input, inputs, strict=True):
                self._define(value.name, entry, proto)
            names = [value.name for value in graph.output]
            for inner in _live_of(graph.node, names):
                self.import_node(inner)
            return [self.entry(None, name) for name in names]

    @contextmanager
    def _inside(self, scope: Scope, proto: onnx.NodeProto) -> Generator[None]:
        if scope.depth > DEEPEST:
            raise self.error(f"graphs and functions are nested more than {DEEPEST} deep", proto)
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer


def as_found(converted: Converted) -> list[Found | None]:
    """What a converter returned, one entry for each output."""
    items = converted if isinstance(converted, Sequence) else [converted]
    found: list[Found | None] = []
    for item in items:
        if isinstance(item, Operation):
            found += item.results
        else:
            found.append(item)
    return found


def live_nodes(graph: onnx.GraphProto) -> tuple[list[onnx.NodeProto], set[str]]:
    """The nodes that some output depends on, in order, and the names that it does."""
    live = {output.name for output in graph.output}
    nodes: list[onnx.NodeProto] = []
    for node in reversed(graph.node):
        if not live.isdisjoint(node.output):
            live.update(name for name in node.input if name)
            live.update(free_names(node))
            nodes.append(node)
    return nodes[::-1], live


def _live_of(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    return live_nodes(onnx.GraphProto(node=nodes, output=[onnx.ValueInfoProto(name=name) for name in outputs]))[0]


def _element_inside(type_: onnx.TypeProto) -> ScalarType | None:
    """The element type of the tensors in a sequence or an optional value, as far as the model says it."""
    while (kind := type_.WhichOneof("value")) in ("sequence_type", "optional_type"):
        type_ = type_.sequence_type.elem_type if kind == "sequence_type" else type_.optional_type.elem_type
    return ELEMENTS.get(type_.tensor_type.elem_type)


_CODES: Final = {element: code for code, element in ELEMENTS.items()}


def _proto_of(found: Found) -> onnx.TypeProto:
    """The ONNX type of what a name stands for."""
    if isinstance(found, Nothing):
        return onnx.TypeProto()
    if isinstance(found, Parts):
        inner = _proto_of(found.items[0]) if found.items else onnx.TypeProto()
        return onnx.helper.make_sequence_type_proto(inner)
    value = found.value if isinstance(found, Coded) else found
    type_ = value.type if isinstance(value, Known) else tensor_type(value)
    if isinstance(found, Coded):
        return onnx.helper.make_tensor_type_proto(found.format.code, type_.shape)
    return onnx.helper.make_tensor_type_proto(_CODES[type_.element], type_.shape)
