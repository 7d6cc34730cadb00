"""Evaluating nodes whose inputs are all known: the shape computations that exporters leave in a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import onnx
import onnx.helper
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from tx8ir.core.attrs.elements import scalar_type_of

from .node import OnnxNode
from .ops import CONVERTERS
from .tensors import Known

SMALL: Final = 4096
"""Operators with a converter are folded up to this many elements of each input; larger work is left to the passes."""

LARGEST: Final = 1 << 28
"""No node is folded whose result would have more elements than this."""

_RANDOM: Final = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def can_fold(proto: onnx.NodeProto, inputs: Sequence[Known | None]) -> bool:
    """Whether a node is to be evaluated now: no randomness, no subgraph, and little data or no other way."""
    known = [tensor for tensor in inputs if tensor is not None]
    if not known or proto.op_type in _RANDOM or any(a.type == a.GRAPH or a.type == a.GRAPHS for a in proto.attribute):
        return False
    return proto.op_type not in CONVERTERS or all(tensor.type.num_elements <= SMALL for tensor in known)


def fold(node: OnnxNode, proto: onnx.NodeProto, inputs: Sequence[Known | None], opset: int) -> list[Known | None]:
    """Evaluate a node with ONNX's reference implementation; None for an absent output.

    Raises:
        OnnxImportError: the reference implementation refuses the node, or the result would be unreasonably large.
    """
    arrays = {tensor.name: tensor.array() for tensor in inputs if tensor is not None}
    elements = _result_elements(proto.op_type, [arrays.get(name) for name in proto.input])
    if elements > LARGEST:
        raise node.error(f"would make a constant of {elements} elements; at most {LARGEST} are supported")
    single = onnx.helper.make_model(
        onnx.helper.make_graph(
            [proto],
            "fold",
            [onnx.ValueInfoProto(name=name) for name in arrays],
            [onnx.ValueInfoProto(name=name) for name in proto.output if name],
        ),
        opset_imports=[onnx.helper.make_opsetid("", opset)],
    )
    try:
        with np.errstate(all="ignore"):
            evaluator: Any = ReferenceEvaluator(single)  # its `run` is only partly typed
            results = evaluator.run(None, arrays)
    except Exception as error:  # the reference implementation raises whatever NumPy and its own code raise
        raise node.error(f"its inputs are all constant, but it cannot be evaluated: {error}") from error
    named = dict(zip((name for name in proto.output if name), results, strict=True))
    return [_known(node, name, named[name]) if name else None for name in proto.output]


def _known(node: OnnxNode, name: str, result: Any) -> Known:
    array = np.asarray(result)
    try:
        return Known.of_array(name, array, scalar_type_of(array.dtype))
    except TypeError as error:
        raise node.error(f"its inputs are all constant, but its result has no supported type: {error}") from error


def _result_elements(operator: str, inputs: Sequence[NDArray[Any] | None]) -> int:
    """Elements of the result of an operator that can make much out of little; 0 for the others."""
    first = inputs[0]
    if first is None:
        return 0
    if operator == "ConstantOfShape":
        return math.prod(first.reshape(-1).tolist())
    if operator in ("Expand", "Tile") and len(inputs) > 1 and inputs[1] is not None:
        return first.size * math.prod(abs(extent) for extent in inputs[1].reshape(-1).tolist())
    if operator == "Range" and len(inputs) == 3 and inputs[1] is not None and inputs[2] is not None:
        start, limit, delta = (float(tensor.reshape(-1)[0]) for tensor in (first, inputs[1], inputs[2]))
        return int(abs((limit - start) / delta)) if delta else 0
    return 0
