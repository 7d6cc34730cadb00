"""Values that importers make, and the place they make them at."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from tx8ir.core import IrError, RankedTensor, ScalarType, Value, VTensorType


def tensor_type(value: Value) -> VTensorType:
    """The type of a value of an importer, which makes value tensors only."""
    type_ = value.type
    assert isinstance(type_, RankedTensor)
    return type_.to_vtensor()


class Site(Protocol):
    """A node that is being imported: where constants get their names, and errors their place."""

    def error(self, message: str) -> IrError:
        """The error to raise about the node."""
        ...

    def constant(self, array: NDArray[Any], element: ScalarType, role: str) -> Value:
        """A tensor that the importer makes up, as a constant or a parameter named after node and role."""
        ...
