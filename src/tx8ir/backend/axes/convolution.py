"""Axes of sliding windows: convolution and pooling.

Output height and width are parallel and read their windows, halo included; the positions of the window are reduced
axes like the input channels, so that a kernel may be cut as well. A depthwise convolution has no reduced channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.combination import Array, Combination, Maximum, Minimum, State, Sum, accumulator
from tx8ir.backend.axes.contraction import neural_finish, neural_step
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import Axes
from tx8ir.backend.axes.maps import FIXED, Along, Window, along
from tx8ir.backend.axes.pieces import compute, element_of, piece
from tx8ir.backend.axes.slices import OpSlices, TensorSlice
from tx8ir.backend.axes.spaces import identity, optional_shape, shape_of
from tx8ir.core import Model
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import ReduceFunction
from tx8ir.target.formats import Format

__all__ = ["ConvAxes", "PoolAxes", "extremum_or_sum", "sliding", "sum_for_mean"]


def sliding(
    axes: Sequence[Axis], output: int, kernel: int, *, stride: int, dilation: int, before: int, extent: int
) -> Along | Window:
    """The map of a dimension of `extent` positions that a window slides over.

    It is the output axis itself where windows of one position visit each position in turn, and the kernel's axis
    where one window without gaps is the whole dimension (a global pool).
    """
    outputs, taps = axes[output].extent, axes[kernel].extent
    if taps == stride == 1 and before == 0 and outputs == extent:
        return along(output, extent)
    if outputs == dilation == 1 and before == 0 and taps == extent:
        return along(kernel, extent)
    return Window(output, kernel, stride, dilation, before, extent)


def _pads(feature: TensorSlice | None) -> tuple[int, int, int, int]:
    """Padding (top, bottom, left, right) of the slice of an NHWC feature."""
    assert feature is not None
    return feature.before[1], feature.after[1], feature.before[2], feature.after[2]


@Axes.implement(tx8be.ConvOp)
class ConvAxes(Model[tx8be.ConvOp], Axes):
    """`out[n, oh, ow, o] = sum over ci, kh, kw of input[n, oh*s+kh*d-p, ow*s+kw*d-p, ci] * weight[kh, kw, o, ci]`."""

    __slots__ = ()

    def declare(self) -> Declaration:
        op = self.op
        (batch, oh, ow, channels), feature = shape_of(op.out), shape_of(op.input)
        kh, kw, _, per_group = shape_of(op.weight)
        axes = [
            Axis("n", batch), Axis("oh", oh), Axis("ow", ow), Axis("o", channels),
            Axis("kh", kh, AxisKind.REDUCED), Axis("kw", kw, AxisKind.REDUCED),
        ]  # fmt: skip
        reads = 3  # a depthwise convolution reads the channels it writes
        if op.groups == 1:
            reads = len(axes)
            axes.append(Axis("ci", per_group, AxisKind.REDUCED))
        result = identity(axes, range(4))
        operands = (
            (
                result[0],
                *(
                    sliding(
                        axes,
                        1 + i,
                        4 + i,
                        stride=op.strides[i],
                        dilation=op.dilations[i],
                        before=op.pads[2 * i],
                        extent=feature[1 + i],
                    )
                    for i in range(2)
                ),
                *identity(axes, (reads,)),
            ),
            identity(axes, (4, 5, 3, 6)) if op.groups == 1 else (*identity(axes, (4, 5, 3)), FIXED),
            None if optional_shape(op.bias) is None else identity(axes, (3,)),
            None if optional_shape(op.psum) is None else result,
        )
        return Declaration(tuple(axes), operands, (result,), Sum(accumulator(element_of(op.input).format)))

    def attributes(self, slices: OpSlices) -> Mapping[str, Any]:
        groups = 1 if self.op.groups == 1 else slices.results[0].extent[3]
        return {"pads": _pads(slices.operands[0]), "groups": groups}

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        return neural_step(self.op, slices, operands, dict(self.attributes(slices)))

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        return neural_finish(self.op, state, operands)


@Axes.implement(tx8be.PoolOp)
class PoolAxes(Model[tx8be.PoolOp], Axes):
    """`y[n, oh, ow, c]` = a sum, mean, largest or smallest over the positions kh, kw of a window."""

    __slots__ = ()

    def declare(self) -> Declaration:
        op = self.op
        batch, oh, ow, channels = shape_of(op.y)
        _, height, width, _ = shape_of(op.x)
        axes = (
            Axis("n", batch), Axis("oh", oh), Axis("ow", ow), Axis("c", channels),
            Axis("kh", op.kernel[0], AxisKind.REDUCED), Axis("kw", op.kernel[1], AxisKind.REDUCED),
        )  # fmt: skip
        result = identity(axes, range(4))
        feature = (
            result[0],
            sliding(axes, 1, 4, stride=op.strides[0], dilation=1, before=op.pads[0], extent=height),
            sliding(axes, 2, 5, stride=op.strides[1], dilation=1, before=op.pads[2], extent=width),
            result[3],
        )
        return Declaration(axes, (feature,), (result,), extremum_or_sum(op.function, element_of(op.x).format))

    def attributes(self, slices: OpSlices) -> Mapping[str, Any]:
        return {"pads": _pads(slices.operands[0]), "kernel": slices.part.extent[4:6]}

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        function = sum_for_mean(self.op.function)
        return (compute(piece(self.op, slices, {**self.attributes(slices), "function": function}), operands),)

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        (y,) = state
        kh, kw = self.op.kernel
        return y / y.dtype.type(kh * kw) if self.op.function is ReduceFunction.AVG else y


def extremum_or_sum(function: ReduceFunction, format: Format) -> Combination:
    """The state of a reduction of the vector unit: integers are summed in their own format, modulo its range."""
    match function:
        case ReduceFunction.MAX:
            return Maximum(format)
        case ReduceFunction.MIN:
            return Minimum(format)
        case ReduceFunction.SUM | ReduceFunction.AVG:
            return Sum(accumulator(format) if format.is_float else format)


def sum_for_mean(function: ReduceFunction) -> ReduceFunction:
    """What a part of a reduction computes: a mean is divided at the end."""
    return ReduceFunction.SUM if function is ReduceFunction.AVG else function
