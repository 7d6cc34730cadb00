"""Images of another size: each axis is a product with a matrix that is known, or a choice of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Value, f32, i1
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen

_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize")  # fmt: skip
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@attrs.frozen
class _Axis:
    """What becomes of one axis.

    Attributes:
        axis: the axis.
        old, new: its extent before and after.
        scale: how much larger it becomes; not quite the quotient of the extents.
        start, end: the part of it that is looked at, as shares of the whole ("tf_crop_and_resize").
    """

    axis: int
    old: int
    new: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    def sources(self, mode: str) -> NDArray[np.float64]:
        """Where in the old axis each place of the new one lies."""
        x = np.arange(self.new, dtype=np.float64)
        width = self.scale * self.old
        match mode:
            case "align_corners":
                return x * (self.old - 1) / (width - 1) if width != 1 else x * 0
            case "asymmetric":
                return x / self.scale
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale
            case "tf_crop_and_resize":
                share = self.end - self.start
                inside = x * share * (self.old - 1) / (width - 1) if width != 1 else x + share * (self.old - 1) / 2
                return inside + self.start * (self.old - 1)
            case "half_pixel_symmetric":
                offset = self.old / 2 * (1 - self.new / width)
                return offset + (x + 0.5) / self.scale - 0.5
            case "pytorch_half_pixel" if width == 1:
                return x * 0 - 0.5
            case _:
                return (x + 0.5) / self.scale - 0.5


def _nearest(sources: NDArray[np.float64], extent: int, mode: str) -> list[int]:
    """The place that each source is closest to."""
    match mode:
        case "floor":
            places = np.floor(sources)
        case "ceil":
            places = np.ceil(sources)
        case "round_prefer_ceil":
            places = np.floor(sources + 0.5)
        case _:
            places = np.ceil(sources - 0.5)
    return [int(place) for place in np.clip(places, 0, extent - 1)]


def _linear(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(1 - np.abs(distance), 0, 1)


def _cubic(distance: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Keys' kernel (IEEE ASSP 29, 1981)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _matrix(axis: _Axis, sources: NDArray[np.float64], node: OnnxNode, mode: str) -> NDArray[np.float64]:
    """Shares of the old places in each new one, [old, new]. Places beyond the ends count as the ends."""
    antialias = node.bool("antialias", False)
    exclude = node.bool("exclude_outside", False)
    a = node.float("cubic_coeff_a", -0.75)
    scale = min(axis.scale, 1.0) if antialias else 1.0
    support = math.ceil((1 if mode == "linear" else 2) / scale)
    matrix = np.zeros((axis.old, axis.new))
    for place, source in enumerate(sources):
        left = math.ceil(float(source)) - 1  # the neighbour on the left of, never at, the source
        index = np.arange(left - support + 1, left + support + 1, dtype=np.int64)
        distance = (index - source) * scale
        share = _linear(distance) if mode == "linear" else _cubic(distance, a)
        if antialias:
            share = share / share.sum()
        if exclude:
            share = np.where((index < 0) | (index >= axis.old), 0.0, share)
            share = share / share.sum()
        np.add.at(matrix[:, place], np.clip(index, 0, axis.old - 1), share)
    return matrix


def _applied(node: OnnxNode, x: Value, axis: int, matrix: NDArray[np.float64]) -> Value:
    """The product of a matrix [old, new] with one axis."""
    rank, element = tensor_type(x).rank, tensor_type(x).element
    old, new = matrix.shape
    if axis == rank - 1:
        shape = tensor_type(x).shape
        rows = pd.reshape(x, shape=(math.prod(shape[:-1]), old))
        out = pd.matmul(rows, node.constant(matrix, element, f"resize_axis_{axis}"))
        return pd.reshape(out, shape=(*shape[:-1], new)).out
    perm = [*(a for a in range(rank) if a != axis), axis]
    moved = _applied(node, pd.transpose(x, perm=tuple(perm)).out, rank - 1, matrix)
    return pd.transpose(moved, perm=tuple(perm.index(a) for a in range(rank))).out


_ATTRIBUTES = ("antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
               "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode")  # fmt: skip


@converter("Resize", first=10, last=19, attributes=_ATTRIBUTES)
def resize(node: OnnxNode) -> Converted:
    """The image at other extents: its nearest element, or a linear or cubic mean of its neighbours."""
    if node.version < 11:
        return _resized(node, _by_scales(node, _scales(node, 1)), "asymmetric", "floor")
    axes = (
        node.axes(node.ints("axes", ()), node.type_of(0).rank, "attribute axes") if node.has_attribute("axes") else None
    )
    given = node.ints("axes") if axes is not None else tuple(range(node.type_of(0).rank))
    given = tuple(axis % node.type_of(0).rank for axis in given)
    if node.has(3):
        changed = _by_sizes(node, node.known_ints(3, "the list of sizes"), given)
    else:
        changed = _by_scales(node, _scales(node, 2), given)
    coordinates = node.string("coordinate_transformation_mode", _COORDINATES, "half_pixel")
    if coordinates == "tf_crop_and_resize":
        roi = [float(edge) for edge in node.known(1, "the region").reshape(-1)]
        half = len(roi) // 2
        changed = [attrs.evolve(a, start=roi[i], end=roi[half + i]) for i, a in enumerate(changed)]
    return _resized(node, changed, coordinates, node.string("nearest_mode", _NEAREST, "round_prefer_floor"))


@converter("Upsample", first=1, last=10, attributes=("height_scale", "mode", "scales", "width_scale"))
def upsample(node: OnnxNode) -> Converted:
    """The image made larger: its nearest element, or a linear mean of its neighbours."""
    if node.version >= 9:
        scales = _scales(node, 1)
    elif node.has_attribute("scales"):
        scales = node.floats("scales")
    else:
        scales = (1.0, 1.0, node.float("height_scale"), node.float("width_scale"))
    return _resized(node, _by_scales(node, scales), "asymmetric", "floor")


def _scales(node: OnnxNode, index: int) -> tuple[float, ...]:
    return tuple(float(scale) for scale in node.known(index, "the list of scales").reshape(-1))


def _by_scales(node: OnnxNode, scales: Sequence[float], axes: Sequence[int] | None = None) -> list[_Axis]:
    shape = node.type_of(0).shape
    axes = range(len(shape)) if axes is None else axes
    if len(scales) != len(axes) or min(scales, default=1.0) <= 0:
        raise node.error(f"the scales are {list(scales)}; expected {len(axes)} positive numbers")
    return [_Axis(a, shape[a], math.floor(shape[a] * s), s) for a, s in zip(axes, scales, strict=True)]


def _by_sizes(node: OnnxNode, sizes: Sequence[int], axes: Sequence[int]) -> list[_Axis]:
    shape = node.type_of(0).shape
    if len(sizes) != len(axes) or min(sizes, default=1) < 1:
        raise node.error(f"the sizes are {list(sizes)}; expected {len(axes)} positive integers")
    policy = node.string("keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"), "stretch")
    ratios = [size / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
    if policy == "stretch":
        return [_Axis(a, shape[a], n, r) for a, n, r in zip(axes, sizes, ratios, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [_Axis(a, shape[a], math.floor(scale * shape[a] + 0.5), scale) for a in axes]


def _resized(node: OnnxNode, changed: Sequence[_Axis], coordinates: str, nearest: str) -> Value | Operation:
    mode = node.string("mode", ("nearest", "linear", "bilinear", "cubic"), "nearest").removeprefix("bi")
    x = node.operand(0)
    element = tensor_type(x).element
    if mode != "nearest" and not element.is_float:
        x = pd.cast(x, dtype=f32).out
    outside: NDArray[Any] = np.zeros([1] * tensor_type(x).rank, np.bool_)
    for axis in changed:
        sources = axis.sources(coordinates)
        if axis.new == axis.old and np.array_equal(sources, np.arange(axis.old)):
            continue
        if coordinates == "tf_crop_and_resize":
            beyond = (sources < 0) | (sources > axis.old - 1)
            outside = outside | beyond.reshape([-1 if a == axis.axis else 1 for a in range(outside.ndim)])
        if mode == "nearest":
            x = chosen(node, x, axis.axis, _nearest(sources, axis.old, nearest))
        else:
            x = _applied(node, x, axis.axis, _matrix(axis, sources, node, mode))
    if outside.any():
        value = node.scalar(node.float("extrapolation_value", 0.0), tensor_type(x).element)
        mask = np.broadcast_to(outside, tensor_type(x).shape)
        x = pd.where(node.constant(mask, i1, "outside"), value, x).out
    return x if tensor_type(x).element is element else pd.cast(x, dtype=element)
