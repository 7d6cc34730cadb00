"""Numbers to codes and back, for the formats that ONNX alone has."""

from __future__ import annotations

from tx8ir.core import Operation, ScalarType, Value, f32, i32, ui8
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.codes import CodedFormat
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.structure import Coded
from tx8ir.frontends.values import tensor_type


def decoded(node: OnnxNode, coded: Coded, element: ScalarType) -> Value:
    """The numbers that codes stand for, in another element type."""
    value = node.graph.value_of(coded.value)
    if coded.format.is_float:
        table = node.constant(coded.format.table, f32, f"numbers_of_{coded.format}")
        value = pd.gather(table, value, axis=0).out
    return value if tensor_type(value).element is element else pd.cast(value, dtype=element).out


def encoded(node: OnnxNode, x: Value, format: CodedFormat, *, saturate: bool = True, round_mode: str = "up") -> Coded:
    """Numbers as codes: rounded to nearest, ties to even, or as `round_mode` says for powers of two.

    What is too large becomes the largest number if `saturate`, else an infinity or NaN as the format has it.
    """
    if not format.is_float:
        return Coded(_low_bits(node, x, format), format)
    if tensor_type(x).element is not f32:
        x = pd.cast(x, dtype=f32).out
    out = _exponents(node, x, saturate, round_mode) if format.is_exponent else _nearest(node, x, format, saturate)
    return Coded(out, format)


def _low_bits(node: OnnxNode, x: Value, format: CodedFormat) -> Value:
    """The two low bits of whole numbers, with their sign."""
    whole = x if tensor_type(x).element is i32 else pd.cast(x, dtype=i32).out
    low = pd.bitwise_and(whole, node.scalar(3, i32)).out
    if format.limits[0] < 0:
        negative = pd.greater_than(low, node.scalar(1, i32))
        low = pd.where(negative, pd.subtract(low, node.scalar(4, i32)), low).out
    return pd.cast(low, dtype=format.storage).out


def _nearest(node: OnnxNode, x: Value, format: CodedFormat, saturate: bool) -> Value:
    shape = tensor_type(x).shape
    has_beyond = not saturate and format.bits == 8
    thresholds = format.thresholds if has_beyond else format.thresholds[:-1]
    column = pd.reshape(pd.abs(x), shape=(*shape, 1))
    above = pd.greater_than(column, node.constant(thresholds, f32, f"thresholds_of_{format}"))
    code = pd.sum(pd.cast(above, dtype=i32), axis=(len(shape),), dtype=i32)
    sign = pd.less_than(pd.bitcast(x, dtype=i32), node.scalar(0, i32))
    half = 1 << (format.bits - 1)
    negative: Value | Operation = pd.scale(code, bias=float(half))
    if not format.has_negative_zero:  # the code of -0 is NaN
        none = pd.equal(code, node.scalar(0, i32))
        negative = pd.where(none, code, negative)
        if has_beyond:
            negative = pd.where(pd.equal(code, node.scalar(half, i32)), code, negative)
    out = pd.where(sign, negative, code)
    if format.nan:
        out = pd.where(pd.isnan(x), node.scalar(format.nan, i32), out)
    return pd.cast(out, dtype=ui8).out


def _exponents(node: OnnxNode, x: Value, saturate: bool, round_mode: str) -> Value:
    """The exponent field of fp32, which is the code, of numbers without their sign."""
    bits = pd.bitwise_and(pd.bitcast(x, dtype=i32), node.scalar(0x7FFFFFFF, i32))
    carry = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}[round_mode]
    code = pd.bitwise_right_shift(pd.add(bits, node.scalar(carry, i32)), node.scalar(23, i32)).out
    if saturate:
        code = pd.minimum(code, node.scalar(254, i32)).out
    special = pd.greater_equal(bits, node.scalar(0x7F800000, i32))
    return pd.cast(pd.where(special, node.scalar(255, i32), code), dtype=ui8).out
