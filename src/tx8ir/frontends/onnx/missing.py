"""Which operators of a model the front end lacks: all of them, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from tx8ir.frontends.errors import listed

from .errors import MissingOperator, OnnxImportError
from .functions import FunctionKey, find_schema
from .model import Source, opset_versions
from .node import node_label
from .registry import ONNX_DOMAINS, find_converter


def check_operators(source: Source, nodes: Sequence[onnx.NodeProto]) -> None:
    """Check that every operator of these nodes, of graphs inside them and of functions they call is supported.

    Raises:
        OnnxImportError: with all that are not.
    """
    missing = list(_missing(source, nodes))
    if not missing:
        return
    one = len(missing) == 1
    if one and missing[0].version == source.opset and not missing[0].domain:
        known = find_schema("", missing[0].operator, source.opset)
        if known is None:
            raise OnnxImportError(
                "no such operator in this opset of the standard domain",
                file=source.file,
                node=missing[0].node,
                operator=missing[0].operator,
                opset=source.opset,
                missing=missing,
            )
    first = missing[0]
    raise OnnxImportError(
        f"{listed(missing)}; docs/reference/onnx.md lists those that are, and `register_operator` adds others",
        file=source.file,
        node=first.node if one else None,
        operator=first.operator if one else None,
        opset=source.opset,
        missing=missing,
    )


def _missing(source: Source, nodes: Sequence[onnx.NodeProto]) -> Iterator[MissingOperator]:
    called: set[FunctionKey] = set()
    work: list[tuple[Sequence[onnx.NodeProto], Mapping[str, int], tuple[str, ...]]] = [(nodes, source.opsets, ())]
    while work:
        some, opsets, place = work.pop(0)
        for node in some:
            here = (*place, node_label(node))
            for attribute, graph in graphs_of(node):
                work.append((graph.node, opsets, (*here, attribute)))
            key = (node.domain, node.op_type, node.overload)
            function = source.functions.get(key)
            if function is not None:
                if key not in called:
                    called.add(key)
                    work.append((function.node, {**opsets, **opset_versions(function.opset_import)}, here))
            elif (version := _lacking(node, opsets)) is not None:
                domain = "" if node.domain in ONNX_DOMAINS else node.domain
                yield MissingOperator(node.op_type, node_label(node), "/".join(place), domain, version)


def _lacking(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int | None:
    """The version of the operator if it is not supported, None if it is."""
    domain = "" if node.domain in ONNX_DOMAINS else node.domain
    opset = opsets.get(domain, 0)
    schema: Any = find_schema(domain, node.op_type, opset)  # onnx's stub lacks some of it
    version = opset if schema is None else schema.since_version
    converter = find_converter(domain, node.op_type)
    if converter is not None and (schema is not None or domain) and converter.first <= version <= converter.last:
        return None
    if schema is not None and (schema.has_function or schema.has_context_dependent_function):
        return None
    return version


def graphs_of(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs that are attributes of a node, by the name of the attribute."""
    for attribute in node.attribute:
        if attribute.type == attribute.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == attribute.GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.graphs)


def free_names(node: onnx.NodeProto) -> Iterator[str]:
    """Names that graphs inside a node use; some may be defined in there."""
    work = [graph for _, graph in graphs_of(node)]
    while work:
        graph = work.pop()
        yield from (value.name for value in graph.output)
        for inner in graph.node:
            yield from (name for name in inner.input if name)
            work += [found for _, found in graphs_of(inner)]
