"""Files of parameters (`.pdiparams`): tensors one after the other, without names, mapped and not read.

Each is, little-endian: a version of four bytes, 0; the number of levels of its level of detail in eight bytes, and for
each its size in eight bytes and its content; a version of four bytes, 0; the size of a message in four bytes, and the
message (`VarType.TensorDesc` of `paddle/fluid/framework/framework.proto`: element type and extents); the elements in
row-major order (`paddle/phi/core/framework/dense_tensor_serialize.cc`). Names are those of the program's parameters,
sorted (`paddle.static.pir_io.save_vars_pir`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import MappedTensor, ScalarType, VTensorType, WeightError
from tx8ir.core.weights.safetensors import MappedFile

from .elements import IN_PARAMETERS
from .errors import PaddleImportError

SUFFIX: Final = ".pdiparams"
_MOST_AXES: Final = 64
_MOST_LEVELS: Final = 64
_MOST_ELEMENTS: Final = 1 << 40


class ParameterFile:
    """The tensors of a file, in order.

    Attributes:
        file: its name for messages.
        tensors: their types and data.
    """

    def __init__(self, path: Path) -> None:
        """Find the tensors.

        Raises:
            PaddleImportError: the file cannot be read, or is damaged.
        """
        self.file = str(path)
        self.tensors: list[tuple[VTensorType, MappedTensor]] = []
        try:
            self._mapped = MappedFile(path)
            self._data = memoryview(self._mapped.map()) if self._mapped.size else memoryview(b"")
            self._at = 0
            while self._at < self._mapped.size:
                self._read_tensor()
        except WeightError as error:
            raise self._error(f"cannot be read: {error.message}") from error

    def _error(self, message: str) -> PaddleImportError:
        return PaddleImportError(message, file=self.file)

    def _number(self, form: str) -> int:
        size = struct.calcsize(form)
        (number,) = struct.unpack(form, self._bytes(size))
        return number

    def _bytes(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._data):
            raise self._error(f"ends inside of tensor {len(self.tensors)}")
        found = bytes(self._data[self._at : self._at + size])
        self._at += size
        return found

    def _read_tensor(self) -> None:
        what = f"tensor {len(self.tensors)} at byte {self._at}"
        version = self._number("<I")
        levels = self._number("<Q")
        if version or levels > _MOST_LEVELS:
            raise self._error(f"{what} is of version {version} with {levels} levels; expected version 0")
        for _ in range(levels):
            self._bytes(self._number("<Q"))
        version, size = self._number("<I"), self._number("<i")
        if version or not 0 <= size <= _MOST_AXES * 12:
            raise self._error(f"{what} has a type of version {version} and {size} bytes; expected version 0")
        type_ = self._type(self._bytes(size), what)
        data = MappedTensor(self._mapped, self._at, type_.element, type_.shape)
        self._at += data.nbytes
        self.tensors.append((type_, data))

    def _type(self, message: bytes, what: str) -> VTensorType:
        element: ScalarType | None = None
        shape: list[int] = []
        for field, number in _fields(message):
            if field == 1:
                element = IN_PARAMETERS.get(number)
                if element is None:
                    raise self._error(f"{what} has element type {number}; supported are {sorted(IN_PARAMETERS)}")
            elif field == 2:
                shape.append(number)
        if element is None or len(shape) > _MOST_AXES or math.prod(shape) > _MOST_ELEMENTS:
            raise self._error(f"{what} has no type that can be: element type {element}, shape {shape}")
        return VTensorType(shape, element)


def _fields(message: bytes) -> list[tuple[int, int]]:
    """Numbers of the fields of a message of Protocol Buffers, and their values; of what is no number nothing."""
    found: list[tuple[int, int]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        total = shift = 0
        while at < len(message) and shift < 70:
            byte = message[at]
            at += 1
            total |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        return total

    while at < len(message):
        key = varint()
        field, wire = key >> 3, key & 7
        if wire == 0:
            found.append((field, varint()))
        elif wire == 2:  # packed numbers
            end = varint() + at
            while at < min(end, len(message)):
                found.append((field, varint()))
        else:
            break
    return found


def named(file: ParameterFile, names: Mapping[str, VTensorType]) -> dict[str, tuple[VTensorType, MappedTensor]]:
    """The tensors of a file by the names that the program has for them.

    Raises:
        PaddleImportError: there are not as many tensors as names, or one is of another type.
    """
    if len(file.tensors) != len(names):
        raise PaddleImportError(f"has {len(file.tensors)} tensors; the program has {len(names)}", file=file.file)
    found: dict[str, tuple[VTensorType, MappedTensor]] = {}
    for name, (type_, data) in zip(sorted(names), file.tensors, strict=True):
        if type_ != names[name]:
            raise PaddleImportError(
                f"has {type_} in place {len(found)}; the program declares {name!r} as {names[name]}", file=file.file
            )
        found[name] = type_, data
    return found


def write_parameters(path: Path, parameters: Mapping[str, tuple[VTensorType, NDArray[Any]]]) -> None:
    """Write tensors, sorted by their names.

    Raises:
        OSError: the file cannot be written.
    """
    numbers = {element: number for number, element in IN_PARAMETERS.items()}
    with path.open("wb") as stream:
        for _, (type_, array) in sorted(parameters.items()):
            message = b"\x08" + _varint(numbers[type_.element])
            message += b"".join(b"\x10" + _varint(extent) for extent in type_.shape)
            stream.write(struct.pack("<IQIi", 0, 0, 0, len(message)) + message)
            stream.write(np.ascontiguousarray(array).tobytes())


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
