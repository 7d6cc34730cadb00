"""`load`: programs from folders and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tx8ir.core import Program
from tx8ir.core.files import LoadError, read_json

from .document import Document, is_program, read_document
from .errors import PaddleImportError
from .importer import ProgramImporter, Tensors, parameters_of
from .parameters import SUFFIX, ParameterFile, named

PROGRAM_SUFFIX: Final = ".json"
_WHAT: Final = "a program of Paddle"


def load(
    source: str | os.PathLike[str],
    *,
    parameters: str | os.PathLike[str] | None = None,
    dimensions: Mapping[str, int] | None = None,
) -> Program:
    """Import a program that Paddle 3 wrote (`paddle.jit.save`, `paddle.static.save_inference_model`).

    The program's `main` takes the inputs (`pd_op.data`) and returns what is fetched, under Paddle's names. Parameters
    go to the `WeightStore` under theirs, mapped from the file. What the program writes in place is storage
    (`!pd.tensor`): of parameters their own, which are then mutable, of inputs a copy. Conditions and loops become
    `scf.if` and `scf.while`. Each operation is located at its layer, operator and result (`/Linear_1/add_9`).

    Args:
        source: the `.json` file, the path of both files without a suffix, as Paddle takes it, or a folder with one
            program in it.
        parameters: the `.pdiparams` file; by default that beside the program.
        dimensions: extents of dynamic dimensions of inputs, by place (`{"x[0]": 4}`). Those that are not given stay
            dynamic.

    Returns:
        A verified program of `pd`, `builtin` and `scf` operations.

    Raises:
        PaddleImportError: a file is damaged, or uses what is not supported; the message names file, operation, operator
            and place. Operators that are lacking are listed all at once.
        LoadError: the program cannot be read, or is no JSON; `MissingFileError` where there is none.
    """
    path = program_file(source)
    document = read_document(read_json(path, _WHAT), str(path))
    return ProgramImporter(document, _tensors(document, path, parameters), dimensions or {}).run()


def program_file(source: str | os.PathLike[str]) -> Path:
    """The file that holds the program.

    Raises:
        PaddleImportError: a folder holds none, or several.
    """
    path = Path(source)
    if path.is_dir():
        found = programs_in(path)
        if len(found) != 1:
            names = ", ".join(file.name for file in found) or "none"
            raise PaddleImportError(f"expected one program (.json) in the folder; it has {names}", file=str(path))
        return found[0]
    beside = path.with_name(path.name + PROGRAM_SUFFIX)
    return beside if path.suffix != PROGRAM_SUFFIX and beside.is_file() else path


def programs_in(folder: Path) -> list[Path]:
    """The programs of Paddle in a folder."""
    found: list[Path] = []
    for path in sorted(folder.glob(f"*{PROGRAM_SUFFIX}")):
        try:
            if is_program(read_json(path, _WHAT)):
                found.append(path)
        except LoadError:
            continue
    return found


def _tensors(document: Document, program: Path, given: str | os.PathLike[str] | None) -> Tensors:
    path = program.with_suffix(SUFFIX) if given is None else Path(given)
    names = parameters_of(document, lasting=False)
    if given is None and not names and not path.exists():
        return {}
    file = ParameterFile(path)
    with_inputs = parameters_of(document, lasting=True)
    return named(file, with_inputs if len(file.tensors) == len(with_inputs) else names)
