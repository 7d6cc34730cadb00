"""Operators that nobody knows, kept as operations that no one can evaluate: for reading a model and passing it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.helper

from tx8ir.core import NamedLocation, RankedTensor, Value, VTensorType, at_location, default_context, insert_here

from .node import node_label
from .structure import Coded, Found, Nothing, Parts
from .tensors import TensorError, element_of

if TYPE_CHECKING:
    from .importer import GraphImporter


def opaque(graph: GraphImporter, proto: onnx.NodeProto, inputs: Sequence[Found]) -> list[Found | None]:
    """An unregistered operation `onnx.Name` (`onnx.domain.Name` for a domain of its own) in the place of a node.

    Its attributes are numbers, strings and lists of such; the types of its results are those that the model declares.

    Raises:
        OnnxImportError: the model declares no static type for a result, or an operand or attribute is of a kind that
            no operation has.
    """
    operands: list[Value] = []
    for name, found in zip(proto.input, inputs, strict=True):
        if isinstance(found, Parts | Coded):
            kind = "a sequence" if isinstance(found, Parts) else f"of type {found.format}"
            raise graph.error(f"input {name!r} is {kind}, which an operator that is not known cannot take", proto)
        if not isinstance(found, Nothing):
            operands.append(graph.value_of(found))
    types = [_declared(graph, proto, name) for name in proto.output if name]
    attributes = {attribute.name: _attribute(graph, proto, attribute) for attribute in proto.attribute}
    name = ".".join(part for part in ("onnx", proto.domain, proto.op_type) if part)
    with at_location(NamedLocation(node_label(proto))):
        op = insert_here(default_context().unregistered(name).create(operands, types, attributes=attributes))
    results = iter(op.results)
    return [next(results) if name else None for name in proto.output]


def _declared(graph: GraphImporter, proto: onnx.NodeProto, name: str) -> RankedTensor:
    for value in (*graph.source.graph.value_info, *graph.source.graph.output):
        tensor = value.type.tensor_type
        if value.name == name and tensor.HasField("shape"):
            extents = [dim.dim_value for dim in tensor.shape.dim if dim.WhichOneof("value") == "dim_value"]
            if len(extents) == len(tensor.shape.dim):
                try:
                    return VTensorType(extents, element_of(tensor.elem_type))
                except TensorError as error:
                    raise graph.error(f"output {name!r}: {error}", proto) from error
    raise graph.error(
        f"output {name!r} of an operator that is not known needs a static type in the model (value_info)", proto
    )


def _attribute(graph: GraphImporter, proto: onnx.NodeProto, attribute: onnx.AttributeProto) -> Any:
    kinds = onnx.AttributeProto
    value: Any = onnx.helper.get_attribute_value(attribute)
    match attribute.type:
        case kinds.INT | kinds.FLOAT:
            return value
        case kinds.STRING:
            return value.decode("utf-8", "replace")
        case kinds.INTS:
            return tuple(int(item) for item in value)
        case kinds.FLOATS:
            return tuple(float(np.float32(item)) for item in value)
        case _:
            kind = kinds.AttributeType.Name(attribute.type)
            raise graph.error(f"attribute {attribute.name} of kind {kind} cannot be kept", proto)
