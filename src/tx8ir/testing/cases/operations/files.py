"""A case as a folder that other hardware can work on.

case.json           names, shapes, formats, ranges and files of all tensors, the bound of the result, and versions
case.mlir           the operations, in the dialect `tx8be`
NAME.bin            the data of an input or constant
y.expected.bin      the result with one rounding for each operation
y.exact.bin         the result in fp64; of integers the same
y.chip.bin          the result of the simulated chip
compiled/           the compiled program: graph.mlir, weights.safetensors, and in C main.c with tx8.h

A .bin file holds the elements as they are, row by row, least significant byte first: `np.fromfile` reads it.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import attrs
import numpy as np

from tx8ir.backend.codegen import c_interface
from tx8ir.backend.codegen.main_c import main_c
from tx8ir.core import LoadError, ScalarType, parse
from tx8ir.core.files import read_json
from tx8ir.core.schema import Check, structure
from tx8ir.core.weights.safetensors import STORAGE as FORMATS
from tx8ir.executable import HEADER_FILE, MAIN_FILE

from .case import Case, CaseResult
from .configuration import RESULT, Array, Range, Shape

__all__ = ["load_case", "read_answer", "save_case"]

CASE_FILE: Final = "case.json"
_TEXT_FILE: Final = "case.mlir"
_COMPILED: Final = "compiled"
_FORMAT: Final = 1

_FileName = Annotated[str, Check("the name of a file beside it", lambda name: bool(name) and Path(name).name == name)]
_Format = Annotated[int, Check(f"{_FORMAT}, the format that this version reads", lambda n: n == _FORMAT)]
_Element = Annotated[str, Check(f"one of {', '.join(FORMATS)}", lambda name: name in FORMATS)]
_Extent = Annotated[int, Check("an extent, 0 or more", lambda n: n >= 0)]


@attrs.frozen
class _Range:
    low: float
    high: float
    whole: bool
    least: float


@attrs.frozen
class _Tensor:
    """An input or constant of a saved case."""

    file: _FileName
    element: _Element
    shape: tuple[_Extent, ...]
    range: _Range
    is_constant: bool


@attrs.frozen
class _Result:
    """The result of a saved case; `bound` is how far another device's may be from the exact one."""

    element: _Element
    shape: tuple[_Extent, ...]
    exact: _FileName
    expected: _FileName
    chip: _FileName
    bound: float


@attrs.frozen
class _SavedCase:
    """What `case.json` holds."""

    format: _Format
    version: str
    op: str
    name: str
    tensors: Mapping[str, _Tensor]
    results: Mapping[str, _Result]


def save_case(case: Case, result: CaseResult, folder: str | Path) -> None:
    """Writes a case with data, and what it computes, into a folder, which is made when missing."""
    path = Path(folder)
    version = importlib.metadata.version("tx8ir")
    compiled = path / _COMPILED
    result.compiled.save(compiled)
    (compiled / MAIN_FILE).write_text(main_c(result.compiled, version), encoding="utf-8")
    (compiled / HEADER_FILE).write_text(c_interface.header(version), encoding="utf-8")
    (path / _TEXT_FILE).write_text(f"{case.program}\n", encoding="utf-8")
    tensors: dict[str, _Tensor] = {}
    for name, kind in case.types.items():
        range_ = _Range(**attrs.asdict(case.ranges[name]))
        is_constant = name not in case.program.inputs
        tensors[name] = _Tensor(f"{name}.bin", str(kind.element), kind.shape, range_, is_constant)
        _write(path / tensors[name].file, case.data[name])
    answers = {"exact": result.exact, "expected": result.expected, "chip": result.chip}
    for what, array in answers.items():
        _write(path / f"{RESULT}.{what}.bin", array)
    files = {what: f"{RESULT}.{what}.bin" for what in answers}
    found = _Result(result.check.element, result.chip.shape, **files, bound=result.check.bound)
    saved = _SavedCase(_FORMAT, version, case.op, case.name, tensors, {RESULT: found})
    (path / CASE_FILE).write_text(json.dumps(attrs.asdict(saved), indent=1) + "\n", encoding="utf-8")


def load_case(folder: str | Path) -> Case:
    """Reads what `save_case` wrote: a case with its data.

    Raises `IrError`: `LoadError` with the place in ``case.json`` for a file that is missing or of another size,
    `ParseError` for the text, `VerifyError` for operations that are not valid.
    """
    path = Path(folder)
    manifest = path / CASE_FILE
    saved = structure(_SavedCase, read_json(manifest, "a case"), manifest)
    program = parse(path / _TEXT_FILE)
    data = {name: _read(path / t.file, t, manifest, name) for name, t in saved.tensors.items()}
    for name, tensor in saved.tensors.items():
        if tensor.is_constant:
            program.weights.add(name, data[name])
    program.verify()
    ranges = {name: Range(**attrs.asdict(tensor.range)) for name, tensor in saved.tensors.items()}
    return Case(saved.op, saved.name, program, ranges).with_data(data)


def read_answer(folder: str | Path, what: str = "expected") -> Array:
    """The result in a saved case: "expected", "exact" or "chip". Raises `LoadError`."""
    manifest = Path(folder) / CASE_FILE
    saved = structure(_SavedCase, read_json(manifest, "a case"), manifest).results[RESULT]
    element = "f64" if what == "exact" and ScalarType.of(saved.element).is_float else saved.element
    files = {"exact": saved.exact, "expected": saved.expected, "chip": saved.chip}
    return _array(Path(folder) / files[what], element, saved.shape, manifest, f"results.{RESULT}.{what}")


def _write(path: Path, array: Array) -> None:
    path.write_bytes(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


def _read(path: Path, tensor: _Tensor, manifest: Path, name: str) -> Array:
    return _array(path, tensor.element, tensor.shape, manifest, f"tensors.{name}")


def _array(path: Path, element: str, shape: Shape, manifest: Path, at: str) -> Array:
    dtype = ScalarType.of(element).dtype
    wanted = int(np.prod(shape)) * dtype.itemsize
    found = path.stat().st_size if path.is_file() else None
    if found != wanted:
        got = "no such file" if found is None else f"{found} bytes"
        raise LoadError(manifest, f"{wanted} bytes in {path.name}", got, at)
    return np.frombuffer(path.read_bytes(), dtype).reshape(shape).copy()
