"""Elements of another type."""

from __future__ import annotations

from tx8ir.core import Operation, ScalarType, Value, f32, i1, i32, ui8
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.codes import CODED, CodedFormat
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.coded import decoded, encoded
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.structure import Coded
from tx8ir.frontends.onnx.tensors import TensorError, element_of
from tx8ir.frontends.values import tensor_type

_BY_NAME = {"FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "BOOL": 9,
            "FLOAT16": 10, "DOUBLE": 11, "UINT32": 12, "UINT64": 13}  # fmt: skip
"""Codes of element types, which version 1 of Cast spells out."""


@converter("Cast", first=1, last=28, attributes=("to", "saturate", "round_mode"))
def cast(node: OnnxNode) -> Converted:
    """X in another element type."""
    code = _BY_NAME[node.string("to", tuple(_BY_NAME))] if node.version < 6 else node.int("to")
    try:
        return _cast(node, CODED.get(code) or element_of(code))
    except TensorError as error:
        raise node.error(f"attribute to: {error}") from error


@converter("CastLike", first=15, last=25, attributes=("saturate", "round_mode"))
def cast_like(node: OnnxNode) -> Converted:
    """The first input in the element type of the second, of which nothing else is used."""
    like = node.structure(1)
    return _cast(node, like.format if isinstance(like, Coded) else node.type_of(1).element)


def _cast(node: OnnxNode, to: ScalarType | CodedFormat) -> Converted:
    found = node.structure(0)
    if isinstance(found, Coded):
        if found.format is to:
            return found
        exact = to if isinstance(to, ScalarType) else f32
        x = decoded(node, found, exact if exact.is_float or not found.format.is_float else f32)
    else:
        x = node.operand(0)
    if isinstance(to, ScalarType):
        return converted(node, x, to)
    round_mode = node.string("round_mode", ("up", "down", "nearest"), "up")
    return encoded(node, x, to, saturate=node.bool("saturate", True), round_mode=round_mode)


@converter("BitCast", first=26, last=26, attributes=("to",))
def bit_cast(node: OnnxNode) -> Converted:
    """The bits of x, read as another type of the same width."""
    x, to = node.operand(0), element_of(node.int("to"))
    if node.type_of(0).element is i1:  # ONNX keeps truth values in bytes, as 0 and 1
        x = pd.cast(x, dtype=ui8).out
    return x if tensor_type(x).element is to else pd.bitcast(x, dtype=to)


def converted(node: OnnxNode, x: Value, element: ScalarType) -> Value | Operation:
    """A value in another element type, as `Cast` converts it."""
    source = tensor_type(x).element
    if source is element:
        return x
    if source.is_float and element.format.is_packed and not element.format.is_bool:
        # Out of range ONNX keeps the low bits of the whole number.
        return pd.cast(pd.cast(x, dtype=i32), dtype=element)
    return pd.cast(x, dtype=element)
