"""Models and arrays from files, with errors that name the file and what was expected in it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import IrError, Program, parse
from tx8ir.executable import InputError, Signature
from tx8ir.frontends import onnx

_TEXT_SUFFIXES = (".mlir", ".txt")


def is_text(path: Path) -> bool:
    """Whether a file is IR text, by its name."""
    return path.suffix in _TEXT_SUFFIXES and not path.is_dir()


def load_program(path: Path) -> Program:
    """The program in `path`: a folder that `Program.save` wrote, IR text (.mlir, .txt), or else an ONNX model.

    Raises `IrError` when the content cannot be read as that, `OSError` when the file cannot be read at all.
    """
    if path.is_dir():
        return Program.load(path)
    if not path.exists():
        raise IrError(f"no such file: {path}")
    if path.suffix in _TEXT_SUFFIXES:
        return parse(path)
    return onnx.load(path)


@attrs.frozen
class Data:
    """Inputs by name, and references: label to outputs by name."""

    inputs: Mapping[str, NDArray[Any]]
    references: Mapping[str, Mapping[str, NDArray[Any]]]


def read_data(path: Path | None, signature: Signature) -> Data:
    """Reads an .npz file: inputs under their names or as ``in_NAME``, references as ``out_I`` and ``ref64_I`` (I-th
    output).

    Without a file there are no inputs, which only a program without inputs accepts.

    Raises `InputError` when the file is no .npz archive, or holds an array that is neither.
    """
    if path is None:
        return Data({}, {})
    if not path.exists():
        raise InputError(f"no such file: {path}")
    arrays: dict[str, NDArray[Any]] | None = None
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            with loaded:
                arrays = {key: loaded[key] for key in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as an .npz archive: {error}") from error
    if arrays is None:
        raise InputError(f"{path} is a single array; expected an .npz archive of named arrays")
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


def write_data(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes named arrays as an .npz archive; unlike `numpy.savez`, any name will do."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
