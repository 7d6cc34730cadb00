"""The safetensors file format: memory-mapped tensors, and a reader that checks the whole header first.

A file is 8 bytes of header length (little endian), a JSON header `name -> {dtype, shape, data_offsets}`, and the data,
which the tensors tile without gaps or overlaps. No tensor is visible before the header has been checked, so that a
broken or hostile file gives a `WeightError` and never a wrong array; no tensor is read before it is used.
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any, Final, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core.attrs.types import ScalarType
from tx8ir.core.errors import IrError
from tx8ir.core.files import MAX_JSON_BYTES, LoadError, decode_json, read_regular, regular_size, shown

MAX_HEADER_BYTES = 100_000_000
"""Largest JSON header the safetensors format allows."""

MAX_RANK: Final = 64
"""Most axes of a tensor: those that NumPy has."""

METADATA = "__metadata__"
"""CustomFormat key that holds strings about the file instead of a tensor."""

STORAGE: Final[dict[str, tuple[str, int]]] = {
    # element spelling -> (safetensors dtype, bytes per element in the file)
    "f64": ("F64", 8),
    "f32": ("F32", 4),
    "tf32": ("F32", 4),
    "f16": ("F16", 2),
    "bf16": ("BF16", 2),
    "i64": ("I64", 8),
    "i32": ("I32", 4),
    "i16": ("I16", 2),
    "i8": ("I8", 1),
    "i4": ("I8", 1),  # one element per byte, as ml_dtypes.int4 holds it
    "ui64": ("U64", 8),
    "ui32": ("U32", 4),
    "ui16": ("U16", 2),
    "ui8": ("U8", 1),
    "ui4": ("U8", 1),
    "i1": ("BOOL", 1),
}
ELEMENT_OF_CODE: Final = {code: name for name, (code, _) in STORAGE.items() if name not in ("tf32", "i4", "ui4")}


class WeightError(IrError, ValueError):
    """A weight that does not fit its declared type, or a weight file that is not what it should be."""


# --- memory-mapped files -----------------------------------------------------------------------------------------


class MappedFile:
    """A file mapped read-only, once; tensors are views into it. The mapping lives as long as one of its views."""

    __slots__ = ("_map", "path", "size")

    def __init__(self, path: Path) -> None:
        """Open `path`. The mapping itself is made when the first byte is asked for.

        Raises:
            WeightError: the file does not exist or cannot be read.
        """
        try:
            self.size = regular_size(path, "a weight file")
        except LoadError as error:
            raise WeightError(f"weight file {str(path)!r}: expected a regular file, found {error.given}") from error
        self.path = path
        self._map: mmap.mmap | None = None

    def map(self) -> mmap.mmap:
        """Return the mapping of the whole file."""
        if self._map is None:
            try:
                with self.path.open("rb") as stream:
                    mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                raise WeightError(f"cannot map weight file {str(self.path)!r}: {error}") from error
            if len(mapping) < self.size:
                raise WeightError(
                    f"weight file {str(self.path)!r} was {self.size} bytes when it was opened and is {len(mapping)} now"
                )
            self._map = mapping
        return self._map


class MappedTensor:
    """A dense little-endian tensor inside a mapped file; nothing is read until `__array__` is called.

    Attributes:
        file: the mapped file, shared by all its tensors.
        offset: position of the first element, in bytes from the start of the file.
        element: element type the bytes are read as.
        shape: extent of each axis, outermost first.
    """

    __slots__ = ("element", "file", "offset", "shape")

    def __init__(self, file: MappedFile, offset: int, element: ScalarType, shape: tuple[int, ...]) -> None:
        """Describe the tensor.

        Raises:
            WeightError: the bytes would lie outside the file.
        """
        self.file = file
        self.offset = offset
        self.element = element
        self.shape = shape
        if offset < 0 or offset + self.nbytes > file.size:
            raise WeightError(
                f"{str(file.path)!r}: a tensor of {self.nbytes} bytes at offset {offset} does not lie inside the file, "
                f"which has {file.size} bytes"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy data type of the array that `__array__` returns."""
        return self.element.dtype

    @property
    def nbytes(self) -> int:
        """Size of the tensor in the file, in bytes."""
        return math.prod(self.shape) * STORAGE[self.element.format.name][1]

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return a read-only view of the file; a copy only if `dtype` or the element type asks for one.

        Raises:
            WeightError: the file shrank since it was opened, or a truth value in it is neither 0 nor 1.
        """
        code, _ = STORAGE[self.element.format.name]
        stored = ScalarType.of(ELEMENT_OF_CODE[code])
        count = math.prod(self.shape)
        if count:
            flat = np.frombuffer(self.file.map(), dtype=stored.dtype, count=count, offset=self.offset)
        else:
            flat = np.empty(0, dtype=stored.dtype)
        if code == "BOOL" and (flat.view(np.uint8) > 1).any():
            raise WeightError(f"{str(self.file.path)!r}: truth values at offset {self.offset} are not all 0 or 1")
        array = flat.reshape(self.shape)
        wanted = self.element.dtype if dtype is None else np.dtype(dtype)
        if array.dtype != wanted:
            if copy is False:
                raise ValueError(f"a copy is needed to read {stored} data as {wanted}")
            return array.astype(wanted)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        shape = "x".join([*map(str, self.shape), str(self.element)])
        return f"MappedTensor({shape} at {self.offset} of {str(self.file.path)!r})"


def resolve_inside(folder: Path, relative: str, *, owner: str) -> Path:
    """Return `folder / relative`, refusing anything that leaves `folder`.

    Args:
        folder: the folder that may be read.
        relative: a path found in a file, hence not trusted: absolute paths, `..` and symbolic links that lead outside
            are refused.
        owner: what names the path, for the message (`"external data of tensor 'w'"`).

    Raises:
        WeightError: the path is empty or leaves the folder.
    """
    if not isinstance(relative, str) or not relative or "\0" in relative:  # pyright: ignore[reportUnnecessaryIsInstance]  (protobuf gives bytes for what is not UTF-8)
        raise WeightError(f"{owner}: {relative!r} is not a file name")
    try:
        root = folder.resolve()
        path = Path(relative)
        resolved = (root / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle are a RuntimeError
        raise WeightError(f"{owner}: {relative!r} cannot be followed: {error}") from error
    if path.is_absolute() or not resolved.is_relative_to(root) or resolved == root:
        raise WeightError(f"{owner}: path {relative!r} leaves the folder {str(root)!r}; only files inside it are read")
    return resolved


# --- reading safetensors -----------------------------------------------------------------------------------------


def parse_json(text: bytes, what: str) -> dict[str, object]:
    """Return the JSON object in `text` (see `decode_json`). Raises WeightError about `what`."""
    try:
        value = decode_json(text)
    except ValueError as error:
        raise WeightError(f"{what} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise WeightError(f"{what} must be a JSON object, found {type(value).__name__}")
    return cast("dict[str, object]", value)


def read_index(path: Path) -> dict[str, list[str]]:
    """Return file name -> weight names of a sharded checkpoint's index, both in order."""
    try:
        text = read_regular(path, MAX_JSON_BYTES, "a weight index")
    except LoadError as error:
        raise WeightError(f"cannot open weight index: {error.message}") from error
    weight_map = parse_json(text, f"weight index {str(path)!r}").get("weight_map")
    if not isinstance(weight_map, dict):
        raise WeightError(f"weight index {str(path)!r} has no 'weight_map' object")
    shards: dict[str, list[str]] = {}
    for name, shard in cast("dict[str, object]", weight_map).items():
        if not isinstance(shard, str):
            raise WeightError(
                f"weight index {str(path)!r}: file of weight {name!r} must be a string, found {shown(shard)}"
            )
        shards.setdefault(shard, []).append(name)
    return shards


def _is_natural(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _natural_list(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return tuple(item for item in items if _is_natural(item)) if all(map(_is_natural, items)) else None


def read_header(path: Path) -> tuple[dict[str, MappedTensor], dict[str, str]]:
    """Check the header of a safetensors file; return its tensors and its metadata, both in header order.

    Raises:
        WeightError: the file is missing, truncated or malformed; tensors overlap, leave gaps, or reach out of the file.
    """
    file = MappedFile(path)
    where = f"weight file {str(path)!r}"
    if file.size < 8:
        raise WeightError(f"{where} is truncated: it has {file.size} bytes, the header length alone takes 8")
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > MAX_HEADER_BYTES:
                raise WeightError(
                    f"{where} claims a header of {length} bytes, more than the {MAX_HEADER_BYTES} the format allows: "
                    "not a safetensors file"
                )
            if 8 + length > file.size:
                raise WeightError(f"{where} is truncated: it has {file.size} bytes, the header ends at {8 + length}")
            header = parse_json(stream.read(length), f"{where}: header")
    except OSError as error:
        raise WeightError(f"cannot read {where}: {error.strerror or error}") from error
    metadata = header.pop(METADATA, {})
    entries = cast("dict[str, object]", metadata)
    if not isinstance(metadata, dict) or not all(isinstance(entry, str) for entry in entries.values()):
        raise WeightError(f"{where}: {METADATA} must map strings to strings, found {shown(cast(object, metadata))}")
    data_size = file.size - 8 - length
    spans: list[tuple[int, int, str]] = []
    tensors: dict[str, MappedTensor] = {}
    for name, entry in header.items():
        element, shape, begin, end = _check_entry(entry, data_size, f"{where}: tensor {name!r}")
        tensors[name] = MappedTensor(file, 8 + length + begin, element, shape)
        spans.append((begin, end, name))
    _check_spans(spans, data_size, where)
    return tensors, cast("dict[str, str]", metadata)


def _check_entry(entry: object, data_size: int, owner: str) -> tuple[ScalarType, tuple[int, ...], int, int]:
    if not isinstance(entry, dict) or set(cast("dict[str, object]", entry)) != {"dtype", "shape", "data_offsets"}:
        raise WeightError(
            f"{owner}: expected an object with dtype, shape and data_offsets, found {shown(cast(object, entry))}"
        )
    fields = cast("dict[str, object]", entry)
    dtype = fields["dtype"]
    if not isinstance(dtype, str) or dtype not in ELEMENT_OF_CODE:
        known = ", ".join(ELEMENT_OF_CODE)
        raise WeightError(f"{owner}: data type {shown(dtype)} is not supported; supported are {known}")
    shape = _natural_list(fields["shape"])
    if shape is None or len(shape) > MAX_RANK:
        wanted = f"a list of up to {MAX_RANK} integers from 0 to 2**63 - 1"
        raise WeightError(f"{owner}: shape must be {wanted}, found {shown(fields['shape'])}")
    offsets = _natural_list(fields["data_offsets"])
    if offsets is None or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise WeightError(f"{owner}: data_offsets must be [begin, end], found {shown(fields['data_offsets'])}")
    begin, end = offsets
    if end > data_size:
        raise WeightError(
            f"{owner}: data_offsets [{begin}, {end}] reach beyond the {data_size} bytes of data in the file "
            "(truncated or out of range)"
        )
    name = ELEMENT_OF_CODE[dtype]
    expected = math.prod(shape) * STORAGE[name][1]
    if end - begin != expected:
        raise WeightError(
            f"{owner}: {dtype} of shape {list(shape)} takes {expected} bytes, but data_offsets [{begin}, {end}] hold "
            f"{end - begin}"
        )
    return ScalarType.of(name), shape, begin, end


def _check_spans(spans: list[tuple[int, int, str]], data_size: int, where: str) -> None:
    """Tensors must tile the data exactly: the format allows neither overlaps nor gaps."""
    position, previous = 0, ""
    for begin, end, name in sorted(spans):
        if begin < position:
            raise WeightError(
                f"{where}: tensors {previous!r} and {name!r} overlap in bytes {begin}..{min(end, position)} of the data"
            )
        if begin > position:
            raise WeightError(f"{where}: bytes {position} to {begin} before tensor {name!r} belong to no tensor")
        position, previous = end, name
    if position < data_size:
        raise WeightError(f"{where}: {data_size - position} bytes after the last tensor belong to no tensor")
