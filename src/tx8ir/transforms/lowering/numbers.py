"""What `arith`, `math` and `index` compute, as operations of `pd`; numbers are tensors of rank 0 by then.

Each function is given the operation and its converted operands, makes operations at the active `Builder`, and returns
what takes the place of the results; None, having made nothing, where `pd` has nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tx8ir.core import DenseAttr, ScalarType, Value, VTensorType, i1, i64
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.dialects import arith, builtin, index, math, pd
from tx8ir.dialects.arith.constants import array_of

Made = Value | tuple[Value, ...] | None
Lower = Callable[..., Made]


def constant(array: Any, element: ScalarType) -> Value:
    """A constant of those elements."""
    array = np.asarray(array)
    return builtin.ConstantOp(value=DenseAttr(array.astype(element.dtype), VTensorType(array.shape, element))).results[
        0
    ]


def tensor_of(value: Value) -> VTensorType:
    """The type of a converted operand."""
    type = value.type
    assert isinstance(type, VTensorType)  # the conversion leaves no other
    return type


def number(value: float, like: Value) -> Value:
    """A number of the element type of another value, in a tensor of rank 0."""
    return constant(value, tensor_of(like).element)


def element(op: Any) -> ScalarType:
    """The element type of the result."""
    held = array_type(op.results[0].type)
    assert held is not None
    return held.element


def _is_bool(value: Value) -> bool:
    return tensor_of(value).element is i1


def _plain(make: Callable[..., Any]) -> Lower:
    def lower(op: Any, *xs: Value) -> Made:
        return make(*xs).out

    return lower


def _of_integers(make: Callable[..., Any], bools: Callable[..., Any]) -> Lower:
    def lower(op: Any, *xs: Value) -> Made:
        return (bools if _is_bool(xs[0]) else make)(*xs).out

    return lower


def _not_of_bools(make: Callable[..., Any]) -> Lower:
    def lower(op: Any, *xs: Value) -> Made:
        return None if _is_bool(xs[0]) else make(*xs).out

    return lower


def _rounded_division(moves: Callable[..., Any], move: Callable[..., Any]) -> Lower:
    """The quotient, moved by one where there is a rest and `moves` holds of the signs of the two numbers."""

    def lower(op: Any, x: Value, y: Value) -> Made:
        if _is_bool(x):
            return None
        quotient = pd.divide(x, y).out
        rest = pd.not_equal(pd.multiply(quotient, y), x).out
        signs = moves(pd.less_than(x, number(0, x)), pd.less_than(y, number(0, y))).out
        return move(quotient, pd.cast(pd.logical_and(rest, signs), dtype=tensor_of(x).element)).out

    return lower


_floor_division = _rounded_division(pd.not_equal, pd.subtract)
_ceiling_division = _rounded_division(pd.equal, pd.add)


def _number_wins(make: Callable[..., Any]) -> Lower:
    def lower(op: Any, x: Value, y: Value) -> Made:
        other = pd.where(pd.isnan(y), x, make(x, y)).out
        return pd.where(pd.isnan(x), y, other).out

    return lower


_INTEGER_RELATIONS: Final[dict[str, Callable[..., Any]]] = {
    "eq": pd.equal, "ne": pd.not_equal, "slt": pd.less_than, "sle": pd.less_equal, "sgt": pd.greater_than,
    "sge": pd.greater_equal,
}  # fmt: skip
_ORDERED: Final[dict[str, Callable[..., Any]]] = {
    "oeq": pd.equal, "ogt": pd.greater_than, "oge": pd.greater_equal, "olt": pd.less_than, "ole": pd.less_equal,
    "une": pd.not_equal,
}  # fmt: skip
_NOT: Final = {"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt"}


def _compare_integers(op: Any, x: Value, y: Value) -> Made:
    return _integers_related(op.relation, x, y)


def _compare_indices(op: Any, x: Value, y: Value) -> Made:
    return _integers_related(op.pred.value, x, y)


def _integers_related(relation: str, x: Value, y: Value) -> Made:
    make = _INTEGER_RELATIONS.get(relation)
    if make is None or (_is_bool(x) and relation not in ("eq", "ne")):
        return None
    return make(x, y).out


def _compare_floats(op: Any, x: Value, y: Value) -> Made:
    relation: str = op.relation
    if relation in _ORDERED:
        return _ORDERED[relation](x, y).out
    if relation in _NOT:
        return pd.logical_not(_ORDERED[_NOT[relation]](x, y)).out
    if relation in ("true", "false"):
        return constant(np.full(tensor_of(x).shape, relation == "true"), i1)
    if relation in ("one", "ueq"):
        differs = pd.logical_or(pd.less_than(x, y), pd.greater_than(x, y)).out
        return differs if relation == "one" else pd.logical_not(differs).out
    unordered = pd.logical_or(pd.isnan(x), pd.isnan(y)).out
    return unordered if relation == "uno" else pd.logical_not(unordered).out


def _signed_cast(op: Any, x: Value) -> Made:
    """A signed integer to another type; a true i1 is -1."""
    target = element(op)
    if target is tensor_of(x).element:
        return x
    if target is i1:
        return None if not _is_integer(x) else pd.not_equal(pd.bitwise_and(x, number(1, x)), number(0, x)).out
    made = pd.cast(x, dtype=target).out
    return pd.multiply(made, number(-1, made)).out if _is_bool(x) else made


def _is_integer(value: Value) -> bool:
    return not tensor_of(value).element.is_float


def _unsigned_cast(op: Any, x: Value) -> Made:
    """An unsigned integer to another type; those with a sign bit go by one that is twice as wide."""
    target, source = element(op), tensor_of(x).element
    if source is i1:
        return pd.cast(x, dtype=target).out
    if not target.is_float and target.format.bits <= source.format.bits:
        return _signed_cast(op, x)
    if source.format.bits == 64:
        return None
    made = pd.cast(x, dtype=i64 if target.is_float else target).out
    made = pd.bitwise_and(made, number((1 << source.format.bits) - 1, made)).out
    return pd.cast(made, dtype=target).out if target.is_float else made


def _bits(op: Any, x: Value) -> Made:
    return x if element(op) is tensor_of(x).element else pd.bitcast(x, dtype=element(op)).out


def _constant(op: Any) -> Made:
    array, held = array_of(op.attributes["value"]), array_type(op.results[0].type)
    return None if array is None or held is None or not held.is_static else constant(array, held.element)


def _minus(op: Any, x: Value) -> Made:
    return pd.multiply(x, number(-1, x)).out


def _ceiling(op: Any, x: Value) -> Made:
    inner = pd.floor(pd.multiply(x, number(-1, x)))
    return pd.multiply(inner, number(-1, x)).out


def _clamped(op: Any, x: Value, low: Value, high: Value) -> Made:
    return pd.maximum(pd.minimum(x, high), low).out


def _whole_power(op: Any, x: Value, y: Value) -> Made:
    return pd.elementwise_pow(x, pd.cast(y, dtype=tensor_of(x).element)).out


def _by_constant(make: Callable[..., Any], factor: float) -> Lower:
    """A logarithm to another base."""

    def lower(op: Any, x: Value) -> Made:
        return pd.multiply(make(x), number(factor, x)).out

    return lower


def _cast(op: Any, x: Value) -> Made:
    return pd.cast(x, dtype=element(op)).out


def _to_signed(op: Any, x: Value) -> Made:
    return None if element(op) is i1 else _cast(op, x)


def _sine_and_cosine(op: Any, x: Value) -> Made:
    return pd.sin(x).out, pd.cos(x).out


NUMBERS: Final[Mapping[type[Any], Lower]] = {
    arith.ConstantOp: _constant,
    index.ConstantOp: _constant,
    index.BoolConstantOp: _constant,
    arith.AddIOp: _of_integers(pd.add, pd.not_equal),
    arith.SubIOp: _of_integers(pd.subtract, pd.not_equal),
    arith.MulIOp: _of_integers(pd.multiply, pd.logical_and),
    arith.AndIOp: _of_integers(pd.bitwise_and, pd.logical_and),
    arith.OrIOp: _of_integers(pd.bitwise_or, pd.logical_or),
    arith.XOrIOp: _of_integers(pd.bitwise_xor, pd.not_equal),
    arith.ShLIOp: _not_of_bools(pd.bitwise_left_shift),
    arith.DivSIOp: _not_of_bools(pd.divide),
    arith.RemSIOp: _not_of_bools(pd.fmod),
    arith.FloorDivSIOp: _floor_division,
    arith.CeilDivSIOp: _ceiling_division,
    arith.MaxSIOp: _of_integers(pd.maximum, pd.logical_and),
    arith.MinSIOp: _of_integers(pd.minimum, pd.logical_or),
    arith.AddFOp: _plain(pd.add),
    arith.SubFOp: _plain(pd.subtract),
    arith.MulFOp: _plain(pd.multiply),
    arith.DivFOp: _plain(pd.divide),
    arith.RemFOp: _plain(pd.fmod),
    arith.MaximumFOp: _plain(pd.maximum),
    arith.MinimumFOp: _plain(pd.minimum),
    arith.MaxNumFOp: _number_wins(pd.maximum),
    arith.MinNumFOp: _number_wins(pd.minimum),
    arith.NegFOp: _minus,
    arith.CmpIOp: _compare_integers,
    arith.CmpFOp: _compare_floats,
    arith.SelectOp: _plain(pd.where),
    arith.ExtSIOp: _signed_cast,
    arith.ExtUIOp: _unsigned_cast,
    arith.TruncIOp: _signed_cast,
    arith.IndexCastOp: _signed_cast,
    arith.IndexCastUIOp: _unsigned_cast,
    arith.SIToFPOp: _signed_cast,
    arith.UIToFPOp: _unsigned_cast,
    arith.FPToSIOp: _to_signed,
    arith.ExtFOp: _cast,
    arith.TruncFOp: _cast,
    arith.BitcastOp: _bits,
    index.AddOp: _plain(pd.add),
    index.SubOp: _plain(pd.subtract),
    index.MulOp: _plain(pd.multiply),
    index.AndOp: _plain(pd.bitwise_and),
    index.OrOp: _plain(pd.bitwise_or),
    index.XOrOp: _plain(pd.bitwise_xor),
    index.ShlOp: _plain(pd.bitwise_left_shift),
    index.DivSOp: _plain(pd.divide),
    index.RemSOp: _plain(pd.fmod),
    index.FloorDivSOp: _floor_division,
    index.CeilDivSOp: _ceiling_division,
    index.MaxSOp: _plain(pd.maximum),
    index.MinSOp: _plain(pd.minimum),
    index.CmpOp: _compare_indices,
    index.CastSOp: _signed_cast,
    index.CastUOp: _unsigned_cast,
    math.AbsFOp: _plain(pd.abs),
    math.AbsIOp: _not_of_bools(pd.abs),
    math.AcosOp: _plain(pd.acos),
    math.AcoshOp: _plain(pd.acosh),
    math.AsinOp: _plain(pd.asin),
    math.AsinhOp: _plain(pd.asinh),
    math.AtanOp: _plain(pd.atan),
    math.AtanhOp: _plain(pd.atanh),
    math.CeilOp: _ceiling,
    math.ClampFOp: _clamped,
    math.CosOp: _plain(pd.cos),
    math.CoshOp: _plain(pd.cosh),
    math.ErfOp: _plain(pd.erf),
    math.ExpOp: _plain(pd.exp),
    math.FloorOp: _plain(pd.floor),
    math.FPowIOp: _whole_power,
    math.IsNaNOp: _plain(pd.isnan),
    math.LogOp: _plain(pd.log),
    math.Log2Op: _by_constant(pd.log, 1 / np.log(2)),
    math.Log10Op: _by_constant(pd.log, 1 / np.log(10)),
    math.PowFOp: _plain(pd.elementwise_pow),
    math.RoundEvenOp: _plain(pd.round),
    math.RsqrtOp: _plain(pd.rsqrt),
    math.SinOp: _plain(pd.sin),
    math.SincosOp: _sine_and_cosine,
    math.SinhOp: _plain(pd.sinh),
    math.SqrtOp: _plain(pd.sqrt),
    math.TanOp: _plain(pd.tan),
    math.TanhOp: _plain(pd.tanh),
}
"""By class of operation, what makes its results."""
