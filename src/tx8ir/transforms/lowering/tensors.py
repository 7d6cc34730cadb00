"""What `tensor` does, as operations of `pd`. Extents must be known; places in a tensor need not be.

The functions are as those of `numbers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tx8ir.core import DYNAMIC, Value, VTensorType, i64
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.core.text.assembly_format import DYNAMIC_INDEX
from tx8ir.dialects import pd, tensor
from tx8ir.dialects.tensor.declaration import known_index

from .numbers import Lower, Made, constant, tensor_of


def static_type(value: Value) -> VTensorType | None:
    """The type that a value becomes, if its extents are known."""
    held = array_type(value.type)
    return held.to_vtensor() if held is not None and held.is_static else None


def _empty(op: Any, *sizes: Value) -> Made:
    kind = static_type(op.out)
    return None if kind is None else constant(np.zeros(kind.shape), kind.element)


def _splat(op: Any, x: Value, *sizes: Value) -> Made:
    kind = static_type(op.out)
    return None if kind is None else pd.expand(x, shape=kind.shape).out


def _from_elements(op: Any, *xs: Value) -> Made:
    kind = static_type(op.out)
    if kind is None or not xs:
        return None
    rows = [pd.reshape(x, shape=(1,)).out for x in xs]
    return pd.reshape(pd.concat(rows), shape=kind.shape).out


def _linear(places: Sequence[Value], shape: Sequence[int]) -> Value:
    """The number of an element in row-major order."""
    total: Value | None = None
    for place, extent in zip(places, shape, strict=True):
        total = place if total is None else pd.add(pd.multiply(total, constant(extent, i64)), place).out
    return constant(0, i64) if total is None else total


def _extract(op: Any, x: Value, *places: Value) -> Made:
    kind = tensor_of(x)
    if not kind.is_static:
        return None
    return pd.gather(pd.reshape(x, shape=(kind.num_elements,)), _linear(places, kind.shape)).out


def _insert(op: Any, element: Value, x: Value, *places: Value) -> Made:
    kind = tensor_of(x)
    if not kind.is_static:
        return None
    numbers = constant(np.arange(kind.num_elements).reshape(kind.shape), i64)
    return pd.where(pd.equal(numbers, _linear(places, kind.shape)), element, x).out


def _extent(op: Any, x: Value, axis: Value) -> Made:
    known, shape = known_index(axis), tensor_of(x).shape
    if known is None or not 0 <= known < len(shape) or shape[known] == DYNAMIC:
        return None
    return constant(shape[known], i64)


def _rank(op: Any, x: Value) -> Made:
    return constant(tensor_of(x).rank, i64)


def _cast(op: Any, x: Value) -> Made:
    return x if static_type(op.out) is x.type else None


def _reshape(op: Any, x: Value, *others: Value) -> Made:
    kind = static_type(op.results[0])
    return None if kind is None or not tensor_of(x).is_static else pd.reshape(x, shape=kind.shape).out


def _concat(op: Any, *xs: Value) -> Made:
    return pd.concat(xs, axis=op.dim).out


def _slice_rows(op: Any, values: Sequence[Value]) -> list[tuple[int | Value, int, int]] | None:
    """For each dimension the offset, a number or a value, the size and the stride; None where those are not known."""
    counts = [len(op.offsets), len(op.sizes), len(op.strides)]
    if counts[1] or counts[2]:
        return None
    rest = iter(values[len(values) - counts[0] :] if counts[0] else ())
    offsets: list[int | Value] = [next(rest) if n == DYNAMIC_INDEX else n for n in op.static_offsets]
    return list(zip(offsets, op.static_sizes, op.static_strides, strict=True))


def _places(offset: int | Value, size: int, stride: int) -> Value:
    """The places along a dimension."""
    numbers = np.arange(size) * stride
    if isinstance(offset, int):
        return constant(numbers + offset, i64)
    return pd.add(constant(numbers, i64), offset).out


def _extract_slice(op: Any, x: Value, *values: Value) -> Made:
    rows, kind = _slice_rows(op, values), static_type(op.out)
    if rows is None or kind is None or not tensor_of(x).is_static:
        return None
    for axis, (offset, size, stride) in enumerate(rows):
        extent = tensor_of(x).shape[axis]
        if isinstance(offset, int) and stride == 1:
            if (offset, size) != (0, extent):
                x = pd.slice(x, axes=(axis,), starts=(offset,), ends=(offset + size,)).out
        else:
            x = pd.gather(x, _places(offset, size, stride), axis=axis).out
    return pd.reshape(x, shape=kind.shape).out


def _insert_slice(op: Any, part: Value, x: Value, *values: Value) -> Made:
    rows, kind = _slice_rows(op, values), tensor_of(x)
    if rows is None or not kind.is_static or not all(isinstance(o, int) and stride == 1 for o, _, stride in rows):
        return None
    starts = tuple(int(offset) for offset, _, _ in rows if isinstance(offset, int))
    ends = tuple(start + size for start, (_, size, _) in zip(starts, rows, strict=True))
    part = pd.reshape(part, shape=tuple(size for _, size, _ in rows)).out
    return pd.set_value(x, part, axes=tuple(range(kind.rank)), starts=starts, ends=ends).out


TENSORS: Final[Mapping[type[Any], Lower]] = {
    tensor.EmptyOp: _empty,
    tensor.SplatOp: _splat,
    tensor.FromElementsOp: _from_elements,
    tensor.ExtractOp: _extract,
    tensor.InsertOp: _insert,
    tensor.DimOp: _extent,
    tensor.RankOp: _rank,
    tensor.CastOp: _cast,
    tensor.ReshapeOp: _reshape,
    tensor.ExpandShapeOp: _reshape,
    tensor.CollapseShapeOp: _reshape,
    tensor.ConcatOp: _concat,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.InsertSliceOp: _insert_slice,
}
"""By class of operation, what makes its result."""
