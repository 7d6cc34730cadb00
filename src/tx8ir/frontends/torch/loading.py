"""`load`: exported programs from files, bytes and PyTorch's own objects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tx8ir.core import Program

from .archive import Source, read_archive
from .importer import import_program
from .live import is_exported_program, read_exported_program


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | Any,
    *,
    dimensions: Mapping[str, int] | None = None,
    model: str | None = None,
) -> Program:
    """Import an exported program.

    The program's `main` takes the inputs of the module and returns its outputs, under the names of the graph.
    Parameters and buffers that the graph reads go to the `WeightStore` under their names in the module
    (`layer.0.weight`), mapped from the file. Buffers that it writes are written by
    `builtin.set_parameter`, and inputs that it writes are further results under their names. What an operator writes in
    place becomes values. Each operation is located at the name of its node and the calls in the Python source that led
    there.

    Args:
        source: a path or the bytes of an archive that `torch.export.save` wrote, or a `torch.export.ExportedProgram`.
        dimensions: extents of symbolic dimensions, by symbol (`{"s77": 1}`) or by place (`{"x[0]": 1}`). Those that are
            not given stay dynamic.
        model: which program of an archive of several.

    Returns:
        A verified program of `pd` operations on value tensors.

    Raises:
        TorchImportError: the file is damaged, or uses what is not supported; the message names file, node and operator.
            Operators that are lacking are listed all at once.
    """
    return import_program(_read(source, model), dimensions)


def _read(source: Any, model: str | None) -> Source:
    if is_exported_program(source):
        return read_exported_program(source)
    return read_archive(source, model)
