"""Reading ONNX models: from a path, bytes or a `ModelProto` to a `Source` whose container is known to be sound."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import onnx
import onnx.defs
from google.protobuf.message import DecodeError

from tx8ir.core.files import LoadError, read_regular

from .errors import OnnxImportError
from .functions import FunctionKey, local_functions
from .registry import ONNX_DOMAINS

MAX_MODEL_BYTES = 1 << 31
"""Largest model file that is read: protobuf decodes no larger message, whose weights are external data."""


@attrs.frozen(eq=False)
class Source:
    """A model and where it came from.

    Attributes:
        graph: inputs, outputs, types and nodes.
        initializers: the initialisers of the graph.
        file: name of the model for messages.
        folder: the folder that external data is relative to, or None if the model did not come from a file.
        opset: version of the standard operator set.
        opsets: version of each operator set, by domain; the standard one is "".
        functions: the functions that the model defines.
    """

    graph: onnx.GraphProto
    initializers: Sequence[onnx.TensorProto]
    file: str
    folder: Path | None
    opset: int
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, onnx.FunctionProto]


def read(source: str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto) -> Source:
    """Decode `source` and check what concerns the model as a whole.

    Raises:
        OnnxImportError: no such file, not an ONNX model, truncated, no or an unknown opset.
    """
    model, file, folder = _decode(source)
    if not model.HasField("graph") or not model.ir_version:
        raise OnnxImportError("is not an ONNX model, or is truncated: it has no graph or no IR version", file=file)
    _check_names(model, file)
    opset = _opset(model, file)
    if model.graph.sparse_initializer:
        raise OnnxImportError("has sparse initialisers; only dense ones are supported", file=file, opset=opset)
    opsets = {**opset_versions(model.opset_import), "": opset}
    return Source(model.graph, model.graph.initializer, file, folder, opset, opsets, local_functions(model))


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
    yield from (entry.domain for entry in model.opset_import)
    work: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while work:
        graph = work.pop()
        yield graph.name
        for node in graph.node:
            yield from (node.name, node.op_type, node.domain, node.overload, *node.input, *node.output)
            for attribute in node.attribute:
                yield from (attribute.name, attribute.ref_attr_name)
                work += [attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs
        if isinstance(graph, onnx.FunctionProto):
            yield from (graph.domain, graph.overload, *graph.input, *graph.output, *graph.attribute)
            continue
        for value in (*graph.input, *graph.output, *graph.value_info):
            yield value.name
            yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
        yield from (tensor.name for tensor in graph.initializer)


def opset_versions(entries: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Version of each operator set that a model or a function imports, by domain; the standard one is ""."""
    return {"" if entry.domain in ONNX_DOMAINS else entry.domain: entry.version for entry in entries}


def _opset(model: onnx.ModelProto, file: str) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ONNX_DOMAINS]
    newest = onnx.defs.onnx_opset_version()
    if not versions and len(model.opset_import):
        return newest  # nothing of it is used
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
