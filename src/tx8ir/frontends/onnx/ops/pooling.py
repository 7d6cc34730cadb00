"""Pooling: the largest element, the mean or the norm of what a window holds."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from tx8ir.core import Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends import pooling
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.windows import WINDOW, window_of
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.windows import Window


def _window(node: OnnxNode) -> tuple[Window, tuple[int, ...]]:
    """The window of a pooling node, and how many there are per axis."""
    window = window_of(node, node.ints("kernel_shape"))
    counts = window.counts(ceil_mode=node.bool("ceil_mode", False))
    window.check(node, counts)
    return window, counts


@converter("MaxPool", first=1, last=22, attributes=(*WINDOW, "ceil_mode", "storage_order"))
def max_pool(node: OnnxNode) -> Converted:
    """The largest element under a window, and where in the image it is."""
    window, counts = _window(node)
    if node.num_outputs > 1:
        by_columns = bool(node.int("storage_order", 0))
        return pooling.max_pool_with_places(node, node.operand(0), window, counts, by_columns=by_columns)
    return pooling.max_pool(node, node.operand(0), window, counts)


@converter("AveragePool", first=1, last=22, attributes=(*WINDOW, "ceil_mode", "count_include_pad"))
def average_pool(node: OnnxNode) -> Converted:
    """Mean under a window; `count_include_pad` counts padding as zeros, cells beyond it never count."""
    window, counts = _window(node)
    include = node.bool("count_include_pad", False)
    return pooling.average_pool(node, node.operand(0), window, counts, include_padding=include)


@converter("LpPool", first=1, last=22, attributes=(*WINDOW, "ceil_mode", "p"))
def lp_pool(node: OnnxNode) -> Converted:
    """The norm of order p of what a window holds."""
    window, counts = _window(node)
    order = node.float("p", 2.0) if node.version < 2 else float(node.int("p", 2))
    total = pooling.by_axis(node, _powers(node, order), window, counts, 0.0, pd.add)
    return _root(total, order)


@converter("GlobalLpPool", first=1, last=22, attributes=("p",))
def global_lp_pool(node: OnnxNode) -> Converted:
    """The norm of order p of each channel."""
    order = node.float("p", 2.0) if node.version < 2 else float(node.int("p", 2))
    spatial = tuple(range(2, node.type_of(0).rank))
    return _root(pd.sum(_powers(node, order), axis=spatial, keepdim=True).out, order)


def _powers(node: OnnxNode, order: float) -> Value:
    x = pd.abs(node.operand(0))
    return x.out if order == 1 else pd.square(x).out if order == 2 else pd.pow(x, y=order).out


def _root(total: Value, order: float) -> Value:
    return total if order == 1 else pd.sqrt(total).out if order == 2 else pd.pow(total, y=1 / order).out


@converter("MaxUnpool", first=9, last=22, attributes=("kernel_shape", "pads", "strides"))
def max_unpool(node: OnnxNode) -> Converted:
    """Zeros, with each element at the place that pooling took it from."""
    source = node.type_of(0)
    axes = source.rank - 2
    kernel = node.ints("kernel_shape")
    strides = node.ints("strides", (1,) * axes, length=axes)
    pads = node.ints("pads", (0,) * 2 * axes, length=2 * axes)
    space = [
        (extent - 1) * stride + size - low - high
        for extent, stride, size, low, high in zip(
            source.shape[2:], strides, kernel, pads[:axes], pads[axes:], strict=True
        )
    ]
    shape = tuple(node.known_ints(2, "the shape")) if node.has(2) else (*source.shape[:2], *space)
    index = pd.reshape(node.operand(1), shape=(source.num_elements,)).out
    if shape[2:] != tuple(space):  # the places are those of the image that was pooled, which is a corner of the result
        index = _moved(node, index, (*source.shape[:2], *space), shape)
    flat = pd.reshape(node.operand(0), shape=(source.num_elements,))
    empty = pd.full(shape=(math.prod(shape),), value=0.0, dtype=source.element)
    return pd.reshape(pd.scatter(empty, index, flat), shape=shape)


def _moved(node: OnnxNode, index: Value, old: tuple[int, ...], new: tuple[int, ...]) -> Value:
    """Row-major places in a tensor of shape `old` as those in one of shape `new`."""
    table = np.arange(math.prod(old))
    places = np.ravel_multi_index(np.unravel_index(table, old), new)
    return pd.gather(node.constant(places, i64, "places"), index, axis=0).out


@converter("LRN", first=1, last=13, attributes=("alpha", "beta", "bias", "size"))
def lrn(node: OnnxNode) -> Converted:
    """X / (bias + alpha / size * sum of x² over neighbouring channels)^beta."""
    type_ = node.type_of(0)
    size = node.int("size")
    if size < 1 or type_.rank < 2:
        raise node.error(f"attribute size is {size}, the input {type_}; expected channels")
    square = pd.square(node.operand(0)).out
    low, high = (size - 1) // 2, size // 2
    paddings = (0, 0, low, high, *[0] * (2 * type_.rank - 4))
    wide = pd.pad(square, paddings=paddings, pad_value=0.0).out if size > 1 else square
    parts = [pd.slice(wide, axes=(1,), starts=(i,), ends=(i + type_.shape[1],)) for i in range(size)]
    total = reduce(lambda a, b: pd.add(a, b), parts)
    base = pd.scale(total, scale=node.float("alpha", 1e-4) / size, bias=node.float("bias", 1.0))
    return pd.multiply(node.operand(0), pd.pow(base, y=-node.float("beta", 0.75)))
