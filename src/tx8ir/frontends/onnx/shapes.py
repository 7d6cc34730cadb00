"""Types of graph inputs and outputs: symbolic dimensions become extents the caller gives, or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from tx8ir.core import VTensorType

from .codes import CODED
from .errors import OnnxImportError
from .model import Source
from .tensors import TensorError, element_of


class Dimensions:
    """Extents for what a model leaves open.

    Args:
        source: the model.
        given: extents by dimension name (`"batch"`), or by place for a dimension without a name (`"input_ids[0]"`).

    Raises:
        OnnxImportError: an extent that is not an integer >= 0, or for a dimension that no input has.
    """

    def __init__(self, source: Source, given: Mapping[str, int] | None) -> None:
        self._source = source
        self._given = dict(given or {})
        for name, extent in self._given.items():
            if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._error(f"dimensions[{name!r}] is {extent!r}; expected an integer >= 0")
        stored = {tensor.name for tensor in source.initializers}
        open_: list[str] = []
        for value in source.graph.input:
            if value.name not in stored:
                open_ += [name for names in _open_names(value) for name in names]
        unknown = [name for name in self._given if name not in open_]
        if unknown:
            known = ", ".join(dict.fromkeys(open_)) or "none; every input has a static shape"
            raise self._error(f"dimensions[{unknown[0]!r}] names no open dimension of an input; open are: {known}")

    def _error(self, message: str) -> OnnxImportError:
        return OnnxImportError(message, file=self._source.file, opset=self._source.opset)

    def input_type(self, value: onnx.ValueInfoProto, given: Sequence[int] | None = None) -> VTensorType:
        """Return the static type of a graph input. `given` are the extents of an array for it, which settle open ones.

        Raises:
            OnnxImportError: not a tensor, an unsupported element type, no shape, or a dimension that stays open.
        """
        place = f"input {value.name!r}"
        if value.type.WhichOneof("value") != "tensor_type":
            kind = value.type.WhichOneof("value") or "no type"
            raise self._error(f"{place} has {kind}; only tensors are supported")
        tensor = value.type.tensor_type
        try:
            coded = CODED.get(tensor.elem_type)
            element = element_of(tensor.elem_type) if coded is None else coded.storage
        except TensorError as error:
            raise self._error(f"{place}: {error}") from error
        if not tensor.HasField("shape"):
            raise self._error(f"{place} has no shape, not even a rank; export the model with input shapes")
        shape: list[int] = []
        missing: list[str] = []
        for axis, (dimension, names) in enumerate(zip(tensor.shape.dim, _open_names(value), strict=True)):
            extent = next((self._given[name] for name in names if name in self._given), None)
            if extent is None and given is not None and axis < len(given):
                extent = given[axis]
            if not names:
                extent = dimension.dim_value
            if extent is None:
                missing.append(names[0])
            elif extent < 0:
                raise self._error(f"{place} has the extent {extent}; expected extents >= 0")
            shape.append(extent or 0)
        if missing:
            example = ", ".join(f"{name!r}: 1" for name in missing)
            raise self._error(
                f"{place} has a dynamic shape: {', '.join(missing)}; only static shapes are supported, "
                f"give the extents: load(…, dimensions={{{example}}})"
            )
        return VTensorType(shape, element)

    def check_output(self, value: onnx.ValueInfoProto, found: VTensorType) -> None:
        """Check the type that the model declares for an output against the one that its node gives.

        Raises:
            OnnxImportError: they differ in element type, rank, or an extent that both know.
        """
        if value.type.WhichOneof("value") != "tensor_type":
            return  # only the name is declared
        tensor = value.type.tensor_type
        declared: list[str] = []
        fits = not tensor.HasField("shape") or len(tensor.shape.dim) == found.rank
        for axis, (dimension, names) in enumerate(zip(tensor.shape.dim, _open_names(value), strict=True)):
            extent = self._given.get(names[0]) if names else dimension.dim_value
            declared.append(f"{names[0] if extent is None else extent}x")
            fits = fits and (extent is None or extent == found.shape[axis])
        try:
            element = element_of(tensor.elem_type)
        except TensorError as error:
            raise self._error(f"output {value.name!r}: {error}") from error
        if not fits or element is not found.element:
            shape = "".join(declared) if tensor.HasField("shape") else "?"
            raise self._error(f"output {value.name!r} is declared as {shape}{element}, but its node gives {found}")


def _open_names(value: onnx.ValueInfoProto) -> list[tuple[str, ...]]:
    """For each dimension the names it can be given by: none if it is static, its own and its place otherwise."""
    result: list[tuple[str, ...]] = []
    for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
        place = f"{value.name}[{axis}]"
        match dimension.WhichOneof("value"):
            case "dim_value":
                result.append(())
            case "dim_param":
                result.append((dimension.dim_param, place) if dimension.dim_param else (place,))
            case _:
                result.append((place,))
    return result
