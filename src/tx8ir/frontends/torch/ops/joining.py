"""Tensors side by side, repeated, and in frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tx8ir.core import DYNAMIC, Value
from tx8ir.dialects import pd
from tx8ir.frontends.torch.elements import promoted
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen


@converter("cat(Tensor[] tensors, int dim=0)", "concat(Tensor[] tensors, int dim=0)")
def cat(node: TorchNode, tensors: Sequence[Value], dim: int) -> Converted:
    """Tensors one after the other along an axis; empty ones of rank 1 do not count."""
    element = promoted(tensors)
    rank = max(tensor_type(x).rank for x in tensors)
    kept = [x for x in tensors if rank == 1 or tensor_type(x).shape != (0,)]
    return pd.concat([node.cast(x, element) for x in kept], axis=node.axis(dim, rank))


@converter("stack(Tensor[] tensors, int dim=0)")
def stack(node: TorchNode, tensors: Sequence[Value], dim: int) -> Converted:
    """Tensors side by side along a new axis."""
    element = promoted(tensors)
    axis = node.axis(dim, tensor_type(tensors[0]).rank + 1)
    return pd.concat([pd.unsqueeze(node.cast(x, element), axis=(axis,)).out for x in tensors], axis=axis)


@converter("hstack(Tensor[] tensors)", "vstack(Tensor[] tensors)", "column_stack(Tensor[] tensors)")
def stack_matrices(node: TorchNode, tensors: Sequence[Value]) -> Converted:
    """Side by side: along columns, or along rows; vectors are rows, in a `column_stack` columns."""
    name = node.operator.split(".")[1]
    ranks = [tensor_type(x).rank for x in tensors]
    if name == "hstack":
        whole = [pd.reshape(x, shape=(1,)).out if not rank else x for x, rank in zip(tensors, ranks, strict=True)]
        return cat(node, whole, 0 if max(ranks) < 2 else 1)
    single = (1, -1) if name == "vstack" else (-1, 1)
    flat = [pd.reshape(x, shape=single).out if rank < 2 else x for x, rank in zip(tensors, ranks, strict=True)]
    return cat(node, flat, 0 if name == "vstack" else 1)


@converter("broadcast_tensors(Tensor[] tensors) -> Tensor[]")
def broadcast_tensors(node: TorchNode, tensors: Sequence[Value]) -> Converted:
    """All in one shape."""
    shape = np.broadcast_shapes(*(tensor_type(x).shape for x in tensors))
    return [pd.expand(x, shape=shape) for x in tensors]


@converter("repeat(Tensor self, int[] repeats)", "tile(Tensor self, int[] dims)")
def repeat(node: TorchNode, x: Value, repeats: Sequence[int]) -> Converted:
    """So many copies along each axis."""
    shape = tensor_type(x).shape
    counts = (*[1] * (len(shape) - len(repeats)), *repeats)
    new = len(counts) - len(shape)
    shape = (*[1] * new, *shape)
    if DYNAMIC in shape:
        raise node.error(f"repeats {tensor_type(x)}, whose extents have to be known: load(…, dimensions=…)")
    if 0 in counts:
        total = tuple(a * b for a, b in zip(counts, shape, strict=True))
        return pd.full(shape=total, value=0.0, dtype=tensor_type(x).element)
    apart = [item for extent in shape for item in (1, extent)]
    wide = [item for pair in zip(counts, shape, strict=True) for item in pair]
    out = pd.expand(pd.reshape(x, shape=tuple(apart)), shape=tuple(wide)) if max(counts, default=1) > 1 else x
    return pd.reshape(out, shape=tuple(a * b for a, b in zip(counts, shape, strict=True)))


@converter("repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None)")
def repeat_interleave(node: TorchNode, x: Value, repeats: int, dim: int | None, output_size: int | None) -> Converted:
    """Each element so many times, side by side."""
    if dim is None:
        x, dim = pd.reshape(x, shape=(-1,)).out, 0
    shape = tensor_type(x).shape
    axis = node.axis(dim, len(shape))
    wide = pd.expand(pd.unsqueeze(x, axis=(axis + 1,)), shape=(*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    return pd.flatten(wide, start_axis=axis, stop_axis=axis + 1)


@converter("constant_pad_nd(Tensor self, int[] pad, Scalar value=0)")
def constant_pad(node: TorchNode, x: Value, pad: Sequence[int], value: float) -> Converted:
    """A frame of one number; negative numbers cut off. The last axis comes first in `pad`."""
    shape = tensor_type(x).shape
    if len(pad) % 2 or len(pad) // 2 > len(shape):
        raise node.error(f"pad is {list(pad)}; expected a pair for each of at most {len(shape)} axes")
    paddings = [0] * (2 * len(shape))
    for index in range(len(pad) // 2):
        axis = len(shape) - 1 - index
        low, high = pad[2 * index], pad[2 * index + 1]
        if low < 0 or high < 0:
            end = high if high < 0 else 2**31 - 1
            x = pd.slice(x, axes=(axis,), starts=(max(-low, 0),), ends=(end,)).out
        paddings[2 * axis : 2 * axis + 2] = max(low, 0), max(high, 0)
    return pd.pad(x, paddings=tuple(paddings), pad_value=float(value)) if any(paddings) else x


@converter("pad(Tensor self, int[] pad, str mode='constant', float? value=None)")
def pad(node: TorchNode, x: Value, pads: Sequence[int], mode: str, value: float | None) -> Converted:
    """A frame: of one number, or of what is inside (mirrored, its edge, or its other end)."""
    if mode == "constant":
        return constant_pad(node, x, pads, value or 0.0)
    if mode not in ("reflect", "replicate", "circular"):
        raise node.error(f"mode is {mode!r}; expected 'constant', 'reflect', 'replicate' or 'circular'")
    return _framed(node, x, pads, mode)


@converter(*(f"reflection_pad{n}d(Tensor self, int[{2 * n}] padding)" for n in (1, 2, 3)))
def reflection_pad(node: TorchNode, x: Value, pads: Sequence[int]) -> Converted:
    """A frame of what is inside, mirrored at the edge."""
    return _framed(node, x, pads, "reflect")


@converter(*(f"replication_pad{n}d(Tensor self, int[{2 * n}] padding)" for n in (1, 2, 3)))
def replication_pad(node: TorchNode, x: Value, pads: Sequence[int]) -> Converted:
    """A frame of what is at the edge."""
    return _framed(node, x, pads, "replicate")


def _framed(node: TorchNode, x: Value, pads: Sequence[int], mode: str) -> Value:
    shape = tensor_type(x).shape
    for index in range(len(pads) // 2):
        axis = len(shape) - 1 - index
        have, low, high = shape[axis], pads[2 * index], pads[2 * index + 1]
        if have == DYNAMIC:
            raise node.error(f"frames {tensor_type(x)}, whose extents have to be known: load(…, dimensions=…)")
        places = np.arange(-low, have + high)
        if mode == "circular":
            places = places % have
        elif mode == "replicate":
            places = np.clip(places, 0, have - 1)
        else:
            last = have - 1
            places = last - np.abs(last - np.abs(places))
        if places.size and (places.min() < 0 or places.max() >= have):
            raise node.error(f"the frame of {low} and {high} is wider than the extent {have} of axis {axis}")
        x = chosen(node, x, axis, places.tolist())
    return x


@converter("pixel_shuffle(Tensor self, int upscale_factor)")
def pixel_shuffle(node: TorchNode, x: Value, factor: int) -> Converted:
    """Channels as places of a larger image."""
    *batch, c, h, w = tensor_type(x).shape
    k = len(batch)
    split = pd.reshape(x, shape=(*batch, c // factor**2, factor, factor, h, w))
    moved = pd.transpose(split, perm=(*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return pd.reshape(moved, shape=(*batch, c // factor**2, h * factor, w * factor))


@converter("pixel_unshuffle(Tensor self, int downscale_factor)")
def pixel_unshuffle(node: TorchNode, x: Value, factor: int) -> Converted:
    """Places of an image as channels of a smaller one."""
    *batch, c, h, w = tensor_type(x).shape
    k = len(batch)
    split = pd.reshape(x, shape=(*batch, c, h // factor, factor, w // factor, factor))
    moved = pd.transpose(split, perm=(*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return pd.reshape(moved, shape=(*batch, c * factor**2, h // factor, w // factor))


@converter("meshgrid(Tensor[] tensors) -> Tensor[]", "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")
def meshgrid(node: TorchNode, tensors: Sequence[Value], indexing: str = "ij") -> Converted:
    """Each vector along an axis of its own, broadcast to all of them."""
    shape = [tensor_type(x).shape[0] if tensor_type(x).rank else 1 for x in tensors]
    axes = list(range(len(shape)))
    if indexing == "xy" and len(axes) > 1:
        axes[0], axes[1] = 1, 0
    total = tuple(shape[axes.index(axis)] for axis in range(len(shape)))
    return [
        pd.expand(pd.reshape(x, shape=tuple(-1 if a == axis else 1 for a in range(len(shape)))), shape=total)
        for x, axis in zip(tensors, axes, strict=True)
    ]
