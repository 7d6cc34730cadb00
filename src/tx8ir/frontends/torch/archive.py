"""Archives of exported programs: ZIP files whose parts are mapped, not read.

`torch.export.save` of PyTorch 2.8 and later writes, in a folder of any name, `archive_format` (`pt2`),
`models/NAME.json`, and in `data/weights` and `data/constants` a file of raw bytes for each tensor, next to
`NAME_weights_config.json` and `NAME_constants_config.json`, which have their types. Nothing is compressed.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import MappedTensor, ScalarType, VTensorType, WeightError
from tx8ir.core.files import LoadError, decode_json, regular_size
from tx8ir.core.schema import structure
from tx8ir.core.weights.safetensors import MappedFile
from tx8ir.core.weights.store import TensorData

from .document import ExportedProgram, PayloadConfig, PayloadMeta, TensorMeta
from .elements import ElementError, element_of
from .errors import TorchImportError

T = TypeVar("T")

MAX_DOCUMENT_BYTES: Final = 1 << 30
"""Largest JSON document that is read."""
SCHEMA_MAJORS: Final = (5, 6, 7, 8)
"""Major versions of the schema that are read."""
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_STRIDED: Final = 7
_MOST_ELEMENTS: Final = 1 << 40


@attrs.frozen(eq=False)
class Stored:
    """A parameter, a buffer or a constant of an exported program.

    Attributes:
        name: its name in the module.
        type: its type.
        data: its data as a `Variable` takes it; not read before it is used.
    """

    name: str
    type: VTensorType
    data: TensorData


@attrs.frozen(eq=False)
class Source:
    """An exported program, wherever it came from.

    Attributes:
        file: its name for messages.
        document: the graph and its signature.
        tensors: types and data of what is stored, by name in the module.
    """

    file: str
    document: ExportedProgram
    tensors: Tensors


class Tensors:
    """The stored tensors of an exported program."""

    def find(self, name: str) -> Stored | None:
        """The tensor of a name, or None.

        Raises:
            TorchImportError: it is damaged, or of a type that is not supported.
        """
        raise NotImplementedError


def read_archive(source: str | os.PathLike[str] | bytes | bytearray | memoryview, model: str | None) -> Source:
    """Read the document of an archive, and where its tensors are.

    Raises:
        TorchImportError: no such file, no archive of this kind, damaged, or of a version that is not known.
    """
    archive = Archive(source)
    folder = archive.folder()
    models = {
        name.removeprefix(f"{folder}models/").removesuffix(".json"): name
        for name in archive.names
        if name.startswith(f"{folder}models/") and name.endswith(".json")
    }
    if model is None and len(models) == 1:
        (model,) = models
    if model is None or model not in models:
        listed = ", ".join(map(repr, sorted(models))) or "none"
        asked = (
            "it has no program"
            if not models
            else "expected one: load(…, model=…)"
            if model is None
            else f"no {model!r}"
        )
        raise archive.error(f"{asked}; its programs are {listed}")
    document = archive.json(models[model], ExportedProgram)
    check_version(document, archive.file)
    places: dict[str, tuple[str, PayloadMeta]] = {}
    for kind in ("weights", "constants"):
        path = f"{folder}data/{kind}/{model}_{kind}_config.json"
        if path in archive.names:
            for name, meta in archive.json(path, PayloadConfig).config.items():
                places[name] = (f"{folder}data/{kind}/{meta.path_name}", meta)
    return Source(archive.file, document, ArchivedTensors(archive, places))


def check_version(document: ExportedProgram, file: str) -> None:
    """Refuse versions of the schema that are not known.

    Raises:
        TorchImportError: it is of one.
    """
    version = document.schema_version
    if version.major not in SCHEMA_MAJORS:
        raise TorchImportError(
            f"has version {version.major}.{version.minor} of PyTorch's schema (written by torch "
            f"{document.torch_version}); supported are {SCHEMA_MAJORS[0]} to {SCHEMA_MAJORS[-1]}",
            file=file,
        )


@attrs.frozen(eq=False)
class Part:
    """The bytes of one file of an archive.

    Attributes:
        holder: the mapped archive, or the bytes that hold it.
        offset, size: where in there, in bytes.
    """

    holder: MappedFile | memoryview
    offset: int
    size: int

    def bytes(self) -> memoryview:
        """The bytes themselves."""
        whole = memoryview(self.holder.map()) if isinstance(self.holder, MappedFile) else self.holder
        return whole[self.offset : self.offset + self.size]


class Archive:
    """A ZIP file.

    Attributes:
        file: its name for messages.
        names: the names of its files.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> None:
        """Read the directory.

        Raises:
            TorchImportError: no such file, or no ZIP file.
        """
        self._content: memoryview | None = None
        if isinstance(source, bytes | bytearray | memoryview):
            self.file, self._content = "<bytes>", memoryview(source).cast("B")
            opened: Any = io.BytesIO(self._content)
        else:
            self.file = os.fspath(source)
            try:
                regular_size(source, "an exported program")
            except LoadError as error:
                raise self.error(f"cannot be read: expected {error.expected}, found {error.given}") from error
            opened = self.file
        try:
            self._zip = zipfile.ZipFile(opened)
        except (OSError, *_DAMAGES) as error:
            raise self.error(f"is not an archive of torch.export.save, or is truncated: {error}") from error
        self._mapped = None if self._content is not None else MappedFile(Path(self.file))
        self._entries = {entry.filename: entry for entry in self._zip.infolist()}
        self.names = frozenset(self._entries)

    def error(self, message: str) -> TorchImportError:
        """The error to raise about the archive."""
        return TorchImportError(message, file=self.file)

    def folder(self) -> str:
        """The folder that everything is in, with a slash at its end."""
        marks = [name for name in self.names if name == "archive_format" or name.endswith("/archive_format")]
        if len(marks) != 1:
            raise self.error("is not an archive of torch.export.save: expected one file 'archive_format' in it")
        kind = bytes(self.part(marks[0]).bytes()[:100])
        if kind.strip() != b"pt2":
            raise self.error(f"is an archive of format {kind!r}; expected b'pt2'")
        return marks[0].removesuffix("archive_format")

    def part(self, name: str) -> Part:
        """The bytes of a file of the archive.

        Raises:
            TorchImportError: there is none, or it is damaged.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise self.error(f"has no file {name!r}; it may be truncated")
        try:
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                return self._unpacked(entry)
            holder = self._content if self._mapped is None else self._mapped
            assert holder is not None
            header_size = _LOCAL_HEADER.size
            header = bytes(Part(holder, entry.header_offset, header_size).bytes())
            magic, name_size, extra_size = _LOCAL_HEADER.unpack(header)
            offset = entry.header_offset + header_size + name_size + extra_size
            end = len(holder) if isinstance(holder, memoryview) else holder.size
            if magic != b"PK\3\4" or entry.file_size != entry.compress_size or offset + entry.file_size > end:
                raise self.error(f"the file {name!r} in it is damaged")
        except (OSError, WeightError, *_DAMAGES) as error:
            raise self.error(f"the file {name!r} in it is damaged: {error}") from error
        return Part(holder, offset, entry.file_size)

    def _unpacked(self, entry: zipfile.ZipInfo) -> Part:
        """A file that somebody compressed, which `torch.export.save` does not."""
        if entry.file_size > MAX_DOCUMENT_BYTES:
            raise self.error(f"the file {entry.filename!r} in it is compressed and has {entry.file_size} bytes")
        content = self._zip.read(entry)
        return Part(memoryview(content), 0, len(content))

    def json(self, name: str, cls: type[T]) -> T:
        """A JSON file of the archive as an instance of a class of `document`.

        Raises:
            TorchImportError: there is none, or it is another.
        """
        part = self.part(name)
        if part.size > MAX_DOCUMENT_BYTES:
            raise self.error(f"{name!r} has {part.size} bytes; expected at most {MAX_DOCUMENT_BYTES}")
        try:
            return structure(cls, decode_json(bytes(part.bytes())), name)
        except LoadError as error:
            raise self.error(error.message) from error
        except ValueError as error:
            raise self.error(f"{name!r} is not valid JSON: {error}") from error


_DAMAGES: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
)
"""What reading a damaged ZIP file raises."""


class ArchivedTensors(Tensors):
    """The stored tensors of an archive, each a file of it: raw bytes in the tensor's own order of axes.

    Args:
        archive: the archive.
        places: for each name the file, and what is said of it.
    """

    def __init__(self, archive: Archive, places: Mapping[str, tuple[str, PayloadMeta]]) -> None:
        self._archive = archive
        self._places = places

    def find(self, name: str) -> Stored | None:
        place = self._places.get(name)
        if place is None:
            return None
        path, meta = place
        if meta.use_pickle or meta.tensor_meta is None:
            raise self._archive.error(
                f"tensor {name!r} is a pickled object, which is not supported; expected raw bytes"
            )
        try:
            return stored(name, self._archive.part(path), meta.tensor_meta)
        except (ElementError, WeightError, ValueError) as error:
            if isinstance(error, TorchImportError):
                raise
            raise self._archive.error(f"tensor {name!r}: {error}") from error


def stored(name: str, part: Part, meta: TensorMeta) -> Stored:
    """A tensor whose bytes are those of `part`.

    Raises:
        ElementError: its element type is not supported.
        ValueError: it does not fit the bytes, or its extents are not numbers.
    """
    element = element_of(meta.dtype)
    if meta.layout != _STRIDED:
        raise ValueError(f"it has layout {meta.layout}; expected {_STRIDED} (strided)")
    shape, strides = (tuple(_number(value.as_int) for value in values) for values in (meta.sizes, meta.strides))
    start = _number(meta.storage_offset.as_int)
    return Stored(name, VTensorType(shape, element), view(part, element, shape, strides, start))


def _number(value: int | None) -> int:
    if value is None or not 0 <= value < _MOST_ELEMENTS:
        raise ValueError(
            f"an extent, a stride or an offset is {value}; expected a number from 0 to {_MOST_ELEMENTS - 1}"
        )
    return value


def view(
    part: Part, element: ScalarType, shape: tuple[int, ...], strides: tuple[int, ...], start: int
) -> MappedTensor | NDArray[Any]:
    """A tensor in some bytes, mapped where they are. Strides and start count elements.

    Raises:
        ValueError: it lies outside of the bytes.
    """
    size = element.dtype.itemsize
    count = math.prod(shape)
    if len(strides) != len(shape) or count > _MOST_ELEMENTS:
        raise ValueError(f"it has shape {list(shape)} and strides {list(strides)}")
    last = start + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) if count else -1
    if (last + 1) * size > part.size:
        raise ValueError(
            f"its {VTensorType(shape, element)} with strides {list(strides)} from {start} on takes {(last + 1) * size} "
            f"bytes; there are {part.size}"
        )
    if isinstance(part.holder, MappedFile) and (not count or _is_contiguous(shape, strides)):
        return MappedTensor(part.holder, part.offset + (start * size if count else 0), element, shape)
    raw = np.frombuffer(part.bytes(), np.uint8, count=part.size) if part.size else np.zeros(0, np.uint8)
    if not count:
        return np.zeros(shape, element.dtype)
    cells: NDArray[Any] = np.ndarray((last + 1,), element.dtype, raw[: (last + 1) * size])
    return np.lib.stride_tricks.as_strided(
        cells[start:], shape, tuple(stride * size for stride in strides), writeable=False
    )


def _is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True
