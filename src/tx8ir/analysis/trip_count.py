"""How often a loop runs, where its text says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tx8ir.core import Operation, RankedTensor, Value
from tx8ir.dialects import pd, scf
from tx8ir.dialects.scf import condition_of, yield_of

from .constants import splat_value

_Count = Callable[[int, int, int], "int | None"]


def _while_less(start: int, step: int, bound: int) -> int | None:
    """How many of start, start + step, … come before the first that is not below `bound`."""
    if start >= bound:
        return 0
    return -((start - bound) // step) if step > 0 else None


def _until_equal(start: int, step: int, bound: int) -> int | None:
    """How many come before the first that is `bound`."""
    if start == bound:
        return 0
    return (bound - start) // step if step and (bound - start) % step == 0 and (bound - start) // step > 0 else None


_COUNTS: Final[dict[type[Operation], _Count]] = {
    pd.LessThanOp: _while_less,
    pd.LessEqualOp: lambda start, step, bound: _while_less(start, step, bound + 1),
    pd.GreaterThanOp: lambda start, step, bound: _while_less(-start, -step, -bound),
    pd.GreaterEqualOp: lambda start, step, bound: _while_less(-start, -step, 1 - bound),
    pd.NotEqualOp: _until_equal,
}
"""For what is carried on the left of a comparison and a number on the right: how often the comparison holds."""

_TURNED: Final[dict[type[Operation], type[Operation]]] = {
    pd.LessThanOp: pd.GreaterThanOp,
    pd.LessEqualOp: pd.GreaterEqualOp,
    pd.GreaterThanOp: pd.LessThanOp,
    pd.GreaterEqualOp: pd.LessEqualOp,
    pd.NotEqualOp: pd.NotEqualOp,
}
"""The same comparison with its sides exchanged."""


def trip_count(loop: scf.WhileOp) -> int | None:
    """How often the `after` region runs, or None where that is not known.

    Known is it when the condition compares a carried integer, plus or minus numbers, with a number; when that integer
    starts as a number; and when each round adds or subtracts numbers. A number is a `builtin.constant` or a `pd.full`.
    A count that would wrap is not known. O(operations between the condition, or what is yielded, and the argument).
    """
    test = condition_of(loop).condition.defining_op
    if test is None or test.__class__ not in _COUNTS:
        return None
    kind, left, right = test.__class__, *test.operands
    bound = _integer(right)
    if bound is None:
        kind, left, bound = _TURNED[kind], right, _integer(left)
    compared = _carried_plus(left, loop)
    if bound is None or compared is None:
        return None
    argument, offset = compared
    start = _integer(loop.inits[argument.index])
    following = _carried_plus(yield_of(loop).values[argument.index], loop)
    if start is None or following is None or following[0] is not argument:
        return None
    step = following[1]
    trips = _COUNTS[kind](start + offset, step, bound)
    if trips is None:
        return None
    reached = (start, start + trips * step)
    return trips if _fits((*reached, *(value + offset for value in reached)), argument) else None


def _integer(value: Value) -> int | None:
    """The number that `value`, of one integer, is known to be."""
    kind = value.type
    number = splat_value(value) if isinstance(kind, RankedTensor) and kind.num_elements == 1 else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _carried_plus(value: Value, loop: scf.WhileOp) -> tuple[Value, int] | None:
    """The argument of `before` that `value` is, and what is added to it in this round."""
    offset = 0
    before, after, passed = loop.before.block, loop.after.block, condition_of(loop).values
    while value.owner is not before:
        if value.owner is after:
            value = passed[value.index]
            continue
        op = value.defining_op
        if not isinstance(op, (pd.AddOp, pd.SubtractOp)) or op.parent not in (before, after):
            return None
        number, rest = _integer(op.y), op.x
        if number is None and isinstance(op, pd.AddOp):
            number, rest = _integer(op.x), op.y
        if number is None or rest.type is not value.type:
            return None
        offset += number if isinstance(op, pd.AddOp) else -number
        value = rest
    return value, offset


def _fits(numbers: tuple[int, ...], argument: Value) -> bool:
    """Whether the element type of `argument` holds all numbers, so that none of them wrapped."""
    kind = argument.type
    if not isinstance(kind, RankedTensor) or not kind.element.format.is_integer or kind.element.format.is_bool:
        return False
    low, high = kind.element.format.limits
    return all(low <= number <= high for number in numbers)
