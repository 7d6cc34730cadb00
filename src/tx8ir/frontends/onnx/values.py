"""Tensors of an ONNX file, of any of its element types."""

from __future__ import annotations

import math

import onnx
import onnx.numpy_helper
from onnx import TensorProto

from tx8ir.core import VTensorType

from .codes import CODED
from .structure import Coded, Found
from .tensors import ExternalFiles, Known, TensorError, read_tensor


def read_found(proto: TensorProto, files: ExternalFiles) -> Found:
    """Describe a tensor of the model, as `read_tensor` does; one of a format that the IR has not is coded.

    Raises:
        TensorError: see `read_tensor`.
    """
    format = CODED.get(proto.data_type)
    if format is None:
        return read_tensor(proto, files)
    shape = tuple(proto.dims)
    if min(shape, default=0) < 0 or math.prod(shape) > 1 << 40:
        raise TensorError(f"tensor {proto.name!r} has shape {list(shape)}; expected extents >= 0")
    if proto.data_location == TensorProto.EXTERNAL:
        raise TensorError(f"tensor {proto.name!r} of type {format} has external data, which is not supported")
    try:
        array = format.stored(onnx.numpy_helper.to_array(proto))
    except (ValueError, TypeError, OverflowError) as error:
        raise TensorError(f"data of tensor {proto.name!r} does not fit {format} {list(shape)}: {error}") from error
    return Coded(Known(proto.name, VTensorType(shape, format.storage), lambda: array), format)
