"""What a converter sees of an ONNX node: operands and attributes, checked as they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.defs
import onnx.helper
from numpy.typing import NDArray
from onnx import AttributeProto

from tx8ir.core import ScalarType, Value, VTensorType, i1, i64
from tx8ir.frontends.values import tensor_type

from .errors import OnnxImportError
from .scope import Entry
from .structure import Coded, Found, Nothing, Parts, parts_of
from .tensors import Known
from .values import read_found

if TYPE_CHECKING:
    from .importer import GraphImporter

_KINDS = AttributeProto.AttributeType


def node_label(proto: onnx.NodeProto) -> str:
    """Name of a node for people: its own, or that of its first output."""
    return proto.name or next((name for name in proto.output if name), "unnamed")


class OnnxNode:
    """One ONNX node that is being imported.

    Attributes:
        graph: the import that it is part of.
        proto: the node itself.
        op: the ONNX operator.
        label: the node's name, or that of its first output.
        version: version of the operator in the model's opset: the opset that introduced it.
    """

    def __init__(self, graph: GraphImporter, proto: onnx.NodeProto, version: int) -> None:
        self.graph = graph
        self.proto = proto
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self.op = proto.op_type
        self.label = node_label(proto)
        self.version = version

    def error(self, message: str) -> OnnxImportError:
        """Return the error to raise about this node."""
        return self.graph.error(message, self.proto)

    def check_signature(self, schema: onnx.defs.OpSchema) -> None:
        """Refuse a node that lacks inputs its operator needs, or has inputs, outputs or attributes that it has not.

        Absent inputs at the end do not count: an empty name is as good as none.
        """
        self.check_attributes(tuple(schema.attributes))
        for index, parameter in enumerate(schema.inputs):
            if parameter.option == onnx.defs.OpSchema.FormalParameterOption.Single and not self.has(index):
                raise self.error(
                    f"input {index} is missing; the node has {self.num_inputs} inputs, "
                    f"operator {self.op} needs this one ({parameter.name})"
                )
        given = max((index + 1 for index, name in enumerate(self.proto.input) if name), default=0)
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
        return len(self.proto.input)

    @property
    def num_outputs(self) -> int:
        """Number of outputs written."""
        return len(self.proto.output)

    def has(self, index: int) -> bool:
        """Whether input `index` is there."""
        if index >= len(self.proto.input) or not self.proto.input[index]:
            return False
        return not isinstance(self.structure(index), Nothing)

    def input_name(self, index: int) -> str:
        """ONNX name of an input."""
        return self.proto.input[index]

    def output_name(self, index: int) -> str:
        """ONNX name of an output."""
        return self.proto.output[index]

    def entry(self, index: int) -> Entry:
        """Return what input `index` stands for, and the graph inputs that it depends on."""
        if index >= len(self.proto.input) or not self.proto.input[index]:
            raise self.error(f"input {index} is missing; the node has {self.num_inputs} inputs")
        return self.graph.entry(self.proto, self.proto.input[index])

    def structure(self, index: int) -> Found:
        """Return input `index` as it is, a sequence or nothing at all included."""
        return self.entry(index).found

    def found(self, index: int) -> Value | Known:
        """Return input `index` as it is: a value, or a tensor that is known on import."""
        return self.plain(self.structure(index), f"input {index} ({self.input_name(index)!r})")

    def plain(self, found: Found, place: str) -> Value | Known:
        """Return `found`, which must be a tensor of an element type of the IR."""
        if isinstance(found, Coded):
            raise self.error(f"{place} has element type {found.format}, which is not supported by this operator")
        if isinstance(found, Parts | Nothing):
            kind = "a sequence" if isinstance(found, Parts) else "an optional value that is absent"
            raise self.error(f"{place} is {kind}; expected a tensor")
        return found

    def parts(self, index: int) -> Parts:
        """Return input `index`, which must be a sequence."""
        found = self.structure(index)
        if not isinstance(found, Parts):
            raise self.error(f"input {index} ({self.input_name(index)!r}) is not a sequence; expected one")
        return found

    @property
    def has_bound_input(self) -> bool:
        """Whether the node computes with a value that the caller gave for an input."""
        found = [self.structure(index) for index in range(self.num_inputs) if self.has(index)]
        return any(isinstance(part, Known) and part.bound for part in parts_of(found))

    def operand(self, index: int) -> Value:
        """Return input `index` as a value; one that is known becomes a parameter or a constant."""
        return self.graph.value_of(self.found(index))

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
            raise self.unknown(index, role)
        return array

    def known_scalar(self, index: int, role: str) -> NDArray[Any]:
        """Return input `index`, one number that must be known on import, as an array of rank 0."""
        array = self.known(index, role)
        if array.size != 1:
            raise self.error(f"{role} (input {index}) must be one number, found shape {list(array.shape)}")
        return array.reshape(())

    def unknown(self, index: int, role: str) -> OnnxImportError:
        """Return the error to raise because input `index` is not known on import; `role` says what it is."""
        needs = self.entry(index).roots
        hint = f"; it depends on the inputs {', '.join(sorted(needs))} (constants=…)" if needs else ""
        return self.graph.error(
            f"{role} (input {index}, {self.input_name(index)!r}) is computed at run time; "
            f"it must be an initialiser or a constant{hint}",
            self.proto,
            needs=needs,
        )

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
        return self.graph.value_of(known)

    def known_number(self, number: int, role: str) -> Known:
        """Return a known i64 of rank 0, named after node and role."""
        return Known.of_array(f"{self.label}/{role}", np.asarray(number, np.int64), i64)

    def known_truth(self, truth: bool, role: str) -> Known:
        """Return a known truth value of rank 0, named after node and role."""
        return Known.of_array(f"{self.label}/{role}", np.asarray(truth), i1)

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

    def subgraph(self, name: str) -> onnx.GraphProto:
        """Return a graph attribute."""
        return self._required(name, AttributeProto.GRAPH, None)

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

    def floats(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return a list of floating-point numbers."""
        return tuple(float(item) for item in self._required(name, AttributeProto.FLOATS, default))

    def string(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return a string attribute that must be one of `choices`."""
        text = self.text(name, default)
        if text not in choices:
            raise self.error(f"attribute {name} is {text!r}; supported are {', '.join(map(repr, choices))}")
        return text

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string attribute."""
        value = self._required(name, AttributeProto.STRING, default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple(item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
                     for item in self._required(name, AttributeProto.STRINGS, default))  # fmt: skip

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
        """Return a tensor attribute of an element type of the IR."""
        found = self.plain(self.found_tensor(name), f"attribute {name}")
        assert isinstance(found, Known)
        return found

    def found_tensor(self, name: str) -> Found:
        """Return a tensor attribute."""
        return read_found(self._required(name, AttributeProto.TENSOR, None), self.graph.files)
