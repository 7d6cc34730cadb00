"""Executors of the neural engine.

Floats are multiplied and summed in fp32 by BLAS. Integers are too: in fp32 while no sum can exceed 2^24, else in double
precision, exact either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import ConvOp, GemmOp, NeuralOp, Requantize
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.formats import F32, F64, Format
from tx8ir.target.rounding import convert
from tx8ir.target.vector_functions import relu

from .functions import leaky_relu, narrow, operand
from .registry import Machine, Semantics, executes
from .windows import pad, taps, windows

Array = NDArray[Any]

_IM2COL_BYTES = 1 << 27
"""Above this size the columns of a convolution are made one kernel row at a time."""


class _Sums:
    """What gemm and conv do alike: load factors, then add the partial sum, scale, add the bias, activate, round."""

    def __init__(self, op: NeuralOp, terms: int) -> None:
        self.in_format = Format.named(op.in_format)
        self.is_float = self.in_format.is_float
        self.requantize = op.requantize
        # Products of int8 are at most 2^14, with a zero point 2^15.
        exact_in_fp32 = self.is_float or terms << (14 if self.requantize is None else 15) <= 1 << 24
        self.factor_dtype = np.dtype(np.float32 if exact_in_fp32 else np.float64)
        self.sum_dtype = np.dtype(np.float32 if self.is_float else np.float64)
        self.out_format = Format.named(op.out_format)
        self.psum_format = Format.named(op.psum_format) if op.psum_format is not None else None
        self.bias_format = Format.named(op.bias_format) if op.bias_format is not None else None
        self.scale_format = Format.named(op.scale_format) if op.scale_format is not None else None
        self.activation, self.alpha = op.activation, op.alpha
        extras = (op.psum_format, op.bias_format, op.scale_format, op.requantize, op.alpha)
        self.is_plain_integer = (
            not self.is_float
            and self.out_format.is_integer
            and exact_in_fp32
            and op.activation == "none"
            and all(extra is None for extra in extras)
        )
        """Whether the sums, which are integers below 2^24, only change their format."""

    def check(self, machine: Machine) -> None:
        """Raise Fault when the chip has no floating post-processing and the instruction asks for some."""
        asks = self.bias_format is not None or self.scale_format is not None or self.activation != "none"
        if asks and self.is_float and not machine.target.ne_fp_postproc:
            raise Fault(
                f"asks for a scale, a bias or an activation, but the NE of target {machine.target.name} does not "
                "post-process floating-point results (ne_fp_postproc is off)"
            )

    def load(self, memory: Memory, placed: Placed, slot: str) -> Array:
        """A factor [tiles, *shape] in the type that products are computed in, to be read in this step."""
        return operand(memory.look_at_tensor(placed, slot), self.in_format).astype(self.factor_dtype, copy=False)

    def load_feature(self, memory: Memory, placed: Placed) -> Array:
        """The left factor, or feature, less its zero point."""
        x = self.load(memory, placed, "left")
        return x if self.requantize is None else x - x.dtype.type(self.requantize.input_zero_point)

    def finish(self, machine: Machine, sums: Array, placed: tuple[Placed, ...]) -> None:
        """`sums` are [tiles, *shape of the result]; `placed` are the accesses to psum, bias, scale and out, if any."""
        memory, rest = machine.memory, list(placed)
        if self.is_plain_integer:
            memory.store_tensor(rest.pop(0), _clipped(sums, self.out_format))
            return
        sums = sums.astype(self.sum_dtype, copy=False)
        if self.psum_format is not None:
            psum = operand(memory.load_tensor(rest.pop(0)), self.psum_format)
            sums = sums + psum.astype(self.sum_dtype, copy=False)
        bias: Array | None = None
        if self.bias_format is not None:
            bias = operand(memory.load(rest.pop(0), self.bias_format), self.bias_format)
            bias = bias.astype(self.sum_dtype, copy=False)
        if self.scale_format is not None:
            scale = operand(memory.load(rest.pop(0), self.scale_format), self.scale_format)
            sums = sums * scale.astype(self.sum_dtype, copy=False)[:, None, None, None, :]
        if bias is not None:
            sums = sums + bias[:, None, None, None, :]
        if self.requantize is not None:
            memory.store_tensor(rest.pop(0), _requantized(sums, self.requantize, relu=self.activation == "relu"))
            return
        if self.activation == "relu":
            sums = relu(sums)
        elif self.alpha is not None:
            sums = leaky_relu(sums, self.alpha)
        out = narrow(sums, self.out_format) if self.is_float else convert(sums, F64, self.out_format)
        memory.store_tensor(rest.pop(0), out)


def _clipped(sums: Array, format: Format) -> Array:
    """Integers below 2^24 in an integer format, saturated."""
    if format.bits < 32:
        sums = np.clip(sums, *format.integer_range)
    return sums.astype(format.dtype)


def _requantized(sums: Array, parameters: Requantize, *, relu: bool) -> NDArray[np.int8]:
    """Exact integer sums to int8; see `Requantize`."""
    o32 = np.clip(sums, -(2**31), 2**31 - 1).astype(np.int64)
    o16 = np.clip(o32 >> parameters.shift1, -(2**15), 2**15 - 1)
    o9 = np.clip(o16 * parameters.multiplier >> parameters.shift2, -(2**8), 2**8 - 1)
    if relu:
        o9 = np.maximum(o9, 0)
    return np.clip(o9 + parameters.output_zero_point, -128, 127).astype(np.int8)


@executes(GemmOp)
def decode_gemm(op: GemmOp) -> Semantics:
    """`out[b] = activation((lhs[b] @ rhs[b] + psum[b]) * scale + bias)`."""
    sums = _Sums(op, op.k)
    transpose_lhs, transpose_rhs = op.transpose_lhs, op.transpose_rhs
    out_shape = op.out_shape
    if _is_blocked(op):
        return _blocked_gemm(op, sums)

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        sums.check(machine)
        lhs = sums.load_feature(machine.memory, placed[0])[:, :, 0]
        rhs = sums.load(machine.memory, placed[1], "right")[:, :, 0]
        product = np.matmul(
            lhs.swapaxes(-1, -2) if transpose_lhs else lhs, rhs.swapaxes(-1, -2) if transpose_rhs else rhs
        )
        # Where both factors are one for the whole batch, so is their product.
        sums.finish(machine, np.broadcast_to(product[:, :, None], (len(product), *out_shape)), placed[2:])

    return step


def _is_blocked(op: GemmOp) -> bool:
    """Whether a product is plain fp32 whose right factor and result are whole channel blocks."""
    formats = (op.in_format, op.out_format, op.psum_format or "f32", op.bias_format or "f32")
    plain = set(formats) == {"f32"} and op.scale_format is None and op.requantize is None
    return plain and not op.transpose_rhs and op.n % F32.block == 0


def _blocked_gemm(op: GemmOp, sums: _Sums) -> Semantics:
    """The product of each channel block of the right factor, which is the same block of the result, in its place."""
    transpose_lhs, block = op.transpose_lhs, F32.block
    batch, m, k, blocks = op.batch, op.m, op.k, op.n // block
    rhs_shape = (op.rhs_batch, blocks, k, block)
    out_shape = (batch, blocks, m, block)
    sum_shape = (max(op.lhs_batch, op.rhs_batch), *out_shape[1:])  # of a batch, or of the one that serves all of it

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        sums.check(machine)
        memory, destination = machine.memory, placed[-1]
        lhs = memory.look_at_tensor(placed[0], "lhs")[:, :, 0, None]
        rhs = memory.load(placed[1], F32)
        tiles = len(rhs)
        out = memory.destination(destination, F32.dtype)
        place = None if out is None else out.reshape(tiles, *out_shape)
        rest = [memory.load(p, F32) for p in placed[2:-1]]
        direct = place if not rest and sums.activation == "none" else None
        product = memory.scratch.take("product", (tiles, *sum_shape), F32.dtype) if direct is None else direct
        np.matmul(lhs.swapaxes(-1, -2) if transpose_lhs else lhs, rhs.reshape(tiles, *rhs_shape), out=product)
        if direct is not None:
            return
        if sums.psum_format is not None:
            product = np.add(product, rest.pop(0).reshape(tiles, *out_shape), out=None if rest else place)
        if rest:
            product = product + rest.pop(0).reshape(tiles, 1, blocks, 1, block)
        if sums.activation == "relu":
            product = relu(product)
        elif sums.alpha is not None:
            product = leaky_relu(product, sums.alpha)
        if product is not place:
            memory.store(destination, np.broadcast_to(product, (tiles, *out_shape)).reshape(tiles, -1))

    return step


@executes(ConvOp)
def decode_conv(op: ConvOp) -> Semantics:
    """Correlate the padded feature with the weight; see `ConvOp`."""
    kernel, strides, pads, dilations = op.kernel, op.strides, op.pads, op.dilations
    channels, out_shape = op.shape[3], op.out_shape
    sums = _Sums(op, kernel[0] * kernel[1] * (1 if op.depthwise else channels))
    convolve = _depthwise if op.depthwise else _convolve

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        sums.check(machine)
        x = pad(sums.load_feature(machine.memory, placed[0]), pads, 0)
        weight = sums.load(machine.memory, placed[1], "right")
        sums.finish(machine, convolve(x, weight, kernel, strides, dilations, out_shape), placed[2:])

    return step


def _convolve(
    x: Array,
    weight: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    out_shape: tuple[int, ...],
) -> Array:
    """Padded [T, N, H, W, C] with [T, KH, KW, O, C] to [T, N, OH, OW, O], by matrix products over columns (im2col)."""
    tiles, (n, oh, ow, out_channels) = len(x), out_shape
    (kh, kw), channels = kernel, x.shape[-1]
    view = windows(x, kernel, strides, dilations, (oh, ow))
    by_output = weight.transpose(0, 3, 1, 2, 4)  # [tiles, O, KH, KW, C]: copied by runs of channels
    rows_at_once = kh if view.size * x.itemsize <= _IM2COL_BYTES else 1
    product: Array | None = None
    for row in range(0, kh, rows_at_once):
        terms = rows_at_once * kw * channels
        columns = view[:, :, :, :, row : row + rows_at_once].reshape(tiles, n * oh * ow, terms)
        matrix = by_output[:, :, row : row + rows_at_once].reshape(tiles, out_channels, terms)
        part = np.matmul(columns, matrix.swapaxes(-1, -2))
        product = part if product is None else np.add(product, part, out=product)
    assert product is not None
    return product.reshape(tiles, *out_shape)


def _depthwise(
    x: Array,
    weight: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    out_shape: tuple[int, ...],
) -> Array:
    """Padded [T, N, H, W, C] with [T, KH, KW, 1, C] to [T, N, OH, OW, C], one tap at a time."""
    product = np.zeros((len(x), *out_shape), x.dtype)
    for (i, j), view in taps(x, kernel, strides, dilations, out_shape[1:3]):
        product += view * weight[:, None, None, i, j]
    return product
