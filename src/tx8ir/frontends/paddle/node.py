"""What a converter sees of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import DenseAttr, ScalarType, TensorType, Value, VTensorType, i64
from tx8ir.dialects import builtin, pd
from tx8ir.frontends.values import tensor_type

from .document import PaddleOp, ResultType
from .errors import PaddleImportError

if TYPE_CHECKING:
    from .importer import ProgramImporter

SMALL: Final = 64
"""Elements of the largest tensor that is written into the program; larger ones go to the weights."""


class PaddleNode:
    """One operation that is being imported.

    Attributes:
        graph: the import that it is part of.
        proto: the operation itself.
        operator: its name (`pd_op.relu`).
        label: its layer, operator and first result.
        results: its results as the program declares them.
    """

    def __init__(self, graph: ProgramImporter, proto: PaddleOp) -> None:
        self.graph = graph
        self.proto = proto
        self.operator = proto.name
        self.label = proto.label
        self.results: tuple[ResultType, ...] = tuple(type_ for _, type_ in proto.results)
        self._read: dict[int, Value] = {}

    def error(self, message: str, needs: Sequence[str] = ()) -> PaddleImportError:
        """The error to raise about this operation."""
        return self.graph.error(message, self.proto, needs)

    # --- operands ----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of operands, those that are left out included."""
        return len(self.proto.operands)

    def optional(self, index: int) -> Value | None:
        """What an operand holds, or None where it is left out."""
        found = self.place(index)
        if found is None or not isinstance(found.type, TensorType):
            return found
        if index not in self._read:
            self._read[index] = builtin.ToVTensorOp(found).results[0]
        return self._read[index]

    def operand(self, index: int) -> Value:
        """What an operand holds, which must be there."""
        found = self.optional(index)
        if found is None:
            raise self.error(f"has no operand {index}")
        return found

    def place(self, index: int) -> Value | None:
        """An operand itself: storage, where the program writes it; None where it is left out."""
        if index >= self.count or not self.proto.operands[index]:
            return None
        found = self.graph.entry(self.proto.operands[index], self.proto)
        if not isinstance(found, Value):
            raise self.error(f"operand {index} is a list; expected a tensor")
        return found

    def list(self, index: int) -> tuple[Value, ...]:
        """An operand that is a list of tensors."""
        if index >= self.count or not self.proto.operands[index]:
            raise self.error(f"has no operand {index}")
        found = self.graph.entry(self.proto.operands[index], self.proto)
        if isinstance(found, Value):
            raise self.error(f"operand {index} is a tensor; expected a list")
        return found

    def known(self, index: int, what: str) -> NDArray[Any]:
        """The elements of an operand, a tensor or a list of such, which must not depend on inputs.

        Raises:
            PaddleImportError: they do; the error says which inputs have extents that are not known.
        """
        if index >= self.count or not self.proto.operands[index]:
            raise self.error(f"has no operand {index}, {what}")
        entry = self.graph.entry(self.proto.operands[index], self.proto)
        parts = [self.operand(index)] if isinstance(entry, Value) else list(entry)
        arrays = [self.graph.known(part) for part in parts]
        found = [array for array in arrays if array is not None]
        if len(found) < len(arrays):
            raise self.graph.open(f"{what} depends on what is not known on import", self.proto)
        return found[0] if isinstance(entry, Value) else np.concatenate([array.reshape(-1) for array in found])

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """The elements of an operand as integers."""
        return tuple(int(number) for number in self.known(index, what).reshape(-1))

    def known_number(self, index: int, what: str) -> float:
        """The only element of an operand."""
        array = self.known(index, what)
        if array.size != 1:
            raise self.error(f"{what} has {array.size} elements; expected one")
        return float(array.reshape(-1)[0])

    def static_shape(self, value: Value, what: str) -> tuple[int, ...]:
        """The shape of a value, which must be known.

        Raises:
            PaddleImportError: an extent is dynamic; the error says which inputs have such.
        """
        type_ = tensor_type(value)
        if not type_.is_static:
            raise self.graph.open(f"{what} has the type {type_}, whose extents must be known", self.proto)
        return type_.shape

    # --- attributes and results --------------------------------------------------------------------------------------

    def ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Integers of an attribute; one alone is a list of one."""
        found = self.proto.attributes.get(name, default)
        items = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
        if not all(isinstance(item, int) for item in items):
            raise self.error(f"attribute {name} is {found!r}; expected integers")
        return tuple(int(item) for item in items)

    def numbers(self, name: str) -> NDArray[Any]:
        """Numbers of an attribute, as a list."""
        found = self.proto.attributes.get(name)
        if not isinstance(found, tuple):
            raise self.error(f"attribute {name} is {found!r}; expected numbers")
        return np.asarray(cast("tuple[Any, ...]", found))

    def int(self, name: str, default: int | None = None) -> int:
        """An integer."""
        found = self.proto.attributes.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int):
            raise self.error(f"attribute {name} is {found!r}; expected an integer")
        return found

    def float(self, name: str, default: float | None = None) -> float:
        """A number."""
        found = self.proto.attributes.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self.error(f"attribute {name} is {found!r}; expected a number")
        return float(found)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        found = self.proto.attributes.get(name, default)
        if not isinstance(found, bool):
            raise self.error(f"attribute {name} is {found!r}; expected true or false")
        return found

    def word(self, name: str, default: str | None = None, among: Sequence[str] = ()) -> str:
        """A string, among some if they are given."""
        found = self.proto.attributes.get(name, default)
        if not isinstance(found, str) or (among and found not in among):
            expected = " or ".join(map(repr, among)) or "a string"
            raise self.error(f"attribute {name} is {found!r}; expected {expected}")
        return found

    def element(self, name: str = "dtype") -> ScalarType | None:
        """An element type, or None where it says nothing."""
        found = self.proto.attributes.get(name)
        return found if isinstance(found, ScalarType) else None

    def result(self, index: int = 0) -> VTensorType:
        """The declared type of a result that is a tensor."""
        found = self.results[index].tensor if index < len(self.results) else None
        if found is None:
            raise self.error(f"declares no tensor as result {index}")
        return found

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front; a tensor without axes has one all the same."""
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise self.error(f"names axis {axis} of a tensor of rank {rank}")
        return axis % max(rank, 1)

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes counted from the front, ascending; all of them if none is given."""
        found = sorted({self.axis(axis, rank) for axis in axes}) if axes else range(rank)
        return tuple(found) if rank else ()

    # --- values that converters make ---------------------------------------------------------------------------------

    def constant(self, array: NDArray[Any], element: ScalarType, role: str) -> Value:
        """A tensor that the converter makes up: a constant, or a parameter named after operation and role."""
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

    def places(self, places: Sequence[int], role: str) -> Value:
        """Known places as i64."""
        return self.constant(np.asarray(places), i64, role)
