"""Operators whose results have shapes that depend on numbers: these numbers have to be known on import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.tensors import Known
from tx8ir.frontends.windows import chosen


@converter("NonZero", first=9, last=13)
def non_zero(node: OnnxNode) -> Converted:
    """Where the elements that are not zero are: one column for each."""
    found = np.asarray(np.nonzero(np.atleast_1d(node.known(0, "the tensor"))), np.int64)
    rank = node.type_of(0).rank
    return Known.of_array(node.output_name(0), found[: max(rank, 1)] if rank else found[:0], i64)


@converter("Compress", first=9, last=28, attributes=("axis",))
def compress(node: OnnxNode) -> Converted:
    """The elements, or those of an axis, where the condition is true."""
    places = np.flatnonzero(node.known(1, "the condition")).tolist()
    type_ = node.type_of(0)
    if node.has_attribute("axis"):
        return chosen(node, node.operand(0), node.axis("axis", type_.rank), places)
    return chosen(node, pd.reshape(node.operand(0), shape=(type_.num_elements,)).out, 0, places)


@converter("Unique", first=11, last=28, attributes=("axis", "sorted"))
def unique(node: OnnxNode) -> Converted:
    """The different elements (or slices), where each is first, which one each was, and how many there are."""
    x = node.known(0, "the tensor")
    axis = node.axis("axis", x.ndim) if node.has_attribute("axis") else None
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not node.bool("sorted", True):
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    element = node.type_of(0).element
    places: list[NDArray[Any]] = [first, inverse, counts]
    found = [Known.of_array(f"{node.label}/values", np.asarray(values, x.dtype), element)]
    found += [Known.of_array(f"{node.label}/{i}", np.asarray(p, np.int64), i64) for i, p in enumerate(places)]
    return list(found)


@converter("NonMaxSuppression", first=10, last=11, attributes=("center_point_box",))
def non_max_suppression(node: OnnxNode) -> Converted:
    """The best boxes of each class, without those that overlap a better one: rows of batch, class and box."""
    boxes, scores = node.known(0, "the boxes"), node.known(1, "the scores")
    most, overlap, least = (
        float(node.known(index, role).reshape(-1)[0]) if node.has(index) else default
        for index, role, default in (
            (2, "the number of boxes", 0.0),
            (3, "the overlap", 0.0),
            (4, "the score", -np.inf),
        )
    )
    corners = _corners(boxes.astype(np.float64), centred=node.bool("center_point_box", False))
    rows = [
        (batch, category, box)
        for batch in range(scores.shape[0])
        for category in range(scores.shape[1])
        for box in _best(corners[batch], scores[batch, category], int(most), overlap, least)
    ]
    return Known.of_array(node.output_name(0), np.asarray(rows, np.int64).reshape(-1, 3), i64)


def _corners(boxes: NDArray[Any], *, centred: bool) -> NDArray[Any]:
    """Boxes as two opposite corners, the smaller numbers first."""
    if centred:  # x, y of the centre, width, height
        half = boxes[..., 2:] / 2
        return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)
    return np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def _best(corners: NDArray[Any], scores: NDArray[Any], most: int, overlap: float, least: float) -> Iterator[int]:
    taken: list[int] = []
    for box in np.argsort(-scores, kind="stable").tolist():
        if len(taken) >= most or (least > -np.inf and not scores[box] > least):
            return
        if all(_shared(corners[box], corners[other]) <= overlap for other in taken):
            taken.append(box)
            yield box


def _shared(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The area of two boxes that both have, as a share of what either has."""
    inner = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    areas = (a[2:] - a[:2]).prod(), (b[2:] - b[:2]).prod()
    return float(inner / (areas[0] + areas[1] - inner)) if inner > 0 and min(areas) > 0 else 0.0
