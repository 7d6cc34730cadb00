"""The neural engine: matrix product and convolution of channel-blocked tensors.

Products are exact, sums are kept in fp32 (int32 for integers), and the result is rounded once, nearest even, when it is
written; an integer result saturates. Scale, bias and activation come before that rounding. A partial sum is read in
the format it is stored in. Padding lanes are not read, and written as zero.
"""

from __future__ import annotations

import math
from typing import ClassVar

import attrs

from tx8ir.core import StructAttr, attribute, struct_attr
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout

from .access import Access, Shape4
from .instruction import FLOATS, Instruction, PerTile, format_bytes, spm_access
from .tensors import aligned_access, shape4, verify_window, window_extents
from .work import Work

INTEGER_INPUTS = ("i8",)
INTEGER_SUMS = ("i32",)
INTEGER_OUTPUTS = ("i8", "i16", "i32", *FLOATS)
ACTIVATIONS = ("none", "relu", "leaky_relu")

QUANTIZE_LIMITS = {
    "input_zero_point": (-128, 127),
    "shift1": (0, 31),
    "multiplier": (-(1 << 15), (1 << 15) - 1),
    "shift2": (0, 31),
    "output_zero_point": (-128, 127),
}
"""Inclusive range of each field of `Requantize` [D]."""


@struct_attr("tx8.requantize")
@attrs.frozen
class Requantize(StructAttr):
    """Post-processing of an int8 product to int8 [P], where A is the feature (lhs) and B the weight (rhs):

        O32 = sum((A - input_zero_point) * B) + psum + bias     saturated to 32 bits
        O16 = clip16(O32 >> shift1)
        O9  = clip9((O16 * multiplier) >> shift2)
        O8  = clip8(O9 + output_zero_point)

    Shifts are arithmetic (they round down). relu replaces O9 by max(O9, 0) [D]. What a convolution reads outside of its
    feature is the zero point, so that it adds nothing [D].
    """

    input_zero_point: int = 0
    shift1: int = 0
    multiplier: int = 1
    shift2: int = 0
    output_zero_point: int = 0


class NeuralOp(Instruction):
    """Base of gemm and conv.

    Each of psum, scale and bias may be absent; scale and bias are per output channel (batch normalisation). With
    `requantize` the result is int8 by the formulas of `Requantize`.
    """

    engine: ClassVar[Engine | None] = Engine.NE
    cost_formula: ClassVar[str] = (
        "steps / (steps per cycle), at least weight bytes / {ne_weight_bytes_per_cycle}; see *Cost of the NE*"
    )

    out: PerTile = attribute(doc="SPM address of the result")
    psum: PerTile | None = attribute(default=None, doc="SPM address of a partial sum of the result's shape, added")
    bias: PerTile | None = attribute(default=None, doc="SPM address of a dense vector, added per output channel")
    scale: PerTile | None = attribute(
        default=None, doc="SPM address of a dense vector, a factor per output channel; not from i8"
    )
    in_format: str = attribute(doc="of both factors: f32 f16 bf16 tf32 i8")
    out_format: str = attribute(doc="f32 f16 bf16 tf32; from i8 also i8 i16 i32")
    psum_format: str | None = attribute(default=None, doc="f32 f16 bf16 tf32, or i32 from i8; present with psum")
    bias_format: str | None = attribute(default=None, doc="f32 f16 bf16 tf32, or i32 from i8; present with bias")
    scale_format: str | None = attribute(default=None, doc="f32 f16 bf16 tf32; present with scale")
    requantize: Requantize | None = attribute(default=None, doc="from i8 to i8: zero points, shifts and multiplier")
    activation: str = attribute(default="none", doc="none relu leaky_relu")
    alpha: float | None = attribute(default=None, doc="slope of leaky_relu; else absent")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("in_format", self.in_format, (*FLOATS, *INTEGER_INPUTS))
        integers = self.in_format in INTEGER_INPUTS
        self.require_one_of("out_format", self.out_format, INTEGER_OUTPUTS if integers else FLOATS)
        self.require(not integers or self.scale is None, "scale is a float operation; from i8 use requantize")
        for field, address, format in (
            ("psum_format", self.psum, self.psum_format),
            ("bias_format", self.bias, self.bias_format),
            ("scale_format", self.scale, self.scale_format),
        ):
            operand = field.removesuffix("_format")
            if address is None:
                self.require(format is None, f'{field} is "{format}", but there is no {operand}')
            elif format is None:
                self.require(False, f"{field} is missing, but there is a {operand}")
            else:
                self.require_one_of(field, format, INTEGER_SUMS if integers else FLOATS)
        self.require_one_of("activation", self.activation, ACTIVATIONS)
        if self.requantize is not None:
            self._verify_requantize(self.requantize)
        needed = self.activation == "leaky_relu"
        self.require(
            (self.alpha is not None) == needed,
            f"alpha is {self.alpha}; activation {self.activation} {'needs a value' if needed else 'takes none'}",
        )

    def _verify_requantize(self, requantize: Requantize) -> None:
        for format in ("in_format", "out_format"):
            self.require_one_of(f"{format} with requantize", getattr(self, format), INTEGER_INPUTS)
        self.require(self.activation != "leaky_relu", "requantize takes activation none or relu; got leaky_relu")
        for field, limits in QUANTIZE_LIMITS.items():
            self.require_range(f"{field} of requantize", getattr(requantize, field), *limits)

    @property
    def out_shape(self) -> Shape4:
        """(N, H, W, C) of the result."""
        raise NotImplementedError  # declares the property; both instructions define it

    def _sums(self) -> tuple[Access, ...]:
        """The accesses to psum, bias, scale and out."""
        accesses: list[Access] = []
        shape = self.out_shape
        if self.psum is not None and self.psum_format is not None:
            accesses.append(aligned_access("psum", self.psum, shape, self.psum_format))
        if self.bias is not None and self.bias_format is not None:
            accesses.append(
                spm_access("bias", self.bias, shape[3] * format_bytes(self.bias_format), format=self.bias_format)
            )
        if self.scale is not None and self.scale_format is not None:
            accesses.append(
                spm_access("scale", self.scale, shape[3] * format_bytes(self.scale_format), format=self.scale_format)
            )
        accesses.append(aligned_access("out", self.out, shape, self.out_format, writes=True))
        return tuple(accesses)


class GemmOp(NeuralOp, name="tx8.gemm"):
    """`out[b] = activation((lhs[b] @ rhs[b] + psum[b]) * scale + bias)`: lhs (m, k), rhs (k, n), out and psum (m, n).

    All matrices are channel-blocked (NCx) tensors [batch, 1, rows, columns]; a transposed one is stored as (k, m) or
    (n, k). A factor whose own batch is 1 is used for every b.
    """

    lhs: PerTile = attribute(doc="SPM address of the left factor")
    rhs: PerTile = attribute(doc="SPM address of the right factor")
    batch: int = attribute(default=1, doc="batch of the result, 1..4096")
    m: int = attribute(doc="rows of the result, 1..4096")
    k: int = attribute(doc="length of the sums, 1..16384")
    n: int = attribute(doc="columns of the result, 1..16384")
    lhs_batch: int = attribute(default=1, doc="batch or 1")
    rhs_batch: int = attribute(default=1, doc="batch or 1")
    transpose_lhs: bool = attribute(default=False, doc="lhs is stored as (k, m)")
    transpose_rhs: bool = attribute(default=False, doc="rhs is stored as (n, k)")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_range("batch", self.batch, *chip.ne.extent)
        self.require_range("m", self.m, *chip.ne.extent)
        self.require_range("k", self.k, *chip.ne.channels)
        self.require_range("n", self.n, *chip.ne.channels)
        for field, value in (("lhs_batch", self.lhs_batch), ("rhs_batch", self.rhs_batch)):
            self.require(
                value in (1, self.batch),
                f"{field} is {value}; expected 1{'' if self.batch == 1 else f' or batch {self.batch}'}",
            )

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        return Work(cost.ne_gemm(target, self.m, self.k, self.n, Format.named(self.in_format), self.batch))

    @property
    def lhs_shape(self) -> Shape4:
        """(N, H, W, C) of the left factor as it is stored."""
        rows, columns = (self.k, self.m) if self.transpose_lhs else (self.m, self.k)
        return self.lhs_batch, 1, rows, columns

    @property
    def rhs_shape(self) -> Shape4:
        """(N, H, W, C) of the right factor as it is stored."""
        rows, columns = (self.n, self.k) if self.transpose_rhs else (self.k, self.n)
        return self.rhs_batch, 1, rows, columns

    @property
    def out_shape(self) -> Shape4:
        return self.batch, 1, self.m, self.n

    def effects(self) -> tuple[Access, ...]:
        return (
            aligned_access("lhs", self.lhs, self.lhs_shape, self.in_format),
            aligned_access("rhs", self.rhs, self.rhs_shape, self.in_format),
            *self._sums(),
        )


class ConvOp(NeuralOp, name="tx8.conv"):
    """Convolution: `out = activation((correlation + psum) * scale + bias)`; src is zero outside of its extents and

        correlation[n, y, x, o] = sum over i, j, c of
            src[n, y*sh + i*dh - top, x*sw + j*dw - left, c] * weight[i, j, o, c]

    src (NHWC) and out are NCx; the weight is HWOI in Cx: [kernel height, kernel width, out_channels, C], blocked over
    C. `depthwise` convolves each channel by itself: the weight is [kernel height, kernel width, 1, C], `o` is `c`.
    """

    src: PerTile = attribute(doc="SPM address of the feature")
    weight: PerTile = attribute(doc="SPM address of the weight")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of the feature; N, H, W 1..4096, C 1..16384")
    out_channels: int = attribute(doc="channels of the result, 1..16384")
    kernel: tuple[int, ...] = attribute(doc="(height, width), each 1..255; one must fit into the padded feature")
    strides: tuple[int, ...] = attribute(default=(1, 1), doc="(height, width), each 1..1023")
    pads: tuple[int, ...] = attribute(default=(0, 0, 0, 0), doc="(top, bottom, left, right), each 0..1023")
    dilations: tuple[int, ...] = attribute(default=(1, 1), doc="(height, width), each 1..1023")
    depthwise: bool = attribute(default=False, doc="each channel by itself")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_shape(chip, "shape", self.shape)
        self.require_range("out_channels", self.out_channels, *chip.ne.channels)
        verify_window(self, chip, (self.shape[1], self.shape[2]), self.kernel, self.strides, self.pads, self.dilations)
        if self.depthwise:
            self.require(
                self.out_channels == self.shape[3],
                f"out_channels is {self.out_channels}; a depthwise conv has as many as the feature, {self.shape[3]}",
            )

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        n, height, width, out_channels = self.out_shape
        positions, taps, format = n * height * width, math.prod(self.kernel), Format.named(self.in_format)
        if self.depthwise:
            return Work(cost.ne_depthwise_conv(target, positions, out_channels, taps, format))
        return Work(cost.ne_conv(target, positions, self.shape[3], out_channels, taps, format))

    @property
    def weight_shape(self) -> Shape4:
        """(kernel height, kernel width, O, I) of the weight."""
        kh, kw = self.kernel
        return kh, kw, 1 if self.depthwise else self.out_channels, self.shape[3]

    @property
    def out_shape(self) -> Shape4:
        n, h, w, _ = self.shape
        return n, *window_extents((h, w), self.kernel, self.strides, self.pads, self.dilations), self.out_channels

    def effects(self) -> tuple[Access, ...]:
        return (
            aligned_access("src", self.src, shape4(self.shape), self.in_format),
            aligned_access("weight", self.weight, self.weight_shape, self.in_format, layout=MemLayout.Cx),
            *self._sums(),
        )


ATTRIBUTES = (Requantize,)
