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
from tx8ir.frontends.resizing import Axis, applied, nearest_places, shares
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen

_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize")  # fmt: skip
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


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


def _by_scales(node: OnnxNode, scales: Sequence[float], axes: Sequence[int] | None = None) -> list[Axis]:
    shape = node.type_of(0).shape
    axes = range(len(shape)) if axes is None else axes
    if len(scales) != len(axes) or min(scales, default=1.0) <= 0:
        raise node.error(f"the scales are {list(scales)}; expected {len(axes)} positive numbers")
    return [Axis(a, shape[a], math.floor(shape[a] * s), s) for a, s in zip(axes, scales, strict=True)]


def _by_sizes(node: OnnxNode, sizes: Sequence[int], axes: Sequence[int]) -> list[Axis]:
    shape = node.type_of(0).shape
    if len(sizes) != len(axes) or min(sizes, default=1) < 1:
        raise node.error(f"the sizes are {list(sizes)}; expected {len(axes)} positive integers")
    policy = node.string("keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"), "stretch")
    ratios = [size / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
    if policy == "stretch":
        return [Axis(a, shape[a], n, r) for a, n, r in zip(axes, sizes, ratios, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [Axis(a, shape[a], math.floor(scale * shape[a] + 0.5), scale) for a in axes]


def _resized(node: OnnxNode, changed: Sequence[Axis], coordinates: str, nearest: str) -> Value | Operation:
    mode = node.string("mode", ("nearest", "linear", "bilinear", "cubic"), "nearest").removeprefix("bi")
    x = node.operand(0)
    element = tensor_type(x).element
    if mode != "nearest" and not element.is_float:
        x = pd.cast(x, dtype=f32).out
    how: dict[str, Any] = {
        "antialias": node.bool("antialias", False),
        "exclude": node.bool("exclude_outside", False),
        "a": node.float("cubic_coeff_a", -0.75),
    }
    outside: NDArray[Any] = np.zeros([1] * tensor_type(x).rank, np.bool_)
    for axis in changed:
        sources = axis.sources(coordinates)
        if axis.new == axis.old and np.array_equal(sources, np.arange(axis.old)):
            continue
        if coordinates == "tf_crop_and_resize":
            beyond = (sources < 0) | (sources > axis.old - 1)
            outside = outside | beyond.reshape([-1 if a == axis.axis else 1 for a in range(outside.ndim)])
        if mode == "nearest":
            x = chosen(node, x, axis.axis, nearest_places(sources, axis.old, nearest))
        else:
            x = applied(node, x, axis.axis, shares(axis, sources, mode, **how))
    if outside.any():
        value = node.scalar(node.float("extrapolation_value", 0.0), tensor_type(x).element)
        mask = np.broadcast_to(outside, tensor_type(x).shape)
        x = pd.where(node.constant(mask, i1, "outside"), value, x).out
    return x if tensor_type(x).element is element else pd.cast(x, dtype=element)
