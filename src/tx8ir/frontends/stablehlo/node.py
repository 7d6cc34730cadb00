"""What a converter sees of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Attribute, BoolAttr, DenseAttr, IntAttr, Operation, ScalarType, Value, VTensorType, i64
from tx8ir.dialects import builtin, pd
from tx8ir.frontends.values import tensor_type

from . import written
from .errors import StableHloImportError

if TYPE_CHECKING:
    from .importer import ModuleImporter

LARGEST: Final = 1 << 31
"""Extents, strides and paddings stay below this."""
SMALL: Final = 64
"""Elements of the largest tensor that is written into the program; larger ones go to the weights."""


class StableHloNode:
    """One operation that is being imported.

    Attributes:
        graph: the import that it is part of.
        proto: the operation itself.
        operator: its name, or `@target` of a custom call.
        label: the name that JAX gave it, else the line where it stands.
        operands: what its operands have become.
        results: types of its results as the program declares them. Where an operation for one element is built for
            tensors, these have more axes than that.
    """

    def __init__(
        self,
        graph: ModuleImporter,
        proto: Operation,
        operator: str,
        operands: Sequence[Value],
        results: Sequence[VTensorType],
    ) -> None:
        self.graph = graph
        self.proto = proto
        self.operator = operator
        self.label = graph.label(proto)
        self.operands = tuple(operands)
        self.results = tuple(results)

    def error(self, message: str, needs: Sequence[str] = ()) -> StableHloImportError:
        """The error to raise about this operation."""
        return self.graph.error(message, self.proto, needs)

    # --- operands ----------------------------------------------------------------------------------------------------

    def take(self, count: int) -> tuple[Value, ...]:
        """The operands, which must be so many."""
        if len(self.operands) != count:
            raise self.error(f"has {len(self.operands)} operands; expected {count}")
        return self.operands

    @property
    def result(self) -> VTensorType:
        """The declared type of the only result."""
        if len(self.results) != 1:
            raise self.error(f"has {len(self.results)} results; expected 1")
        return self.results[0]

    def known(self, value: Value) -> NDArray[Any] | None:
        """The elements of a small tensor that do not depend on inputs, or None."""
        return self.graph.known(value)

    def static_shape(self, value: Value, what: str) -> tuple[int, ...]:
        """The shape of a value, which must be known.

        Raises:
            StableHloImportError: an extent is dynamic; the error says which inputs have such.
        """
        type_ = tensor_type(value)
        if not type_.is_static:
            raise self.graph.open(f"{what} has the type {type_}, whose extents must be known", self.proto)
        return type_.shape

    # --- attributes --------------------------------------------------------------------------------------------------

    def attribute(self, key: str) -> Attribute:
        """An attribute, which must be there."""
        found = self.proto.attributes.get(key)
        if found is None:
            raise self.error(f"has no attribute {key}")
        return found

    def ints(self, key: str, default: Sequence[int] | None = None, *, length: int | None = None) -> tuple[int, ...]:
        """Integers, truth values among them, in row-major order."""
        found = self.proto.attributes.get(key)
        if found is None and default is not None:
            return tuple(default)
        numbers = written.integers(self.attribute(key))
        if numbers is None or (length is not None and len(numbers) != length):
            expected = "integers" if length is None else f"{length} integers"
            raise self.error(f"attribute {key} is {found}; expected {expected}")
        if any(abs(number) >= LARGEST for number in numbers):
            raise self.error(f"attribute {key} is {found}; expected numbers below {LARGEST}")
        return numbers

    def int(self, key: str, default: int | None = None) -> int:
        """An integer."""
        found = self.proto.attributes.get(key)
        if found is None and default is not None:
            return default
        if not isinstance(found, IntAttr):
            raise self.error(f"attribute {key} is {found}; expected an integer")
        return found.value

    def flag(self, key: str) -> bool:
        """A truth value; false if it is not there."""
        found = self.proto.attributes.get(key)
        return found is not None and (found.value if isinstance(found, BoolAttr) else True)

    def word(self, key: str, default: str = "") -> str:
        """A member of an enumeration."""
        found = self.proto.attributes.get(key)
        return default if found is None else written.word(found) or ""

    def axes(self, axes: Sequence[int], rank: int, what: str) -> tuple[int, ...]:
        """Different axes of a tensor of this rank."""
        if any(not 0 <= axis < rank for axis in axes) or len(set(axes)) != len(axes):
            raise self.error(f"{what} are {list(axes)}; expected different axes of a tensor of rank {rank}")
        return tuple(axes)

    # --- values that converters make ---------------------------------------------------------------------------------

    def constant(self, array: NDArray[Any], element: ScalarType, role: str) -> Value:
        """A tensor that the converter makes up: a constant, or a parameter named after operation and role."""
        array = np.asarray(array)
        if array.dtype != element.dtype:
            array = array.astype(element.dtype)
        type_ = VTensorType(array.shape, element)
        if array.size <= SMALL:
            return builtin.ConstantOp(value=DenseAttr(array, type_)).out
        return self.graph.parameter(f"{self.proto.name}/{role}", array, type_)

    def scalar(self, value: float, element: ScalarType) -> Value:
        """A constant of rank 0."""
        if not element.is_float and abs(int(value)) > 1 << 53:
            return self.constant(np.asarray(int(value)), element, "number")
        return pd.full(shape=(), value=float(value), dtype=element).out

    def cast(self, value: Value, element: ScalarType) -> Value:
        """`value` in an element type."""
        return value if tensor_type(value).element is element else pd.cast(value, dtype=element).out

    def places(self, places: NDArray[Any], role: str) -> Value:
        """Known places as i64."""
        return self.constant(places, i64, role)
