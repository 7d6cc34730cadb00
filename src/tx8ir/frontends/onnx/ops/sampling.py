"""Elements of an image at places that are computed: between its cells, and beyond its edges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

Mode: TypeAlias = Literal["nearest", "linear", "cubic"]
Beyond: TypeAlias = Literal["zeros", "border", "reflection"]


class Sampler:
    """Reads an image at places between its cells.

    Args:
        node: the node that is imported.
        image: [N, C, D1, …].
        places: for each spatial axis its places, [N, P], in cells.
        align_corners: whether the edges of the image are the centres of its outermost cells.
    """

    def __init__(self, node: OnnxNode, image: Value, places: Sequence[Value], *, align_corners: bool) -> None:
        self._node = node
        self._shape = tensor_type(image).shape
        self._space = self._shape[2:]
        self._align = align_corners
        self._element = tensor_type(image).element
        self._places = list(places)
        channels_last = pd.transpose(image, perm=(0, *range(2, len(self._shape)), 1))
        self._rows = pd.reshape(channels_last, shape=(self._shape[0] * math.prod(self._space), self._shape[1])).out

    def read(self, mode: Mode, beyond: Beyond) -> Value:
        """What is there, [N, P, C]."""
        steps = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]
        corners: list[list[tuple[Value, Value | None]]] = []
        for axis, place in enumerate(self._places):
            if mode == "nearest":
                place = pd.round(place).out
            place = self._inside(place, axis, beyond)
            first = place if mode == "nearest" else pd.floor(place).out
            ratio = None if mode == "nearest" else pd.subtract(place, first).out
            cells: list[tuple[Value, Value | None]] = []
            for step in steps:
                cell = pd.scale(first, scale=1.0, bias=float(step)).out if step else first
                weight = None if ratio is None else self._weight(mode, ratio, step)
                cells.append(self._cell(cell, weight, axis, beyond))
            corners.append(cells)
        total: Value | Operation | None = None
        for corner in itertools.product(*corners):
            part = self._at([cell for cell, _ in corner], [weight for _, weight in corner if weight is not None])
            total = part if total is None else pd.add(total, part)
        assert total is not None
        return total if isinstance(total, Value) else total.results[0]

    def _at(self, cells: Sequence[Value], weights: Sequence[Value]) -> Value:
        count = tensor_type(cells[0]).shape[1]
        n, c = self._shape[:2]
        batches = np.repeat(np.arange(n)[:, None], count, axis=1) * math.prod(self._space)
        row: Value = self._node.constant(batches, i64, "batches")
        for axis, cell in enumerate(cells):
            stride = float(math.prod(self._space[axis + 1 :]))
            row = pd.add(row, pd.scale(pd.cast(cell, dtype=i64), scale=stride)).out
        found = pd.gather(self._rows, pd.reshape(row, shape=(n * count,)), axis=0)
        out = pd.reshape(found, shape=(n, count, c)).out
        if not weights:
            return out
        weight = weights[0]
        for other in weights[1:]:
            weight = pd.multiply(weight, other).out
        return pd.multiply(out, pd.reshape(weight, shape=(n, count, 1))).out

    def _edges(self, axis: int) -> tuple[float, float]:
        return (0.0, self._space[axis] - 1.0) if self._align else (-0.5, self._space[axis] - 0.5)

    def _number(self, value: float) -> Value:
        return self._node.scalar(value, self._element)

    def _clamped(self, place: Value, axis: int) -> Value:
        return pd.minimum(pd.maximum(place, self._number(0)), self._number(self._space[axis] - 1)).out

    def _reflected(self, place: Value, axis: int) -> Value:
        low, high = self._edges(axis)
        span = high - low
        if span == 0:
            return pd.scale(place, scale=0.0).out
        turn = pd.remainder(pd.abs(pd.scale(place, bias=-low)), self._number(2 * span))
        back = pd.scale(turn, scale=-1.0, bias=2 * span)
        return pd.scale(pd.minimum(turn, back), bias=low).out

    def _inside(self, place: Value, axis: int, beyond: Beyond) -> Value:
        """The place, those beyond the edges moved as `beyond` says."""
        if beyond == "zeros":
            return place
        low, high = self._edges(axis)
        moved = self._clamped(place, axis) if beyond == "border" else self._reflected(place, axis)
        outside = pd.logical_or(pd.less_than(place, self._number(low)), pd.greater_than(place, self._number(high)))
        return pd.where(outside, moved, place).out

    def _cell(self, cell: Value, weight: Value | None, axis: int, beyond: Beyond) -> tuple[Value, Value | None]:
        """A cell inside of the image, and its weight: 0 where it is outside and such cells count as zeros."""
        if beyond == "reflection":
            return self._clamped(self._reflected(cell, axis), axis), weight
        inside = self._clamped(cell, axis)
        if beyond == "border":
            return inside, weight
        share = weight if weight is not None else self._number(1)
        return inside, pd.where(pd.equal(inside, cell), share, self._number(0)).out

    def _weight(self, mode: Mode, ratio: Value, step: int) -> Value:
        if mode == "linear":
            return pd.scale(ratio, scale=-1.0, bias=1.0).out if step == 0 else ratio
        # Keys' kernel with a = -0.75 at the distance from the cell.
        a = -0.75
        distance = {-1: (1.0, 1.0), 0: (1.0, 0.0), 1: (-1.0, 1.0), 2: (-1.0, 2.0)}[step]
        x = pd.scale(ratio, scale=distance[0], bias=distance[1])
        if step in (0, 1):
            inner = pd.scale(x, scale=a + 2, bias=-(a + 3))
            return pd.scale(pd.multiply(pd.multiply(inner, x), x), bias=1.0).out
        line = pd.scale(x, scale=a, bias=-5 * a)
        bent = pd.scale(pd.multiply(line, x), bias=8 * a)
        return pd.scale(pd.multiply(bent, x), bias=-4 * a).out


@converter("GridSample", first=16, last=22, attributes=("align_corners", "mode", "padding_mode"))
def grid_sample(node: OnnxNode) -> Converted:
    """The image at the places of a grid, whose numbers go from -1 to 1 over the image; the last axis comes first."""
    image, grid = node.type_of(0), node.type_of(1)
    axes = image.rank - 2
    if axes < 1 or grid.rank != image.rank or grid.shape[-1] != axes or grid.shape[0] != image.shape[0]:
        raise node.error(f"the image {image} and the grid {grid} do not fit each other")
    modes: dict[str, Mode] = {"bilinear": "linear", "linear": "linear", "bicubic": "cubic", "cubic": "cubic",
                              "nearest": "nearest"}  # fmt: skip
    mode = modes[node.string("mode", tuple(modes), "linear")]
    beyond: dict[str, Beyond] = {"zeros": "zeros", "border": "border", "reflection": "reflection"}
    align = node.bool("align_corners", False)
    count = math.prod(grid.shape[1:-1])
    table = pd.reshape(node.operand(1), shape=(grid.shape[0], count, axes))
    if grid.element is not image.element:
        table = pd.cast(table, dtype=image.element)
    places: list[Value] = []
    for axis in range(axes):
        column = axes - 1 - axis
        part = pd.slice(table, axes=(2,), starts=(column,), ends=(column + 1,), decrease_axis=(2,))
        extent = image.shape[2 + axis]
        scale, bias = ((extent - 1) / 2, (extent - 1) / 2) if align else (extent / 2, (extent - 1) / 2)
        places.append(pd.scale(part, scale=scale, bias=bias).out)
    sampler = Sampler(node, node.operand(0), places, align_corners=align)
    found = sampler.read(mode, beyond[node.string("padding_mode", tuple(beyond), "zeros")])
    whole = pd.reshape(found, shape=(grid.shape[0], *grid.shape[1:-1], image.shape[1]))
    return pd.transpose(whole, perm=(0, grid.rank - 1, *range(1, grid.rank - 1)))


_DEFORM = ("dilations", "group", "kernel_shape", "offset_group", "pads", "strides")


@converter("DeformConv", first=19, last=22, attributes=_DEFORM)
def deform_conv(node: OnnxNode) -> Converted:
    """A convolution whose cells are moved, each by an offset of its own, and weighted by a mask."""
    image, weight, offset = node.type_of(0), node.type_of(1), node.type_of(2)
    if image.rank != 4:
        raise node.error(f"the input is {image}; expected [N, C, H, W]")
    kernel = node.ints("kernel_shape", weight.shape[2:])
    strides, dilations = node.ints("strides", (1, 1), length=2), node.ints("dilations", (1, 1), length=2)
    pads, groups, parts = node.ints("pads", (0,) * 4, length=4), node.int("group", 1), node.int("offset_group", 1)
    n, c = image.shape[:2]
    out_space = offset.shape[2:]
    size, cells = math.prod(out_space), math.prod(kernel)
    if c % parts or c % groups or offset.shape[1] != parts * cells * 2 or weight.shape[2:] != kernel:
        raise node.error(f"input {image}, weight {weight} and offset {offset} do not fit each other")
    moved = pd.reshape(node.operand(2), shape=(n, parts * cells * 2, size))
    mask = None if not node.has(4) else pd.reshape(node.operand(4), shape=(n, parts * cells, size))
    starts = [np.arange(out_space[a]) * strides[a] - pads[a] for a in range(2)]
    columns: list[Value | Operation] = []
    for part in range(parts):
        width = c // parts
        own = pd.slice(node.operand(0), axes=(1,), starts=(part * width,), ends=((part + 1) * width,)).out
        for cell, index in enumerate(itertools.product(*map(range, kernel))):
            places: list[Value] = []
            for axis in range(2):
                base = starts[axis] + index[axis] * dilations[axis]
                wide = np.broadcast_to(base.reshape((-1, 1) if axis == 0 else (1, -1)), out_space).reshape(1, size)
                at = (part * cells + cell) * 2 + axis
                shift = pd.slice(moved, axes=(1,), starts=(at,), ends=(at + 1,), decrease_axis=(1,))
                places.append(pd.add(shift, node.constant(wide, image.element, "places")).out)
            found: Value | Operation = Sampler(node, own, places, align_corners=True).read("linear", "zeros")
            if mask is not None:
                at = part * cells + cell
                share = pd.slice(mask, axes=(1,), starts=(at,), ends=(at + 1,), decrease_axis=(1,))
                found = pd.multiply(found, pd.reshape(share, shape=(n, size, 1)))
            columns.append(pd.reshape(found, shape=(n, size, width, 1)))
    by_part = [pd.concat(columns[p * cells : (p + 1) * cells], axis=3) for p in range(parts)]
    table = pd.concat(by_part, axis=2) if parts > 1 else by_part[0]  # [N, P, C, cells]
    grouped = pd.transpose(pd.reshape(table, shape=(n, size, groups, c // groups * cells)), perm=(0, 2, 1, 3))
    outputs = weight.shape[0]
    filters = pd.reshape(node.operand(1), shape=(1, groups, outputs // groups, c // groups * cells))
    out = pd.matmul(filters, grouped, transpose_y=True)  # [N, groups, O/groups, P]
    image_out = pd.reshape(out, shape=(n, outputs, *out_space))
    if not node.has(3):
        return image_out
    return pd.add(image_out, pd.reshape(node.operand(3), shape=(outputs, 1, 1)))


_ROI = ("coordinate_transformation_mode", "mode", "output_height", "output_width", "sampling_ratio", "spatial_scale")


@converter("RoiAlign", first=10, last=22, attributes=_ROI)
def roi_align(node: OnnxNode) -> Converted:
    """Means (or maxima) of the image at points of the cells of regions; the regions have to be known.

    For maxima each of the four neighbours of a point counts with its weight, as ONNX defines it.
    """
    image = node.type_of(0)
    rois, batches = node.known(1, "the regions"), node.known(2, "the batch of each region")
    height, width = image.shape[2:]
    rows, columns = node.int("output_height", 1), node.int("output_width", 1)
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    half = node.string("coordinate_transformation_mode", ("half_pixel", "output_half_pixel"), default) == "half_pixel"
    mode = node.string("mode", ("avg", "max"), "avg")
    ratio, scale = node.int("sampling_ratio", 0), node.float("spatial_scale", 1.0)
    table = pd.reshape(
        pd.transpose(node.operand(0), perm=(0, 2, 3, 1)), shape=(image.shape[0] * height * width, image.shape[1])
    )
    regions: list[Value | Operation] = []
    for roi, batch in zip(rois.astype(np.float64), batches.tolist(), strict=True):
        x0, y0, x1, y1 = roi * scale - (0.5 if half else 0.0)
        high, wide = y1 - y0, x1 - x0
        if not half:
            high, wide = max(high, 1.0), max(wide, 1.0)
        grid = [ratio or math.ceil(high / rows), ratio or math.ceil(wide / columns)]
        ys = y0 + (np.arange(rows * grid[0]) + 0.5) * high / (rows * grid[0])
        xs = x0 + (np.arange(columns * grid[1]) + 0.5) * wide / (columns * grid[1])
        places, weights = _corners(ys, xs, height, width)
        found = pd.gather(table, node.constant((places + batch * height * width).reshape(-1), i64, "places"), axis=0)
        weighted = pd.multiply(found, node.constant(weights.reshape(-1, 1), image.element, "weights"))
        split = pd.reshape(weighted, shape=(4, rows, grid[0], columns, grid[1], image.shape[1]))
        if mode == "avg":
            cell = times(pd.sum(split, axis=(0, 2, 4)), 1 / max(math.prod(grid), 1))
        else:
            cell = pd.max(split, axis=(0, 2, 4))
        regions.append(pd.reshape(pd.transpose(cell, perm=(2, 0, 1)), shape=(1, image.shape[1], rows, columns)))
    if not regions:
        return pd.full(shape=(0, image.shape[1], rows, columns), value=0.0, dtype=image.element)
    return regions[0] if len(regions) == 1 else pd.concat(regions, axis=0)


def _corners(ys: np.ndarray, xs: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights of the four neighbours of each point of a grid, [4, len(ys), len(xs)]; 0 far outside."""

    def split(points: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        inside = (points >= -1.0) & (points <= extent)
        points = np.maximum(points, 0)
        low = np.minimum(np.floor(points).astype(np.int64), extent - 1)
        high = np.minimum(low + 1, extent - 1)
        share = np.where(low >= extent - 1, 0.0, points - low)
        return low, high, np.where(inside, 1 - share, 0.0), np.where(inside, share, 0.0)

    y_low, y_high, y_near, y_far = split(ys, height)
    x_low, x_high, x_near, x_far = split(xs, width)
    pairs = [
        ((y, wy), (x, wx))
        for y, wy in ((y_low, y_near), (y_high, y_far))
        for x, wx in ((x_low, x_near), (x_high, x_far))
    ]
    places = np.stack([y[0][:, None] * width + x[0][None, :] for y, x in pairs])
    weights = np.stack([y[1][:, None] * x[1][None, :] for y, x in pairs])
    return places, weights
