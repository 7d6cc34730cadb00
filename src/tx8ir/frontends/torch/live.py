"""Exported programs that PyTorch holds in memory, and modules that it exports."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tx8ir.core import Program, ScalarType, VTensorType, bf16
from tx8ir.core.files import LoadError
from tx8ir.core.schema import structure

from .archive import Source, Stored, Tensors, check_version
from .document import ExportedProgram
from .elements import ElementError, element_of
from .errors import TorchImportError
from .importer import import_program

if TYPE_CHECKING:
    from tx8ir.core.weights.store import TensorData

NAME = "<ExportedProgram>"


def is_exported_program(source: object) -> bool:
    """Whether it is one; PyTorch is not imported to find out."""
    torch: Any = sys.modules.get("torch.export")
    return torch is not None and isinstance(source, torch.ExportedProgram)


def trace(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    dimensions: Mapping[str, int] | None = None,
) -> Program:
    """Export a module by `torch.export.export` and import what comes of it. Needs the extra `torch`.

    Operators without a converter are decomposed by `ExportedProgram.run_decompositions`.

    Args:
        module: a `torch.nn.Module`, as it is: in training mode it is exported for training.
        args, kwargs: example inputs.
        dynamic_shapes: which of their dimensions are open, as `torch.export.export` takes it.
        dimensions: extents for these, as `load` takes them.

    Raises:
        ImportError: PyTorch is not installed.
        TorchImportError: see `load`.
    """
    try:
        export: Any = importlib.import_module("torch.export")
    except ImportError as error:
        raise ImportError(
            "tracing a module needs the package 'torch': pip install tx8ir[torch]", name="torch"
        ) from error
    exported = export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)
    try:
        return import_program(read_exported_program(exported), dimensions)
    except TorchImportError as error:
        if not error.missing:
            raise
    return import_program(read_exported_program(exported.run_decompositions()), dimensions)


def read_exported_program(program: Any) -> Source:
    """Read a `torch.export.ExportedProgram` by PyTorch's own serializer; its tensors are shared, not copied.

    Raises:
        TorchImportError: PyTorch cannot serialize it, or its schema is not known.
    """
    serde: Any = importlib.import_module("torch._export.serde.serialize")
    try:
        artifact = serde.serialize(
            program, serialize_state_dict=False, serialize_constants=False, serialize_example_inputs=False
        )
        value = json.loads(artifact.exported_program)
    except TypeError:  # before these could be left out
        value = json.loads(serde.serialize(program).exported_program)
    except Exception as error:
        raise TorchImportError(f"PyTorch cannot serialize it: {error}", file=NAME) from error
    try:
        document = structure(ExportedProgram, value, NAME)
    except LoadError as error:
        raise TorchImportError(error.message, file=NAME) from error
    check_version(document, NAME)
    return Source(NAME, document, LiveTensors({**program.constants, **program.state_dict}))


class LiveTensors(Tensors):
    """Tensors that PyTorch holds.

    Args:
        tensors: them, by name in the module.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors

    def find(self, name: str) -> Stored | None:
        tensor = self._tensors.get(name)
        if tensor is None:
            return None
        serde: Any = importlib.import_module("torch._export.serde.serialize")
        try:
            element = element_of(int(serde.serialize_tensor_meta(tensor).dtype))
        except ElementError as error:
            raise TorchImportError(f"tensor {name!r}: {error}", file=NAME) from error
        return Stored(name, VTensorType(tuple(tensor.shape), element), _as_numpy(tensor, element))


def _as_numpy(tensor: Any, element: ScalarType) -> TensorData:
    """A view of a tensor on the CPU. NumPy has no bf16: the same bits are looked at as integers for a while."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if element is bf16:
        torch: Any = importlib.import_module("torch")
        return np.asarray(plain.view(torch.int16).numpy()).view(element.dtype)
    return np.asarray(plain.numpy())
