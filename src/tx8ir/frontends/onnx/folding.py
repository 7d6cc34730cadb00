"""Evaluating nodes whose inputs are all known: the shape computations that exporters leave in a model.

A node is imported into a program of its own, which the reference interpreter evaluates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import onnx

from tx8ir.core import Builder, FunctionType, IrError, Operation, Program, Value
from tx8ir.dialects import func
from tx8ir.frontends.values import tensor_type
from tx8ir.interpreter import evaluate

from .node import OnnxNode
from .structure import Coded, Found, Nothing, Parts, parts_of
from .tensors import Known

if TYPE_CHECKING:
    from .registry import ConvertFunction

SMALL: Final = 4096
"""Weights of up to this many elements are computed with on import; larger work is left to the passes. What the caller
gives for an input may be larger: he asks for it."""


def can_fold(proto: onnx.NodeProto, inputs: Sequence[Found]) -> bool:
    """Whether a node is to be evaluated now: all inputs are known, and little data, and it has no graph inside."""
    tensors = list(parts_of(inputs))
    known = [tensor for tensor in tensors if isinstance(tensor, Known)]
    if len(known) < len(tensors) or not known:
        return False
    if any(a.type == a.GRAPH or a.type == a.GRAPHS for a in proto.attribute):
        return False
    return any(tensor.bound for tensor in known) or all(tensor.type.num_elements <= SMALL for tensor in known)


def fold(node: OnnxNode, convert: ConvertFunction) -> list[Found | None]:
    """Import a node and evaluate what it becomes.

    Raises:
        OnnxImportError: the node cannot be imported, or its evaluation fails.
    """
    scratch = Program.empty()
    with Builder.at_end(scratch.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((), ()), arg_names=(), result_names=())
    with node.graph.elsewhere(scratch), Builder.at_end(main.body.block):
        converted = convert(node)
        items = converted if isinstance(converted, Sequence) else [converted]
        found: list[Found | None] = []
        for item in items:
            found += item.results if isinstance(item, Operation) else [item]
        values = [part for part in parts_of([f for f in found if f is not None]) if not isinstance(part, Known)]
        if not values:
            return found
        func.ReturnOp(values)
    names = tuple(str(index) for index in range(len(values)))
    main.set_attribute("result_names", names)
    main.set_attribute("function_type", FunctionType((), [tensor_type(value) for value in values]))
    try:
        arrays = evaluate(scratch, {})
    except IrError as error:
        raise node.error(f"its inputs are all constant, but it cannot be evaluated: {error.message}") from error
    bound = node.has_bound_input
    known = {
        value: Known.of_array(f"{node.label}/{name}", arrays[name], tensor_type(value).element, bound=bound)
        for name, value in zip(names, values, strict=True)
    }
    return [None if item is None else _replaced(item, known) for item in found]


def _replaced(item: Found, known: dict[Value, Known]) -> Found:
    if isinstance(item, Parts):
        return Parts(tuple(_replaced(part, known) for part in item.items), item.element)
    if isinstance(item, Coded):
        return item if isinstance(item.value, Known) else Coded(known[item.value], item.format)
    return item if isinstance(item, Known | Nothing) else known[item]
