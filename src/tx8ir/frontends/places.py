"""Places in tensors: along an axis, and in row-major order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type


def counted_from_front(node: Site, index: Value, extent: int) -> Value:
    """Places on an axis as i64, negative ones counted from the end."""
    if tensor_type(index).element is not i64:
        index = pd.cast(index, dtype=i64).out
    shifted = pd.add(index, node.constant(np.asarray(extent), i64, "extent"))
    return pd.where(pd.less_than(index, node.constant(np.asarray(0), i64, "zero")), shifted, index).out


def flat_places(node: Site, along: Value, shape: Sequence[int], axis: int) -> Value:
    """Row-major places in a tensor of `shape` of elements whose place on `axis` is given, and on the others their own.

    `along` has the rank of the tensor; the result is a list.
    """
    extents = tensor_type(along).shape
    strides = strides_of(shape)
    others = np.zeros(extents, np.int64)
    for other, extent in enumerate(extents):
        if other != axis:
            others += (np.arange(extent) * strides[other]).reshape(
                [-1 if a == other else 1 for a in range(len(extents))]
            )
    scaled = pd.scale(along, scale=float(strides[axis]), bias=0.0)
    flat = pd.add(scaled, node.constant(others, i64, "places_of_rows"))
    return pd.reshape(flat, shape=(math.prod(extents),)).out


def strides_of(shape: Sequence[int]) -> list[int]:
    """How far apart in row-major order neighbours on each axis are."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
