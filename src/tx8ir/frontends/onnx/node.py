"""What a converter sees of an ONNX node: operands and attributes, checked as they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.helper
from numpy.typing import NDArray
from onnx import AttributeProto

from tx8ir.core import RankedTensor, ScalarType, Value, VTensorType

from .errors import OnnxImportError
from .tensors import Known, read_tensor

if TYPE_CHECKING:
    from .importer import GraphImporter

_KINDS = AttributeProto.AttributeType


def node_label(proto: onnx.NodeProto) -> str:
    """Name of a node for people: its own, or that of its first output."""
    return proto.name or next((name for name in proto.output if name), "unnamed")


class OnnxNode:
    """One ONNX node that is being imported.

    Attributes:
        op: the ONNX operator.
        label: the node's name, or that of its first output.
        version: version of the operator in the model's opset: the opset that introduced it.
    """

    def __init__(self, graph: GraphImporter, proto: onnx.NodeProto, version: int) -> None:
        self._graph = graph
        self._proto = proto
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self.op = proto.op_type
        self.label = node_label(proto)
        self.version = version

    def error(self, message: str) -> OnnxImportError:
        """Return the error to raise about this node."""
        return OnnxImportError(
            message,
            file=self._graph.source.file,
            node=self.label,
            operator=self._proto.op_type,
            opset=self._graph.source.opset,
        )

    def check_signature(self, schema: onnx.defs.OpSchema) -> None:
        """Refuse a node that lacks inputs its operator needs, or has more inputs or outputs than its operator.

        Absent inputs at the end do not count: an empty name is as good as none.
        """
        for index, parameter in enumerate(schema.inputs):
            if parameter.option == onnx.defs.OpSchema.FormalParameterOption.Single and not self.has(index):
                raise self.error(
                    f"input {index} is missing; the node has {self.num_inputs} inputs, "
                    f"operator {self.op} needs this one ({parameter.name})"
                )
        given = max((index + 1 for index, name in enumerate(self._proto.input) if name), default=0)
        for what, count, least, most in (
            ("inputs", given, schema.min_input, schema.max_input),
            ("outputs", self.num_outputs, schema.min_output, schema.max_output),
        ):
            if not least <= count <= most:
                expected = f"{least} or more" if count < least else f"at most {most}"
                raise self.error(f"has {count} {what}; operator {self.op} has {expected}")

    # --- operands ----------------------------------------------------------------------------------------------------

    @property
    def num_inputs(self) -> int:
        """Number of inputs written, absent optional ones included."""
        return len(self._proto.input)

    @property
    def num_outputs(self) -> int:
        """Number of outputs written."""
        return len(self._proto.output)

    def has(self, index: int) -> bool:
        """Whether input `index` is there."""
        return index < len(self._proto.input) and bool(self._proto.input[index])

    def input_name(self, index: int) -> str:
        """ONNX name of an input."""
        return self._proto.input[index]

    def output_name(self, index: int) -> str:
        """ONNX name of an output."""
        return self._proto.output[index]

    def found(self, index: int) -> Value | Known:
        """Return input `index` as it is: a value, or a tensor that is known on import."""
        if not self.has(index):
            raise self.error(f"input {index} is missing; the node has {self.num_inputs} inputs")
        return self._graph.lookup(self._proto, self._proto.input[index])

    def operand(self, index: int) -> Value:
        """Return input `index` as a value; one that is known becomes a parameter or a constant."""
        return self._graph.value_of(self.found(index))

    def operands(self) -> list[Value]:
        """Return all inputs as values; there must be at least one and none may be absent."""
        if not self.num_inputs:
            raise self.error("has no inputs; at least one is needed")
        return [self.operand(index) for index in range(self.num_inputs)]

    def optional(self, index: int) -> Value | None:
        """Return input `index` as a value, or None if it is absent."""
        return self.operand(index) if self.has(index) else None

    def type_of(self, index: int) -> VTensorType:
        """Return the type of input `index`."""
        found = self.found(index)
        return found.type if isinstance(found, Known) else tensor_type(found)

    def find_known(self, index: int) -> NDArray[Any] | None:
        """Return input `index` if it is there and known on import, else None."""
        found = self.found(index) if self.has(index) else None
        return found.array() if isinstance(found, Known) else None

    def known(self, index: int, role: str) -> NDArray[Any]:
        """Return input `index`, which must be known on import, as an array.

        Raises:
            OnnxImportError: it is computed at run time. `role` says what it is (`"the shape"`).
        """
        array = self.find_known(index)
        if array is None:
            self.found(index)  # says so if it is missing
            raise self.error(
                f"{role} (input {index}, {self.input_name(index)!r}) is computed at run time; "
                "it must be an initialiser or a constant"
            )
        return array

    def known_ints(self, index: int, role: str) -> tuple[int, ...]:
        """Return input `index` as a list of integers: rank 0 or 1, known on import."""
        array = self.known(index, role)
        if array.ndim > 1 or not np.issubdtype(array.dtype, np.integer):
            raise self.error(
                f"{role} (input {index}) must be a list of integers, found {array.dtype} {list(array.shape)}"
            )
        return tuple(int(item) for item in array.reshape(-1))

    # --- new constants -----------------------------------------------------------------------------------------------

    def scalar(self, value: float, element: ScalarType) -> Value:
        """Return a constant of rank 0."""
        return self.constant(np.asarray(value), element, "constant")

    def constant(self, array: NDArray[Any], element: ScalarType, role: str) -> Value:
        """Return a tensor that the converter makes up, as a constant or a parameter named after node and role."""
        known = Known.of_array(f"{self.label}/{role}", array.astype(element.dtype), element)
        return self._graph.value_of(known)

    # --- attributes --------------------------------------------------------------------------------------------------

    def check_attributes(self, known: tuple[str, ...]) -> None:
        """Refuse attributes that the converter does not understand."""
        unknown = [name for name in self._attributes if name not in known]
        if unknown:
            supported = f"supported are {', '.join(known)}" if known else "none is supported"
            raise self.error(f"attribute {unknown[0]} is not supported; {supported}")

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is written."""
        return name in self._attributes

    def _attribute(self, name: str, kind: AttributeProto.AttributeType) -> Any:
        attribute = self._attributes[name]
        if attribute.type != kind:
            given, wanted = _KINDS.Name(attribute.type), _KINDS.Name(kind)
            raise self.error(f"attribute {name} is of kind {given}; expected {wanted}")
        return onnx.helper.get_attribute_value(attribute)

    def _required(self, name: str, kind: AttributeProto.AttributeType, default: object) -> Any:
        if name in self._attributes:
            return self._attribute(name, kind)
        if default is None:
            raise self.error(f"attribute {name} is missing; operator {self.op} needs it")
        return default

    def int(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute; without a default it is required."""
        return int(self._required(name, AttributeProto.INT, default))

    def bool(self, name: str, default: bool | None = None) -> bool:
        """Return an integer attribute that must be 0 or 1."""
        value = self.int(name, default)
        if value not in (0, 1):
            raise self.error(f"attribute {name} is {value}; expected 0 or 1")
        return bool(value)

    def float(self, name: str, default: float | None = None) -> float:
        """Return a floating-point attribute; ONNX keeps it, and so its default too, in fp32."""
        return float(np.float32(self._required(name, AttributeProto.FLOAT, default)))

    def floats(self, name: str) -> tuple[float, ...]:
        """Return a list of floating-point numbers."""
        return tuple(float(item) for item in self._required(name, AttributeProto.FLOATS, None))

    def string(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return a string attribute that must be one of `choices`."""
        value = self._required(name, AttributeProto.STRING, default)
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        if text not in choices:
            raise self.error(f"attribute {name} is {text!r}; supported are {', '.join(map(repr, choices))}")
        return text

    def ints(self, name: str, default: tuple[int, ...] | None = None, *, length: int | None = None) -> tuple[int, ...]:
        """Return a list of integers, of `length` if that is given."""
        values = tuple(int(item) for item in self._required(name, AttributeProto.INTS, default))
        if length is not None and len(values) != length:
            raise self.error(f"attribute {name} is {list(values)}; expected {length} integers")
        return values

    def axes(self, values: tuple[int, ...], rank: int, role: str) -> tuple[int, ...]:
        """Return `values` counted from the front, ascending, for a tensor of `rank` axes; none may repeat."""
        normalized = sorted(axis + rank if axis < 0 else axis for axis in values)
        if any(not 0 <= axis < rank for axis in normalized) or len(set(normalized)) < len(normalized):
            raise self.error(f"{role} is {list(values)}; expected different axes of a tensor of rank {rank}")
        return tuple(normalized)

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """Return an integer attribute that names one of `rank` axes, counted from the front."""
        return self.axes((self.int(name, default),), rank, f"attribute {name}")[0]

    def tensor(self, name: str) -> Known:
        """Return a tensor attribute."""
        return read_tensor(self._required(name, AttributeProto.TENSOR, None), self._graph.files)


def tensor_type(value: Value) -> VTensorType:
    """Return the type of a value of the importer, which makes value tensors only."""
    type_ = value.type
    assert isinstance(type_, RankedTensor)
    return type_.to_vtensor()
