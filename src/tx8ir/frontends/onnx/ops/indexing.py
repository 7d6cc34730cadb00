"""Gathers and scatters by an index for each element: all are one gather or scatter of rows, at computed places."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.places import counted_from_front, flat_places, strides_of
from tx8ir.frontends.values import tensor_type


def places(node: OnnxNode, index: int, extent: int) -> Value:
    """Input `index`, places on an axis, as i64 counted from the front: negative ones count from the end."""
    known = node.find_known(index)
    type_ = node.type_of(index)
    if type_.element.is_float:
        raise node.error(f"input {index} is {type_}; expected integers")
    if known is not None:
        if (known < -extent).any() or (known >= extent).any():
            raise node.error(f"an index of input {index} is outside of {-extent} to {extent - 1}")
        whole = known.astype(np.int64)
        return node.constant(np.where(whole < 0, whole + extent, whole), i64, f"places_{index}")
    return counted_from_front(node, node.operand(index), extent)


@converter("GatherElements", first=11, last=13, attributes=("axis",))
def gather_elements(node: OnnxNode) -> Converted:
    """The elements at given places along an axis, one for each element of the index."""
    source, index = node.type_of(0), node.type_of(1)
    axis = node.axis("axis", source.rank, 0)
    if index.rank != source.rank:
        raise node.error(f"the index is {index}; expected rank {source.rank}, that of the data")
    along = places(node, 1, source.shape[axis])
    flat = pd.reshape(node.operand(0), shape=(source.num_elements,))
    found = pd.gather(flat, flat_places(node, along, source.shape, axis), axis=0)
    return pd.reshape(found, shape=index.shape)


@converter("GatherND", first=11, last=13, attributes=("batch_dims",))
def gather_nd(node: OnnxNode) -> Converted:
    """Slices of the data, each at the place that a row of the index names."""
    source, index = node.type_of(0), node.type_of(1)
    batch = node.int("batch_dims", 0)
    if not 0 <= batch < min(source.rank, index.rank) or source.shape[:batch] != index.shape[:batch]:
        raise node.error(f"batch_dims is {batch}; the data is {source} and the index {index}")
    depth = index.shape[-1]
    rows, rest = _rows(node, 1, source.shape, batch, depth)
    table = pd.reshape(node.operand(0), shape=(math.prod(source.shape[: batch + depth]), *rest))
    return pd.reshape(pd.gather(table, rows, axis=0), shape=(*index.shape[:-1], *rest))


def _rows(node: OnnxNode, index: int, shape: tuple[int, ...], batch: int, depth: int) -> tuple[Value, tuple[int, ...]]:
    """Places, in the data as a table of its first `batch + depth` axes, that the rows of an index name, and what is
    at a place.
    """
    type_ = node.type_of(index)
    if not 0 <= depth <= len(shape) - batch:
        raise node.error(f"the index is {type_}; its rows name places in a tensor of shape {list(shape)}")
    strides = strides_of(shape[: batch + depth])
    count = math.prod(type_.shape[:-1])
    before = np.zeros(type_.shape[:-1], np.int64)
    for axis in range(batch):
        before += (np.arange(shape[axis]) * strides[axis]).reshape([-1 if a == axis else 1 for a in range(before.ndim)])
    total: Value = node.constant(before.reshape(-1), i64, "batch_places")
    table = pd.reshape(_as_i64(node, index), shape=(count, depth)).out
    for axis in range(depth):
        column = pd.slice(table, axes=(1,), starts=(axis,), ends=(axis + 1,), decrease_axis=(1,)).out
        place = counted_from_front(node, column, shape[batch + axis])
        total = pd.add(total, pd.scale(place, scale=float(strides[batch + axis]), bias=0.0)).out
    return total, shape[batch + depth :]


def _as_i64(node: OnnxNode, index: int) -> Value:
    value = node.operand(index)
    return value if tensor_type(value).element is i64 else pd.cast(value, dtype=i64).out


_REDUCTIONS: Final = {"none": "assign", "add": "add", "mul": "mul", "min": "amin", "max": "amax"}


@converter("ScatterElements", first=11, last=18, attributes=("axis", "reduction"))
@converter("Scatter", first=9, last=11, attributes=("axis",))
def scatter_elements(node: OnnxNode) -> Converted:
    """The data with elements replaced at given places along an axis, or combined with what is there."""
    source, index = node.type_of(0), node.type_of(1)
    axis = node.axis("axis", source.rank, 0)
    if index.shape != node.type_of(2).shape or index.rank != source.rank:
        raise node.error(f"the data is {source}, the index {index} and the updates {node.type_of(2)}: they do not fit")
    along = places(node, 1, source.shape[axis])
    return _scattered(node, node.operand(2), flat_places(node, along, source.shape, axis), source.num_elements, ())


@converter("ScatterND", first=11, last=18, attributes=("reduction",))
def scatter_nd(node: OnnxNode) -> Converted:
    """The data with slices replaced at the places that the rows of the index name, or combined with what is there."""
    source, index = node.type_of(0), node.type_of(1)
    depth = index.shape[-1] if index.rank else 0
    rows, rest = _rows(node, 1, source.shape, 0, depth)
    return _scattered(node, node.operand(2), rows, math.prod(source.shape[:depth]), rest)


def _scattered(node: OnnxNode, updates: Value, rows: Value, count: int, rest: tuple[int, ...]) -> Operation:
    reduction = node.string("reduction", tuple(_REDUCTIONS), "none")
    table = pd.reshape(node.operand(0), shape=(count, *rest))
    listed = pd.reshape(updates, shape=(tensor_type(rows).shape[0], *rest))
    out = pd.scatter(table, rows, listed, reduce=_REDUCTIONS[reduction])
    return pd.reshape(out, shape=node.type_of(0).shape)


@converter("TensorScatter", first=24, last=24, attributes=("axis", "mode"))
def tensor_scatter(node: OnnxNode) -> Converted:
    """A cache with an update written at a place of its own for each batch: `mode` says if it wraps around the end."""
    past, update = node.type_of(0), node.type_of(1)
    axis = node.axis("axis", past.rank, -2)
    extent, length = past.shape[axis], update.shape[axis]
    first: Value = _as_i64(node, 2) if node.has(2) else node.constant(np.zeros(past.shape[0]), i64, "start")
    column = pd.reshape(first, shape=(past.shape[0], *[1] * (past.rank - 1)))
    steps = np.arange(length).reshape([-1 if a == axis else 1 for a in range(past.rank)])
    place = pd.add(column, node.constant(steps, i64, "steps"))
    if node.string("mode", ("linear", "circular"), "linear") == "circular":
        place = pd.remainder(place, node.scalar(extent, i64))
    along = pd.expand(place, shape=update.shape).out
    rows = flat_places(node, along, past.shape, axis)
    table = pd.reshape(node.operand(0), shape=(past.num_elements,))
    listed = pd.reshape(node.operand(1), shape=(update.num_elements,))
    return pd.reshape(pd.scatter(table, rows, listed), shape=past.shape)


@converter("ArrayFeatureExtractor", first=1, last=1, domain="ai.onnx.ml")
def array_feature_extractor(node: OnnxNode) -> Converted:
    """The columns that the index names."""
    source = node.type_of(0)
    index = pd.reshape(node.operand(1), shape=(node.type_of(1).num_elements,))
    found = pd.gather(node.operand(0), index, axis=source.rank - 1)
    return found if source.rank > 1 else pd.reshape(found, shape=(1, node.type_of(1).num_elements))
