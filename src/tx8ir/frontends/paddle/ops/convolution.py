"""Convolutions that are transposed or of other ranks, pooling, and images of another size."""

from __future__ import annotations

from typing import Final

from tx8ir.core import DYNAMIC, Value
from tx8ir.dialects import pd
from tx8ir.frontends.convolution import convolve, convolve_transposed
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.resizing import Axis, applied, nearest_places, shares
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import Window, chosen


def _per_axis(node: PaddleNode, name: str, axes: int, usual: int) -> tuple[int, ...]:
    found = node.ints(name, (usual,) * axes)
    found = found * axes if len(found) == 1 else found
    if len(found) != axes:
        raise node.error(f"attribute {name} is {list(found)}; expected {axes} numbers")
    return found


def _paddings(node: PaddleNode, axes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Zeros before and after each axis."""
    found = node.ints("paddings", (0,) * axes)
    if len(found) == 2 * axes:
        return found[::2], found[1::2]
    both = _per_axis(node, "paddings", axes, 0)
    return both, both


def _check_layout(node: PaddleNode) -> None:
    if not node.word("data_format", "NC").startswith(("NC", "AnyLayout")):
        raise node.error("has its channels last, which is not supported")


@converter("conv3d")
def conv3d(node: PaddleNode) -> Converted:
    """Convolution of volumes, with zeros around them."""
    _check_layout(node)
    x, weight = node.operand(0), node.operand(1)
    begin, end = _paddings(node, 3)
    window = Window(
        node.static_shape(x, "the image")[2:], tensor_type(weight).shape[2:], _per_axis(node, "strides", 3, 1),
        _per_axis(node, "dilations", 3, 1), begin, end,
    )  # fmt: skip
    match node.word("padding_algorithm", "EXPLICIT", ("EXPLICIT", "SAME", "VALID")):
        case "SAME":
            window = window.same(upper=True)
        case "VALID":
            window = Window(window.space, window.kernel, window.strides, window.dilations, (0,) * 3, (0,) * 3)
        case _:
            pass
    return convolve(node, x, weight, None, window, node.int("groups", 1))


@converter("conv2d_transpose", "depthwise_conv2d_transpose")
def conv2d_transpose(node: PaddleNode) -> Converted:
    """The transpose of a convolution; `output_size` is where the program declares it."""
    _check_layout(node)
    if node.word("padding_algorithm", "EXPLICIT") != "EXPLICIT":
        raise node.error("pads by an algorithm, which is not supported; give numbers")
    x, weight = node.operand(0), node.operand(1)
    strides, dilations = _per_axis(node, "strides", 2, 1), _per_axis(node, "dilations", 2, 1)
    begin, end = _paddings(node, 2)
    space, kernel = node.static_shape(x, "the image")[2:], tensor_type(weight).shape[2:]
    declared = node.result().shape[2:]
    extra = [
        0 if declared[a] == DYNAMIC
        else declared[a] - ((space[a] - 1) * strides[a] - begin[a] - end[a] + dilations[a] * (kernel[a] - 1) + 1)
        for a in range(2)
    ]  # fmt: skip
    groups = node.int("groups", 1)
    return convolve_transposed(node, x, weight, None, strides, dilations, (begin, end), extra, groups)


_LINEAR: Final = ("linear_interp", "bilinear_interp", "trilinear_interp")


@converter("nearest_interp", "bicubic_interp", *_LINEAR)
def resize(node: PaddleNode) -> Converted:
    """Each spatial axis resampled to the declared extent; a factor counts for the places where one is given."""
    _check_layout(node)
    x: Value = node.operand(0)
    shape, declared = node.static_shape(x, "the image"), node.result().shape
    if DYNAMIC in declared[2:]:
        raise node.error(f"makes {node.result()}, whose extents must be known")
    factors = node.proto.attributes.get("scale") or ()
    corners, halves = node.flag("align_corners"), node.int("align_mode", 1) == 0
    name = node.proto.short
    mode = "nearest" if name.startswith("nearest") else "cubic" if name.startswith("bicubic") else "linear"
    where = "align_corners" if corners else "half_pixel" if mode == "cubic" or (halves and mode != "nearest") else ""
    for place in range(len(shape) - 2):
        old, new = shape[place + 2], declared[place + 2]
        factor = factors[place] if place < len(factors) and not corners else 0.0
        axis = Axis(place + 2, old, new, factor if factor and factor > 0 else new / old)
        sources = axis.sources(where or "asymmetric")
        if mode == "nearest":
            x = chosen(node, x, axis.axis, nearest_places(sources, old, "round_prefer_ceil" if corners else "floor"))
        elif old != new or (sources != range(old)).any():
            x = applied(node, x, axis.axis, shares(axis, sources.clip(0) if mode == "linear" else sources, mode))
    return x


@converter("pool2d")
def pool2d(node: PaddleNode) -> Converted:
    """The largest element, or the mean, under each window."""
    return pd.pool2d(
        node.operand(0),
        kernel_size=node.known_ints(1, "kernel_size"),
        strides=node.ints("strides", (1, 1)),
        paddings=node.ints("paddings", (0, 0)),
        ceil_mode=node.flag("ceil_mode"),
        exclusive=node.flag("exclusive", True),
        data_format=node.word("data_format", "NCHW"),
        pooling_type=node.word("pooling_type"),
        global_pooling=node.flag("global_pooling"),
        adaptive=node.flag("adaptive"),
        padding_algorithm=node.word("padding_algorithm", "EXPLICIT"),
    )
