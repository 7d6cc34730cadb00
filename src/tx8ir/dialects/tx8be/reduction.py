"""Ops that combine elements along axes: reduce, pool, softmax, layer norm."""

from __future__ import annotations

import numpy as np

from tx8ir.core import Compute, InferTypes, Operand, Pure, Result, Type, attribute, operand, result
from tx8ir.target.arithmetic import exp
from tx8ir.target.extrema import largest, smallest

from .attributes import ReduceFunction
from .base import Array, BackendOp, is_none, ranked, require, require_float, require_rank, require_shape
from .neural import sliding_windows, window_extents


def reduce_axes(rank: int) -> dict[tuple[int, ...], str]:
    """Axes a `Reduce` of this rank may combine, mapped to the vector unit's name for them.

    The engine sees [N, H, W, C]; rank 3 is [N, 1, W, C], rank 2 [1, 1, W, C], rank 1 [1, 1, 1, C]; higher ranks none.
    """
    names: dict[tuple[int, ...], str] = {}
    if rank > 4:
        return names
    if rank >= 1:
        names[(rank - 1,)] = "C"
    if rank >= 2:
        names[(rank - 2,)] = "W"
    if rank == 4:
        names[(1,)] = "H"
        names[(1, 2)] = "HW"
    return names


class ReduceOp(BackendOp, Compute, InferTypes, name="tx8be.Reduce", traits=(Pure,)):
    """Combines `axes` of `x` by `function`; reduced axes keep extent 1.

    `axes` is the last axis (C), the one before it (W), or for rank 4 (NHWC) also (1,) (H) and (1, 2) (H and W).
    """

    x: Operand = operand()
    function: ReduceFunction = attribute()
    axes: tuple[int, ...] = attribute()
    keepdim: bool = attribute(default=True)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        if self.function is ReduceFunction.AVG:
            require_float(x, "operand of an average")
        require(self.keepdim, "keepdim is false; a backend Reduce keeps its axes with extent 1")
        allowed = reduce_axes(x.rank)
        require(
            self.axes in allowed,
            f"axes are {list(self.axes)} of shape {list(x.shape)}; expected one of {[list(a) for a in allowed]}",
        )
        return (x.with_shape(tuple(1 if i in self.axes else n for i, n in enumerate(x.shape))),)

    def compute(self, x: Array) -> Array:
        axes = self.axes
        match self.function:
            case ReduceFunction.SUM:
                return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype)
            case ReduceFunction.AVG:
                return np.mean(x, axis=axes, keepdims=True, dtype=x.dtype)
            case ReduceFunction.MAX:
                return largest(x, axes=axes, keepdims=True)
            case ReduceFunction.MIN:
                return smallest(x, axes=axes, keepdims=True)


class PoolOp(BackendOp, Compute, InferTypes, name="tx8be.Pool", traits=(Pure,)):
    """Combines windows of a [N, H, W, C] feature by `function`; `pads` are (top, bottom, left, right).

    Padding never wins a max or min; it counts as zeros in a sum, and an avg always divides by the window's size.
    """

    x: Operand = operand(doc="[N, H, W, C]")
    function: ReduceFunction = attribute()
    kernel: tuple[int, ...] = attribute()
    strides: tuple[int, ...] = attribute(default=(1, 1))
    pads: tuple[int, ...] = attribute(default=(0, 0, 0, 0))
    y: Result = result(doc="[N, OH, OW, C]")

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        require_rank(x, (4,), "operand")
        if self.function is ReduceFunction.AVG:
            require_float(x, "operand of an average")
        oh, ow = window_extents(x.shape[1:3], self.kernel, self.strides, self.pads)
        return (x.with_shape((x.shape[0], oh, ow, x.shape[3])),)

    def compute(self, x: Array) -> Array:
        function, element = self.function, ranked(self.x, "operand").element
        fill: float = 0
        if function in (ReduceFunction.MAX, ReduceFunction.MIN):
            low, high = (-np.inf, np.inf) if element.is_float else element.format.integer_range
            fill = low if function is ReduceFunction.MAX else high
        windows = sliding_windows(x, self.kernel, self.strides, self.pads, (1, 1), fill)
        match function:
            case ReduceFunction.SUM:
                return windows.sum(axis=(-2, -1), dtype=x.dtype)
            case ReduceFunction.AVG:
                return windows.mean(axis=(-2, -1), dtype=x.dtype)
            case ReduceFunction.MAX:
                return largest(windows, axes=(-2, -1), keepdims=False)
            case ReduceFunction.MIN:
                return smallest(windows, axes=(-2, -1), keepdims=False)


class SoftmaxOp(BackendOp, Compute, InferTypes, name="tx8be.Softmax", traits=(Pure,)):
    """`y = exp(x - max(x)) / sum(exp(x - max(x)))` over the last axis (`axis` is -1 or rank - 1)."""

    x: Operand = operand()
    axis: int = attribute(default=-1)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        require_float(x, "operand")
        require(self.axis in (-1, x.rank - 1), f"axis is {self.axis} of shape {list(x.shape)}; expected the last axis")
        return (x,)

    def compute(self, x: Array) -> Array:
        e = exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)


class LayerNormOp(BackendOp, Compute, InferTypes, name="tx8be.LayerNorm", traits=(Pure,)):
    """`y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + bias` over the last axis; `var` is the population variance.

    `scale` and `bias` are [last extent of x] or none.
    """

    x: Operand = operand()
    scale: Operand = operand(doc="[C] or none")
    bias: Operand = operand(doc="[C] or none")
    epsilon: float = attribute(default=1e-5)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        require_float(x, "operand")
        for name, value in (("scale", self.scale), ("bias", self.bias)):
            if not is_none(value):
                require_shape(ranked(value, name), x.shape[-1:], name)
        return (x,)

    def compute(self, x: Array, scale: Array | None, bias: Array | None) -> Array:
        centred = x - np.mean(x, axis=-1, keepdims=True, dtype=x.dtype)
        variance = np.mean(np.square(centred), axis=-1, keepdims=True, dtype=x.dtype)
        y = centred / np.sqrt(variance + x.dtype.type(self.epsilon))
        y = y if scale is None else y * scale
        return y if bias is None else y + bias
