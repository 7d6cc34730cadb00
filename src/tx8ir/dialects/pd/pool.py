"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    Result,
    Type,
    attribute,
    operand,
    result,
)
from tx8ir.dialects.samples import Sampled, case

from . import numerics
from .inference import fail, int_list, one_of, tensor_operand
from .windows import channels_and_space, check_padding, resolve_pads, window_count, with_channels

_POOLS: Sequence[tuple[tuple[int, ...], tuple[int, int], Mapping[str, Any]]] = (
    ((1, 2, 3, 3), (2, 2), {}),
    ((2, 1, 3, 5), (2, 3), {"strides": (2, 2)}),
    ((1, 2, 3, 3), (3, 3), {"paddings": (1, 1), "exclusive": True}),
    ((1, 2, 3, 3), (3, 3), {"paddings": (1, 1), "exclusive": False}),
    ((1, 2, 3, 5), (2, 2), {"paddings": (0, 1, 1, 0), "strides": (2, 1), "exclusive": False}),
    ((1, 1, 5, 5), (2, 2), {"strides": (2, 2), "ceil_mode": True}),
    ((1, 1, 5, 4), (2, 2), {"strides": (2, 2), "ceil_mode": True, "exclusive": False, "paddings": (0, 1)}),
    ((1, 3, 3, 2), (2, 2), {"data_format": "NHWC"}),
    ((1, 3, 3, 2), (3, 1), {"data_format": "NHWC", "paddings": (1, 0), "strides": (2, 1)}),
    ((1, 2, 3, 5), (2, 2), {"global_pooling": True}),
    ((2, 2, 3, 3), (1, 1), {"global_pooling": True, "data_format": "NHWC", "paddings": (1, 1)}),
    ((1, 2, 5, 3), (2, 2), {"adaptive": True}),
    ((1, 3, 5, 2), (3, 5), {"adaptive": True, "data_format": "NHWC"}),
    ((1, 2, 3, 3), (2, 2), {"padding_algorithm": "SAME", "strides": (2, 2)}),
    ((1, 2, 3, 3), (2, 2), {"padding_algorithm": "VALID", "paddings": (1, 1)}),
    ((1, 1, 1, 1), (1, 1), {}),
    ((0, 2, 3, 3), (2, 2), {}),
    ((DYNAMIC, 2, 3, 3), (2, 2), {}),
    ((1, 2, DYNAMIC, 3), (1, 2), {}),
)
"""Shapes, windows and other attributes: overlapping windows and gaps, windows over the edge, every mode."""


class Pool2dOp(Op, Compute, InferTypes, Sampled, name="pd.pool2d", traits=(Pure, HasValueSemantics)):
    """Largest or mean element under a sliding window, channel by channel.

    OH = (H + top + bottom - KH) // stride_h + 1, rounded up with `ceil_mode`; OW alike. Padding never wins a maximum.
    An average divides by the image cells under the window if `exclusive`, else by all cells inside the padded image.
    `global_pooling` takes one window over the whole image. `adaptive` takes `kernel_size` as the output size: window i
    of n covers rows floor(i H / n) to ceil((i + 1) H / n). A window that lies wholly in padding is refused.
    `paddings` is (h, w) or (top, bottom, left, right); `padding_algorithm` "SAME" and "VALID" replace it.
    """

    x: Operand = operand(doc="[N, C, H, W] or [N, H, W, C]")
    kernel_size: tuple[int, ...] = attribute(doc="(KH, KW)")
    strides: tuple[int, ...] = attribute(default=(1, 1))
    paddings: tuple[int, ...] = attribute(default=(0, 0))
    ceil_mode: bool = attribute(default=False)
    exclusive: bool = attribute(default=True)
    data_format: str = attribute(default="NCHW", doc='"NCHW" or "NHWC"')
    pooling_type: str = attribute(doc='"max" or "avg"')
    global_pooling: bool = attribute(default=False)
    adaptive: bool = attribute(default=False)
    padding_algorithm: str = attribute(default="EXPLICIT", doc='"EXPLICIT", "SAME" or "VALID"')
    out: Result = result(doc="[N, C, OH, OW] or [N, OH, OW, C]")

    cases = tuple(
        case(shape, pooling_type=kind, kernel_size=kernel, **changed).over("number" if kind == "max" else "float")
        for kind in ("max", "avg")
        for shape, kernel, changed in _POOLS
    )

    @property
    def kernel(self) -> tuple[int, int]:
        """Height and width of the window in use: those of the image with `global_pooling`."""
        _, space = channels_and_space(tensor_operand(self, self.x, "x", rank=4), self.data_format)
        return self._kernel(space)

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Padding in use: top, bottom, left, right. "SAME" needs static H and W."""
        _, space = channels_and_space(tensor_operand(self, self.x, "x", rank=4), self.data_format)
        return self._pads(space)

    def _kernel(self, space: tuple[int, int]) -> tuple[int, int]:
        return space if self.global_pooling else (self.kernel_size[0], self.kernel_size[1])

    def _pads(self, space: tuple[int, int]) -> tuple[int, int, int, int]:
        if self.global_pooling:
            return (0, 0, 0, 0)
        return resolve_pads(self, space, self._kernel(space), self.strides, self.paddings, self.padding_algorithm)

    def infer_types(self) -> tuple[Type, ...]:
        one_of(self, "pooling_type", self.pooling_type, "max", "avg")
        one_of(self, "data_format", self.data_format, "NCHW", "NHWC")
        x = tensor_operand(self, self.x, "x", kind="number" if self.pooling_type == "max" else "float", rank=4)
        int_list(self, "kernel_size", self.kernel_size, length=2, at_least=1)
        int_list(self, "strides", self.strides, length=2, at_least=1)
        check_padding(self, self.paddings, self.padding_algorithm)
        channels, space = channels_and_space(x, self.data_format)
        if 0 in space:
            raise fail(self, f"operand `x` has type {x}; an empty image has no windows")
        return (x.with_shape(with_channels(x.shape[0], channels, self._out_space(space), self.data_format)),)

    def _out_space(self, space: tuple[int, int]) -> tuple[int, int]:
        if self.global_pooling:
            return (1, 1)
        if self.adaptive:
            return (self.kernel_size[0], self.kernel_size[1])
        pads = self._pads(space)
        counts: list[int] = []
        for axis, name in enumerate("HW"):
            extent, size, stride = space[axis], self.kernel_size[axis], self.strides[axis]
            low, high = pads[2 * axis : 2 * axis + 2]
            count = window_count(extent, size, stride, low, high, ceil_mode=self.ceil_mode)
            if count != DYNAMIC:
                self._check_windows(name, count, extent, size, stride, low, high)
            counts.append(count)
        return counts[0], counts[1]

    def _check_windows(self, name: str, count: int, extent: int, size: int, stride: int, low: int, high: int) -> None:
        if count < 1:
            raise fail(
                self,
                f"the window does not fit along {name}: it has {size} cells, "
                f"the image has {extent} and padding {low} + {high}",
            )
        for index in (0, count - 1):
            first = index * stride - low
            if first >= extent or first + size <= 0:
                raise fail(
                    self,
                    f"window {index} of {count} along {name} lies wholly in padding: "
                    f"it starts at cell {first}, has {size}, and the image has {extent} with padding {low} + {high}",
                )

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        image = x.transpose(0, 2, 3, 1) if self.data_format == "NCHW" else x
        space = (image.shape[1], image.shape[2])
        element = tensor_operand(self, self.x, "x").element
        function: Literal["max", "avg"] = "max" if self.pooling_type == "max" else "avg"
        if self.adaptive or self.global_pooling:
            out = numerics.adaptive_pool2d(image, function, outputs=self._out_space(space))
        else:
            out = numerics.pool2d(
                image,
                function,
                kernel=self._kernel(space),
                strides=(self.strides[0], self.strides[1]),
                pads=self._pads(space),
                outputs=self._out_space(space),
                exclusive=self.exclusive,
                lowest=-math.inf if element.is_float else element.format.limits[0],
            )
        return out.transpose(0, 3, 1, 2) if self.data_format == "NCHW" else out
