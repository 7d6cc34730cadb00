"""Building blocks of declarations: axes of a shape, identity maps, optional operands."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.maps import Along, along
from tx8ir.core import NoneType, RankedTensor, Value

__all__ = ["identity", "optional_shape", "parallel_axes", "shape_of"]


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor value."""
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


def optional_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of a tensor value, None for the absent operand."""
    return None if isinstance(value.type, NoneType) else shape_of(value)


def parallel_axes(shape: Sequence[int]) -> tuple[Axis, ...]:
    """A parallel axis d0, d1, … for each dimension."""
    return tuple(Axis(f"d{i}", extent, AxisKind.PARALLEL) for i, extent in enumerate(shape))


def identity(axes: Sequence[Axis], numbers: Sequence[int] | None = None) -> tuple[Along, ...]:
    """The map whose dimensions are the axes of these numbers (all, in order, without)."""
    return tuple(along(i, axes[i].extent) for i in (range(len(axes)) if numbers is None else numbers))
