"""Constants, copies, and questions about a shape, which is known: these build no operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import f32, i1, i64
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.tensors import Known

_VALUES = ("value", "value_float", "value_floats", "value_int", "value_ints")


@converter("Constant", first=1, last=25, attributes=_VALUES)
def constant(node: OnnxNode) -> Converted:
    """A tensor from the first attribute that is there."""
    given = [name for name in _VALUES if node.has_attribute(name)]
    if len(given) != 1:
        raise node.error(f"expected one of the attributes {', '.join(_VALUES)}; found {', '.join(given) or 'none'}")
    if given[0] == "value":
        tensor = node.found_tensor("value")
        if isinstance(tensor, Known):
            tensor.name = node.output_name(0)
        return tensor
    array: NDArray[Any]
    match given[0]:
        case "value_float":
            array = np.asarray(node.float("value_float"), np.float32)
        case "value_floats":
            array = np.asarray(node.floats("value_floats"), np.float32)
        case "value_int":
            array = np.asarray(node.int("value_int"), np.int64)
        case _:
            array = np.asarray(node.ints("value_ints"), np.int64)
    return Known.of_array(node.output_name(0), array, f32 if array.dtype == np.float32 else i64)


@converter("Identity", first=1, last=25)
def identity(node: OnnxNode) -> Converted:
    """The input itself."""
    return node.structure(0)


@converter("Dropout", first=1, last=22, attributes=("ratio", "seed", "is_test", "consumed_inputs"))
def dropout(node: OnnxNode) -> Converted:
    """The input itself, for inference drops nothing, and a mask that says so: truth values from version 10 on."""
    if node.has(2) and bool(node.known(2, "training_mode").any()):
        ratio = float(node.known_scalar(1, "the ratio")) if node.has(1) else 0.5
        if ratio:
            raise node.error("training_mode is true; only inference, or a ratio of 0, is supported")
    if node.num_outputs < 2:
        return node.found(0)
    type_ = node.type_of(0)
    element = i1 if node.version >= 10 else type_.element
    mask = np.ones(type_.shape).astype(element.dtype)
    return [node.found(0), Known.of_array(node.output_name(1), mask, element)]


@converter("Shape", first=1, last=25, attributes=("start", "end"))
def shape(node: OnnxNode) -> Converted:
    """The extents of axes `start` to `end` as int64; clamped like a Python slice."""
    extents = node.type_of(0).shape
    end = node.int("end") if node.has_attribute("end") else len(extents)
    chosen = extents[node.int("start", 0) : end]
    return Known.of_array(node.output_name(0), np.asarray(chosen, np.int64), i64)


@converter("Size", first=1, last=25)
def size(node: OnnxNode) -> Converted:
    """The number of elements as an int64 scalar."""
    return Known.of_array(node.output_name(0), np.asarray(math.prod(node.type_of(0).shape), np.int64), i64)
