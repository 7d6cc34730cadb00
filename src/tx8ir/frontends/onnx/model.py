"""Reading ONNX models: from a path, bytes or a `ModelProto` to a `Source` whose container is known to be sound."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import onnx
import onnx.defs
import onnx.inliner
from google.protobuf.message import DecodeError

from tx8ir.core.files import LoadError, read_regular

from .errors import OnnxImportError
from .ops import CONVERTERS

ONNX_DOMAINS = ("", "ai.onnx")
"""The two spellings of the standard operator set's domain."""

MAX_MODEL_BYTES = 1 << 31
"""Largest model file that is read: protobuf decodes no larger message, whose weights are external data."""

_FOLDED = frozenset({"BlackmanWindow", "HammingWindow", "HannWindow", "Range"})
"""Operators with a body that loops at run time; with constant inputs they are folded instead, body or not."""


@attrs.frozen(eq=False)
class Source:
    """A model and where it came from.

    Attributes:
        graph: inputs, outputs, types and nodes, with functions inlined. Its initialisers may be missing.
        initializers: the initialisers of the graph.
        file: name of the model for messages.
        folder: the folder that external data is relative to, or None if the model did not come from a file.
        opset: version of the standard operator set.
    """

    graph: onnx.GraphProto
    initializers: Sequence[onnx.TensorProto]
    file: str
    folder: Path | None
    opset: int


def read(source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto) -> Source:
    """Decode `source` and check what concerns the model as a whole.

    Raises:
        OnnxImportError: no such file, not an ONNX model, truncated, no or an unknown opset, functions that cannot be
            inlined.
    """
    model, file, folder = _decode(source)
    if not model.HasField("graph") or not model.ir_version:
        raise OnnxImportError("is not an ONNX model, or is truncated: it has no graph or no IR version", file=file)
    _check_names(model, file)
    opset = _opset(model, file)
    if model.graph.sparse_initializer:
        raise OnnxImportError("has sparse initialisers; only dense ones are supported", file=file, opset=opset)
    return Source(_inline_functions(model, file, opset), model.graph.initializer, file, folder, opset)


def _decode(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto,
) -> tuple[onnx.ModelProto, str, Path | None]:
    if isinstance(source, onnx.ModelProto):
        return source, "<ModelProto>", None
    if isinstance(source, bytes | bytearray | memoryview):
        file, folder, content = "<bytes>", None, bytes(source)
    else:
        path = Path(source)
        file, folder = str(path), path.parent
        try:
            content = read_regular(path, MAX_MODEL_BYTES, "an ONNX model")
        except LoadError as error:
            message = f"cannot be read: expected {error.expected}, found {error.given}"
            raise OnnxImportError(message, file=file) from error
    try:
        return onnx.ModelProto.FromString(content), file, folder
    except DecodeError as error:
        message = f"is not an ONNX model, or is truncated: its {len(content)} bytes do not decode ({error})"
        raise OnnxImportError(message, file=file) from error


def _check_names(model: onnx.ModelProto, file: str) -> None:
    """Refuse names that are not UTF-8, which protobuf hands over as bytes."""
    for name in _names(model):
        if not isinstance(name, str):
            raise OnnxImportError(f"is not a sound ONNX model: the name {name!r} is not UTF-8", file=file)


def _names(model: onnx.ModelProto) -> Iterator[object]:
    graph = model.graph
    yield from (entry.domain for entry in model.opset_import)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
    yield from (tensor.name for tensor in graph.initializer)


def _opset(model: onnx.ModelProto, file: str) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ONNX_DOMAINS]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1:
        found = "no version" if not versions else f"versions {versions}"
        raise OnnxImportError(
            f"declares {found} of the standard operator set; expected one (a file without it may be truncated)",
            file=file,
        )
    if not 1 <= versions[0] <= newest:
        raise OnnxImportError(
            f"uses opset {versions[0]}; the installed onnx {onnx.__version__} knows opsets 1 to {newest}", file=file
        )
    return versions[0]


def _inline_functions(model: onnx.ModelProto, file: str, opset: int) -> onnx.GraphProto:
    """Replace calls of the model's own functions, and of standard operators that only ONNX itself can explain.

    ONNX defines some operators by a body of simpler ones; those without a converter are replaced by their body, and so
    are such operators in the bodies.
    """
    previous: set[tuple[str, str]] = set()
    while (calls := _calls_to_inline(model, opset)) and calls != previous:
        try:
            model = onnx.inliner.inline_selected_functions(
                _for_inliner(model, opset), sorted(calls), inline_schema_functions=True
            )
        except Exception as error:  # the inliner raises errors of several unrelated C++ classes
            names = ", ".join(f"{domain}::{name}" if domain else name for domain, name in sorted(calls))
            raise OnnxImportError(f"functions {names} cannot be inlined: {error}", file=file, opset=opset) from error
        previous = calls
    return model.graph


def _calls_to_inline(model: onnx.ModelProto, opset: int) -> set[tuple[str, str]]:
    """Domain and name of the functions that some node calls."""
    local = {(function.domain, function.name) for function in model.functions}
    calls: set[tuple[str, str]] = set()
    for node in model.graph.node:
        if (node.domain, node.op_type) in local:
            calls.add((node.domain, node.op_type))
        elif node.domain in ONNX_DOMAINS and node.op_type not in CONVERTERS and _has_body(node.op_type, opset):
            calls.add(("", node.op_type))
    return calls


def _has_body(operator: str, opset: int) -> bool:
    if operator in _FOLDED:
        return False
    try:
        schema: Any = onnx.defs.get_schema(operator, opset, "")  # onnx's stub lacks the two properties
    except onnx.defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _for_inliner(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """Return a copy of the model for the inliner.

    Its initialisers are inputs, because the inliner copies what it is given and weights can be large. Its nodes have
    every attribute that has a default, because the inliner leaves references to absent ones dangling.
    """
    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph, source = light.graph, model.graph
    graph.name = source.name or "graph"
    graph.node.extend(source.node)
    graph.output.extend(source.output)
    graph.value_info.extend(source.value_info)
    graph.input.extend(source.input)
    declared = {value.name for value in source.input}
    graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in source.initializer
        if tensor.name not in declared
    )
    for node in (*graph.node, *(node for function in light.functions for node in function.node)):
        if node.domain in ONNX_DOMAINS and node.op_type not in CONVERTERS and _has_body(node.op_type, opset):
            given = {attribute.name for attribute in node.attribute}
            schema = onnx.defs.get_schema(node.op_type, opset, "")
            node.attribute.extend(
                attribute.default_value
                for name, attribute in schema.attributes.items()
                if name not in given and attribute.default_value.name
            )
    return light
