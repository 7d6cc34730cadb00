"""`load`: walks an ONNX graph once, in order, and builds the program with the converters of the registry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import onnx
import onnx.defs

from tx8ir.core import (
    Builder,
    DenseAttr,
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
from tx8ir.dialects import builtin, func

from .errors import OnnxImportError
from .folding import can_fold, fold
from .model import ONNX_DOMAINS, Source, read
from .node import OnnxNode, node_label
from .ops import CONVERTERS
from .registry import Converted
from .shapes import Dimensions
from .tensors import ExternalFiles, Known, TensorError, read_tensor


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto,
    *,
    dimensions: Mapping[str, int] | None = None,
) -> Program:
    """Import an ONNX model.

    The program's `main` takes the graph inputs (those without an initialiser) and returns the graph outputs, under
    their ONNX names. Weights go to the `WeightStore` under theirs, as views of the decoded bytes or mapped from
    external data files; those that only steer operations (shapes, axes, exponents) become attributes. Single elements
    become `builtin.constant`. Each operation is located at the name of its node. Nodes that no output needs are left
    out.

    Args:
        source: a path, the bytes of a model file, or a `ModelProto` (which is not changed).
        dimensions: extents of symbolic dimensions of the inputs, by name (`{"batch": 1}`), or by place for dimensions
            without a name (`{"input_ids[0]": 1}`).

    Returns:
        A verified program of `pd` operations on value tensors with static shapes.

    Raises:
        OnnxImportError: the file is not a sound ONNX model, or uses what is not supported; the message names file,
        node,
            operator and opset, and says what is supported.
    """
    model = read(source)
    importer = GraphImporter(model, Dimensions(model, dimensions))
    return importer.run()


class GraphImporter:
    """One import: the environment of ONNX names and the program that grows.

    Attributes:
        source: the model.
        files: its external data files.
    """

    def __init__(self, source: Source, dimensions: Dimensions) -> None:
        self.source = source
        self.files = ExternalFiles(source.folder)
        self._dimensions = dimensions
        self._program = Program.empty()
        self._environment: dict[str, Value | Known] = {}
        self._materialised: dict[Known, Value] = {}
        self._live, self._live_nodes = self._find_live()

    # --- environment -------------------------------------------------------------------------------------------------

    def lookup(self, reader: onnx.NodeProto | None, name: str) -> Value | Known:
        """Return what ONNX name `name` stands for.

        Raises:
            OnnxImportError: nothing before `reader` (None for the graph's outputs) defines it.
        """
        found = self._environment.get(name)
        if found is None:
            raise self._error(
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

    def _define(self, name: str, found: Value | Known, node: onnx.NodeProto | None) -> None:
        if name in self._environment:
            raise self._error(f"{name!r} is defined twice; every name of a graph is defined once", node)
        self._environment[name] = found

    def _error(self, message: str, node: onnx.NodeProto | None = None) -> OnnxImportError:
        return OnnxImportError(
            message,
            file=self.source.file,
            node=None if node is None else node_label(node),
            operator=None if node is None else node.op_type,
            opset=self.source.opset,
        )

    def _find_live(self) -> tuple[set[str], list[onnx.NodeProto]]:
        """Return the names that some output depends on, and the nodes that define them, in order."""
        live = {output.name for output in self.source.graph.output}
        nodes: list[onnx.NodeProto] = []
        for node in reversed(self.source.graph.node):
            if not live.isdisjoint(node.output):
                live.update(name for name in node.input if name)
                nodes.append(node)
        return live, nodes[::-1]

    # --- the walk ----------------------------------------------------------------------------------------------------

    def run(self) -> Program:
        """Build the program."""
        graph = self.source.graph
        self._define_initializers()
        stored = {tensor.name for tensor in self.source.initializers}
        inputs = [value for value in graph.input if value.name not in stored]
        input_types = [self._dimensions.input_type(value) for value in inputs]
        names = [value.name for value in graph.output]
        if not names:
            raise self._error("the graph has no outputs")
        if len(set(names)) < len(names):
            raise self._error(f"an output is listed twice: {', '.join(names)}")
        with Builder.at_end(self._program.body):
            main = func.FuncOp(
                sym_name="main",
                function_type=FunctionType(input_types, ()),
                arg_names=tuple(value.name for value in inputs),
                result_names=tuple(names),
            )
        block = main.body.block
        for value, argument in zip(inputs, block.args, strict=True):
            self._define(value.name, argument, None)
        with Builder.at_end(block):
            for node in self._live_nodes:
                self._import_node(node)
            results = [self._output(name) for name in names]
            func.ReturnOp(results)
        result_types: list[VTensorType] = []
        for value, result in zip(graph.output, results, strict=True):
            assert isinstance(result.type, VTensorType)
            self._dimensions.check_output(value, result.type)
            result_types.append(result.type)
        main.set_attribute("function_type", FunctionType(input_types, result_types))
        self._program.verify()
        return self._program

    def _output(self, name: str) -> Value:
        found = self.lookup(None, name)
        try:
            return self.value_of(found)
        except (WeightError, TensorError) as error:
            raise self._error(f"output {name!r}: {error}") from error

    def _define_initializers(self) -> None:
        for tensor in self.source.initializers:
            if tensor.name not in self._live:
                continue
            try:
                self._define(tensor.name, read_tensor(tensor, self.files), None)
            except TensorError as error:
                raise self._error(f"initialiser {tensor.name!r}: {error}") from error

    def _import_node(self, proto: onnx.NodeProto) -> None:
        if proto.domain not in ONNX_DOMAINS:
            raise self._error(
                f"operator {proto.domain}::{proto.op_type} is not supported; supported are operators of the standard "
                f"domain and functions that the model defines itself",
                proto,
            )
        found = [self.lookup(proto, name) if name else None for name in proto.input]
        known = [item for item in found if item is None or isinstance(item, Known)]
        schema = self._schema(proto)
        node = OnnxNode(self, proto, schema.since_version)
        node.check_signature(schema)
        try:
            with at_location(NamedLocation(node.label)):
                if len(known) == len(found) and can_fold(proto, known):
                    outputs: list[Value | Known | None] = [*fold(node, proto, known, self.source.opset)]
                else:
                    outputs = [*_as_list(self._convert(node, proto))]
        except OnnxImportError:
            raise
        except (IrError, TensorError) as error:
            message = error.message if isinstance(error, IrError) else str(error)
            raise node.error(message) from error
        for index, name in enumerate(proto.output):
            if not name:
                continue
            output = outputs[index] if index < len(outputs) else None
            if output is None and name in self._live:
                raise node.error(f"output {index} ({name!r}) is used; only the first {len(outputs)} are supported")
            if output is not None:
                self._define(name, output, proto)

    def _schema(self, proto: onnx.NodeProto) -> onnx.defs.OpSchema:
        try:
            return onnx.defs.get_schema(proto.op_type, self.source.opset, "")
        except onnx.defs.SchemaError as error:
            raise self._error("no such operator in this opset of the standard domain", proto) from error

    def _convert(self, node: OnnxNode, proto: onnx.NodeProto) -> Converted:
        converter = CONVERTERS.get(proto.op_type)
        if converter is None:
            raise node.error(f"the operator is not supported; supported are {', '.join(sorted(CONVERTERS))}")
        if not converter.first <= node.version <= converter.last:
            raise node.error(
                f"version {node.version} of the operator is not supported; "
                f"supported are versions {converter.first} to {converter.last}"
            )
        node.check_attributes(converter.attributes)
        return converter.function(node)


def _as_list(converted: Converted) -> Sequence[Value | Known]:
    items = converted if isinstance(converted, Sequence) else [converted]
    values: list[Value | Known] = []
    for item in items:
        if isinstance(item, Operation):
            values += item.results
        else:
            values.append(item)
    return values
