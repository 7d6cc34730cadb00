"""Canonicalization of elementwise arithmetic, casts and selections: only what is exact in IEEE 754.

With floats, `x + 0.0` is not `x` for x = -0.0 (but `x + -0.0` is), `x * 0.0` is not 0 for NaN, infinities and negative
numbers, and `x - x` is NaN for infinities; these stay.
"""

from __future__ import annotations

from tx8ir.analysis.constants import is_negative_zero, is_positive_zero, splat_value
from tx8ir.core import Operation, ScalarType, Value, VTensorType, i1
from tx8ir.dialects import builtin, pd
from tx8ir.rewriting import Rewriter, pattern

from .registry import canonicalization


def _element(value: Value) -> ScalarType | None:
    kind = value.type
    return kind.element if isinstance(kind, VTensorType) else None


def _replace_with_operand(op: Operation, value: Value, rewriter: Rewriter) -> bool:
    """Replaces the result of `op` by `value` when that has its very type (no broadcast) and is a `vtensor`."""
    if value.type is not op.results[0].type or value.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, value)
    return True


@canonicalization
@pattern(
    pd.AddOp, pd.MultiplyOp, pd.MaximumOp, pd.MinimumOp, pd.EqualOp, pd.NotEqualOp, pd.LogicalAndOp, pd.LogicalOrOp
)
def constant_to_the_right(op: Operation, rewriter: Rewriter) -> bool:
    """f(c, x) → f(x, c) for a constant c and a commutative f."""
    left, right = op.operands
    constants = (pd.FullOp, builtin.ConstantOp)
    if not isinstance(left.defining_op, constants) or isinstance(right.defining_op, constants):
        return False
    rewriter.set_operand(op, 0, right)
    rewriter.set_operand(op, 1, left)
    return True


@canonicalization
@pattern(pd.AddOp)
def add_zero(op: pd.AddOp, rewriter: Rewriter) -> bool:
    """X + 0 → x for integers, x + -0.0 → x for floats, on either side."""
    element = _element(op.out)
    if element is None:
        return False
    for value, other in ((op.x, op.y), (op.y, op.x)):
        number = splat_value(other)
        zero = number is not None and (is_negative_zero(number) if element.is_float else number == 0)
        if zero and _replace_with_operand(op, value, rewriter):
            return True
    return False


@canonicalization
@pattern(pd.SubtractOp)
def subtract_zero(op: pd.SubtractOp, rewriter: Rewriter) -> bool:
    """X - 0 → x (for floats: +0.0)."""
    number = splat_value(op.y)
    return number is not None and is_positive_zero(number) and _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.MultiplyOp)
def multiply_by_one(op: pd.MultiplyOp, rewriter: Rewriter) -> bool:
    """X * 1 → x, on either side; 0 * x → 0 for integers."""
    element = _element(op.out)
    if element is None:
        return False
    for value, other in ((op.x, op.y), (op.y, op.x)):
        number = splat_value(other)
        if number is None:
            continue
        if number == 1 and _replace_with_operand(op, value, rewriter):
            return True
        if number == 0 and not element.is_float and _replace_with_operand(op, other, rewriter):
            return True
    return False


@canonicalization
@pattern(pd.DivideOp)
def divide_by_one(op: pd.DivideOp, rewriter: Rewriter) -> bool:
    """X / 1 → x."""
    return splat_value(op.y) == 1 and _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.ScaleOp)
def identity_scale(op: pd.ScaleOp, rewriter: Rewriter) -> bool:
    """1 * x + 0 → x for integers; 1 * x + -0.0 → x for floats."""
    element = _element(op.out)
    if element is None or op.scale != 1.0 or not (is_negative_zero(op.bias) if element.is_float else op.bias == 0.0):
        return False
    return _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.PowOp)
def pow_one(op: pd.PowOp, rewriter: Rewriter) -> bool:
    """X ^ 1 → x."""
    return op.y == 1.0 and _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.PowOp)
def pow_two(op: pd.PowOp, rewriter: Rewriter) -> bool:
    """X ^ 2 → square(x): both are x * x rounded once."""
    if op.y != 2.0 or _element(op.out) is None:
        return False
    rewriter.replace(op, pd.SquareOp(op.x))
    return True


@canonicalization
@pattern(pd.ElementwisePowOp)
def pow_of_splat(op: pd.ElementwisePowOp, rewriter: Rewriter) -> bool:
    """elementwise_pow by one exponent for all elements → pow."""
    exponent = splat_value(op.y)
    if exponent is None or op.x.type is not op.out.type or _element(op.out) is None:
        return False
    rewriter.replace(op, pd.PowOp(op.x, y=float(exponent)))
    return True


@canonicalization
@pattern(pd.FillOp)
def fill_of_static(op: pd.FillOp, rewriter: Rewriter) -> bool:
    """fill(x) → full, which reads nothing."""
    kind = op.out.type
    if not isinstance(kind, VTensorType) or not kind.is_static:
        return False
    rewriter.replace(op, pd.FullOp(shape=kind.shape, value=op.value, dtype=kind.element))
    return True


_IDEMPOTENT = (pd.ReluOp, pd.AbsOp, pd.FloorOp)


@canonicalization
@pattern(*_IDEMPOTENT)
def idempotent(op: pd.ReluOp | pd.AbsOp | pd.FloorOp, rewriter: Rewriter) -> bool:
    """f(f(x)) → f(x) for relu, abs, floor."""
    return op.x.defining_op.__class__ is op.__class__ and _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.AssignOp)
def assign_of_value(op: pd.AssignOp, rewriter: Rewriter) -> bool:
    """A copy of a `vtensor` → the `vtensor`."""
    return _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.MaximumOp, pd.MinimumOp)
def extremum_of_same(op: pd.MaximumOp | pd.MinimumOp, rewriter: Rewriter) -> bool:
    """maximum(x, x), minimum(x, x) → x."""
    return op.x is op.y and _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.WhereOp)
def where_of_constant(op: pd.WhereOp, rewriter: Rewriter) -> bool:
    """Where of a condition that is the same everywhere, or of two equal values → the value chosen."""
    if op.x is op.y:
        return _replace_with_operand(op, op.x, rewriter)
    condition = splat_value(op.condition)
    return condition is not None and _replace_with_operand(op, op.x if condition else op.y, rewriter)


@canonicalization
@pattern(pd.LogicalNotOp)
def not_of_not(op: pd.LogicalNotOp, rewriter: Rewriter) -> bool:
    """not(not(x)) → x for truth values."""
    inner = op.x.defining_op
    if not isinstance(inner, pd.LogicalNotOp) or _element(inner.x) is not i1:
        return False
    return _replace_with_operand(op, inner.x, rewriter)


@canonicalization
@pattern(pd.CastOp, benefit=2)
def identity_cast(op: pd.CastOp, rewriter: Rewriter) -> bool:
    """Cast to the type it has → x."""
    return _replace_with_operand(op, op.x, rewriter)


@canonicalization
@pattern(pd.CastOp)
def cast_of_widening_cast(op: pd.CastOp, rewriter: Rewriter) -> bool:
    """cast(cast(x)) → cast(x) when the inner cast loses nothing."""
    inner = op.x.defining_op
    if not isinstance(inner, pd.CastOp) or op.out.type.__class__ is not VTensorType:
        return False
    source, middle = _element(inner.x), _element(op.x)
    if source is None or middle is None or not source.format.fits_in(middle.format):
        return False
    rewriter.replace(op, pd.CastOp(inner.x, dtype=op.dtype))
    return True
