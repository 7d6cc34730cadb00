"""Arrays from files, with errors that name the file and what was expected in it."""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import LoadError, MissingFileError
from tx8ir.core.files import regular_size
from tx8ir.signature import InputError, Signature

_MAX_RANK: Final = 64
_DEFLATE_RATIO: Final = 1100
"""No deflated byte stands for more; what claims more is made to exhaust memory."""
_SMALL: Final = 1 << 16
# What `zipfile` and its decompressors raise about a damaged archive, an encrypted one, or an unknown compression.
_NOT_AN_ARCHIVE: Final = (
    ValueError, EOFError, OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
    struct.error,
)  # fmt: skip
# What Python's parser raises about the header of an array, which is a Python literal of at most 10,000 characters.
_NO_HEADER: Final = (SyntaxError, tokenize.TokenError, RecursionError, MemoryError)


@attrs.frozen
class Data:
    """Inputs by name, and references: label to outputs by name."""

    inputs: Mapping[str, NDArray[Any]]
    references: Mapping[str, Mapping[str, NDArray[Any]]]


def read_data(path: Path | None, signature: Signature) -> Data:
    """Reads an .npz file: inputs under their names or as ``in_NAME``, references as ``out_I`` and ``ref64_I`` (I-th
    output).

    Without a file there are no inputs, which only a program without inputs accepts.

    Raises `InputError` when the file is not a .npz archive, or holds an array that is neither.
    """
    if path is None:
        return Data({}, {})
    arrays = _read_arrays(path)
    names = {port.name for port in signature.inputs}
    outputs = [port.name for port in signature.outputs]
    inputs: dict[str, NDArray[Any]] = {}
    references: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in arrays.items():
        prefix, _, rest = key.partition("_")
        if key in names:
            inputs[key] = array
        elif prefix == "in":
            inputs[rest] = array  # a wrong name is reported with the names that are right when the program runs
        elif prefix in ("out", "ref64") and rest.isdecimal() and int(rest) < len(outputs):
            label = f"{path.name} {prefix} ({array.dtype})"
            references.setdefault(label, {})[outputs[int(rest)]] = array
        else:
            raise InputError(
                f"{path}: '{key}' is neither an input, as NAME or in_NAME ({', '.join(sorted(names)) or 'none'}), nor "
                f"a reference (out_I or ref64_I with I < {len(outputs)})"
            )
    return Data(inputs, references)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz archive by name. Nothing is unpacked before its size is known to be right."""
    try:
        regular_size(path, "an .npz archive")
    except MissingFileError:
        raise InputError(f"no such file: {path}") from None
    except LoadError as error:
        raise InputError(error.message) from error
    if _is_single_array(path):
        raise InputError(f"{path} is a single array; expected an .npz archive of named arrays")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                arrays[info.filename.removesuffix(".npy")] = _read_member(archive, info)
    except _NOT_AN_ARCHIVE as error:
        raise InputError(f"{path} cannot be read as an .npz archive: {error}") from error
    return arrays


def _is_single_array(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(6) == np.lib.format.MAGIC_PREFIX
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array. Raises ValueError and what `zipfile` raises."""
    if info.file_size > _DEFLATE_RATIO * info.compress_size + _SMALL:
        raise ValueError(
            f"member '{info.filename}' claims {info.file_size} bytes, more than its {info.compress_size} hold"
        )
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"member '{info.filename}' has version {version} of the array format, expected 1.0 or 2.0")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, dtype = read(stream)
        except _NO_HEADER as error:
            raise ValueError(f"the header of member '{info.filename}' describes no array: {error}") from error
        if dtype.hasobject:
            raise ValueError(f"member '{info.filename}' holds Python objects, expected numbers")
        taken = stream.tell() + math.prod(shape) * dtype.itemsize
        if len(shape) > _MAX_RANK or taken != info.file_size:
            raise ValueError(f"member '{info.filename}' has {info.file_size} bytes, its header asks for {taken}")
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def write_data(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes named arrays as an .npz archive; unlike `numpy.savez`, any name will do."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
