"""ONNX's own interface to what runs models, `onnx.backend.base.Backend`: prepare a model, then run it.

    from tx8ir.frontends.onnx import backend
    outputs = backend.run_model(model, inputs, device="TX8")

Device `TX8` compiles a model and simulates the chip; `CPU` evaluates it with the reference interpreter. What has to be
known before a program is built (shapes, axes, pads, the length of a sequence) is taken from the inputs of a run: the
program is then built for these values, and kept for the next run with the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray
from onnx.backend.base import Backend, BackendRep, namedtupledict

from tx8ir import compiler
from tx8ir.compiler import CompileOptions
from tx8ir.core import Program
from tx8ir.executable import Executable
from tx8ir.interpreter import Interpreter

from .errors import OnnxImportError
from .importer import Imported, import_model
from .structure import Given, flatten, open_dimensions, structure_of

DeviceName: TypeAlias = Literal["CPU", "TX8"]

DEVICES: Final = ("CPU", "TX8")
"""What models run on: the reference interpreter, and the simulated chip."""

KEPT: Final = 8
"""Programs that a prepared model keeps, each for other values of the inputs that it was built for."""


class PreparedModel(BackendRep):
    """A model that is ready to run.

    Args:
        model: the model.
        device: one of `DEVICES`.
        constants: values of graph inputs that never change; `run` takes the other inputs only.
        dimensions: as `load` takes them.
        options: how to compile for `TX8`.

    Raises:
        OnnxImportError: the model cannot be imported, whatever its inputs hold.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        device: str = "CPU",
        *,
        constants: Mapping[str, Given] | None = None,
        dimensions: Mapping[str, int] | None = None,
        options: CompileOptions | None = None,
    ) -> None:
        super().__init__()
        self._model = model
        self._device: DeviceName = _device(device)
        self._constants = dict(constants or {})
        self._dimensions = dict(dimensions or {})
        self._options = options or CompileOptions()
        stored = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [v for v in model.graph.input if v.name not in stored and v.name not in self._constants]
        self._outputs = [value.name for value in model.graph.output]
        self._runners: OrderedDict[object, _Runner] = OrderedDict()
        self._needed: tuple[str, ...] = ()
        self._general: _Runner | None = None
        try:
            if not any(structure_of(value) or open_dimensions(value, self._dimensions) for value in self._inputs):
                self._general = self._build({}, self._dimensions)
        except OnnxImportError as error:
            if not error.needs:
                raise
            self._needed = error.needs

    @property
    def programs(self) -> list[Program]:
        """The programs that have been built so far, as they were imported."""
        return [runner.program for runner in (self._general, *self._runners.values()) if runner is not None]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model and return its outputs in order, as a named tuple.

        Args:
            inputs: an array, a list of arrays in the order of the model's inputs, or a mapping by name. A sequence is
                a list of arrays, an absent optional value None.
            kwargs: none are taken.

        Raises:
            OnnxImportError: the model cannot be imported for these inputs.
            EvaluationError, InputError, RangeError: see `Interpreter.run` and `Executable.run`.
        """
        if kwargs:
            raise TypeError(f"run takes no option {next(iter(kwargs))!r}")
        given = self._by_name(inputs)
        outputs = self._runner(given).run(given)
        return namedtupledict("Outputs", self._outputs)(*outputs)

    def _by_name(self, inputs: Any) -> dict[str, Given]:
        names = [value.name for value in self._inputs]
        if isinstance(inputs, Mapping):
            items = dict(cast("Mapping[str, Any]", inputs))
        else:
            listed = cast("list[Any]", list(inputs) if isinstance(inputs, list | tuple) else [inputs])  # pyright: ignore[reportUnknownArgumentType]  # the interface is untyped
            items = dict(zip(names, listed, strict=False))
            if len(listed) > len(names):
                raise ValueError(f"{len(listed)} inputs are given; the model has {len(names)}: {', '.join(names)}")
        unknown = [name for name in items if name not in names]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not an input of the model; inputs are {', '.join(names) or 'none'}")
        return {name: _as_given(item) for name, item in items.items()}

    def _runner(self, given: Mapping[str, Given]) -> _Runner:
        """The program for these inputs: the general one, or one built for the values that it depends on."""
        if self._general is not None:
            return self._general
        dimensions = dict(self._dimensions)
        for value in self._inputs:
            found = given.get(value.name)
            if isinstance(found, np.ndarray):
                dimensions |= zip(open_dimensions(value, self._dimensions), _open_extents(value, found), strict=False)
        while True:
            bound = {name: given.get(name) for name in self._needed}
            key = (tuple(_fingerprint(bound[name]) for name in self._needed), tuple(dimensions.items()),
                   tuple(_layout(item) for item in given.values()))  # fmt: skip
            if (found := self._runners.get(key)) is not None:
                self._runners.move_to_end(key)
                return found
            try:
                structured = {v.name: given.get(v.name) for v in self._inputs if structure_of(v)}
                runner = self._build(bound, dimensions, structured)
            except OnnxImportError as error:
                more = [name for name in error.needs if name not in self._needed]
                if not more:
                    raise
                self._needed = (*self._needed, *more)
                continue
            self._runners[key] = runner
            if len(self._runners) > KEPT:
                self._runners.popitem(last=False)
            return runner

    def _build(
        self, bound: Mapping[str, Given], dimensions: Mapping[str, int], structured: Mapping[str, Given] | None = None
    ) -> _Runner:
        constants = {**self._constants, **bound}
        imported = import_model(self._model, dimensions=dimensions, constants=constants, structured=structured)
        return _Runner(imported, self._device, self._options)


class _Runner:
    """A program for one device, and how its inputs and outputs are those of the model."""

    def __init__(self, imported: Imported, device: DeviceName, options: CompileOptions) -> None:
        self.program: Program = imported.program
        self._imported = imported
        self._on: Interpreter | Executable
        self._on = Interpreter(self.program) if device == "CPU" else compiler.compile(self.program, options=options)

    def run(self, given: Mapping[str, Given]) -> list[Any]:
        taken = self.program.inputs
        flat = {name: array for name, array in flatten(given).items() if name in taken}
        return self._imported.outputs_of(self._on.run(flat))


def _device(name: str) -> DeviceName:
    match name.partition(":")[0]:
        case "CPU":
            return "CPU"
        case "TX8":
            return "TX8"
        case _:
            raise ValueError(f"unknown device {name!r}; expected one of {', '.join(DEVICES)}")


def _as_given(item: Any) -> Given:
    if item is None:
        return None
    if isinstance(item, list | tuple):
        return [_as_given(part) for part in item]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(item, onnx.TensorProto):
        return onnx.numpy_helper.to_array(item)
    return np.asarray(item)


def _fingerprint(given: Given) -> object:
    if given is None:
        return None
    if isinstance(given, np.ndarray):
        return (given.dtype.str, given.shape, given.tobytes())
    return tuple(_fingerprint(part) for part in given)


def _layout(given: Given) -> object:
    """What of an input a program is built for always: how long a sequence is, and what shapes it has."""
    if given is None or isinstance(given, np.ndarray):
        return None if given is None else given.shape
    return tuple(_layout(part) for part in given)


def _open_extents(value: onnx.ValueInfoProto, array: NDArray[Any]) -> list[int]:
    dims = value.type.tensor_type.shape.dim
    return [extent for dim, extent in zip(dims, array.shape, strict=False) if dim.WhichOneof("value") != "dim_value"]


class Tx8Backend(Backend):
    """The backend, for `onnx.backend.test.BackendTest` and whoever else speaks this interface."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be imported, and for `TX8` compiled; what depends on inputs is not tried."""
        try:
            cls.prepare(model, device, **kwargs)
        except (OnnxImportError, ValueError):
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Make a model ready to run; see `PreparedModel` for the options and errors."""
        return PreparedModel(model, device, **kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Prepare a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node on arrays, in opset `opset_version` (the newest that onnx knows by default).

        Args:
            node: the node.
            inputs: an array for each input that has a name, in order.
            device: one of `DEVICES`.
            outputs_info: not used; the types of outputs are inferred.
            kwargs: `opset_version`, and the options of `PreparedModel`.
        """
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = list(dict.fromkeys(name for name in node.input if name))
        arrays = [np.asarray(item) for item in inputs]
        infos = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], node.op_type, infos, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` is one of `DEVICES`."""
        return device.partition(":")[0] in DEVICES


is_compatible = Tx8Backend.is_compatible
prepare = Tx8Backend.prepare
run_model = Tx8Backend.run_model
run_node = Tx8Backend.run_node
supports_device = Tx8Backend.supports_device
