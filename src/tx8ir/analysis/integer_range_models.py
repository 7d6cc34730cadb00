"""How operations of `arith`, `index`, `pd`, `scf` and `builtin` make ranges of integers: `InferIntRange` for each.

The rules are MLIR's InferIntRangeCommon: exact bounds of the numbers before they wrap around, as signed and as unsigned
ones; both hold. On bits see Warren, Hacker's Delight, 4-3, simplified to common leading bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from tx8ir.core import Attribute, DenseAttr, Model, Operation, RankedTensor, Value, ViewLike
from tx8ir.core.attrs.builtin_types import element_of, integer_format, is_integer
from tx8ir.core.ir.int_range import InferIntRange, IntRange
from tx8ir.dialects import arith, builtin, index, pd
from tx8ir.dialects.arith.constants import array_of

Ranges: TypeAlias = "Sequence[IntRange | None]"
Bounds: TypeAlias = tuple[int, int]

_TRUTH: Final = {None: (0, 1), True: (1, 1), False: (0, 0)}


def truth(known: bool | None) -> IntRange:
    """The range of an i1 that holds, does not hold, or is not known."""
    return IntRange.wrapped(1, *_TRUTH[known])


def _both_views(function: Callable[[Bounds, Bounds], Bounds], x: IntRange, y: IntRange) -> IntRange:
    """What a function of whole numbers makes of both views, where it makes the same bits of either."""
    signed = IntRange.wrapped(x.width, *function((x.smin, x.smax), (y.smin, y.smax)))
    return signed.meet(IntRange.wrapped(x.width, *function((x.umin, x.umax), (y.umin, y.umax))))


def _corners(function: Callable[[int, int], int], x: Bounds, y: Bounds) -> Bounds:
    found = [function(a, b) for a in x for b in y]
    return min(found), max(found)


def add(x: IntRange, y: IntRange) -> IntRange:
    """The sum, wrapped around."""
    return _both_views(lambda a, b: (a[0] + b[0], a[1] + b[1]), x, y)


def subtract(x: IntRange, y: IntRange) -> IntRange:
    """The difference, wrapped around."""
    return _both_views(lambda a, b: (a[0] - b[1], a[1] - b[0]), x, y)


def multiply(x: IntRange, y: IntRange) -> IntRange:
    """The product, wrapped around."""
    return _both_views(lambda a, b: _corners(int.__mul__, a, b), x, y)


def square(x: IntRange) -> IntRange:
    """The square of a signed number, wrapped around."""
    ends = sorted((abs(x.smin), abs(x.smax)))
    least = 0 if x.smin <= 0 <= x.smax else ends[0]
    return IntRange.wrapped(x.width, least * least, ends[1] * ends[1])


# --- order -----------------------------------------------------------------------------------------------------------


def signed_maximum(x: IntRange, y: IntRange) -> IntRange:
    """The larger of both as signed numbers."""
    return IntRange.wrapped(x.width, max(x.smin, y.smin), max(x.smax, y.smax)).meet(x.join(y))


def signed_minimum(x: IntRange, y: IntRange) -> IntRange:
    """The smaller of both as signed numbers."""
    return IntRange.wrapped(x.width, min(x.smin, y.smin), min(x.smax, y.smax)).meet(x.join(y))


def unsigned_maximum(x: IntRange, y: IntRange) -> IntRange:
    """The larger of both as unsigned numbers."""
    return IntRange.wrapped(x.width, max(x.umin, y.umin), max(x.umax, y.umax)).meet(x.join(y))


def unsigned_minimum(x: IntRange, y: IntRange) -> IntRange:
    """The smaller of both as unsigned numbers."""
    return IntRange.wrapped(x.width, min(x.umin, y.umin), min(x.umax, y.umax)).meet(x.join(y))


def compare(relation: str, x: Bounds, y: Bounds) -> bool | None:
    """Whether `lt`, `le`, `gt`, `ge`, `eq` or `ne` holds between all, or no, numbers of two ranges; else None."""
    if relation in ("gt", "ge"):
        return compare({"gt": "lt", "ge": "le"}[relation], y, x)
    if relation == "ne":
        equal = compare("eq", x, y)
        return None if equal is None else not equal
    if relation == "eq":
        if x[1] < y[0] or y[1] < x[0]:
            return False
        return True if x == y and x[0] == x[1] else None
    offset = int(relation == "le")  # x <= y is x < y + 1
    if x[1] < y[0] + offset:
        return True
    return False if x[0] >= y[1] + offset else None


# --- division --------------------------------------------------------------------------------------------------------


def _parts(divisor: Bounds) -> list[Bounds]:
    """The divisors without 0: those below it and those above."""
    low, high = divisor
    parts = [(low, min(high, -1)), (max(low, 1), high)]
    return [part for part in parts if part[0] <= part[1]]


def divide(function: Callable[[int, int], int], x: Bounds, y: Bounds, width: int) -> IntRange:
    """A quotient, which grows or falls with either operand as long as the divisor keeps its sign."""
    found = [_corners(function, x, part) for part in _parts(y)]
    if not found:
        return IntRange.full(width)  # by 0 alone: it fails
    return IntRange.wrapped(width, min(f[0] for f in found), max(f[1] for f in found))


def truncated_quotient(x: int, y: int) -> int:
    """X / y rounded toward 0."""
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def ceiling_quotient(x: int, y: int) -> int:
    """X / y rounded up."""
    return -(-x // y)


def truncated_remainder(x: Bounds, y: Bounds, width: int) -> IntRange:
    """A remainder with the sign of x."""
    within = _one_period(truncated_quotient, x, y)
    if within is not None:
        return IntRange.wrapped(width, *within)
    largest = max(abs(y[0]), abs(y[1])) - 1
    if largest < 0:
        return IntRange.full(width)
    return IntRange.wrapped(width, max(min(x[0], 0), -largest), min(max(x[1], 0), largest))


def floored_remainder(x: Bounds, y: Bounds, width: int) -> IntRange:
    """A remainder with the sign of y."""
    within = _one_period(int.__floordiv__, x, y)
    if within is not None:
        return IntRange.wrapped(width, *within)
    return IntRange.wrapped(width, min(0, y[0] + 1), max(0, y[1] - 1))


def _one_period(quotient: Callable[[int, int], int], x: Bounds, y: Bounds) -> Bounds | None:
    """The remainders where all quotients are one number, so that they grow with x; else None."""
    if y[0] <= 0 <= y[1]:
        return None
    found = {quotient(a, b) for a in x for b in y}
    if len(found) > 1:
        return None
    times = found.pop()
    return _corners(lambda a, b: a - times * b, x, y)


# --- bits ------------------------------------------------------------------------------------------------------------


def _known_bits(x: IntRange) -> tuple[int, int]:
    """The bits that are 0 and those that are 1 in every number of a range."""
    unknown = (1 << (x.umin ^ x.umax).bit_length()) - 1
    every = (1 << x.width) - 1
    return ~x.umax & ~unknown & every, x.umin & ~unknown


def bitwise_and(x: IntRange, y: IntRange) -> IntRange:
    """The bits that both have."""
    zeros, ones = _known_bits(x), _known_bits(y)
    high = ((1 << x.width) - 1) & ~(zeros[0] | ones[0])
    return IntRange.wrapped(x.width, zeros[1] & ones[1], min(high, x.umax, y.umax))


def bitwise_or(x: IntRange, y: IntRange) -> IntRange:
    """The bits that one of both has."""
    a, b = _known_bits(x), _known_bits(y)
    high = ((1 << x.width) - 1) & ~(a[0] & b[0])
    return IntRange.wrapped(x.width, max(a[1] | b[1], x.umin, y.umin), high)


def bitwise_xor(x: IntRange, y: IntRange) -> IntRange:
    """The bits in which both differ."""
    a, b = _known_bits(x), _known_bits(y)
    every = (1 << x.width) - 1
    zeros, ones = (a[0] & b[0]) | (a[1] & b[1]), (a[0] & b[1]) | (a[1] & b[0])
    return IntRange.wrapped(x.width, ones, every & ~zeros)


def shift(function: Callable[[int, int], int], x: Bounds, by: IntRange) -> IntRange:
    """A shift by an unsigned number; by the width or more gives 0."""
    width = by.width
    past = IntRange.constant(width, 0)
    if by.umin >= width:
        return past
    found = IntRange.wrapped(width, *_corners(function, x, (by.umin, min(by.umax, width - 1))))
    return found if by.umax < width else found.join(past)


# --- arith -----------------------------------------------------------------------------------------------------------


class _BinaryModel(Model[Operation], InferIntRange):
    """Two operands of one width to a result of the same."""

    rule: ClassVar[Callable[[IntRange, IntRange], IntRange]]

    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        return (None,) if x is None or y is None else (type(self).rule(x, y),)


def signed_bounds(x: IntRange) -> Bounds:
    return x.smin, x.smax


def unsigned_bounds(x: IntRange) -> Bounds:
    return x.umin, x.umax


def _shift_left(x: IntRange, y: IntRange) -> IntRange:
    return shift(int.__lshift__, signed_bounds(x), y).meet(shift(int.__lshift__, unsigned_bounds(x), y))


_ARITH: Final[dict[Any, Callable[[IntRange, IntRange], IntRange]]] = {
    arith.AddIOp: add,
    arith.SubIOp: subtract,
    arith.MulIOp: multiply,
    arith.MaxSIOp: signed_maximum,
    arith.MinSIOp: signed_minimum,
    arith.MaxUIOp: unsigned_maximum,
    arith.MinUIOp: unsigned_minimum,
    arith.AndIOp: bitwise_and,
    arith.OrIOp: bitwise_or,
    arith.XOrIOp: bitwise_xor,
    arith.ShLIOp: _shift_left,
    arith.ShRUIOp: lambda x, y: shift(int.__rshift__, unsigned_bounds(x), y),
    arith.ShRSIOp: lambda x, y: shift(int.__rshift__, signed_bounds(x), y),
    arith.DivSIOp: lambda x, y: divide(truncated_quotient, signed_bounds(x), signed_bounds(y), x.width),
    arith.FloorDivSIOp: lambda x, y: divide(int.__floordiv__, signed_bounds(x), signed_bounds(y), x.width),
    arith.CeilDivSIOp: lambda x, y: divide(ceiling_quotient, signed_bounds(x), signed_bounds(y), x.width),
    arith.DivUIOp: lambda x, y: divide(int.__floordiv__, unsigned_bounds(x), unsigned_bounds(y), x.width),
    arith.CeilDivUIOp: lambda x, y: divide(ceiling_quotient, unsigned_bounds(x), unsigned_bounds(y), x.width),
    arith.RemSIOp: lambda x, y: truncated_remainder(signed_bounds(x), signed_bounds(y), x.width),
    arith.RemUIOp: lambda x, y: truncated_remainder(unsigned_bounds(x), unsigned_bounds(y), x.width),
}
_INDEX: Final[dict[Any, Any]] = {
    index.AddOp: arith.AddIOp,
    index.SubOp: arith.SubIOp,
    index.MulOp: arith.MulIOp,
    index.MaxSOp: arith.MaxSIOp,
    index.MinSOp: arith.MinSIOp,
    index.MaxUOp: arith.MaxUIOp,
    index.MinUOp: arith.MinUIOp,
    index.AndOp: arith.AndIOp,
    index.OrOp: arith.OrIOp,
    index.XOrOp: arith.XOrIOp,
    index.ShlOp: arith.ShLIOp,
    index.ShrUOp: arith.ShRUIOp,
    index.ShrSOp: arith.ShRSIOp,
    index.DivSOp: arith.DivSIOp,
    index.FloorDivSOp: arith.FloorDivSIOp,
    index.CeilDivSOp: arith.CeilDivSIOp,
    index.DivUOp: arith.DivUIOp,
    index.CeilDivUOp: arith.CeilDivUIOp,
    index.RemSOp: arith.RemSIOp,
    index.RemUOp: arith.RemUIOp,
}
"""Operations of index, and those of arith that do the same."""
for _kind, _rule in (*_ARITH.items(), *((kind, _ARITH[like]) for kind, like in _INDEX.items())):
    InferIntRange.attach(_kind, type(f"{_kind.__name__}Range", (_BinaryModel,), {"rule": staticmethod(_rule)}))


@InferIntRange.implement(arith.CmpIOp)
class _CmpIRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        if x is None or y is None:
            return (truth(None),)
        relation: str = self.op.relation
        view = unsigned_bounds if relation.startswith("u") else signed_bounds
        return (truth(compare(relation[-2:], view(x), view(y))),)


@InferIntRange.implement(index.CmpOp)
class _IndexCmpRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        if x is None or y is None:
            return (truth(None),)
        relation: str = self.op.pred.value
        view = unsigned_bounds if relation.startswith("u") else signed_bounds
        return (truth(compare(relation[-2:], view(x), view(y))),)


@InferIntRange.implement(arith.SelectOp, pd.WhereOp)
class _ChoiceRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        condition, x, y = operands
        if x is None or y is None:
            return (None,)
        known = condition.as_constant if condition is not None else None
        return (x.join(y) if known is None else x if known else y,)


@InferIntRange.implement(arith.ExtSIOp, arith.IndexCastOp, index.CastSOp)
class _SignedCastRange(Model[Operation], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        (x,) = operands
        return (None if x is None else IntRange.wrapped(_width(self.op.result), x.smin, x.smax),)


@InferIntRange.implement(arith.ExtUIOp, arith.IndexCastUIOp, index.CastUOp)
class _UnsignedCastRange(Model[Operation], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        (x,) = operands
        return (None if x is None else IntRange.wrapped(_width(self.op.result), x.umin, x.umax),)


@InferIntRange.implement(arith.TruncIOp)
class _TruncRange(Model[Operation], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        (x,) = operands
        if x is None:
            return (None,)
        width = _width(self.op.result)
        return (IntRange.wrapped(width, x.smin, x.smax).meet(IntRange.wrapped(width, x.umin, x.umax)),)


# --- constants -------------------------------------------------------------------------------------------------------


@InferIntRange.implement(arith.ConstantOp, index.ConstantOp, builtin.ConstantOp)
class _ConstantRange(Model[Any], InferIntRange):
    """The least and the greatest element."""

    def infer_ranges(self, operands: Ranges) -> Ranges:
        attribute: Attribute = self.op.attributes["value"]
        array = attribute.value if isinstance(attribute, DenseAttr) else array_of(attribute)
        result: Value = self.op.result
        if array is None or not np.size(array) or not is_integer(element_of(result.type)):
            return (None,)
        return (IntRange.wrapped(_width(result), int(np.min(array)), int(np.max(array))),)


@InferIntRange.implement(pd.FullOp)
class _FullRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        number: float = self.op.value
        low, high = _limits(self.op.result)
        return (IntRange.constant(_width(self.op.result), int(number)) if low <= number <= high else None,)


# --- pd --------------------------------------------------------------------------------------------------------------


def _width(value: Value) -> int:
    return integer_format(element_of(value.type))[0]


def _limits(value: Value) -> Bounds:
    """The least and the greatest integer of an element of `value`; (1, 0), none, for floats."""
    kind = value.type
    if not isinstance(kind, RankedTensor) or kind.element.is_float:
        return 1, 0
    return kind.element.format.integer_range


def view_of(value: Value) -> Callable[[IntRange], Bounds]:
    """How the bits of an element are read: bools and unsigned formats without a sign."""
    return unsigned_bounds if _limits(value)[0] == 0 else signed_bounds


class _PdModel(Model[Any], InferIntRange):
    """An operation on tensors of one integer format, that is not of bools or half bytes, which do not wrap around."""

    rule: ClassVar[Callable[..., IntRange]]

    def infer_ranges(self, operands: Ranges) -> Ranges:
        known = [x for x in operands if x is not None]
        result: Value = self.op.results[0]
        if len(known) != len(operands) or any(x.width < 8 for x in known) or _limits(result)[1] == 0:
            return (None,) * len(self.op.results)
        return (type(self).rule(*known),)


_PD: Final[dict[Any, Callable[..., IntRange]]] = {
    pd.AddOp: add,
    pd.SubtractOp: subtract,
    pd.MultiplyOp: multiply,
    pd.SquareOp: square,
    pd.BitwiseAndOp: bitwise_and,
    pd.BitwiseOrOp: bitwise_or,
    pd.BitwiseXorOp: bitwise_xor,
}
for _kind, _rule in _PD.items():
    InferIntRange.attach(_kind, type(f"{_kind.__name__}Range", (_PdModel,), {"rule": staticmethod(_rule)}))


@InferIntRange.implement(pd.MaximumOp, pd.MinimumOp)
class _ExtremumRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        if x is None or y is None:
            return (None,)
        is_signed = view_of(self.op.results[0]) is signed_bounds
        if isinstance(self.op, pd.MaximumOp):
            return ((signed_maximum if is_signed else unsigned_maximum)(x, y),)
        return ((signed_minimum if is_signed else unsigned_minimum)(x, y),)


@InferIntRange.implement(pd.RemainderOp, pd.FmodOp)
class _RemainderRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        if x is None or y is None or x.width < 8:
            return (None,)
        view = view_of(self.op.results[0])
        rule = floored_remainder if isinstance(self.op, pd.RemainderOp) else truncated_remainder
        return (rule(view(x), view(y), x.width),)


_RELATIONS: Final[dict[Any, str]] = {
    pd.EqualOp: "eq",
    pd.NotEqualOp: "ne",
    pd.LessThanOp: "lt",
    pd.LessEqualOp: "le",
    pd.GreaterThanOp: "gt",
    pd.GreaterEqualOp: "ge",
}


@InferIntRange.implement(*_RELATIONS)
class _ComparisonRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        x, y = operands
        if x is None or y is None:
            return (truth(None),)
        view = view_of(self.op.operands[0])
        return (truth(compare(_RELATIONS[type(self.op)], view(x), view(y))),)


@InferIntRange.implement(pd.CastOp)
class _CastRange(Model[Any], InferIntRange):
    """Between integers: the number itself where the format has it; what becomes of others is not said."""

    def infer_ranges(self, operands: Ranges) -> Ranges:
        (x,), result = operands, self.op.results[0]
        low, high = _limits(result)
        if x is None or low > high:
            return (None,)
        least, greatest = view_of(self.op.operands[0])(x)
        if (low, high) == (0, 1):
            return (truth(compare("ne", (least, greatest), (0, 0))),)
        return (IntRange.wrapped(_width(result), least, greatest) if low <= least and greatest <= high else None,)


class _SameElementsModel(Model[Any], InferIntRange):
    """Every element of every result is one of the first operand."""

    def infer_ranges(self, operands: Ranges) -> Ranges:
        return (operands[0],) * len(self.op.results)


def _showing_elements() -> list[Any]:
    """The operations whose results show elements of their first operand, and nothing else."""
    views = [op for op in (*pd.DIALECT.ops.values(), *builtin.DIALECT.ops.values()) if ViewLike in op.info.interfaces]
    return [
        op for op in (*views, pd.ExpandOp, pd.AssignOp, pd.MaxOp, pd.MinOp) if InferIntRange not in op.info.interfaces
    ]


for _kind in _showing_elements():
    InferIntRange.attach(_kind, _SameElementsModel)


@InferIntRange.implement(pd.ConcatOp)
class _ConcatRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        found = operands[0]
        for other in operands[1:]:
            found = None if found is None or other is None else found.join(other)
        return (found,)


@InferIntRange.implement(pd.ArgmaxOp, pd.ArgminOp)
class _PlaceRange(Model[Any], InferIntRange):
    def infer_ranges(self, operands: Ranges) -> Ranges:
        kind = self.op.operands[0].type
        extent: int = kind.shape[self.op.axis % kind.rank]
        width = _width(self.op.results[0])
        return (IntRange.wrapped(width, 0, (extent if extent > 0 else 1 << (width - 1)) - 1),)
