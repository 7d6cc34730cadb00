"""Ops of the neural engine: matrix product and convolution."""

from __future__ import annotations

import numpy as np

from tx8ir.core import (
    Compute,
    InferTypes,
    Operand,
    Pure,
    Result,
    ScalarType,
    Type,
    Value,
    VTensorType,
    attribute,
    operand,
    result,
)
from tx8ir.target.extrema import maximum

from .attributes import Activation, GemmMode
from .base import Array, BackendOp, is_none, ranked, require, require_element, require_rank, require_shape


class GemmOp(BackendOp, Compute, InferTypes, name="tx8be.Gemm", traits=(Pure,)):
    """Matrix product `out = activation(op(lhs) @ op(rhs) + psum + bias)`.

    `lhs` is [B, M, K] or [M, K] ([.., K, M] with `transL`), `rhs` [B, K, N] or [K, N] ([.., N, K] with `transR`);
    a batch of 1 or a missing one broadcasts. `bias` is [N] or none, `psum` has the result's type or is none.
    The result is [B, M, N], or [M, N] when both operands have rank 2, in `out_element`, else in the format of `lhs`.
    The engine accumulates in fp32 (int32 for int8; a result of int8 saturates) and rounds once.
    """

    lhs: Operand = operand(doc="[B, M, K]")
    rhs: Operand = operand(doc="[B, K, N]")
    bias: Operand = operand(doc="[N] or none")
    psum: Operand = operand(doc="the result's type or none")
    op_mode: GemmMode = attribute(default=GemmMode.NORMAL)
    sparse_en: bool = attribute(default=False)
    transL: bool = attribute(default=False)
    transR: bool = attribute(default=False)
    activation: Activation = attribute(default=Activation.NONE)
    out_element: ScalarType | None = attribute(default=None, doc="element type of the result; absent: that of `lhs`")
    out: Result = result(doc="[B, M, N]")

    def infer_types(self) -> tuple[Type, ...]:
        lhs, rhs = ranked(self.lhs, "lhs"), ranked(self.rhs, "rhs")
        require_rank(lhs, (2, 3), "lhs")
        require_rank(rhs, (2, 3), "rhs")
        require_element(rhs, lhs.element, "rhs")
        m, k = lhs.shape[-2:] if not self.transL else lhs.shape[:-3:-1]
        rhs_k, n = rhs.shape[-2:] if not self.transR else rhs.shape[:-3:-1]
        require(
            k == rhs_k, f"lhs contracts {k} elements but rhs has {rhs_k}: lhs {list(lhs.shape)}, rhs {list(rhs.shape)}"
        )
        batches = {t.shape[0] for t in (lhs, rhs) if t.rank == 3} - {1}
        require(len(batches) <= 1, f"batches of lhs {list(lhs.shape)} and rhs {list(rhs.shape)} do not broadcast")
        batch = next(iter(batches), 1)
        out = VTensorType((m, n) if lhs.rank == rhs.rank == 2 else (batch, m, n), self.out_element or lhs.element)
        check_bias_and_psum(self.bias, self.psum, out)
        return (out,)

    def compute(self, lhs: Array, rhs: Array, bias: Array | None, psum: Array | None) -> Array:
        integer = np.issubdtype(lhs.dtype, np.integer)
        if integer:
            lhs, rhs = exact(lhs), exact(rhs)
        lhs = np.swapaxes(lhs, -1, -2) if self.transL else lhs
        rhs = np.swapaxes(rhs, -1, -2) if self.transR else rhs
        out = np.matmul(lhs, rhs)
        if psum is not None:
            out = out + psum
        if bias is not None:
            out = out + bias
        out = apply_activation(out, self.activation)
        return saturate(out, ranked(self.out, "result")) if integer else out


class ConvOp(BackendOp, Compute, InferTypes, name="tx8be.Conv", traits=(Pure,)):
    """2-D convolution `out = activation(conv(input, weight) + psum + bias)`.

    `input` is [N, H, W, C], `weight` HWOI: [KH, KW, O, C / groups], `bias` [O] or none, `psum` the result's type or
    none. `pads` are (top, bottom, left, right). The result is [N, OH, OW, O] with
    `OH = (H + top + bottom - dilation*(KH - 1) - 1) // stride + 1`.
    `groups` is 1, or C for a depthwise convolution (each channel by itself; O is C).
    """

    input: Operand = operand(doc="[N, H, W, C]")
    weight: Operand = operand(doc="[KH, KW, O, C / groups]")
    bias: Operand = operand(doc="[O] or none")
    psum: Operand = operand(doc="the result's type or none")
    strides: tuple[int, ...] = attribute(default=(1, 1))
    pads: tuple[int, ...] = attribute(default=(0, 0, 0, 0))
    dilations: tuple[int, ...] = attribute(default=(1, 1))
    groups: int = attribute(default=1)
    activation: Activation = attribute(default=Activation.NONE)
    out_element: ScalarType | None = attribute(default=None, doc="element type of the result; absent: that of `input`")
    out: Result = result(doc="[N, OH, OW, O]")

    def infer_types(self) -> tuple[Type, ...]:
        x, w = ranked(self.input, "input"), ranked(self.weight, "weight")
        require_rank(x, (4,), "input")
        require_rank(w, (4,), "weight")
        require_element(w, x.element, "weight")
        kh, kw, out_channels, in_channels = w.shape
        channels = x.shape[3]
        require(self.groups in (1, channels), f"groups is {self.groups}; expected 1 or the {channels} input channels")
        require(
            in_channels * self.groups == channels,
            f"weight {list(w.shape)} (HWOI) takes {in_channels} channels in each of {self.groups} groups; "
            f"input has {channels}",
        )
        require(
            self.groups == 1 or out_channels == channels,
            f"a depthwise convolution of {channels} channels gives as many, not {out_channels}",
        )
        spatial = window_extents(x.shape[1:3], (kh, kw), self.strides, self.pads, self.dilations)
        out = VTensorType((x.shape[0], *spatial, out_channels), self.out_element or x.element)
        check_bias_and_psum(self.bias, self.psum, out)
        return (out,)

    def compute(self, x: Array, weight: Array, bias: Array | None, psum: Array | None) -> Array:
        integer = np.issubdtype(x.dtype, np.integer)
        if integer:
            x, weight = exact(x), exact(weight)
        kh, kw, out_channels, _ = weight.shape
        windows = sliding_windows(x, (kh, kw), self.strides, self.pads, self.dilations, 0)
        n, oh, ow, channels = windows.shape[:4]
        if self.groups == 1:
            patches = np.ascontiguousarray(windows).reshape(n * oh * ow, channels * kh * kw)
            out = (patches @ weight.transpose(3, 0, 1, 2).reshape(channels * kh * kw, out_channels)).reshape(
                n, oh, ow, -1
            )
        else:
            out = np.einsum("nhwckl,klc->nhwc", windows, weight.reshape(kh, kw, channels))
        if psum is not None:
            out = out + psum
        if bias is not None:
            out = out + bias
        out = apply_activation(out, self.activation)
        return saturate(out, ranked(self.out, "result")) if integer else out


def check_bias_and_psum(bias: Value, psum: Value, out: VTensorType) -> None:
    """A bias is none or [channels of out]; a partial sum is none or has the result's shape."""
    if not is_none(bias):
        require_shape(ranked(bias, "bias"), out.shape[-1:], "bias")
    if not is_none(psum):
        require_shape(ranked(psum, "psum"), out.shape, "psum")


def apply_activation(x: Array, activation: Activation) -> Array:
    """The engine's post-processing function."""
    return maximum(x, np.zeros((), x.dtype)) if activation is Activation.RELU else x


def exact(x: Array) -> Array:
    """Integers in a type whose sums of products are exact: fp64 (which BLAS multiplies) up to 16 bits, else int64."""
    return x.astype(np.float64 if x.dtype.itemsize <= 2 else np.int64)


def saturate(x: Array, t: VTensorType) -> Array:
    """Clip an integer accumulator to the range of the result's format."""
    low, high = t.element.format.limits
    return np.clip(x, low, high).astype(t.element.dtype)


def window_extents(
    extents: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1),
) -> tuple[int, int]:
    """Output (height, width) of a sliding window; `VerifyError` when a parameter or the result is out of range."""
    require(len(kernel) == 2 and min(kernel) >= 1, f"kernel is {list(kernel)}; expected two positive extents")
    require(len(strides) == 2 and min(strides) >= 1, f"strides are {list(strides)}; expected two positive numbers")
    require(
        len(dilations) == 2 and min(dilations) >= 1, f"dilations are {list(dilations)}; expected two positive numbers"
    )
    require(
        len(pads) == 4 and min(pads) >= 0, f"pads are {list(pads)}; expected (top, bottom, left, right), none negative"
    )
    out: list[int] = []
    for i, extent in enumerate(extents):
        padded = extent + pads[2 * i] + pads[2 * i + 1]
        reach = dilations[i] * (kernel[i] - 1) + 1
        require(reach <= padded, f"a window of {reach} does not fit the padded extent {padded}")
        out.append((padded - reach) // strides[i] + 1)
    return out[0], out[1]


def sliding_windows(
    x: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    fill: float,
) -> Array:
    """Windows [N, OH, OW, C, KH, KW] of a [N, H, W, C] array padded with `fill`."""
    top, bottom, left, right = pads
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(1, 2))
    return windows[:, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]]
