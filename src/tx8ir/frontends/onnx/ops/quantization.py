"""Quantised numbers: what integers stand for, and arithmetic on such."""

from __future__ import annotations

import onnx

from tx8ir.core import Operation, ScalarType, Value, VTensorType, f32, i32, ui8
from tx8ir.dialects import pd
from tx8ir.frontends.convolution import convolve
from tx8ir.frontends.onnx.codes import CODED, CodedFormat
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.ops.coded import decoded, encoded
from tx8ir.frontends.onnx.ops.conversion import converted
from tx8ir.frontends.onnx.ops.windows import WINDOW, window_of
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.structure import Coded
from tx8ir.frontends.onnx.tensors import Known, element_of
from tx8ir.frontends.values import tensor_type


def _number(node: OnnxNode, index: int) -> Value:
    """Input `index`, in fp32 if it is of a format that the IR has not."""
    found = node.structure(index)
    return (
        decoded(node, found, f32 if found.format.is_float else i32) if isinstance(found, Coded) else node.operand(index)
    )


def _type(node: OnnxNode, index: int) -> VTensorType:
    """The type of input `index`, of its codes if it is coded."""
    found = node.structure(index)
    value = found.value if isinstance(found, Coded) else node.found(index)
    return value.type if isinstance(value, Known) else tensor_type(value)


def _per_axis(node: OnnxNode, index: int, axis_default: int = 1) -> Value | None:
    """A scale or zero point so that it broadcasts to the tensor: one number, one for each place on an axis, or one for
    each block of such places.
    """
    if not node.has(index):
        return None
    whole = _type(node, 0)
    value = _number(node, index)
    type_ = tensor_type(value)
    if type_.num_elements == 1 and type_.rank <= 1:
        return value if type_.rank == 0 else pd.reshape(value, shape=()).out
    axis = node.axis("axis", whole.rank, axis_default)
    if type_.rank == 1:
        return pd.reshape(value, shape=tuple(-1 if a == axis else 1 for a in range(whole.rank))).out
    if type_.rank != whole.rank:
        raise node.error(f"input {index} is {type_}; expected one number, one per place on axis {axis}, or blocks")
    if type_.shape == whole.shape:
        return value
    size = node.int("block_size", 0) or -(-whole.shape[axis] // type_.shape[axis])
    wide = (*type_.shape[: axis + 1], size, *type_.shape[axis + 1 :])
    column = pd.reshape(value, shape=(*type_.shape[: axis + 1], 1, *type_.shape[axis + 1 :]))
    merged = (*type_.shape[:axis], type_.shape[axis] * size, *type_.shape[axis + 1 :])
    out = pd.reshape(pd.expand(column, shape=wide), shape=merged).out
    if merged[axis] == whole.shape[axis]:
        return out
    return pd.slice(out, axes=(axis,), starts=(0,), ends=(whole.shape[axis],)).out


def _as_float(value: Value, element: ScalarType) -> Value:
    return value if tensor_type(value).element is element else pd.cast(value, dtype=element).out


def quantized(
    node: OnnxNode, x: Value | Operation, scale: Value, zero: Value | None, element: ScalarType | CodedFormat
) -> Value | Operation | Coded:
    """Round(x / scale) + zero, to even and saturated to the range of `element`."""
    numbers = pd.divide(x, scale)
    wide = tensor_type(numbers.out).element
    if isinstance(element, CodedFormat) and element.is_float:
        return encoded(node, numbers.out, element, saturate=node.bool("saturate", True))
    rounded = pd.round(numbers)
    if zero is not None:
        rounded = pd.add(rounded, _as_float(zero, wide))
    low, high = element.limits if isinstance(element, CodedFormat) else element.format.integer_range
    inside = pd.minimum(pd.maximum(rounded, node.scalar(low, wide)), node.scalar(high, wide)).out
    return encoded(node, inside, element) if isinstance(element, CodedFormat) else converted(node, inside, element)


_QUANTIZE = ("axis", "block_size", "output_dtype", "precision", "saturate", "round_mode")


@converter("QuantizeLinear", first=10, last=28, attributes=_QUANTIZE)
def quantize_linear(node: OnnxNode) -> Converted:
    """Round(x / scale) + zero point, saturated."""
    element: ScalarType | CodedFormat
    if node.has(2):
        like = node.structure(2)
        element = like.format if isinstance(like, Coded) else node.type_of(2).element
    else:
        code = node.int("output_dtype", 0) or onnx.TensorProto.UINT8
        element = CODED.get(code) or element_of(code)
    scale = _per_axis(node, 1)
    assert scale is not None
    x = node.operand(0)
    # The quotient has the type of the scale, unless `precision` says another one.
    wide = element_of(node.int("precision", 0)) if node.int("precision", 0) else tensor_type(scale).element
    wide = f32 if wide.format.bits < 16 or not tensor_type(x).element.is_float else wide
    return quantized(node, _as_float(x, wide), _as_float(scale, wide), _per_axis(node, 2), element)


@converter("DequantizeLinear", first=10, last=28, attributes=("axis", "block_size", "output_dtype"))
def dequantize_linear(node: OnnxNode) -> Converted:
    """(x - zero point) * scale."""
    scale, zero = _per_axis(node, 1), _per_axis(node, 2)
    assert scale is not None
    element = element_of(node.int("output_dtype", 0)) if node.int("output_dtype", 0) else tensor_type(scale).element
    return dequantized(_number(node, 0), _as_float(scale, f32), zero, element)


def dequantized(x: Value, scale: Value, zero: Value | None, element: ScalarType = f32) -> Value:
    """(x - zero) * scale, computed in fp32."""
    number: Value | Operation = _as_float(x, f32)
    if zero is not None and not tensor_type(zero).element.is_float:
        # Both are exact in fp32 but for 32-bit integers, whose difference is taken as such.
        wide = tensor_type(x).element.format.bits > 16
        number = pd.cast(pd.subtract(x, zero), dtype=f32) if wide else pd.subtract(number, _as_float(zero, f32))
    return _as_float(pd.multiply(number, scale).out, element)


def _centred(node: OnnxNode, index: int, zero: int, axis: int | None = None) -> Value:
    """Input `index` less its zero point, as i32; a list of zero points goes along `axis`."""
    x = pd.cast(node.operand(index), dtype=i32).out
    if not node.has(zero):
        return x
    type_ = node.type_of(zero)
    offset = pd.cast(node.operand(zero), dtype=i32)
    if type_.num_elements == 1:
        offset = pd.reshape(offset, shape=())
    elif type_.rank == 1 and axis is not None:
        rank = tensor_type(x).rank
        offset = pd.reshape(offset, shape=tuple(-1 if a == axis % rank else 1 for a in range(rank)))
    return pd.subtract(x, offset).out


@converter("MatMulInteger", first=10, last=10)
def matmul_integer(node: OnnxNode) -> Converted:
    """The product of two matrices of 8-bit integers less their zero points, in i32."""
    return pd.matmul(_centred(node, 0, 2, -2), _centred(node, 1, 3, -1))


@converter("ConvInteger", first=10, last=10, attributes=(*WINDOW, "group"))
def conv_integer(node: OnnxNode) -> Converted:
    """The convolution of 8-bit integers less their zero points, in i32."""
    window = window_of(node, node.ints("kernel_shape", node.type_of(1).shape[2:]))
    x, weight = _centred(node, 0, 2), _centred(node, 1, 3, 0)
    return convolve(node, x, weight, None, window, node.int("group", 1))


@converter("QLinearMatMul", first=10, last=21)
def qlinear_matmul(node: OnnxNode) -> Converted:
    """The product of two quantised matrices, quantised: sums are exact integers."""
    total = pd.matmul(_centred(node, 0, 2, -2), _centred(node, 3, 5, -1))
    scale = pd.multiply(_column(node, 1, -2, 0), _column(node, 4, -1, 3))
    return _requantized(node, total, scale.out, 6)


def _column(node: OnnxNode, index: int, axis: int, of: int) -> Value:
    """A scale in fp32 so that it broadcasts to a product of matrices: one number, or one per row or column."""
    type_ = node.type_of(index)
    value = _as_float(node.operand(index), f32)
    if type_.num_elements == 1:
        return pd.reshape(value, shape=()).out
    if type_.rank != 1:
        return value
    rank = node.type_of(of).rank
    return pd.reshape(value, shape=tuple(-1 if a == axis % rank else 1 for a in range(rank))).out


def _requantized(node: OnnxNode, total: Operation, scale: Value, index: int) -> Value | Operation | Coded:
    """Exact sums times a scale, quantised by scale `index` and zero point `index + 1`."""
    number = pd.multiply(pd.cast(total, dtype=f32), scale)
    out_scale = _as_float(node.operand(index), f32)
    zero = node.operand(index + 1)
    if node.type_of(index).num_elements == 1:
        out_scale, zero = pd.reshape(out_scale, shape=()).out, pd.reshape(zero, shape=()).out
    return quantized(node, number, out_scale, zero, node.type_of(index + 1).element)


@converter("QLinearConv", first=10, last=10, attributes=(*WINDOW, "group"))
def qlinear_conv(node: OnnxNode) -> Converted:
    """The convolution of quantised numbers, quantised: sums are exact integers, a bias in i32 among them."""
    window = window_of(node, node.ints("kernel_shape", node.type_of(3).shape[2:]))
    x, weight = _centred(node, 0, 2), _centred(node, 3, 5, 0)
    total = convolve(node, x, weight, node.optional(8), window, node.int("group", 1))
    rank = node.type_of(0).rank
    scales = pd.reshape(node.operand(4), shape=(-1, *[1] * (rank - 2)) if node.type_of(4).num_elements > 1 else ())
    scale = pd.multiply(pd.reshape(node.operand(1), shape=()), scales)
    return _requantized(node, total if isinstance(total, Operation) else pd.assign(total), scale.out, 6)


@converter("DynamicQuantizeLinear", first=11, last=11)
def dynamic_quantize_linear(node: OnnxNode) -> Converted:
    """X as 8-bit integers by a scale and a zero point that fit its range, which includes 0."""
    x, zero = node.operand(0), node.scalar(0, f32)
    high = pd.maximum(pd.max(x), zero)
    low = pd.minimum(pd.min(x), zero)
    scale = times(pd.subtract(high, low), 1 / 255)
    whole = pd.round(pd.divide(pd.subtract(zero, low), scale))
    point = pd.cast(pd.minimum(pd.maximum(whole, zero), node.scalar(255, f32)), dtype=ui8)
    return [quantized(node, x, scale.results[0], point.out, ui8), scale, point]
