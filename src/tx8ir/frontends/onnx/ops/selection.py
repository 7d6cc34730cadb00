"""Operators that choose elements by place: slices and gathers."""

from __future__ import annotations

import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter


@converter("Slice", first=1, last=13, attributes=("axes", "starts", "ends"))
def slice_(node: OnnxNode) -> Converted:
    """A range of each of some axes. A step other than 1 becomes a gather of the places it meets."""
    source = node.type_of(0)
    if node.version < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        axes = node.ints("axes", tuple(range(len(starts))))
        steps = (1,) * len(starts)
    else:
        node.check_attributes(())
        starts, ends = node.known_ints(1, "the list of starts"), node.known_ints(2, "the list of ends")
        axes = node.known_ints(3, "the list of axes") if node.has(3) else tuple(range(len(starts)))
        steps = node.known_ints(4, "the list of steps") if node.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise node.error(
            f"starts {list(starts)}, ends {list(ends)}, axes {list(axes)} and steps {list(steps)} must be as many of "
            "each, and no step 0"
        )
    node.axes(axes, source.rank, "the list of axes")
    cut: list[tuple[int, int, int]] = []
    gathered: list[tuple[int, range]] = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= source.rank
        places = _places(source.shape[axis], start, end, step)
        if places == range(source.shape[axis]):
            continue
        if step == 1:
            cut.append((axis, places.start, max(places.stop, places.start)))
        else:
            gathered.append((axis, places))
    out: Value | Operation = node.operand(0)
    if cut:
        axes, starts, ends = zip(*cut, strict=True)
        out = pd.slice(out, axes=axes, starts=starts, ends=ends)
    for axis, places in gathered:
        out = pd.gather(out, node.constant(np.asarray(places), i64, f"places_on_axis_{axis}"), axis=axis)
    return out


def _places(extent: int, start: int, end: int, step: int) -> range:
    """The places of an ONNX slice: as in Python, but that going backwards a start before the first is the first."""
    if step > 0:
        return range(*slice(start, end, step).indices(extent))
    first = min(max(start + extent if start < 0 else start, 0), extent - 1)
    last = max(end + extent if end < 0 else end, -1)
    return range(first, last, step)


@converter("Gather", first=1, last=13, attributes=("axis",))
def gather(node: OnnxNode) -> Converted:
    """Rows by index. A known index that is one place or a run of places becomes a slice.

    Known indices may be negative, as in ONNX; those computed at run time must not be.
    """
    source = node.type_of(0)
    axis = node.axis("axis", source.rank, 0)
    index = node.find_known(1)
    if index is None:
        if axis == 0 and source.rank == 2:
            return pd.embedding(node.operand(1), node.operand(0))
        return pd.gather(node.operand(0), node.operand(1), axis=axis)
    extent = source.shape[axis]
    if not np.issubdtype(index.dtype, np.integer) or (index < -extent).any() or (index >= extent).any():
        raise node.error(f"the indices must be integers from {-extent} to {extent - 1}, for axis {axis} of {source}")
    places = np.where(index < 0, index + extent, index)
    if places.ndim == 0:
        start = int(places)
        return pd.slice(node.operand(0), axes=(axis,), starts=(start,), ends=(start + 1,), decrease_axis=(axis,))
    start = int(places.reshape(-1)[0]) if places.size else 0
    if places.ndim == 1 and places.tolist() == list(range(start, start + max(places.size, 1))):
        return pd.slice(node.operand(0), axes=(axis,), starts=(start,), ends=(start + places.size,))
    if (index >= 0).all():
        return pd.gather(node.operand(0), node.operand(1), axis=axis)
    return pd.gather(node.operand(0), node.constant(places, i64, "indices"), axis=axis)
