"""Matrix products, convolutions and pooling."""

from __future__ import annotations

from typing import Literal

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter


@converter("MatMul", first=1, last=13)
def matmul(node: OnnxNode) -> Converted:
    """Matrix product over the last two axes, NumPy's rules for vectors and batches."""
    return pd.matmul(node.operand(0), node.operand(1))


@converter("Gemm", first=7, last=13, attributes=("alpha", "beta", "transA", "transB"))
def gemm(node: OnnxNode) -> Converted:
    """Alpha A' B' + beta C; C broadcasts to the product."""
    for index in (0, 1):
        if node.type_of(index).rank != 2:
            raise node.error(f"input {index} is {node.type_of(index)}; expected a matrix")
    out: Operation = pd.matmul(
        node.operand(0),
        node.operand(1),
        transpose_x=node.bool("transA", False),
        transpose_y=node.bool("transB", False),
    )
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    if alpha != 1.0:
        out = times(out, alpha)
    addend: Value | Operation | None = node.optional(2)
    if addend is None or beta == 0.0:
        return out
    return pd.add(out, addend if beta == 1.0 else times(addend, beta))


_WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")
_AUTO_PAD = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


class _Window:
    """A sliding window over one or two spatial axes, as two: an image of rank 3 gets a height of 1.

    Attributes:
        space: extents of the image, [H, W].
        kernel, strides, dilations: per axis.
        pads: top, bottom, left, right, `auto_pad` resolved.
    """

    def __init__(self, node: OnnxNode, kernel: tuple[int, ...]) -> None:
        image = node.type_of(0)
        self.axes = image.rank - 2
        if self.axes not in (1, 2):
            raise node.error(f"the input is {image}; supported are [N, C, W] and [N, C, H, W]")
        if len(kernel) != self.axes:
            raise node.error(f"the kernel has the extents {list(kernel)}; expected {self.axes}")
        missing = 2 - self.axes
        ones, zeros = (1,) * missing, (0,) * missing
        self.space = ones + image.shape[2:]
        self.kernel = ones + kernel
        self.strides = ones + node.ints("strides", (1,) * self.axes, length=self.axes)
        self.dilations = ones + node.ints("dilations", (1,) * self.axes, length=self.axes)
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise node.error(
                f"kernel {list(self.kernel)}, strides {list(self.strides)} and dilations {list(self.dilations)} "
                "must be positive"
            )
        auto_pad = node.string("auto_pad", _AUTO_PAD, "NOTSET")
        pads = node.ints("pads", (0,) * 2 * self.axes, length=2 * self.axes)
        if auto_pad != "NOTSET" and any(pads):
            raise node.error(f"attribute pads is {list(pads)} although auto_pad is {auto_pad!r}; expected one of them")
        begin, end = zeros + pads[: self.axes], zeros + pads[self.axes :]
        if min(pads) < 0:
            raise node.error(f"attribute pads is {list(pads)}; expected values >= 0")
        if auto_pad.startswith("SAME"):
            begin, end = self._same(auto_pad)
        self.pads = (begin[0], end[0], begin[1], end[1])

    def reach(self, axis: int) -> int:
        """Cells from the first to the last that the window touches."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def _same(self, auto_pad: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Padding that makes ceil(extent / stride) windows; the odd cell at the end for SAME_UPPER."""
        begin: list[int] = []
        end: list[int] = []
        for axis, (extent, stride) in enumerate(zip(self.space, self.strides, strict=True)):
            total = max((-(-extent // stride) - 1) * stride + self.reach(axis) - extent, 0)
            less, more = total // 2, total - total // 2
            begin.append(less if auto_pad == "SAME_UPPER" else more)
            end.append(more if auto_pad == "SAME_UPPER" else less)
        return tuple(begin), tuple(end)

    def rest(self, axis: int) -> int:
        """Cells of the padded image after the last whole window."""
        low, high = self.pads[2 * axis : 2 * axis + 2]
        return (self.space[axis] + low + high - self.reach(axis)) % self.strides[axis]

    def windows_over_the_end(self) -> dict[int, int]:
        """The axes where rounding up adds a window, with the cells by which it hangs over the padded image.

        A window that would start after the image and its leading padding does not count (ONNX, as PyTorch).
        """
        over: dict[int, int] = {}
        for axis in range(2):
            low, high = self.pads[2 * axis : 2 * axis + 2]
            missing = self.strides[axis] - self.rest(axis)
            start = self.space[axis] + low + high + missing - self.reach(axis)
            if self.rest(axis) and start < self.space[axis] + low:
                over[axis] = missing
        return over

    def image(self, node: OnnxNode) -> Value | Operation:
        """The input as [N, C, H, W]."""
        x, shape = node.operand(0), node.type_of(0).shape
        return x if self.axes == 2 else pd.reshape(x, shape=(*shape[:2], 1, shape[2]))

    def result(self, out: Operation) -> Operation:
        """The output without the height that `image` added."""
        return out if self.axes == 2 else pd.squeeze(out, axis=(2,))


@converter("Conv", first=1, last=22, attributes=(*_WINDOW, "group"))
def conv(node: OnnxNode) -> Converted:
    """Convolution of [N, C, W] or [N, C, H, W] with an optional bias per output channel."""
    weight = node.type_of(1)
    kernel = node.ints("kernel_shape", weight.shape[2:])
    if weight.rank != node.type_of(0).rank or kernel != weight.shape[2:]:
        raise node.error(
            f"input {node.type_of(0)}, weight {weight} and kernel_shape {list(kernel)} do not fit each other"
        )
    window = _Window(node, kernel)
    filter_: Value | Operation = node.operand(1)
    if window.axes == 1:
        filter_ = pd.reshape(filter_, shape=(*weight.shape[:2], 1, weight.shape[2]))
    groups = node.int("group", 1)
    depthwise = groups > 1 and weight.shape[1] == 1 and groups == node.type_of(0).shape[1]
    out = (pd.depthwise_conv2d if depthwise else pd.conv2d)(
        window.image(node),
        filter_,
        bias=node.optional(2),
        strides=window.strides,
        paddings=window.pads,
        dilations=window.dilations,
        groups=groups,
    )
    return window.result(out)


def _pool(node: OnnxNode, function: Literal["max", "avg"], exclusive: bool) -> Operation:
    window = _Window(node, node.ints("kernel_shape"))
    if any(dilation != 1 for dilation in window.dilations):
        raise node.error(f"attribute dilations is {list(node.ints('dilations'))}; supported is 1 on every axis")
    pads = list(window.pads)
    over = window.windows_over_the_end() if node.bool("ceil_mode", False) else {}
    ceil_mode = len(over) == sum(bool(window.rest(axis)) for axis in range(2)) > 0
    if over and not ceil_mode:  # along one axis only: padding does the same, unless it is counted in a mean
        if not exclusive:
            raise node.error("ceil_mode and count_include_pad with windows over one edge only are not supported")
        for axis, missing in over.items():
            pads[2 * axis + 1] += missing
    out = pd.pool2d(
        window.image(node),
        kernel_size=window.kernel,
        strides=window.strides,
        paddings=tuple(pads),
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        pooling_type=function,
    )
    return window.result(out)


@converter("MaxPool", first=1, last=22, attributes=(*_WINDOW, "ceil_mode", "storage_order"))
def max_pool(node: OnnxNode) -> Converted:
    """Largest element under a window; `storage_order` concerns the second output, which is not supported."""
    return _pool(node, "max", True)


@converter("AveragePool", first=7, last=22, attributes=(*_WINDOW, "ceil_mode", "count_include_pad"))
def average_pool(node: OnnxNode) -> Converted:
    """Mean under a window; `count_include_pad` counts padding as zeros."""
    return _pool(node, "avg", not node.bool("count_include_pad", False))
