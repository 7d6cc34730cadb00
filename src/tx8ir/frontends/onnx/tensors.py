"""Tensors of an ONNX file: element types, and data that is viewed or mapped instead of copied."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnx.numpy_helper
from numpy.typing import NDArray
from onnx import TensorProto

from tx8ir.core import (
    MappedTensor,
    ScalarType,
    VTensorType,
    WeightError,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    ui4,
    ui8,
    ui16,
    ui32,
    ui64,
)
from tx8ir.core.weights.safetensors import MappedFile, resolve_inside
from tx8ir.core.weights.store import TensorData

ELEMENTS: Final[dict[int, ScalarType]] = {
    TensorProto.FLOAT: f32,
    TensorProto.DOUBLE: f64,
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.BOOL: i1,
    TensorProto.INT4: i4,
    TensorProto.INT8: i8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.INT64: i64,
    TensorProto.UINT4: ui4,
    TensorProto.UINT8: ui8,
    TensorProto.UINT16: ui16,
    TensorProto.UINT32: ui32,
    TensorProto.UINT64: ui64,
}
"""Scalar type of each ONNX element type that is supported."""

_PACKED: Final = (i4, ui4)


class TensorError(ValueError):
    """A tensor that is malformed or of an unsupported element type; the caller adds file and node."""


def element_of(data_type: int) -> ScalarType:
    """Return the scalar type of an ONNX element type.

    Raises:
        TensorError: there is none.
    """
    element = ELEMENTS.get(data_type)
    if element is None:
        known = ", ".join(TensorProto.DataType.Name(code) for code in ELEMENTS)
        try:
            name = TensorProto.DataType.Name(data_type)
        except ValueError:
            name = str(data_type)
        raise TensorError(f"element type {name} is not supported; supported are {known}")
    return element


class Known:
    """A tensor that is known when the model is imported: an initialiser, a constant, or computed from these.

    Attributes:
        name: its ONNX name.
        type: its type, known without reading the data.
        bound: whether it was made of the value that the caller gave for an input.
    """

    __slots__ = ("_data", "_read", "bound", "name", "type")

    def __init__(self, name: str, type: VTensorType, read: Callable[[], TensorData], *, bound: bool = False) -> None:
        self.name = name
        self.type = type
        self.bound = bound
        self._read = read
        self._data: TensorData | None = None

    @classmethod
    def of_array(cls, name: str, array: NDArray[Any], element: ScalarType, *, bound: bool = False) -> Known:
        """Wrap an array whose dtype is that of `element`."""
        return cls(name, VTensorType(array.shape, element), lambda: array, bound=bound)

    @property
    def data(self) -> TensorData:
        """The data as a `Variable` takes it: an array, or a tensor mapped from a file. Read on the first call.

        Raises:
            TensorError: the data does not fit the declared type, or lies outside its file.
        """
        if self._data is None:
            self._data = self._read()
        return self._data

    def array(self) -> NDArray[Any]:
        """Return the data as an array."""
        return np.asarray(self.data)


class ExternalFiles:
    """The external data files of one model, each mapped once.

    Args:
        folder: the folder of the model file; None if the model did not come from a file.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[Path, MappedFile] = {}

    def tensor(self, proto: TensorProto, element: ScalarType, shape: tuple[int, ...]) -> TensorData:
        """Return the tensor that `proto.external_data` describes, mapped.

        Raises:
            TensorError: the description is malformed, leaves the model's folder, or does not fit file and type.
        """
        entries = {entry.key: entry.value for entry in proto.external_data}
        if self._folder is None:
            raise TensorError(
                f"data of tensor {proto.name!r} is in the file {entries.get('location')!r} next to the model; "
                "load the model from its path instead of from memory"
            )
        try:
            path = resolve_inside(
                self._folder, entries.get("location", ""), owner=f"external data of tensor {proto.name!r}"
            )
            offset, length = int(entries.get("offset", "0")), entries.get("length")
            if path not in self._files:
                self._files[path] = MappedFile(path)
            stored = (
                math.ceil(math.prod(shape) / 2) if element in _PACKED else math.prod(shape) * element.dtype.itemsize
            )
            if length is not None and int(length) != stored:
                raise TensorError(
                    f"external data of tensor {proto.name!r} has length {length}, but {VTensorType(shape, element)} "
                    f"takes {stored} bytes"
                )
            if element not in _PACKED:
                return MappedTensor(self._files[path], offset, element, shape)
            packed = MappedTensor(self._files[path], offset, ui8, (stored,))
        except WeightError as error:
            raise TensorError(error.message) from error
        except ValueError as error:
            if isinstance(error, TensorError):
                raise
            raise TensorError(f"external data of tensor {proto.name!r} is malformed: {entries}") from error
        inline = TensorProto(data_type=proto.data_type, dims=shape, raw_data=np.asarray(packed).tobytes())
        return onnx.numpy_helper.to_array(inline)


def read_tensor(proto: TensorProto, files: ExternalFiles) -> Known:
    """Describe a tensor of the model. Its data is looked at when it is used, and then viewed or mapped, not copied.

    Raises:
        TensorError: unsupported element type or malformed shape (at once); data that does not fit (on use).
    """
    element = element_of(proto.data_type)
    shape = tuple(proto.dims)
    if any(extent < 0 for extent in shape):
        raise TensorError(f"tensor {proto.name!r} has shape {list(shape)}; expected extents >= 0")

    def read() -> TensorData:
        if proto.data_location == TensorProto.EXTERNAL:
            return files.tensor(proto, element, shape)
        if proto.HasField("raw_data") and element not in _PACKED:
            raw = proto.raw_data  # protobuf makes a bytes object here: the one copy
            expected = math.prod(shape) * element.dtype.itemsize
            if len(raw) != expected:
                raise TensorError(
                    f"tensor {proto.name!r} has {len(raw)} bytes; {VTensorType(shape, element)} takes {expected}"
                )
            if element is i1 and raw.strip(b"\0\1"):
                raise TensorError(f"tensor {proto.name!r} of truth values has bytes other than 0 and 1")
            return np.frombuffer(raw, element.dtype).reshape(shape)
        try:
            array = onnx.numpy_helper.to_array(proto)
        except (ValueError, TypeError, OverflowError) as error:
            raise TensorError(
                f"data of tensor {proto.name!r} does not fit {VTensorType(shape, element)}: {error}"
            ) from error
        return array

    return Known(proto.name, VTensorType(shape, element), read)
