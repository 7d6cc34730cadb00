"""Lowering of operations on whole numbers, which the vector unit computes in fp32: exactly, or not at all.

fp32 has every whole number up to 2^24, so all of `i8` and `i16`; of `i32` it has those that are known to be small. A
cast to it is monotone, and one from `i32` to a narrower type keeps the low bits, which is how sums and products wrap.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np

from tx8ir.backend.lowering.composite import lowers_as
from tx8ir.backend.lowering.context import LoweringError, ranked_type
from tx8ir.core import DenseAttr, Operation, ScalarType, Value, VTensorType, f32, i1, i8, i16, i32
from tx8ir.dialects import builtin, pd

_Any: TypeAlias = "Value | Operation"

SIGNED: Final = (i8, i16, i32)
"""The integers that the chip converts to floating point."""

_NARROW: Final = {i1: 1, i8: 1 << 7, i16: 1 << 15}
"""The largest magnitude of the types that fp32 has all of."""

EXACT: Final = 1 << 24
"""Every whole number up to this magnitude is one of fp32."""

CHECKED: Final = "checked"
"""The attribute of an operation whose operands and results are below `EXACT` in magnitude, or a run fails: see
`check-ranges`."""

_DEPTH: Final = 8
"""So many operations back a bound is looked for."""


def bound(value: Value, depth: int = _DEPTH) -> float:
    """A magnitude that no element of a value of whole numbers exceeds; infinite where none is known."""
    element = ranked_type(value).element
    if element in _NARROW:
        return _NARROW[element]
    op = value.defining_op
    if isinstance(op, pd.ArgmaxOp | pd.ArgminOp):
        return ranked_type(op.x).shape[op.axis]
    if isinstance(op, pd.FullOp):
        return abs(float(op.value))
    if isinstance(op, builtin.ConstantOp):
        return float(np.max(np.abs(np.asarray(op.value.value, np.float64)), initial=0.0))
    if op is not None and CHECKED in op.attributes:
        return EXACT
    if not depth:
        return math.inf
    if isinstance(op, pd.CastOp) and not ranked_type(op.x).element.is_float:
        return bound(op.x, depth - 1)
    if isinstance(op, pd.ReshapeOp | pd.SqueezeOp | pd.UnsqueezeOp | pd.TransposeOp):
        return bound(op.x, depth - 1)
    if isinstance(op, pd.ElementwiseBinaryOp):
        return _bound_of(op, bound(op.x, depth - 1), bound(op.y, depth - 1))
    return math.inf


def _bound_of(op: pd.ElementwiseBinaryOp, x: float, y: float) -> float:
    match op:
        case pd.AddOp() | pd.SubtractOp():
            return x + y
        case pd.MultiplyOp():
            return x * y
        case pd.MaximumOp() | pd.MinimumOp():
            return max(x, y)
        case _:
            return math.inf


def single(value: Value) -> Value:
    """The numbers in fp32, rounded; of a constant one of fp32."""
    op = value.defining_op
    if isinstance(op, pd.FullOp):
        return pd.full(shape=op.shape, value=op.value, dtype=f32).out
    if isinstance(op, builtin.ConstantOp):
        return _constant(np.asarray(op.value.value))
    return pd.cast(value, dtype=f32).out


def _constant(array: np.ndarray) -> Value:
    kind = VTensorType(array.shape, f32)
    return builtin.ConstantOp(value=DenseAttr(array.astype(np.float32), kind), out=kind).out


def _wrapped(x: _Any, element: ScalarType) -> Value:
    """Whole numbers of fp32, as the low bits of an integer type."""
    return pd.cast(pd.cast(x, dtype=i32), dtype=element).out


# -- comparisons ------------------------------------------------------------------------------------------------------


def compare(op: pd.ComparisonOp) -> Value:
    """In fp32 when it has all that one side may be, since rounding the other moves it past none of these; else by the
    upper 16 bits, and where they are equal by the lower ones.
    """
    if min(bound(op.x), bound(op.y)) < EXACT:
        return type(op)(single(op.x), single(op.y)).out
    (upper, lower), (other_upper, other_lower) = _halves(op.x), _halves(op.y)
    same = pd.equal(upper, other_upper)
    below = type(op)(lower, other_lower)
    match op:
        case pd.EqualOp():
            return pd.logical_and(same, below).out
        case pd.NotEqualOp():
            return pd.logical_or(pd.not_equal(upper, other_upper), below).out
        case pd.LessThanOp() | pd.LessEqualOp():
            strictly = pd.less_than(upper, other_upper)
        case _:
            strictly = pd.greater_than(upper, other_upper)
    return pd.logical_or(strictly, pd.logical_and(same, below)).out


def _halves(x: Value) -> tuple[Value, Value]:
    """Numbers u and -2^15 <= v < 2^15 of fp32 with x = 2^16 u + v: what rounding x to fp32 adds, rounding u removes."""
    lower = single(pd.cast(x, dtype=i16).out)
    return pd.round(pd.scale(pd.subtract(single(x), lower), scale=2.0**-16)).out, lower


# -- arithmetic -------------------------------------------------------------------------------------------------------


def arithmetic(op: pd.ElementwiseBinaryOp) -> Value | None:
    """The result in the low bits of its type; None where fp32 may not have it."""
    element = ranked_type(op.out).element
    x, y = bound(op.x), bound(op.y)
    if isinstance(op, pd.MultiplyOp) and element is i16:
        return _product(op.x, op.y)
    if CHECKED not in op.attributes and max(x, y, _bound_of(op, x, y)) > EXACT:
        if isinstance(op, pd.MaximumOp | pd.MinimumOp):
            first = pd.greater_than(op.x, op.y) if isinstance(op, pd.MaximumOp) else pd.less_than(op.x, op.y)
            return _chosen(first.out, op.x, op.y)
        return None
    return _wrapped(type(op)(single(op.x), single(op.y)), element)


def _product(x: Value, y: Value) -> Value:
    """The low 16 bits of x (256 u + v), 0 <= v < 256: each product with half of y is exact."""
    factor, other = single(x), single(y)
    upper = pd.floor(pd.scale(other, scale=2.0**-8))
    lower = pd.subtract(other, pd.scale(upper, scale=2.0**8))
    first = single(_wrapped(pd.multiply(factor, upper), i8))  # of which 256 times are low bits
    second = single(_wrapped(pd.multiply(factor, lower), i16))
    return _wrapped(pd.add(pd.scale(first, scale=2.0**8), second), i16)


def scale(op: pd.ScaleOp) -> Value | None:
    """The low bits of scale * x + bias, of whole numbers that the type has; None where fp32 may not have the sum."""
    element = ranked_type(op.out).element
    x = bound(op.x)
    factor, added = abs(op.scale), abs(op.bias)
    if not (float(op.scale).is_integer() and float(op.bias).is_integer()):
        return None
    if max(factor, added) >= _NARROW.get(element, EXACT):
        return None
    result = factor * x + added if op.bias_after_scale else factor * (x + added)
    if max(x, result) > EXACT:
        return None
    return _wrapped(pd.scale(single(op.x), scale=op.scale, bias=op.bias, bias_after_scale=op.bias_after_scale), element)


def where(op: pd.WhereOp) -> Value | None:
    """The choice in fp32; where it may not have the numbers, see `_chosen`."""
    if max(bound(op.x), bound(op.y)) > EXACT:
        return _chosen(op.condition, op.x, op.y)
    return pd.cast(pd.where(op.condition, single(op.x), single(op.y)), dtype=ranked_type(op.out).element).out


def _chosen(condition: Value, x: Value, y: Value) -> Value | None:
    """`x` where the condition holds, else `y`, of any numbers: looked up in a table of both, whose places fp32 has.

    None for a larger table.
    """
    shape = np.broadcast_shapes(*(ranked_type(value).shape for value in (condition, x, y)))
    count = math.prod(shape)
    if 2 * count > EXACT:
        return None
    flat = [pd.reshape(pd.expand(value, shape=shape), shape=(count,)).out for value in (x, y)]
    own = np.arange(count).reshape(shape)
    place = pd.where(pd.expand(condition, shape=shape), _constant(own), _constant(own + count))
    table = pd.concat(flat, axis=0)
    found = pd.gather(table, pd.cast(pd.reshape(place, shape=(count,)), dtype=i32), axis=0)
    return pd.reshape(found, shape=shape).out


# -- places -----------------------------------------------------------------------------------------------------------


def places(op: pd.ArgmaxOp | pd.ArgminOp) -> Value:
    """The first place of what equals the extreme element, or is NaN: the one from which most are left to the end."""
    kind = ranked_type(op.x)
    axis = op.axis % kind.rank
    extent = kind.shape[axis]
    x = op.x
    if not kind.element.is_float:
        if bound(x) > EXACT:
            raise LoweringError(f"places are found in fp32, which has not every number of {kind.element}")
        x = single(x)
    if extent > EXACT:
        raise LoweringError(f"the axis has {extent} places; expected up to {EXACT}")
    extreme = pd.max if isinstance(op, pd.ArgmaxOp) else pd.min
    found = pd.logical_or(pd.equal(x, extreme(x, axis=(axis,), keepdim=True)), pd.isnan(x))
    left = extent - np.arange(extent).reshape([-1 if a == axis else 1 for a in range(kind.rank)])
    most = pd.max(pd.multiply(pd.cast(found, dtype=f32), _constant(left)), axis=(axis,), keepdim=op.keepdims)
    return pd.cast(pd.scale(most, scale=-1.0, bias=float(extent)), dtype=ranked_type(op.out).element).out


lowers_as(pd.ArgmaxOp)(places)
lowers_as(pd.ArgminOp)(places)
