"""Other shapes, parts and orders of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import DYNAMIC, Value
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.torch.symbols import Extent, Symbolic, extent
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen

_END = 1 << 62
"""A place that PyTorch means as the end of an axis, at least."""


@converter(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    "_unsafe_view(Tensor self, SymInt[] size)",
    "view_copy(Tensor self, SymInt[] size)",
    "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
)
def view(node: TorchNode, x: Value, size: Sequence[Extent], stride: object = None) -> Converted:
    """The elements in another shape."""
    return reshaped(node, x, size)


def reshaped(node: TorchNode, x: Value, size: Sequence[Extent]) -> Value:
    """The elements in another shape; one extent may be -1, and one not known on import."""
    shape = tensor_type(x).shape
    known = node.results[0].shape if len(node.results) == 1 and len(node.results[0].shape) == len(size) else None
    wanted = [
        declared if item == -1 and declared != DYNAMIC else extent(item)
        for item, declared in zip(size, known or [DYNAMIC] * len(size), strict=True)
    ]
    if wanted.count(-1) > 1:  # extents at the start that are as they were are copied
        wanted = [
            0 if item == -1 and shape[: axis + 1] == tuple(wanted[: axis + 1]) else item
            for axis, item in enumerate(wanted)
        ]
        if wanted.count(-1) > 1:
            raise node.error(f"makes {[str(item) for item in size]} of {tensor_type(x)}: several extents are not known")
    if tuple(wanted) == shape:
        return pd.reshape(x, shape=tuple(wanted)).out
    if 0 in wanted and -1 not in shape and math.prod(shape) == 0:
        return pd.full(shape=tuple(wanted), value=0.0, dtype=tensor_type(x).element).out
    return pd.reshape(x, shape=tuple(wanted)).out


@converter("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(node: TorchNode, x: Value, start_dim: int, end_dim: int) -> Converted:
    """Several axes as one."""
    rank = tensor_type(x).rank
    if rank == 0:
        return pd.reshape(x, shape=(1,))
    return pd.flatten(x, start_axis=node.axis(start_dim, rank), stop_axis=node.axis(end_dim, rank))


@converter("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(node: TorchNode, x: Value) -> Converted:
    """All elements as a list."""
    return pd.reshape(x, shape=(-1,))


@converter(*(f"atleast_{rank}d(Tensor self)" for rank in (1, 2, 3)))
def atleast(node: TorchNode, x: Value) -> Converted:
    """With axes of extent 1 more, up to as many as the name says."""
    shape = tensor_type(x).shape
    match int(node.operator.split("_")[1][0]), len(shape):
        case 1 | 2 as least, rank if rank < least:
            return pd.unsqueeze(x, axis=(0,) * (least - rank))
        case 3, 2:
            return pd.unsqueeze(x, axis=(2,))
        case 3, 1:
            return pd.unsqueeze(x, axis=(0, 2))
        case 3, 0:
            return pd.unsqueeze(x, axis=(0, 0, 0))
        case _:
            return x


@converter("fliplr(Tensor self)", "flipud(Tensor self)")
def flip_matrix(node: TorchNode, x: Value) -> Converted:
    """Columns, or rows, backwards."""
    return flip(node, x, (1 if node.operator.startswith("aten.fliplr") else 0,))


@converter("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(node: TorchNode, x: Value, dim: int, sizes: Sequence[Extent]) -> Converted:
    """One axis as several."""
    shape = tensor_type(x).shape
    axis = node.axis(dim, len(shape))
    return reshaped(node, x, [*_as_extents(shape[:axis]), *sizes, *_as_extents(shape[axis + 1 :])])


def _as_extents(shape: Sequence[int]) -> list[Extent]:
    return [Symbolic("an extent", ()) if item == DYNAMIC else item for item in shape]


@converter(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)", "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)"
)
def view_as(node: TorchNode, x: Value, other: Value) -> Converted:
    """The elements in the shape of another tensor."""
    return reshaped(node, x, _as_extents(tensor_type(other).shape))


@converter("permute(Tensor(a) self, int[] dims) -> Tensor(a)", "permute_copy(Tensor self, int[] dims)")
def permute(node: TorchNode, x: Value, dims: Sequence[int]) -> Converted:
    """The axes in another order."""
    rank = tensor_type(x).rank
    return pd.transpose(x, perm=tuple(node.axis(dim, rank) for dim in dims))


@converter(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
)
def transpose(node: TorchNode, x: Value, dim0: int, dim1: int) -> Converted:
    """Two axes swapped."""
    rank = tensor_type(x).rank
    if rank == 0:
        return pd.reshape(x, shape=())
    perm = list(range(rank))
    a, b = node.axis(dim0, rank), node.axis(dim1, rank)
    perm[a], perm[b] = b, a
    return pd.transpose(x, perm=tuple(perm))


@converter(*(f"{name}(Tensor(a) self) -> Tensor(a)" for name in ("t", "numpy_T", "mT", "mH", "adjoint")))
def t(node: TorchNode, x: Value) -> Converted:
    """A matrix with its axes swapped."""
    rank = tensor_type(x).rank
    axes = tuple(range(rank))
    return pd.transpose(
        x,
        perm=(*axes[:-2], *reversed(axes[-2:]))
        if node.operator.split(".")[1] in ("mT", "mH", "adjoint")
        else axes[::-1],
    )


@converter("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def movedim(node: TorchNode, x: Value, source: int, destination: int) -> Converted:
    """One axis at another place."""
    return movedims(node, x, (source,), (destination,))


@converter("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def movedims(node: TorchNode, x: Value, source: Sequence[int], destination: Sequence[int]) -> Converted:
    """Some axes at other places."""
    rank = tensor_type(x).rank
    places = {node.axis(to, rank): node.axis(axis, rank) for axis, to in zip(source, destination, strict=True)}
    rest = iter(axis for axis in range(rank) if axis not in places.values())
    return pd.transpose(x, perm=tuple(places[place] if place in places else next(rest) for place in range(rank)))


@converter("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", "unsqueeze_copy(Tensor self, int dim)")
def unsqueeze(node: TorchNode, x: Value, dim: int) -> Converted:
    """One axis of extent 1 more."""
    return pd.unsqueeze(x, axis=(node.axis(dim, tensor_type(x).rank + 1),))


@converter(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
)
def squeeze(node: TorchNode, x: Value, dim: int | Sequence[int] | None = None) -> Converted:
    """Without axes of extent 1, all or some."""
    shape = tensor_type(x).shape
    asked = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = tuple(sorted({axis for axis in (node.axis(a, len(shape)) for a in asked) if shape[axis : axis + 1] == (1,)}))
    return pd.squeeze(x, axis=axes) if axes else pd.reshape(x, shape=shape)


@converter(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False)",
)
def expand(node: TorchNode, x: Value, size: Sequence[Extent], implicit: bool) -> Converted:
    """Broadcast to a shape; -1 keeps an extent."""
    shape = tensor_type(x).shape
    new = len(size) - len(shape)
    wanted = [extent(item) for item in size]
    for axis, item in enumerate(wanted):
        if isinstance(size[axis], Symbolic) and (axis < new or shape[axis - new] == 1):
            raise node.error(f"stretches axis {axis} to {size[axis]}, which is not known: load(…, dimensions=…)")
        if item == -1 and axis < new:
            raise node.error(f"extent {axis} is -1 where there was no axis")
    return pd.expand(x, shape=tuple(wanted))


@converter(
    "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)"
)
def expand_as(node: TorchNode, x: Value, other: Value | Sequence[Extent]) -> Converted:
    """Broadcast to the shape of another tensor."""
    size = _as_extents(tensor_type(other).shape) if isinstance(other, Value) else other
    return expand(node, x, size, False)


def _window(node: TorchNode, x: Value, dim: int, start: Extent | None, end: Extent | None) -> tuple[int, int, int]:
    """Axis, start and end of a slice, inside of the axis."""
    shape = tensor_type(x).shape
    axis = node.axis(dim, len(shape))
    low, high = 0 if start is None else start, _END if end is None else end
    if isinstance(high, Symbolic) and shape[axis] == DYNAMIC and low == 0:
        symbol_free = node.results and node.results[0].shape[axis] == DYNAMIC
        if symbol_free:
            raise node.error(f"slices up to {high}, which is not known: load(…, dimensions=…)")
    for place in (low, high):
        if isinstance(place, Symbolic):
            raise node.error(f"slices at {place}, which is not known: load(…, dimensions=…)")
    assert isinstance(low, int)
    assert isinstance(high, int)
    return axis, max(low, -_INT_MAX), min(high, _INT_MAX)


_INT_MAX = 2**31 - 1


@converter(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, int step=1) -> Tensor(a)",
    "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, int step=1)",
)
def slice(node: TorchNode, x: Value, dim: int, start: Extent | None, end: Extent | None, step: int) -> Converted:
    """Elements from start to end on one axis, every `step`-th."""
    axis, low, high = _window(node, x, dim, start, end)
    shape = tensor_type(x).shape
    if step == 1:
        return pd.slice(x, axes=(axis,), starts=(low,), ends=(high,))
    if step < 1 or shape[axis] == DYNAMIC:
        raise node.error(f"takes every {step}-th of {tensor_type(x)} on axis {axis}; the extent has to be known")
    return strided(node, x, axis, range(shape[axis])[low:high:step])


def strided(node: TorchNode, x: Value, axis: int, places: range) -> Value:
    """The elements at places of an axis that are equally far apart, as views alone."""
    shape, count, step = tensor_type(x).shape, len(places), places.step
    whole = places.start + count * step
    if not count or step < 1 or whole > shape[axis]:
        if not count:
            return pd.slice(x, axes=(axis,), starts=(0,), ends=(0,)).out
        return chosen(node, x, axis, places)
    part = pd.slice(x, axes=(axis,), starts=(places.start,), ends=(whole,))
    cells = pd.reshape(part, shape=(*shape[:axis], count, step, *shape[axis + 1 :]))
    return pd.slice(cells, axes=(axis + 1,), starts=(0,), ends=(1,), decrease_axis=(axis + 1,)).out


@converter(
    "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)", "select_copy.int(Tensor self, int dim, int index)"
)
def select(node: TorchNode, x: Value, dim: int, index: int) -> Converted:
    """What is at one place of an axis."""
    axis = node.axis(dim, tensor_type(x).rank)
    _check_place(node, x, axis, index)
    end = index + 1 if index != -1 else _INT_MAX
    return pd.slice(x, axes=(axis,), starts=(index,), ends=(end,), decrease_axis=(axis,))


def _check_place(node: TorchNode, x: Value, axis: int, index: int) -> None:
    have = tensor_type(x).shape[axis]
    if have != DYNAMIC and not -have <= index < have:
        raise node.error(f"place {index} is outside of axis {axis} of {tensor_type(x)}")


@converter("narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)")
def narrow(node: TorchNode, x: Value, dim: int, start: int, length: int) -> Converted:
    """`length` elements from `start` on."""
    axis = node.axis(dim, tensor_type(x).rank)
    have = tensor_type(x).shape[axis]
    first = start + have if start < 0 and have != DYNAMIC else start
    return pd.slice(x, axes=(axis,), starts=(first,), ends=(first + length,))


def _pieces(node: TorchNode, x: Value, sections: Sequence[int], axis: int) -> Converted:
    return list(pd.split(x, sections=tuple(sections), axis=axis).results)


def _extent(node: TorchNode, x: Value, axis: int) -> int:
    have = tensor_type(x).shape[axis]
    if have == DYNAMIC:
        raise node.error(f"cuts axis {axis} of {tensor_type(x)}, whose extent is not known: load(…, dimensions=…)")
    return have


@converter("split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
           "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]")  # fmt: skip
def split(node: TorchNode, x: Value, split_size: int, dim: int) -> Converted:
    """Pieces of one extent, the last of what is left."""
    axis = node.axis(dim, tensor_type(x).rank)
    have = _extent(node, x, axis)
    if split_size < 1:
        raise node.error(f"split_size is {split_size}; expected a positive number")
    return _pieces(node, x, [min(split_size, have - at) for at in range(0, have, split_size)] or [0], axis)


@converter(
    "split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    "split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
)
def split_with_sizes(node: TorchNode, x: Value, sizes: Sequence[int], dim: int) -> Converted:
    """Pieces of given extents."""
    return _pieces(node, x, sizes, node.axis(dim, tensor_type(x).rank))


@converter("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(node: TorchNode, x: Value, chunks: int, dim: int) -> Converted:
    """At most so many pieces, all of one extent but the last."""
    axis = node.axis(dim, tensor_type(x).rank)
    return split(node, x, max(-(-_extent(node, x, axis) // max(chunks, 1)), 1), dim)


@converter("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(node: TorchNode, x: Value, dim: int) -> Converted:
    """What is at each place of an axis."""
    axis = node.axis(dim, tensor_type(x).rank)
    return [
        pd.slice(x, axes=(axis,), starts=(at,), ends=(at + 1,), decrease_axis=(axis,))
        for at in range(_extent(node, x, axis))
    ]


@converter("flip(Tensor self, int[] dims)")
def flip(node: TorchNode, x: Value, dims: Sequence[int]) -> Converted:
    """Axes backwards."""
    for axis in node.axes(dims, tensor_type(x).rank) if dims else ():
        have = _extent(node, x, axis)
        x = pd.gather(x, node.indices(np.arange(have)[::-1], f"backwards_{axis}"), axis=axis).out
    return x


@converter("roll(Tensor self, int[1] shifts, int[1] dims=[])")
def roll(node: TorchNode, x: Value, shifts: Sequence[int], dims: Sequence[int]) -> Converted:
    """Elements moved along axes, those over the end to the start."""
    type_ = tensor_type(x)
    if not dims:
        flat = pd.reshape(x, shape=(-1,)).out
        return pd.reshape(_rolled(node, flat, shifts[0], 0), shape=type_.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(node, x, shift, node.axis(dim, type_.rank))
    return x


def _rolled(node: TorchNode, x: Value, shift: int, axis: int) -> Value:
    have = _extent(node, x, axis)
    at = -shift % have if have else 0
    if not at:
        return x
    first, second = pd.split(x, sections=(at, have - at), axis=axis).results
    return pd.concat([second, first], axis=axis).out


@converter("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(node: TorchNode, x: Value, offset: int, dim1: int, dim2: int) -> Converted:
    """The diagonals of matrices, as the last axis."""
    rank = tensor_type(x).rank
    a, b = node.axis(dim1, rank), node.axis(dim2, rank)
    others = tuple(axis for axis in range(rank) if axis not in (a, b))
    moved = pd.transpose(x, perm=(*others, a, b)).out
    *_, rows, columns = tensor_type(moved).shape
    if DYNAMIC in (rows, columns):
        raise node.error(f"takes diagonals of {tensor_type(x)}, whose extents are not known")
    places = np.arange(rows)[:, None] * columns + np.arange(columns)[None, :]
    flat = pd.flatten(moved, start_axis=rank - 2, stop_axis=rank - 1)
    return pd.gather(flat, node.indices(np.diagonal(places, offset), "diagonal"), axis=rank - 2)


@converter("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")
def unfold(node: TorchNode, x: Value, dimension: int, size: int, step: int) -> Converted:
    """Windows along an axis, what they hold as the last axis."""
    rank = tensor_type(x).rank
    axis = node.axis(dimension, rank)
    count = (_extent(node, x, axis) - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    out = pd.gather(x, node.indices(places, "windows"), axis=axis)
    order = [place for place in range(rank + 1) if place != axis + 1]
    return pd.transpose(out, perm=(*order, axis + 1))
