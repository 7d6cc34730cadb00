"""Fourier transforms and what goes with them: products with matrices that are known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.tensors import Known, element_of
from tx8ir.frontends.values import tensor_type

LONGEST = 1 << 13
"""Transforms are products with matrices, up to this length."""


def _rotations(rows: int, columns: int, length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cosines and the sines of 2 pi r c / length, exact at the multiples of a quarter turn."""
    quarters, rest = np.divmod(4 * (np.outer(np.arange(rows), np.arange(columns)) % length), length)
    cos, sin = np.cos(np.pi / 2 * rest / length), np.sin(np.pi / 2 * rest / length)
    return np.choose(quarters, (cos, -sin, -cos, sin)) + 0.0, np.choose(quarters, (sin, cos, -sin, -cos)) + 0.0


def _along_last(node: OnnxNode, x: Value, matrix: NDArray[np.float64], role: str) -> Operation:
    return pd.matmul(x, node.constant(matrix, tensor_type(x).element, role))


@converter("DFT", first=17, last=20, attributes=("axis", "inverse", "onesided"))
def dft(node: OnnxNode) -> Converted:
    """The discrete Fourier transform along an axis; the last axis holds a real, or a real and an imaginary part."""
    type_ = node.type_of(0)
    if node.version < 20:
        axis = node.axis("axis", type_.rank, 1)
    else:
        given = int(node.known_scalar(2, "the axis")) if node.has(2) else -2
        axis = node.axes((given,), type_.rank, "the axis")[0]
    inverse, onesided = node.bool("inverse", False), node.bool("onesided", False)
    extent, parts = type_.shape[axis], type_.shape[-1]
    if axis == type_.rank - 1 or parts not in (1, 2):
        raise node.error(f"the input is {type_} and the axis {axis}; expected [..., 1] or [..., 2] and an axis before")
    length = 2 * (extent - 1) if inverse and onesided else extent
    if node.has(1):
        length = int(node.known_scalar(1, "the length"))
    real, imaginary = _parts(node.operand(0), axis)
    return _transform(node, real, imaginary, axis, length, inverse=inverse, onesided=onesided)


def _parts(x: Value, axis: int) -> tuple[Value, Value | None]:
    """The real and the imaginary part, `axis` moved behind all others."""
    rank, parts = tensor_type(x).rank, tensor_type(x).shape[-1]
    order = (*(a for a in range(rank - 1) if a != axis), axis)
    found = [
        pd.transpose(
            pd.slice(x, axes=(rank - 1,), starts=(part,), ends=(part + 1,), decrease_axis=(rank - 1,)), perm=order
        ).out
        for part in range(parts)
    ]
    return found[0], found[1] if parts == 2 else None


def _transform(
    node: OnnxNode, real: Value, imaginary: Value | None, axis: int, length: int, *, inverse: bool, onesided: bool
) -> Operation:
    """The transform along the last axis, which goes back to where `axis` says, and the parts behind it."""
    extent = tensor_type(real).shape[-1]
    if not 1 <= length <= LONGEST:
        raise node.error(f"the length is {length}; expected 1 to {LONGEST}")
    used = min(extent, length // 2 + 1 if inverse and onesided else length)
    if used < extent:
        last = tensor_type(real).rank - 1
        real = pd.slice(real, axes=(last,), starts=(0,), ends=(used,)).out
        imaginary = None if imaginary is None else pd.slice(imaginary, axes=(last,), starts=(0,), ends=(used,)).out
    bins = length // 2 + 1 if onesided and not inverse else length
    cos, sin = _rotations(used, bins, length)
    if not inverse:
        sin = -sin
    if inverse and onesided:  # the other half is the conjugate of this one: each counts twice but the ends
        twice = np.where((np.arange(used) == 0) | (2 * np.arange(used) == length), 1.0, 2.0)[:, None]
        cos, sin = cos * twice, sin * twice
    out: list[Operation] = [_along_last(node, real, cos, "cosines")]
    if imaginary is not None:
        out[0] = pd.subtract(out[0], _along_last(node, imaginary, sin, "sines"))
    if not (inverse and onesided):
        part = _along_last(node, real, sin, "sines")
        out.append(part if imaginary is None else pd.add(part, _along_last(node, imaginary, cos, "cosines")))
    if inverse:  # last: the sum of a bin whose factors are 0 and ±1 is rounded once
        size = node.constant(np.asarray(length), tensor_type(real).element, "length")
        out = [pd.divide(part, size) for part in out]
    rank = tensor_type(real).rank
    order = (*range(axis), rank - 1, *range(axis, rank - 1))
    return pd.concat([pd.unsqueeze(pd.transpose(part, perm=order), axis=(rank,)) for part in out], axis=rank)


@converter("STFT", first=17, last=17, attributes=("onesided",))
def stft(node: OnnxNode) -> Converted:
    """The Fourier transforms of windows over a signal [batch, length, parts]: [batch, frames, bins, 2]."""
    type_ = node.type_of(0)
    step = int(node.known_scalar(1, "the frame step"))
    length = int(node.known_scalar(3, "the frame length")) if node.has(3) else (
        node.type_of(2).shape[0] if node.has(2) else type_.shape[1]
    )  # fmt: skip
    if step < 1 or not 1 <= length <= type_.shape[1]:
        raise node.error(f"the frame step is {step} and the length {length}; the signal is {type_}")
    frames = 1 + (type_.shape[1] - length) // step
    places = np.arange(frames)[:, None] * step + np.arange(length)[None, :]
    cut = pd.gather(node.operand(0), node.constant(places, i64, "places"), axis=1)  # [batch, frames, length, parts]
    if node.has(2):
        cut = pd.multiply(cut, pd.reshape(node.operand(2), shape=(length, 1)))
    real, imaginary = _parts(cut.results[0], 2)
    return _transform(node, real, imaginary, 2, length, inverse=False, onesided=node.bool("onesided", True))


def _window(operator: str, a0: float, a1: float, a2: float) -> None:
    """Register a window of cosines: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)."""

    @converter(operator, first=17, last=17, attributes=("output_datatype", "periodic"))
    def convert(node: OnnxNode) -> Converted:
        size = int(node.known_scalar(0, "the size"))
        element = element_of(node.int("output_datatype", 1))
        turn = 2 * np.pi * np.arange(size) / (size if node.bool("periodic", True) else max(size - 1, 1))
        numbers = a0 - a1 * np.cos(turn) + a2 * np.cos(2 * turn)
        return Known.of_array(node.output_name(0), numbers.astype(element.dtype), element)

    assert convert is not None


_window("HannWindow", 0.5, 0.5, 0.0)
_window("HammingWindow", 25 / 46, 21 / 46, 0.0)
_window("BlackmanWindow", 0.42, 0.5, 0.08)


@converter("MelWeightMatrix", first=17, last=17, attributes=("output_datatype",))
def mel_weight_matrix(node: OnnxNode) -> Converted:
    """Triangles over the bins of a spectrum, equally wide on the mel scale: [bins, bands]."""
    roles = ("the number of bands", "the transform's length", "the sample rate", "the lower edge", "the upper edge")
    bands, length, rate, lower, upper = (float(node.known_scalar(i, role)) for i, role in enumerate(roles))
    element = element_of(node.int("output_datatype", 1))
    low, high = (2595 * math.log10(1 + edge / 700) for edge in (lower, upper))
    count = int(bands) + 2
    edges = 700 * (10 ** ((low + np.arange(count) * (high - low) / count) / 2595) - 1)
    bins = ((length + 1) * edges // rate).astype(np.int64)
    matrix = np.zeros((int(length) // 2 + 1, int(bands)))
    for band in range(int(bands)):
        left, centre, right = bins[band : band + 3]
        for place in range(left, centre + 1):
            matrix[place, band] = (place - left) / (centre - left) if centre > left else 1.0
        for place in range(centre, right):
            matrix[place, band] = (right - place) / (right - centre)
    return Known.of_array(node.output_name(0), matrix.astype(element.dtype), element)
