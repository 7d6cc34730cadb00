"""Reductions of windows, and what their gradients come to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from tx8ir.core import Block, Value, VTensorType, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.bodies import body_of, combination, is_identity, on_tensors
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.ops.movement import padded, sliced
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

MOST = 1 << 12
"""Cells of the largest window that is combined cell by cell."""


@attrs.frozen
class Windows:
    """Sliding windows over all axes of a tensor.

    Attributes:
        extents: of the windows.
        strides, dilations: per axis.
        low, high: padding per axis.
        inner: what is between neighbours of the tensor, per axis.
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    inner: tuple[int, ...]

    @classmethod
    def of(cls, node: StableHloNode, rank: int) -> Windows:
        """The windows that the attributes of a node say."""
        ones, zeros = (1,) * rank, (0,) * (2 * rank)
        paddings = node.ints("padding", zeros, length=2 * rank)
        base = node.ints("base_dilations", ones, length=rank)
        return cls(
            node.ints("window_dimensions", length=rank),
            node.ints("window_strides", ones, length=rank),
            node.ints("window_dilations", ones, length=rank),
            paddings[::2],
            paddings[1::2],
            tuple(width - 1 for width in base),
        )

    def cell(self, place: Sequence[int], counts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Where in the padded tensor the cell at a place of each of so many windows is: starts and limits."""
        starts = [at * width for at, width in zip(place, self.dilations, strict=True)]
        limits = [
            start + (count - 1) * stride + 1 for start, count, stride in zip(starts, counts, self.strides, strict=True)
        ]
        return starts, limits


@converter("stablehlo.reduce_window")
def reduce_window(node: StableHloNode) -> Converted:
    """The elements of each window combined into one, with a first value, which is the padding too."""
    count = len(node.operands) // 2
    inputs, firsts = node.operands[:count], node.operands[count:]
    if not count or len(firsts) != count:
        raise node.error(f"has {len(node.operands)} operands; expected tensors, and a first value for each")
    windows = Windows.of(node, tensor_type(inputs[0]).rank)
    body = body_of(node)
    kind = combination(body)
    if count == 1 and kind is not None and is_identity(node, firsts[0], kind):
        for build in (_cumulated, _pooled):
            found = build(node, inputs[0], windows, kind)
            if found is not None:
                return found
    return _cell_by_cell(node, body, inputs, firsts, windows)


def _cumulated(node: StableHloNode, x: Value, windows: Windows, kind: str) -> Value | None:
    """Windows over all elements up to each one, or from it on, along one axis."""
    shape = tensor_type(x).shape
    long = [axis for axis, extent in enumerate(windows.extents) if extent != 1]
    if len(long) != 1 or kind not in ("add", "multiply") or any(windows.inner) or tensor_type(x).element is i1:
        return None
    (axis,) = long
    extent = shape[axis]
    others = [(low, high) for a, (low, high) in enumerate(zip(windows.low, windows.high, strict=True)) if a != axis]
    ends = (windows.low[axis], windows.high[axis])
    if (
        windows.extents[axis] != extent
        or any(s != 1 for s in (*windows.strides, *windows.dilations))
        or any(map(any, others))
    ):
        return None
    if ends not in ((extent - 1, 0), (0, extent - 1)):
        return None
    build = pd.cumsum if kind == "add" else pd.cumprod
    return build(x, axis=axis, reverse=ends == (0, extent - 1)).out


def _pooled(node: StableHloNode, x: Value, windows: Windows, kind: str) -> Value | None:
    """Windows over at most two axes of floating-point numbers: pooling of images."""
    type_ = tensor_type(x)
    rank = type_.rank
    plain = {(1, 1, 1, 0, 0)}
    settings = list(zip(windows.extents, windows.strides, windows.dilations, windows.low, windows.high, strict=True))
    long = [axis for axis in range(rank) if settings[axis] not in plain]
    if not long or len(long) > 2 or kind not in ("add", "maximum") or not type_.element.is_float:
        return None
    if any(windows.inner) or any(settings[a][2] != 1 or min(settings[a][3:]) < 0 for a in long) or not type_.is_static:
        return None
    if any(max(settings[a][3:]) >= settings[a][0] for a in long):
        return None
    others = [axis for axis in range(rank) if axis not in long]
    order = (*others, *long)
    moved = x if order == tuple(range(rank)) else pd.transpose(x, perm=order).out
    outer = [type_.shape[axis] for axis in others]
    space = [1] * (2 - len(long)) + [type_.shape[axis] for axis in long]
    images = pd.reshape(moved, shape=(1, math.prod(outer), *space)).out
    kernel, strides = ([1] * (2 - len(long)) + [settings[a][item] for a in long] for item in (0, 1))
    sides = [(0, 0)] * (2 - len(long)) + [(settings[a][3], settings[a][4]) for a in long]
    pooled = pd.pool2d(
        images,
        kernel_size=tuple(kernel),
        strides=tuple(strides),
        paddings=(*sides[0], *sides[1]),
        exclusive=False,
        pooling_type="max" if kind == "maximum" else "avg",
    ).out
    if kind == "add":
        pooled = pd.scale(pooled, scale=float(math.prod(kernel)), bias=-0.0).out
    counts = tensor_type(pooled).shape[4 - len(long) :]
    found = pd.reshape(pooled, shape=(*outer, *counts)).out
    back = tuple(order.index(axis) for axis in range(rank))
    return found if back == tuple(range(rank)) else pd.transpose(found, perm=back).out


def _cell_by_cell(
    node: StableHloNode, body: Block, inputs: Sequence[Value], firsts: Sequence[Value], windows: Windows
) -> Sequence[Value]:
    """Any combination: axis after axis, the first cells of all windows with the second ones, and so on.

    It is associative, and its first value changes nothing, or else the result is not defined (StableHLO).
    """
    if sum(windows.extents) > MOST:
        raise node.error(f"has windows of {list(windows.extents)} elements; supported are {MOST} along the axes")
    for value in inputs:
        node.static_shape(value, "what windows slide over")
    values = [
        padded(node, x, first, windows.low, windows.high, windows.inner)
        for x, first in zip(inputs, firsts, strict=True)
    ]
    for axis, extent in enumerate(windows.extents):
        shape = tensor_type(values[0]).shape
        reach = (extent - 1) * windows.dilations[axis] + 1
        count = max((shape[axis] - reach) // windows.strides[axis] + 1, 0)
        if extent == 1 and windows.strides[axis] == 1:
            continue
        cells: list[list[Value]] = []
        for at in range(extent if count else 1):
            starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
            starts[axis] = at * windows.dilations[axis]
            limits[axis] = starts[axis] + (count - 1) * windows.strides[axis] + 1 if count else starts[axis]
            strides[axis] = windows.strides[axis] if count else 1
            cells.append([sliced(node, x, starts, limits, strides) for x in values])
        while len(cells) > 1:  # neighbours first, so that a chain is as short as it may be
            pairs = [on_tensors(node, body, [*a, *b]) for a, b in zip(cells[::2], cells[1::2], strict=False)]
            cells = [*pairs, *cells[2 * len(pairs) :]]
        values = cells[0]
    declared = [result.shape for result in node.results]
    spread = [
        pd.expand(first, shape=shape).out if shape else first for first, shape in zip(firsts, declared, strict=True)
    ]
    return on_tensors(node, body, [*spread, *values])


@converter("stablehlo.select_and_scatter")
def select_and_scatter(node: StableHloNode) -> Converted:
    """What the gradient of pooling is: each number of the source added where the chosen element of its window was."""
    x, source, first = node.take(3)
    shape, counts = node.static_shape(x, "the tensor"), node.static_shape(source, "the source")
    windows = Windows.of(node, len(shape))
    if math.prod(windows.extents) > MOST:
        raise node.error(f"has windows of {math.prod(windows.extents)} elements; supported are {MOST}")
    if combination(body_of(node, 1)) != "add" or any(windows.inner):
        raise node.error("combines by another body than stablehlo.add, which is not supported")
    cells = list(np.ndindex(*windows.extents))
    if min(*windows.low, *windows.high) < 0:
        raise node.error("has negative padding, which is not supported")
    chosen = _chosen(node, x, windows, counts, cells)
    wide = tuple(low + extent + high for low, extent, high in zip(windows.low, shape, windows.high, strict=True))
    element = tensor_type(x).element
    zero = node.scalar(0, element)
    total: Value | None = None
    for number, place in enumerate(cells):
        here = pd.equal(chosen, node.scalar(number, i64))
        part = pd.where(here, source, zero).out
        starts, limits = windows.cell(place, counts)
        after = tuple(extent - limit for extent, limit in zip(wide, limits, strict=True))
        part = padded(node, part, zero, starts, after, tuple(stride - 1 for stride in windows.strides))
        total = part if total is None else pd.add(total, part).out
    assert total is not None
    ends = [low + extent for low, extent in zip(windows.low, shape, strict=True)]
    found = sliced(node, total, windows.low, ends, (1,) * len(shape))
    return found if is_identity(node, first, "add") else pd.add(found, first)


def _chosen(
    node: StableHloNode, x: Value, windows: Windows, counts: Sequence[int], cells: Sequence[tuple[int, ...]]
) -> Value:
    """The number of the cell of each window that the first body chooses; one outside of the tensor never is."""
    select = body_of(node, 0)
    shape, element = tensor_type(x).shape, tensor_type(x).element
    zero = node.scalar(0, element)
    wide = padded(node, x, zero, windows.low, windows.high, windows.inner)
    inside = np.pad(np.ones(shape, np.bool_), list(zip(windows.low, windows.high, strict=True)))
    best: Value | None = None
    chosen = node.scalar(0, i64)
    seen = np.zeros(tuple(counts), np.bool_)
    for number, place in enumerate(cells):
        starts, limits = windows.cell(place, counts)
        cell = sliced(node, wide, starts, limits, windows.strides)
        there = inside[tuple(map(slice, starts, limits, windows.strides))]
        if best is None:
            best, seen = cell, there
            continue
        (stays,) = on_tensors(node, select, [best, cell])
        if not (seen & there).all():
            stays = pd.logical_or(
                pd.logical_and(stays, node.constant(seen, i1, "seen")), node.constant(~there, i1, "out")
            ).out
        best = pd.where(stays, best, cell).out
        chosen = pd.where(stays, chosen, node.scalar(number, i64)).out
        seen = seen | there
    found = tensor_type(chosen)
    wanted = VTensorType(counts, i64)
    return chosen if found == wanted else pd.expand(chosen, shape=wanted.shape).out
