"""Axes of softmax and layer norm: rows are parallel, the last axis is reduced and broadcast back.

A cut of the row means two reads of it, one for the state and one for the result (or the online form, where a
contraction follows).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.combination import Array, Combination, Moments, Normalizer, State, accumulator
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.pieces import element_of
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.backend.axes.spaces import identity, optional_shape, parallel_axes, shape_of
from tx8ir.core import Model, Operation
from tx8ir.dialects import tx8be

__all__ = ["LayerNormAxes", "SoftmaxAxes"]


def _rows(op: Operation, combination: Combination) -> Declaration:
    """All axes of the first operand, the last one combined; the other operands are rank 1 over it, or absent."""
    axes = parallel_axes(shape_of(op.results[0]))
    axes = (*axes[:-1], attrs.evolve(axes[-1], kind=AxisKind.BROADCAST_BACK))
    units = tuple(None if optional_shape(v) is None else identity(axes, (len(axes) - 1,)) for v in op.operands[1:])
    return Declaration(axes, (identity(axes), *units), (identity(axes),), combination)


@Axes.implement(tx8be.SoftmaxOp)
class SoftmaxAxes(Model[tx8be.SoftmaxOp], Axes):
    """`y = exp(x - max) / sum`, both over the row."""

    __slots__ = ()

    def declare(self) -> Declaration:
        return _rows(self.op, Normalizer(accumulator(element_of(self.op.x).format)))

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        x = _present(operands[0])
        largest = np.max(x, axis=-1, keepdims=True)
        return largest, np.sum(np.exp(x - largest), axis=-1, keepdims=True)

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        largest, total = state
        return np.exp(_present(operands[0]) - largest) / total


@Axes.implement(tx8be.LayerNormOp)
class LayerNormAxes(Model[tx8be.LayerNormOp], Axes):
    """`y = (x - mean) / sqrt(variance + epsilon) * scale + bias`, both over the row."""

    __slots__ = ()

    def declare(self) -> Declaration:
        return _rows(self.op, Moments(accumulator(element_of(self.op.x).format)))

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        x = _present(operands[0])
        mean = np.mean(x, axis=-1, keepdims=True, dtype=x.dtype)
        return np.full_like(mean, x.shape[-1]), mean, np.sum(np.square(x - mean), axis=-1, keepdims=True, dtype=x.dtype)

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        count, mean, squares = state
        x, scale, bias = operands
        y = (_present(x) - mean) / np.sqrt(squares / count + mean.dtype.type(self.op.epsilon))
        y = y if scale is None else y * scale
        return y if bias is None else y + bias


def _present(operand: Array | None) -> Array:
    assert operand is not None
    return operand
