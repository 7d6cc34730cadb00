"""Two-dimensional convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    OptionalOperand,
    Pure,
    RankedTensor,
    Result,
    Type,
    attribute,
    operand,
    optional_operand,
    result,
)
from tx8ir.dialects.samples import Case, Sampled, case
from tx8ir.target.extrema import maximum

from . import numerics
from .inference import extents_match, fail, int_list, make_type, one_of, same_element, tensor_operand
from .windows import channels_and_space, check_padding, resolve_pads, window_count, with_channels


def _convolutions(*sizes: tuple[int, int, int], **attributes: Any) -> tuple[Case, ...]:
    """Convolutions of images and filters of these channels, outputs and groups, with every attribute."""

    def image(n: int, c: int, h: int, w: int, data: str) -> tuple[int, ...]:
        return (n, c, h, w) if data == "NCHW" else (n, h, w, c)

    def weight(o: int, c: int, h: int, w: int, layout: str) -> tuple[int, ...]:
        return (o, c, h, w) if layout == "OIHW" else (h, w, o, c)

    def one(
        size: tuple[int, int, int], space: tuple[int, int], kernel: tuple[int, int], *, batch: int = 1,
        bias: bool = False, data_format: str = "NCHW", filter_format: str = "OIHW", **changed: Any,
    ) -> Case:  # fmt: skip
        c, o, groups = size
        return case(
            image(batch, c, *space, data_format),
            weight(o, c // groups, *kernel, filter_format),
            (o,) if bias else None,
            groups=groups, data_format=data_format, filter_format=filter_format, **changed, **attributes,
        )  # fmt: skip

    found: list[Case] = []
    for size in sizes:
        found += [
            one(size, (3, 3), (2, 2)),
            one(size, (3, 5), (2, 3), bias=True),
            one(size, (3, 3), (1, 1), batch=2),
            one(size, (3, 3), (2, 2), data_format="NHWC", paddings=(0, 1)),
            one(size, (3, 2), (2, 1), filter_format="HWOI", strides=(1, 2), bias=True),
            one(size, (3, 3), (3, 2), data_format="NHWC", filter_format="HWOI", paddings=(1, 0, 2, 1), bias=True),
            one(size, (5, 3), (3, 3), paddings=(1, 1), strides=(2, 1)),
            one(size, (5, 5), (2, 2), dilations=(2, 3)),
            one(size, (3, 3), (2, 2), padding_algorithm="SAME", strides=(2, 2)),
            one(size, (3, 3), (2, 2), padding_algorithm="VALID", paddings=(1, 1)),
            one(size, (1, 1), (1, 1), paddings=(1, 1)),
            one(size, (3, 3), (2, 2), batch=0),
            one(size, (3, 3), (2, 2), batch=DYNAMIC),
            one(size, (DYNAMIC, 3), (1, 2), bias=True),
        ]
    return tuple(found)


class ConvolutionOp(Op, Compute, InferTypes, Sampled, traits=(Pure, HasValueSemantics)):
    """Base of the convolutions: cross-correlation of an image with a filter, zero padding, optional bias.

    For NCHW: out[n, o, h, w] = bias[o] + sum over c, i, j of
    input[n, g C/groups + c, h stride_h + i dilation_h - top, w stride_w + j dilation_w - left] * filter[o, c, i, j],
    with g = o // (O / groups). OH = (H + top + bottom - dilation_h (KH - 1) - 1) // stride_h + 1; OW alike.
    `paddings` is (h, w) or (top, bottom, left, right); `padding_algorithm` "SAME" and "VALID" replace it.
    `bias` and `filter_format` are ours: with them one machine instruction is one operation in its layout.
    """

    input: Operand = operand(doc="[N, C, H, W] or [N, H, W, C]")
    filter: Operand = operand(doc="[O, C/groups, KH, KW] or [KH, KW, O, C/groups]")
    bias: OptionalOperand = optional_operand(doc="[O]")
    strides: tuple[int, ...] = attribute(default=(1, 1))
    paddings: tuple[int, ...] = attribute(default=(0, 0))
    padding_algorithm: str = attribute(default="EXPLICIT", doc='"EXPLICIT", "SAME" or "VALID"')
    dilations: tuple[int, ...] = attribute(default=(1, 1))
    groups: int = attribute(default=1)
    data_format: str = attribute(default="NCHW", doc='"NCHW" or "NHWC": layout of input and output')
    filter_format: str = attribute(default="OIHW", doc='"OIHW" or "HWOI"')
    out: Result = result(doc="[N, O, OH, OW] or [N, OH, OW, O]")

    accepts = "number"
    cases = _convolutions((2, 3, 1), (1, 1, 1), (2, 4, 2), (3, 3, 3))

    @property
    def filter_shape(self) -> tuple[int, int, int, int]:
        """(O, C / groups, KH, KW), whatever the filter's layout."""
        type_ = tensor_operand(self, self.filter, "filter", rank=4)
        if self.filter_format == "OIHW":
            outputs, inputs, height, width = type_.shape
        else:
            height, width, outputs, inputs = type_.shape
        return outputs, inputs, height, width

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Padding in use: top, bottom, left, right. "SAME" needs static H and W."""
        _, space = channels_and_space(tensor_operand(self, self.input, "input", rank=4), self.data_format)
        return self._resolve_pads(space)

    def _resolve_pads(self, space: tuple[int, int]) -> tuple[int, int, int, int]:
        _, _, height, width = self.filter_shape
        return resolve_pads(
            self, space, (height, width), self.strides, self.paddings, self.padding_algorithm, dilations=self.dilations
        )

    def infer_types(self) -> tuple[Type, ...]:
        image = tensor_operand(self, self.input, "input", kind="number", rank=4)
        weight = tensor_operand(self, self.filter, "filter", kind="number", rank=4)
        operands: dict[str, RankedTensor] = {"input": image, "filter": weight}
        if self.bias is not None:
            operands["bias"] = tensor_operand(self, self.bias, "bias", kind="number", rank=1)
        element = same_element(self, **operands)
        one_of(self, "data_format", self.data_format, "NCHW", "NHWC")
        one_of(self, "filter_format", self.filter_format, "OIHW", "HWOI")
        int_list(self, "strides", self.strides, length=2, at_least=1)
        int_list(self, "dilations", self.dilations, length=2, at_least=1)
        check_padding(self, self.paddings, self.padding_algorithm)
        if DYNAMIC in weight.shape:
            raise fail(self, f"operand `filter` has type {weight}; expected a static shape")
        channels, space = channels_and_space(image, self.data_format)
        outputs = self._check_channels(channels)
        if self.bias is not None and not extents_match(operands["bias"].shape[0], outputs):
            raise fail(self, f"operand `bias` has type {operands['bias']}; expected {outputs} elements, one per output")
        _, _, *kernel = self.filter_shape
        pads = self._resolve_pads(space)
        out_space: list[int] = []
        for axis, name in enumerate("HW"):
            reach = (kernel[axis] - 1) * self.dilations[axis] + 1
            low, high = pads[2 * axis : 2 * axis + 2]
            count = window_count(space[axis], reach, self.strides[axis], low, high, ceil_mode=False)
            if kernel[axis] < 1 or (count != DYNAMIC and count < 1):
                raise fail(
                    self,
                    f"the filter does not fit along {name}: it reaches over {reach} cells, "
                    f"the image has {space[axis]} and padding {low} + {high}",
                )
            out_space.append(count)
        shape = with_channels(image.shape[0], outputs, (out_space[0], out_space[1]), self.data_format)
        return (make_type(tuple(operands.values()), shape, element),)

    def _check_channels(self, channels: int) -> int:
        """Check C, O and groups against each other; give O."""
        outputs, group_inputs, _, _ = self.filter_shape
        if self.groups < 1:
            raise fail(self, f"attribute `groups` is {self.groups}; expected an integer >= 1")
        if channels != DYNAMIC and channels != group_inputs * self.groups:
            raise fail(
                self,
                f"the input has {channels} channels ({self.data_format}), "
                f"the filter {group_inputs} ({self.filter_format}) for each of {self.groups} groups",
            )
        if outputs % self.groups:
            raise fail(
                self, f"the filter's {outputs} outputs ({self.filter_format}) do not divide into {self.groups} groups"
            )
        return outputs

    def compute(self, input: NDArray[Any], filter: NDArray[Any], bias: NDArray[Any] | None = None) -> NDArray[Any]:
        image = input.transpose(0, 2, 3, 1) if self.data_format == "NCHW" else input
        out = numerics.conv2d(
            image,
            filter.transpose(2, 3, 0, 1) if self.filter_format == "OIHW" else filter,
            strides=(self.strides[0], self.strides[1]),
            pads=self._resolve_pads((image.shape[1], image.shape[2])),
            dilations=(self.dilations[0], self.dilations[1]),
            groups=self.groups,
        )
        if bias is not None:
            out = out + bias
        return out.transpose(0, 3, 1, 2) if self.data_format == "NCHW" else out


class Conv2dOp(ConvolutionOp, name="pd.conv2d"):
    """Two-dimensional convolution; `ConvolutionOp` has the formula, the shapes and the attributes."""


class FusedConv2dAddActOp(ConvolutionOp, name="pd.fused_conv2d_add_act"):
    """Convolution, bias and activation as one operation, rounded once: out = act(conv2d(input, filter) + bias).

    Of Paddle's operation of this name it has no residual operand. `ConvolutionOp` has the formula of the convolution.
    """

    activation: str = attribute(default="relu", doc='"relu"')

    cases = _convolutions((2, 3, 1), (4, 2, 2), activation="relu")

    def infer_types(self) -> tuple[Type, ...]:
        one_of(self, "activation", self.activation, "relu")
        return super().infer_types()

    def compute(self, input: NDArray[Any], filter: NDArray[Any], bias: NDArray[Any] | None = None) -> NDArray[Any]:
        out = super().compute(input, filter, bias)
        return maximum(out, np.zeros((), out.dtype))


class DepthwiseConv2dOp(ConvolutionOp, name="pd.depthwise_conv2d"):
    """Convolution of each channel on its own: `groups` is C and a filter has one input channel, so [O, 1, KH, KW].

    `ConvolutionOp` has the formula, the shapes and the attributes.
    """

    cases = _convolutions((2, 2, 2), (2, 4, 2), (1, 3, 1))

    def infer_types(self) -> tuple[Type, ...]:
        inferred = super().infer_types()
        if self.filter_shape[1] != 1:
            raise fail(self, f"the filter has {self.filter_shape[1]} input channels; expected 1 with groups equal to C")
        return inferred
