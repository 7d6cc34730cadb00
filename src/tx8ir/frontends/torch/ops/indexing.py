"""Selection by index tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import DYNAMIC, Operation, Value, VTensorType, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.places import counted_from_front, flat_places
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)"
)
def embedding(
    node: TorchNode, weight: Value, indices: Value, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Converted:
    """The rows that the indices name; the row of `padding_idx` only has no gradient."""
    return pd.embedding(indices, weight)


@converter("index_select(Tensor self, int dim, Tensor index)")
def index_select(node: TorchNode, x: Value, dim: int, index: Value) -> Converted:
    """The places of an axis that the index names."""
    if not tensor_type(x).rank:
        return pd.reshape(x, shape=())
    return pd.gather(x, index, axis=node.axis(dim, tensor_type(x).rank))


@converter("take_along_dim(Tensor self, Tensor indices, int? dim=None)")
def take_along_dim(node: TorchNode, x: Value, index: Value, dim: int | None) -> Converted:
    """As `gather`."""
    if dim is None:
        return gather(node, pd.reshape(x, shape=(-1,)).out, 0, pd.reshape(index, shape=(-1,)).out, False)
    axis = node.axis(dim, tensor_type(x).rank)
    first, second = list(_static(node, x).shape), list(_static(node, index).shape)
    for other in range(len(first)):
        if other != axis:
            first[other] = second[other] = max(first[other], second[other])
    x, index = pd.expand(x, shape=tuple(first)).out, pd.expand(index, shape=tuple(second)).out
    return gather(node, x, axis, index, False)


@converter("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)")
def gather(node: TorchNode, x: Value, dim: int, index: Value, sparse_grad: bool) -> Converted:
    """The elements at given places along an axis, one for each element of the index."""
    source, places = _static(node, x), _static(node, index)
    if not source.rank:
        return pd.reshape(x, shape=places.shape)
    flat = pd.reshape(x, shape=(source.num_elements,))
    rows = flat_places(node, counted_from_front(node, index, source.shape[node.axis(dim, source.rank)]),
                       source.shape, node.axis(dim, source.rank))  # fmt: skip
    return pd.reshape(pd.gather(flat, rows, axis=0), shape=places.shape)


def _static(node: TorchNode, x: Value) -> VTensorType:
    type_ = tensor_type(x)
    if DYNAMIC in type_.shape:
        raise node.error(f"indexes with {type_}, whose extents have to be known: load(…, dimensions=…)")
    return type_


_REDUCE = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "amax", "amin": "amin"}


def _scattered(node: TorchNode, x: Value, dim: int, index: Value, source: Value, reduce: str) -> Value:
    type_, places = _static(node, x), _static(node, index)
    if not type_.rank:
        x, index, source = (pd.reshape(value, shape=(1,)).out for value in (x, index, source))
        return pd.reshape(_scattered(node, x, 0, index, source, reduce), shape=()).out
    if tensor_type(source).shape != places.shape:  # only the corner that the index covers counts
        axes = tuple(range(places.rank))
        source = pd.slice(source, axes=axes, starts=(0,) * len(axes), ends=places.shape).out
    axis = node.axis(dim, type_.rank)
    rows = flat_places(node, counted_from_front(node, index, type_.shape[axis]), type_.shape, axis)
    flat = pd.reshape(x, shape=(type_.num_elements,))
    updates = pd.reshape(node.cast(source, type_.element), shape=(places.num_elements,))
    return pd.reshape(pd.scatter(flat, rows, updates, reduce=reduce), shape=type_.shape).out


@converter("scatter.src(Tensor self, int dim, Tensor index, Tensor src)")
def scatter(node: TorchNode, x: Value, dim: int, index: Value, source: Value) -> Converted:
    """The tensor with elements replaced at given places along an axis."""
    return _scattered(node, x, dim, index, source, "assign")


@converter("scatter.value(Tensor self, int dim, Tensor index, Scalar value)")
def scatter_value(node: TorchNode, x: Value, dim: int, index: Value, value: float) -> Converted:
    """The tensor with one number at given places along an axis."""
    same = pd.expand(node.scalar(value, tensor_type(x).element), shape=_static(node, index).shape).out
    return _scattered(node, x, dim, index, same, "assign")


@converter("scatter_add(Tensor self, int dim, Tensor index, Tensor src)")
def scatter_add(node: TorchNode, x: Value, dim: int, index: Value, source: Value) -> Converted:
    """The tensor with elements added at given places along an axis."""
    return _scattered(node, x, dim, index, source, "add")


@converter("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)")
def scatter_reduce(
    node: TorchNode, x: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool
) -> Converted:
    """The tensor with elements combined with others at given places along an axis."""
    if reduce not in _REDUCE or not include_self:
        raise node.error(
            f"reduces by {reduce!r}, include_self {include_self}; supported are {', '.join(_REDUCE)}, True"
        )
    return _scattered(node, x, dim, index, source, _REDUCE[reduce])


@converter("index_copy(Tensor self, int dim, Tensor index, Tensor source)")
def index_copy(node: TorchNode, x: Value, dim: int, index: Value, source: Value) -> Converted:
    """The tensor with slices replaced at given places of an axis."""
    return _with_slices(node, x, dim, index, source, "assign")


@converter("take(Tensor self, Tensor index)")
def take(node: TorchNode, x: Value, index: Value) -> Converted:
    """The elements at row-major places."""
    flat = pd.reshape(x, shape=(_static(node, x).num_elements,))
    return pd.gather(flat, counted_from_front(node, index, _static(node, x).num_elements), axis=0)


@converter("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)")
def index_add(node: TorchNode, x: Value, dim: int, index: Value, source: Value, alpha: float) -> Converted:
    """The tensor with slices added at given places of an axis."""
    if alpha != 1:
        source = pd.scale(source, scale=float(alpha), bias=-0.0).out
    return _with_slices(node, x, dim, index, source, "add")


def _with_slices(node: TorchNode, x: Value, dim: int, index: Value, source: Value, reduce: str) -> Value:
    type_ = _static(node, x)
    if not type_.rank:
        x, index, source = (pd.reshape(value, shape=(1,)).out for value in (x, index, source))
        return pd.reshape(_with_slices(node, x, 0, index, source, reduce), shape=()).out
    axis = node.axis(dim, type_.rank)
    perm = (axis, *(a for a in range(type_.rank) if a != axis))
    back = tuple(perm.index(a) for a in range(type_.rank))
    out = pd.scatter(pd.transpose(x, perm=perm), counted_from_front(node, index, type_.shape[axis]),
                     pd.transpose(source, perm=perm), reduce=reduce)  # fmt: skip
    return pd.transpose(out, perm=back).out


def _by_axis(
    node: TorchNode, x: Value, indices: Sequence[Value | None]
) -> tuple[list[int], list[Value], tuple[int, ...]]:
    """The axes that are indexed, the index of each, and the shape that the indices broadcast to."""
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    found: list[Value] = []
    for index in indices:
        if index is None:
            continue
        if tensor_type(index).element is i1:
            raise node.error("indexes with truth values, whose number is not known; use torch.where, or numbers")
        found.append(index)
    if len(indices) > tensor_type(x).rank or not axes:
        raise node.error(f"indexes {tensor_type(x)} with {len(indices)} tensors")
    return axes, found, np.broadcast_shapes(*(_static(node, index).shape for index in found))


def _rows(node: TorchNode, x: Value, axes: Sequence[int], found: Sequence[Value], shape: tuple[int, ...]) -> Value:
    """Places in the indexed axes as one axis, as a list."""
    extents = [tensor_type(x).shape[axis] for axis in axes]
    total: Value | None = None
    for place, (index, have) in enumerate(zip(found, extents, strict=True)):
        step = math.prod(extents[place + 1 :])
        here = counted_from_front(node, index, have)
        here = here if step == 1 else pd.scale(here, scale=float(step), bias=0.0).out
        total = here if total is None else pd.add(total, here).out
    assert total is not None
    return pd.reshape(pd.expand(total, shape=shape), shape=(math.prod(shape),)).out


def _in_front(x: Value, axes: Sequence[int]) -> tuple[tuple[int, ...], Value]:
    """The tensor with some axes first, as one; and the order that its axes are then in."""
    shape = tensor_type(x).shape
    perm = (*axes, *(axis for axis in range(len(shape)) if axis not in axes))
    moved = x if perm == tuple(range(len(shape))) else pd.transpose(x, perm=perm).out
    rest = tuple(shape[axis] for axis in perm[len(axes) :])
    return perm, pd.reshape(moved, shape=(math.prod(shape[axis] for axis in axes), *rest)).out


_INDEX = "index.Tensor(Tensor self, Tensor?[] indices)"


@converter(_INDEX, "_unsafe_index.Tensor(Tensor self, Tensor?[] indices)")
def index(node: TorchNode, x: Value, indices: Sequence[Value | None]) -> Converted:
    """NumPy's indexing by integers: they broadcast, and come where the first was if all are neighbours."""
    axes, found, shape = _by_axis(node, x, indices)
    if len(axes) == 1:
        have = tensor_type(x).shape[axes[0]]
        if have == DYNAMIC:
            raise node.error(f"indexes axis {axes[0]} of {tensor_type(x)}: its extent has to be known")
        return pd.gather(x, counted_from_front(node, found[0], have), axis=axes[0])
    _static(node, x)
    _, table = _in_front(x, axes)
    rest = tensor_type(table).shape[1:]
    out = pd.reshape(pd.gather(table, _rows(node, x, axes, found, shape), axis=0), shape=(*shape, *rest))
    if list(axes) != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return out
    count = len(shape)
    before = range(count, count + axes[0])
    return pd.transpose(out, perm=(*before, *range(count), *range(count + axes[0], count + len(rest))))


@converter("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
           "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)")  # fmt: skip
def index_put(node: TorchNode, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Converted:
    """The tensor with what `index` would show replaced, or added to."""
    type_ = _static(node, x)
    values = node.cast(values, type_.element)
    masks = [index for index in indices if index is not None]
    if len(masks) == 1 and tensor_type(masks[0]).element is i1 and not accumulate:
        return _masked_put(node, x, indices, masks[0], values)
    axes, found, shape = _by_axis(node, x, indices)
    perm, table = _in_front(x, axes)
    rest = tensor_type(table).shape[1:]
    neighbours = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    where = axes[0] if neighbours else 0
    shown = (*rest[:where], *shape, *rest[where:])
    wide = pd.expand(values, shape=shown).out
    count = len(shape)
    order = (*range(where, where + count), *range(where), *range(where + count, len(shown)))
    updates = pd.reshape(pd.transpose(wide, perm=order), shape=(math.prod(shape), *rest))
    rows = _rows(node, x, axes, found, shape)
    out = pd.scatter(table, rows, updates, reduce="add" if accumulate else "assign")
    apart = pd.reshape(out, shape=tuple(type_.shape[axis] for axis in perm))
    return pd.transpose(apart, perm=tuple(perm.index(axis) for axis in range(type_.rank)))


def _masked_put(node: TorchNode, x: Value, indices: Sequence[Value | None], mask: Value, values: Value) -> Operation:
    if tensor_type(values).num_elements != 1:
        raise node.error("writes several numbers where a mask is true, whose places are not known; use torch.where")
    before = list(indices).index(mask)
    rank = tensor_type(x).rank
    kind = tensor_type(mask)
    wide = pd.reshape(mask, shape=(*kind.shape, *[1] * (rank - before - kind.rank)))
    return pd.where(wide, pd.reshape(values, shape=()), x)


@converter("select_scatter(Tensor self, Tensor src, int dim, int index)")
def select_scatter(node: TorchNode, x: Value, source: Value, dim: int, index: int) -> Converted:
    """The tensor with what `select` would show replaced."""
    axis = node.axis(dim, tensor_type(x).rank)
    end = index + 1 if index != -1 else 2**31 - 1
    return pd.set_value(x, node.cast(source, tensor_type(x).element), axes=(axis,), starts=(index,), ends=(end,),
                        decrease_axis=(axis,))  # fmt: skip


@converter("slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)")
def slice_scatter(
    node: TorchNode, x: Value, source: Value, dim: int, start: int | None, end: int | None, step: int
) -> Converted:
    """The tensor with what `slice` would show replaced."""
    type_ = tensor_type(x)
    axis = node.axis(dim, type_.rank)
    source = node.cast(source, type_.element)
    low, high = start or 0, 2**31 - 1 if end is None else min(end, 2**31 - 1)
    if step == 1:
        return pd.set_value(x, source, axes=(axis,), starts=(low,), ends=(high,))
    places = range(_static(node, x).shape[axis])[low:high:step]
    perm = (axis, *(a for a in range(type_.rank) if a != axis))
    out = pd.scatter(pd.transpose(x, perm=perm), node.constant(np.asarray(places), i64, "places"),
                     pd.transpose(source, perm=perm))  # fmt: skip
    return pd.transpose(out, perm=tuple(perm.index(a) for a in range(type_.rank)))
