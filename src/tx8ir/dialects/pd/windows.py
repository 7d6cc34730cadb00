"""Geometry of sliding windows: what convolution and pooling share in inference and evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import DYNAMIC, Operation, RankedTensor

from .inference import fail, int_list, one_of


def channels_and_space(type_: RankedTensor, data_format: str) -> tuple[int, tuple[int, int]]:
    """C and (H, W) of an image of rank 4 in "NCHW" or "NHWC"."""
    if data_format == "NCHW":
        _, channels, height, width = type_.shape
    else:
        _, height, width, channels = type_.shape
    return channels, (height, width)


def with_channels(batch: int, channels: int, space: tuple[int, int], data_format: str) -> tuple[int, int, int, int]:
    """The shape of an image in "NCHW" or "NHWC"."""
    return (batch, channels, *space) if data_format == "NCHW" else (batch, *space, channels)


def check_padding(op: Operation, paddings: Sequence[int], algorithm: str) -> None:
    """Check the attributes `paddings` and `padding_algorithm`."""
    one_of(op, "padding_algorithm", algorithm, "EXPLICIT", "SAME", "VALID")
    if len(paddings) == 2:
        int_list(op, "paddings", paddings, length=2, at_least=0)
    elif len(paddings) == 4:
        int_list(op, "paddings", paddings, length=4, at_least=0)
    else:
        raise fail(op, f"attribute `paddings` is {list(paddings)}; expected (h, w) or (top, bottom, left, right)")


def resolve_pads(
    op: Operation,
    space: tuple[int, int],
    kernel: tuple[int, int],
    strides: Sequence[int],
    paddings: Sequence[int],
    algorithm: str,
    *,
    dilations: Sequence[int] = (1, 1),
) -> tuple[int, int, int, int]:
    """Top, bottom, left and right padding.

    "EXPLICIT" takes `paddings`, "VALID" has none, "SAME" pads so that there are ceil(extent / stride) windows, the odd
    cell at the end. "SAME" needs static extents and dilation 1 (Paddle would drop another dilation without a word).
    """
    if algorithm == "VALID":
        return (0, 0, 0, 0)
    if algorithm == "EXPLICIT":
        if len(paddings) == 2:
            return (paddings[0], paddings[0], paddings[1], paddings[1])
        return (paddings[0], paddings[1], paddings[2], paddings[3])
    if DYNAMIC in space:
        raise fail(op, f"padding_algorithm 'SAME' needs static H and W; they are {list(space)}")
    if any(d != 1 for d in dilations):
        raise fail(op, f"padding_algorithm 'SAME' needs dilations of 1; they are {list(dilations)}")
    pads: list[int] = []
    for extent, size, stride in zip(space, kernel, strides, strict=True):
        total = max(0, (-(-extent // stride) - 1) * stride + size - extent)
        pads += (total // 2, total - total // 2)
    return (pads[0], pads[1], pads[2], pads[3])


def window_count(extent: int, reach: int, stride: int, low: int, high: int, *, ceil_mode: bool) -> int:
    """Number of windows of `reach` cells along one axis; `ceil_mode` counts one that hangs over the end.

    0 where none fits: a negative number would say that the extent is dynamic.
    """
    if extent == DYNAMIC:
        return DYNAMIC
    room = extent + low + high - reach
    return max((-(-room // stride) if ceil_mode else room // stride) + 1, 0)
