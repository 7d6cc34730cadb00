"""Frames around a tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import chosen

_MODES = ("constant", "edge", "reflect", "wrap")


@converter("Pad", first=1, last=25, attributes=("mode", "pads", "paddings", "value"))
def pad(node: OnnxNode) -> Converted:
    """The tensor with a frame of one value, or of its own elements; a negative width cuts off instead."""
    source = node.type_of(0)
    mode = node.string("mode", _MODES, "constant")
    axes = tuple(range(source.rank))
    if node.version < 11:
        widths = node.ints("paddings" if node.version < 2 else "pads")
        number: float | None = node.float("value", 0.0)
    else:
        widths, number = node.known_ints(1, "the list of pads"), _known_number(node, 2)
        if node.has(3):
            given = node.known_ints(3, "the list of axes")
            node.axes(given, source.rank, "the list of axes")
            axes = tuple(axis % source.rank for axis in given)
    if len(widths) != 2 * len(axes):
        raise node.error(f"the list of pads is {list(widths)}; expected {2 * len(axes)} integers, two per axis")
    frame = {axis: (widths[index], widths[index + len(axes)]) for index, axis in enumerate(axes)}
    value = _cut(node.operand(0), frame)
    if mode != "constant":
        return _continued(node, value, frame, mode)
    if number is None:
        return _framed(value, frame, node.operand(2))
    paddings = tuple(max(width, 0) for axis in range(source.rank) for width in frame.get(axis, (0, 0)))
    return pd.pad(value, paddings=paddings, pad_value=number) if any(paddings) else value


def _continued(node: OnnxNode, value: Value, frame: Mapping[int, tuple[int, int]], mode: str) -> Value:
    """With a frame of its own elements: the last one, mirrored ones, or those from the other end."""
    for axis, widths in frame.items():
        extent = tensor_type(value).shape[axis]
        low, high = (max(width, 0) for width in widths)
        if not (low or high):
            continue
        if not extent:
            raise node.error(f"axis {axis} is empty and cannot be continued")
        places = np.arange(-low, extent + high)
        match mode:
            case "edge":
                places = np.clip(places, 0, extent - 1)
            case "wrap":
                places = places % extent
            case _:
                turn = max(2 * extent - 2, 1)
                places = (extent - 1) - np.abs((extent - 1) - places % turn)
        value = chosen(node, value, axis, places.tolist())
    return value


def _known_number(node: OnnxNode, index: int) -> float | None:
    """The number that an optional input of one element holds, 0 without it; None when only the run tells, or when it
    is an integer that no float is.
    """
    if not node.has(index):
        return 0.0
    array = node.find_known(index)
    if array is None or array.size != 1:
        return None
    number = array.reshape(()).item()
    return float(number) if float(number) == number or number != number else None


def _cut(value: Value, frame: Mapping[int, tuple[int, int]]) -> Value:
    """Without the cells that negative widths cut off."""
    shape = tensor_type(value).shape
    axes = tuple(axis for axis, widths in frame.items() if min(widths) < 0)
    if not axes:
        return value
    starts = tuple(max(-frame[axis][0], 0) for axis in axes)
    ends = tuple(max(shape[axis] + min(frame[axis][1], 0), 0) for axis in axes)
    return pd.slice(value, axes=axes, starts=starts, ends=ends).out


def _framed(value: Value, frame: Mapping[int, tuple[int, int]], fill: Value) -> Value:
    """With cells of a value that only the run tells."""
    for axis, widths in frame.items():
        shape = tensor_type(value).shape
        one = pd.reshape(fill, shape=(1,) * len(shape)).out if tensor_type(fill).rank != len(shape) else fill
        low, high = (
            [pd.expand(one, shape=(*shape[:axis], width, *shape[axis + 1 :])).out] if width > 0 else []
            for width in widths
        )
        if low or high:
            value = pd.concat([*low, value, *high], axis=axis).out
    return value
