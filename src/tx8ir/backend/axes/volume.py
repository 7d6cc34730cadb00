"""Work and bytes of a part of one op, in closed form."""

from __future__ import annotations

import math

from tx8ir.backend.axes.alignment import layout_of
from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.slices import read
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import RankedTensor, Value
from tx8ir.target.layout import size_bytes

__all__ = ["state_bytes", "value_bytes", "work"]


def work(declaration: Declaration, part: Box) -> int:
    """What a part computes: elements of the result, times positions of the reduced axes.

    Multiply-accumulates of a product or a convolution, elements of anything else.
    """
    reduced = (i for i, axis in enumerate(declaration.axes) if axis.kind is AxisKind.REDUCED)
    elements = math.prod(max(0, n) for n in read(declaration.results[0], part).box.extent)
    return elements * math.prod(part.extent[i] for i in reduced)


def value_bytes(value: Value, extent: tuple[int, ...]) -> int:
    """Bytes that a slice of a tensor takes in the tensor's layout, padding lanes and batch rounding included."""
    assert isinstance(value.type, RankedTensor)
    return size_bytes(extent, value.type.element.format, layout_of(value))


def state_bytes(declaration: Declaration, part: Box) -> int:
    """Bytes of the combination state of a part: what its psum takes, and what is sent where states merge in space.

    One state per position of the axes that are in the result and not combined; 0 without combined axes.
    """
    if declaration.combination is None:
        return 0
    combined = set(declaration.combined)
    positions = 1
    for dimension in declaration.results[0]:
        positions *= math.prod(part.extent[axis] for axis in dimension.axes if axis not in combined) * dimension.inner
    return -(-positions * declaration.combination.bits // 8)
