"""What a converter sees of a node, beside its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import DenseAttr, NamedLocation, ScalarType, Value, VTensorType, f32, i64
from tx8ir.core.location import UNKNOWN, CallSiteLocation, FileLocation, Location
from tx8ir.dialects import builtin, pd
from tx8ir.frontends.values import tensor_type

from .arguments import named
from .document import Node
from .elements import promoted
from .errors import TorchImportError

if TYPE_CHECKING:
    from .importer import GraphImporter

_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d{1,9}), in ')


def operator_of(target: str) -> str:
    """The name of an operator: `aten.add.Tensor` for the target `torch.ops.aten.add.Tensor`."""
    return target.removeprefix("torch.ops.")


def node_label(node: Node) -> str:
    """Name of a node: its own, or that of its first result."""
    if node.name:
        return node.name
    for output in node.outputs:
        name = named(output)
        if name is not None:
            return name
    return "unnamed"


def frames(node: Node) -> list[FileLocation]:
    """The calls that led to a node in the user's program, outermost first."""
    trace = node.metadata.get("stack_trace", "")
    return [FileLocation(file, int(line), 1) for file, line in _FRAME.findall(trace)]


def location_of(node: Node) -> NamedLocation:
    """The location of what is built for a node: its name, and the calls that led to it."""
    place: Location = UNKNOWN
    for frame in frames(node):
        place = frame if place is UNKNOWN else CallSiteLocation(frame, place)
    return NamedLocation(node_label(node), place)


class TorchNode:
    """One node that is being imported.

    Attributes:
        graph: the import that it is part of.
        proto: the node itself.
        operator: its operator with the overload.
        label: its name.
        results: types of its results as the program declares them; a dynamic extent is DYNAMIC.
    """

    def __init__(self, graph: GraphImporter, proto: Node, results: Sequence[VTensorType]) -> None:
        self.graph = graph
        self.proto = proto
        self.operator = operator_of(proto.target)
        self.label = node_label(proto)
        self.results = results

    def error(self, message: str) -> TorchImportError:
        """The error to raise about this node."""
        return self.graph.error(message, self.proto)

    @property
    def element(self) -> ScalarType:
        """Element type of the first result, as the program declares it."""
        if not self.results:
            raise self.error("declares no result that is a tensor")
        return self.results[0].element

    def constant(self, array: NDArray[Any], element: ScalarType, role: str) -> Value:
        """A tensor that the converter makes up: a constant, or a parameter named after node and role."""
        array = np.asarray(array).astype(element.dtype)
        if array.size <= SMALL:
            return builtin.ConstantOp(value=DenseAttr(array, VTensorType(array.shape, element))).out
        return self.graph.parameter(f"{self.label}/{role}", array, VTensorType(array.shape, element))

    def scalar(self, value: float, element: ScalarType) -> Value:
        """A constant of rank 0."""
        if not element.is_float and abs(int(value)) > 1 << 53:
            return self.constant(np.asarray(int(value)), element, "number")
        return pd.full(shape=(), value=float(value), dtype=element).out

    def cast(self, value: Value, element: ScalarType) -> Value:
        """`value` in an element type."""
        return value if tensor_type(value).element is element else pd.cast(value, dtype=element).out

    def operand(self, value: Value | float, element: ScalarType) -> Value:
        """A tensor or a number as a tensor of an element type."""
        return self.cast(value, element) if isinstance(value, Value) else self.scalar(value, element)

    def common(self, *operands: Value | float) -> list[Value]:
        """Tensors and numbers in the element type that PyTorch promotes them to."""
        element = promoted(operands)
        return [self.operand(operand, element) for operand in operands]

    def pair(self, x: Value | float, y: Value | float) -> tuple[Value, Value]:
        """Two tensors or numbers in the element type that PyTorch promotes them to."""
        element = promoted((x, y))
        return self.operand(x, element), self.operand(y, element)

    def floating(self, value: Value) -> Value:
        """`value` as floating-point numbers: integers become f32."""
        return value if tensor_type(value).element.is_float else self.cast(value, f32)

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front; a tensor without axes has one all the same."""
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise self.error(f"names axis {axis} of a tensor of rank {rank}")
        return axis % max(rank, 1)

    def axes(self, axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
        """Axes counted from the front, ascending; all of them if none is given."""
        found = sorted({self.axis(axis, rank) for axis in axes}) if axes else range(rank)
        return tuple(found) if rank else ()

    def mutate(self, parameter: str, value: Value) -> None:
        """Write `value` where the tensor is that this parameter of the operator was given."""
        self.graph.write(self.proto, parameter, value)

    def indices(self, places: NDArray[Any], role: str) -> Value:
        """Known places as i64."""
        return self.constant(places, i64, role)


SMALL: Final = 64
"""Elements of the largest tensor that is written into the program."""
