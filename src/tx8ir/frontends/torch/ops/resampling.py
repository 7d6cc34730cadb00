"""Images of another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tx8ir.core import DYNAMIC, Value
from tx8ir.frontends.resizing import Axis, applied, nearest_places, shares
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen

_SCALES: Final = {1: "float? scales=None", 2: "float? scales_h=None, float? scales_w=None",
                  3: "float? scales_d=None, float? scales_h=None, float? scales_w=None"}  # fmt: skip
_LINEAR: Final = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _resized(
    node: TorchNode, x: Value, sizes: Sequence[int] | None, scales: Sequence[float | None] | None, mode: str,
    coordinates: str, antialias: bool = False,
) -> Value:  # fmt: skip
    """Each spatial axis resampled: to a size, or by a factor, which counts for the places even where both are given."""
    shape = tensor_type(x).shape
    axes = len(shape) - 2
    factors = list(scales or [None] * axes)
    declared = node.results[0].shape[2:] if sizes is None and node.results else sizes
    if declared is None or len(declared) != axes or len(factors) != axes or DYNAMIC in (*shape[2:], *declared):
        raise node.error(f"resamples {tensor_type(x)}, whose extents have to be known: load(…, dimensions=…)")
    for place, (new, factor) in enumerate(zip(declared, factors, strict=True)):
        old = shape[place + 2]
        by_factor = factor is not None and factor > 0 and coordinates != "align_corners"
        if antialias and coordinates == "align_corners":
            raise node.error("aligns corners and looks at all places, which is not supported")
        axis = Axis(place + 2, old, new, factor if by_factor and factor else new / old)
        sources = axis.sources(coordinates)
        if mode == "nearest":
            rounding = "floor" if coordinates == "asymmetric" else "round_prefer_ceil"
            x = chosen(node, x, axis.axis, nearest_places(sources, old, rounding))
        elif old != new or (sources != range(old)).any():
            # Cubic coefficients: a is -0.5 where PyTorch looks at all places, as PIL does.
            kernel = shares(axis, sources, mode, antialias=antialias, exclude=antialias, a=-0.5 if antialias else -0.75)
            x = applied(node, x, axis.axis, kernel)
    return x


def _register(axes: int) -> None:
    size, scales = f"int[{axes}] output_size", _SCALES[axes]
    listed = "Tensor input, int[]? output_size, {corners}float[]? scale_factors"

    for name, coordinates in (("nearest", "asymmetric"), ("_nearest-exact", "half_pixel")):
        prefix = "_" if name.startswith("_") else ""
        operator = f"{prefix}upsample_{name.removeprefix('_')}{axes}d"

        def nearest(
            node: TorchNode, x: Value, sizes: Sequence[int], *factors: float | None, where: str = coordinates
        ) -> Converted:
            return _resized(node, x, sizes, factors, "nearest", where)

        def nearest_listed(
            node: TorchNode, x: Value, sizes: Sequence[int] | None, factors: Sequence[float] | None,
            where: str = coordinates,
        ) -> Converted:  # fmt: skip
            return _resized(node, x, sizes, factors, "nearest", where)

        converter(f"{operator.replace('-', '_')}(Tensor self, {size}, {scales})")(nearest)
        converter(f"{operator.replace('-', '_')}.vec({listed.format(corners='')})")(nearest_listed)

    kinds = [(f"upsample_{_LINEAR[axes]}{axes if axes != 1 else 1}d", "linear", False)]
    if axes == 2:
        kinds += [("upsample_bicubic2d", "cubic", False), ("_upsample_bilinear2d_aa", "linear", True)]
        kinds += [("_upsample_bicubic2d_aa", "cubic", True)]
    for operator, mode, antialias in kinds:

        def smooth(
            node: TorchNode, x: Value, sizes: Sequence[int], align_corners: bool, *factors: float | None,
            mode: str = mode, antialias: bool = antialias,
        ) -> Converted:  # fmt: skip
            return _resized(node, x, sizes, factors, mode, _corners(align_corners), antialias)

        def smooth_listed(
            node: TorchNode, x: Value, sizes: Sequence[int] | None, align_corners: bool,
            factors: Sequence[float] | None, mode: str = mode, antialias: bool = antialias,
        ) -> Converted:  # fmt: skip
            return _resized(node, x, sizes, factors, mode, _corners(align_corners), antialias)

        converter(f"{operator}(Tensor self, {size}, bool align_corners, {scales})")(smooth)
        converter(f"{operator}.vec({listed.format(corners='bool align_corners, ')})")(smooth_listed)


def _corners(align: bool) -> str:
    return "align_corners" if align else "half_pixel"


for _axes in (1, 2, 3):
    _register(_axes)
