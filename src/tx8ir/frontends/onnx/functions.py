"""Bodies of functions: those that a model defines, and those that ONNX defines for operators of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx.defs

from .registry import ONNX_DOMAINS

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function."""


def local_functions(model: onnx.ModelProto) -> dict[FunctionKey, onnx.FunctionProto]:
    """The functions that a model defines."""
    return {(function.domain, function.name, function.overload): function for function in model.functions}


def schema_body(
    schema: onnx.defs.OpSchema, node: onnx.NodeProto, opset: int, types: Sequence[onnx.TypeProto]
) -> onnx.FunctionProto | None:
    """The body that ONNX defines for a node of this operator with inputs of these types; None if it has none.

    Bodies are written for several opsets; the newest that is not newer than the model's is taken, else the oldest.
    """
    known: Any = schema  # onnx's stub lacks these
    if known.function_opset_versions:
        version = _chosen(known.function_opset_versions, opset)
        return onnx.FunctionProto.FromString(known.get_function_with_opset_version(version))
    if not known.context_dependent_function_opset_versions:
        return None
    version = _chosen(known.context_dependent_function_opset_versions, opset)
    # ONNX builds these from the node; what it does not find there counts as absent.
    whole = onnx.NodeProto()
    whole.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    whole.attribute.extend(
        attribute.default_value
        for name, attribute in schema.attributes.items()
        if name not in given and attribute.default_value.name
    )
    body = known.get_context_dependent_function_with_opset_version(
        version, whole.SerializeToString(), [type_.SerializeToString() for type_ in types]
    )
    return onnx.FunctionProto.FromString(body) if body else None


def _chosen(versions: Sequence[int], opset: int) -> int:
    return max((version for version in versions if version <= opset), default=min(versions))


def arguments_of(
    body: onnx.FunctionProto, node: onnx.NodeProto, schema: onnx.defs.OpSchema | None
) -> dict[str, onnx.AttributeProto]:
    """The attributes that a body may refer to: those of the node, and the defaults of those that it does not have."""
    found = {attribute.name: attribute for attribute in node.attribute}
    for default in body.attribute_proto:
        found.setdefault(default.name, default)
    if schema is not None:
        for name, declared in schema.attributes.items():
            if declared.default_value.name:
                found.setdefault(name, declared.default_value)
    return found


def with_arguments(node: onnx.NodeProto, arguments: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a body with the attributes it refers to in place; those that nobody gives are left out."""
    if not _refers(node):
        return node
    bound = onnx.NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            given = arguments.get(attribute.ref_attr_name)
            if given is None:
                continue
            new = bound.attribute.add()
            new.CopyFrom(given)
            new.name = attribute.name
        else:
            new = bound.attribute.add()
            new.CopyFrom(attribute)
            for graph in (new.g, *new.graphs) if attribute.type in (attribute.GRAPH, attribute.GRAPHS) else ():
                inner = [with_arguments(item, arguments) for item in graph.node]
                del graph.node[:]
                graph.node.extend(inner)
    return bound


def _refers(node: onnx.NodeProto) -> bool:
    return any(
        attribute.ref_attr_name
        or any(_refers(inner) for graph in (attribute.g, *attribute.graphs) for inner in graph.node)
        for attribute in node.attribute
    )


def find_schema(domain: str, operator: str, opset: int) -> onnx.defs.OpSchema | None:
    """The declaration of an operator in that version of its operator set, or None."""
    try:
        return onnx.defs.get_schema(operator, opset, "" if domain in ONNX_DOMAINS else domain)
    except onnx.defs.SchemaError:
        return None
