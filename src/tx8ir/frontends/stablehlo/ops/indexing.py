"""`gather` and `scatter`: windows of a tensor at computed places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Value, f32, i1, i32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.places import strides_of
from tx8ir.frontends.stablehlo import written
from tx8ir.frontends.stablehlo.bodies import ASSIGN, body_of, combination
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@attrs.frozen
class Places:
    """Where windows are: what `gather` and `scatter` share.

    Attributes:
        shape: of the tensor that the windows are in.
        sizes: extents of the windows, per axis of the tensor.
        dropped: axes that the windows do not have in the other tensor: those of extent 1, and those of batches.
        named: which axis of the tensor each number of an index is a place on.
        batches: pairs of an axis of the tensor and of the indices that go together.
        vector: the axis of the indices whose numbers are one index.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    dropped: tuple[int, ...]
    named: tuple[int, ...]
    batches: tuple[tuple[int, int], ...]
    vector: int

    @property
    def rows(self) -> int:
        """How many of the last axes every window has whole: their elements are moved together, as a row."""
        count, rank = 0, len(self.shape)
        while count < rank:
            axis = rank - 1 - count
            if self.sizes[axis] != self.shape[axis] or axis in self.dropped:
                break
            count += 1
        return count

    def lasts(self) -> list[int]:
        """The last place on each named axis where a window begins."""
        return [self.shape[axis] - self.sizes[axis] for axis in self.named]


def _indices(node: StableHloNode, indices: Value, places: Places) -> Value:
    """The indices as i64, the numbers of each along the last axis."""
    shape = list(node.static_shape(indices, "the indices"))
    if not 0 <= places.vector <= len(shape):
        raise node.error(f"index_vector_dim is {places.vector} of indices {shape}")
    numbers = node.cast(indices, i64)
    if places.vector == len(shape):
        numbers, shape = pd.reshape(numbers, shape=(*shape, 1)).out, [*shape, 1]
    if places.vector != len(shape) - 1:
        order = [axis for axis in range(len(shape)) if axis != places.vector]
        numbers = pd.transpose(numbers, perm=(*order, places.vector)).out
    if tensor_type(numbers).shape[-1] != len(places.named):
        raise node.error(f"has indices of {tensor_type(numbers).shape[-1]} numbers for {len(places.named)} axes")
    return numbers


def _starts(node: StableHloNode, numbers: Value, places: Places) -> Value:
    """The row-major place, counted in rows, where each window begins."""
    table = places.shape[: len(places.shape) - places.rows]
    strides = strides_of(table)
    outer = tensor_type(numbers).shape[:-1]
    kept = [(column, axis) for column, axis in enumerate(places.named) if axis < len(table)]
    total: Value | Operation | None = None
    for column, axis in kept:
        place = pd.slice(numbers, axes=(len(outer),), starts=(column,), ends=(column + 1,), decrease_axis=(len(outer),))
        scaled = place if strides[axis] == 1 else pd.multiply(place, node.scalar(strides[axis], i64))
        total = scaled if total is None else pd.add(total, scaled)
    fixed = np.zeros(outer, np.int64)
    for axis, batch in places.batches:
        at = batch - (batch > places.vector)
        fixed = fixed + (np.arange(outer[at]) * strides[axis]).reshape(
            [-1 if a == at else 1 for a in range(len(outer))]
        )
    if total is None:
        return node.places(fixed, "batches")
    found = total if isinstance(total, Value) else total.results[0]
    return pd.add(found, node.places(fixed, "batches")).out if places.batches else found


def _offsets(places: Places) -> NDArray[np.int64]:
    """Rows from the first of a window to each, one axis for each of the window that is not of rows or dropped."""
    table = places.shape[: len(places.shape) - places.rows]
    strides = strides_of(table)
    kept = [axis for axis in range(len(table)) if axis not in places.dropped]
    out = np.zeros([places.sizes[axis] for axis in kept], np.int64)
    for at, axis in enumerate(kept):
        out += (np.arange(places.sizes[axis]) * strides[axis]).reshape([-1 if a == at else 1 for a in range(len(kept))])
    return out


def _with_offsets(node: StableHloNode, starts: Value, offsets: NDArray[np.int64]) -> Value:
    """The place of every row of every window: the axes of the indices, then those of the windows."""
    if not offsets.ndim:
        return starts
    outer = tensor_type(starts).shape
    apart = pd.reshape(starts, shape=(*outer, *(1 for _ in offsets.shape))).out
    if offsets.size == 1:
        return apart
    return pd.add(apart, node.places(offsets, "offsets")).out


def _paired(
    node: StableHloNode, numbers: Mapping[str, Sequence[int]], first: str, second: str
) -> tuple[tuple[int, int], ...]:
    axes, others = numbers.get(first, ()), numbers.get(second, ())
    if len(axes) != len(others):
        raise node.error(f"{first} are {list(axes)} and {second} {list(others)}")
    return tuple(zip(axes, others, strict=True))


@converter("stablehlo.gather")
def gather(node: StableHloNode) -> Converted:
    """Windows of a tensor, each at an index; one that would hang over is moved inside."""
    x, indices = node.take(2)
    shape = node.static_shape(x, "what is gathered from")
    numbers = written.fields(node.attribute("dimension_numbers"))
    batches = _paired(node, numbers, "operand_batching_dims", "start_indices_batching_dims")
    sizes = node.ints("slice_sizes", length=len(shape))
    dropped = (*numbers.get("collapsed_slice_dims", ()), *(axis for axis, _ in batches))
    vector = numbers.get("index_vector_dim", (0,))[0]
    named = node.axes(numbers.get("start_index_map", ()), len(shape), "start_index_map")
    node.axes(dropped, len(shape), "the axes that are dropped")
    places = Places(shape, sizes, dropped, named, batches, vector)
    if any(size > extent for size, extent in zip(sizes, shape, strict=True)):
        raise node.error(f"takes windows of {list(sizes)} from {list(shape)}")
    offset_dims = numbers.get("offset_dims", ())
    index = _indices(node, indices, places)
    if places.named:
        lasts = node.places(np.asarray(places.lasts(), np.int64), "lasts")
        index = pd.minimum(pd.maximum(index, node.scalar(0, i64)), lasts).out
    where = _with_offsets(node, _starts(node, index, places), _offsets(places))
    rank = len(shape) - places.rows
    table = pd.reshape(x, shape=(math.prod(shape[:rank]), *shape[rank:])).out if rank != 1 else x
    # Rows of one axis are what embeddings look up.
    rows = pd.embedding(where, table) if places.rows == 1 else pd.gather(table, where, axis=0)
    found = rows.results[0]
    total = tensor_type(found).rank
    outer = total - len(offset_dims)
    node.axes(offset_dims, total, "offset_dims")
    free = iter(range(outer))
    kept = iter(range(outer, total))
    order = tuple(next(kept) if axis in offset_dims else next(free) for axis in range(total))
    return found if order == tuple(range(total)) else pd.transpose(found, perm=order)


_REDUCES: Final = {
    ASSIGN: "assign",
    "add": "add",
    "multiply": "mul",
    "minimum": "amin",
    "maximum": "amax",
}
_TRUTHS: Final = {ASSIGN: "assign", "add": "amax", "or": "amax", "maximum": "amax", "and": "amin", "multiply": "amin",
                  "minimum": "amin"}  # fmt: skip


@converter("stablehlo.scatter")
def scatter(node: StableHloNode) -> Converted:
    """Elements with those of windows put in place of them, or combined with them.

    A window that hangs over anywhere is left out, as XLA does it.
    """
    x, indices, updates = node.take(3)
    element = tensor_type(x).element
    kind = combination(body_of(node)) or "another body"
    reduce = (_TRUTHS if element is i1 else _REDUCES).get(kind)
    if reduce is None:
        raise node.error(f"combines by {kind}, which is not supported; {', '.join(_REDUCES)} are")
    shape, source = node.static_shape(x, "what is written to"), node.static_shape(updates, "what is written")
    numbers = written.fields(node.attribute("scatter_dimension_numbers"))
    batches = _paired(node, numbers, "input_batching_dims", "scatter_indices_batching_dims")
    dropped = (*numbers.get("inserted_window_dims", ()), *(axis for axis, _ in batches))
    node.axes(dropped, len(shape), "the axes that are inserted")
    window_dims = node.axes(numbers.get("update_window_dims", ()), len(source), "update_window_dims")
    extents = iter([source[axis] for axis in window_dims])
    sizes = tuple(1 if axis in dropped else next(extents, 0) for axis in range(len(shape)))
    vector = numbers.get("index_vector_dim", (0,))[0]
    named = node.axes(numbers.get("scatter_dims_to_operand_dims", ()), len(shape), "scatter_dims_to_operand_dims")
    places = Places(shape, sizes, dropped, named, batches, vector)
    index = _indices(node, indices, places)
    starts = _starts(node, index, places)
    rank = len(shape) - places.rows
    count = math.prod(shape[:rank])
    if named:
        starts = _or_after_all(node, index, starts, places, count)
    where = _with_offsets(node, starts, _offsets(places))
    # Rows of a window that is left out are still behind the last one, where there is room for them.
    room = math.prod(size for axis, size in enumerate(sizes) if axis < rank and axis not in dropped)
    reach = int(_offsets(places).max(initial=0)) + 1 if room else 1
    order = (*(axis for axis in range(len(source)) if axis not in window_dims), *window_dims)
    moved = updates if order == tuple(range(len(source))) else pd.transpose(updates, perm=order).out
    row = shape[rank:]
    lines = math.prod(tensor_type(where).shape)
    values = pd.reshape(moved, shape=(lines, *row)).out
    table = pd.reshape(x, shape=(count, *row)).out
    if element is i1:
        values, table = node.cast(values, i32), node.cast(table, i32)
    if named:
        table = pd.pad(table, paddings=(0, reach, *(0 for _ in (*row, *row))), pad_value=0.0).out
    out = pd.scatter(table, pd.reshape(where, shape=(lines,)), values, reduce=reduce).out
    if named:
        out = pd.slice(out, axes=(0,), starts=(0,), ends=(count,)).out
    return pd.reshape(node.cast(out, element), shape=shape)


def _or_after_all(node: StableHloNode, index: Value, starts: Value, places: Places, count: int) -> Value:
    """Where windows begin; the number of rows where one would hang over."""
    lasts = node.places(np.asarray(places.lasts(), np.int64), "lasts")
    inside = pd.logical_and(pd.greater_equal(index, node.scalar(0, i64)), pd.less_equal(index, lasts))
    axis = tensor_type(index).rank - 1
    whole = pd.equal(pd.min(pd.cast(inside, dtype=f32), axis=(axis,)), node.scalar(1, f32))
    return pd.where(whole, starts, node.scalar(count, i64)).out
