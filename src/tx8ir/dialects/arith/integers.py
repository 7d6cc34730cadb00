"""Integers: signless, so that an operation says whether it takes them as signed; results wrap around.

Where MLIR says that a result is poison (a shift by the width or more), 0 is computed; where it says that behaviour is
undefined (a division by 0, the quotient of the least number and -1), evaluating fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Attribute,
    Commutative,
    ConditionallySpeculatable,
    InferTypes,
    Operand,
    Result,
    SameOperandsAndResultType,
    Type,
    Value,
    attribute,
    i1,
    operand,
    result,
)
from tx8ir.core.attrs.builtin_types import with_element
from tx8ir.dialects.domains import NOT_ZERO, Domain, OperandDomains

from .constants import known_array
from .declaration import (
    INTEGERS,
    WRAPS,
    ArithOp,
    OverflowAttr,
    bool_like,
    computed_element,
    is_every,
    same_type,
    signless_integer_like,
    width_of,
    zero_like,
)

Array: TypeAlias = NDArray[Any]


# --- numbers of any width in 64 bits ---------------------------------------------------------------------------------


def signed(x: Array) -> Array:
    """The numbers in int64, where true is -1."""
    x = np.asarray(x)
    return -x.astype(np.int64) if x.dtype == np.bool_ else x.astype(np.int64)


def unsigned(x: Array, width: int) -> Array:
    """The same bits without a sign, in uint64."""
    return signed(x).view(np.uint64) & np.uint64((1 << width) - 1)


def wrapped(x: Array, value: Value) -> Array:
    """The low bits of int64 or uint64 as elements of a value."""
    element = computed_element(value)
    x = np.asarray(x)
    if element is i1:
        return (x & x.dtype.type(1)) != 0
    if element.format.bits == 4:
        low = (x.astype(np.uint8) & 15).astype(np.int8)
        return np.where(low > 7, low - 16, low).astype(np.int8)
    return x.astype(element.dtype)


# --- families --------------------------------------------------------------------------------------------------------


class IntegerBinaryOp(ArithOp, traits=(SameOperandsAndResultType,)):
    """Two integers to one of the same type."""

    lhs: Operand = operand(signless_integer_like)
    rhs: Operand = operand(signless_integer_like)
    out: Result = result(signless_integer_like)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($out)"
    sample_elements = tuple((e, e) for e in INTEGERS)

    signed_function: ClassVar[Any] = None
    """Of two arrays of int64."""
    unsigned_function: ClassVar[Any] = None
    """Of two arrays of uint64, where there is no `signed_function`."""

    def compute(self, x: Array, y: Array) -> Any:
        cls = type(self)
        if cls.signed_function is not None:
            return wrapped(cls.signed_function(signed(x), signed(y)), self.out)
        assert cls.unsigned_function is not None
        width = width_of(self.out)
        return wrapped(cls.unsigned_function(unsigned(x, width), unsigned(y, width)), self.out)


class OverflowOp(IntegerBinaryOp):
    """One that may overflow. `overflowFlags` say that it never does; it wraps around all the same."""

    overflow: OverflowAttr = attribute(default=WRAPS, name="overflowFlags")

    assembly_format = "$lhs `,` $rhs (`overflow` $overflow^)? attr-dict `:` type($out)"
    sample_attributes = ({}, {"overflow": OverflowAttr(("nsw", "nuw"))})


class Addition(IntegerBinaryOp, traits=(Commutative,)):
    """A sum."""

    signed_function = staticmethod(np.add)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return self.lhs if is_every(operands[1], 0) else self.rhs if is_every(operands[0], 0) else None


class AddIOp(Addition, OverflowOp, name="arith.addi"):
    """out = lhs + rhs."""


class Subtraction(IntegerBinaryOp):
    """A difference."""

    signed_function = staticmethod(np.subtract)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        if self.lhs is self.rhs:
            return zero_like(self.out)
        return self.lhs if is_every(operands[1], 0) else None


class SubIOp(Subtraction, OverflowOp, name="arith.subi"):
    """out = lhs - rhs."""


class Multiplication(IntegerBinaryOp, traits=(Commutative,)):
    """A product."""

    signed_function = staticmethod(np.multiply)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        for constant, value in ((operands[1], self.lhs), (operands[0], self.rhs)):
            if is_every(constant, 0):
                return constant
            if is_every(constant, 1):
                return value
        return None


class MulIOp(Multiplication, OverflowOp, name="arith.muli"):
    """out = the low bits of lhs * rhs."""


def _shift(function: Callable[[Array, Array], Array], x: Array, by: Array, width: int) -> Array:
    past = by >= np.uint64(width)
    return np.where(past, x.dtype.type(0), function(x, np.where(past, np.uint64(0), by).astype(x.dtype)))


class _ShiftOp(IntegerBinaryOp):
    """Shifts by a number without a sign; by the width or more gives 0 (poison in MLIR)."""

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return self.lhs if is_every(operands[1], 0) else None


class LeftShift(_ShiftOp):
    """A shift to the left."""

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.out)
        return wrapped(_shift(np.left_shift, unsigned(x, width), unsigned(y, width), width), self.out)


class ShLIOp(LeftShift, OverflowOp, name="arith.shli"):
    """out = lhs << rhs."""


class ShRUIOp(_ShiftOp, name="arith.shrui"):
    """out = lhs >> rhs, filled with zeros."""

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.out)
        return wrapped(_shift(np.right_shift, unsigned(x, width), unsigned(y, width), width), self.out)


class ShRSIOp(_ShiftOp, name="arith.shrsi"):
    """out = lhs >> rhs, filled with the sign."""

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.out)
        return wrapped(_shift(np.right_shift, signed(x), unsigned(y, width), width), self.out)


class AndIOp(IntegerBinaryOp, name="arith.andi", traits=(Commutative,)):
    """out = lhs & rhs."""

    signed_function = staticmethod(np.bitwise_and)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        if self.lhs is self.rhs:
            return self.lhs
        for constant, value in ((operands[1], self.lhs), (operands[0], self.rhs)):
            if is_every(constant, 0):
                return constant
            if is_every(constant, -1):
                return value
        return None


class OrIOp(IntegerBinaryOp, name="arith.ori", traits=(Commutative,)):
    """out = lhs | rhs."""

    signed_function = staticmethod(np.bitwise_or)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        if self.lhs is self.rhs:
            return self.lhs
        for constant, value in ((operands[1], self.lhs), (operands[0], self.rhs)):
            if is_every(constant, -1):
                return constant
            if is_every(constant, 0):
                return value
        return None


class XOrIOp(IntegerBinaryOp, name="arith.xori", traits=(Commutative,)):
    """out = lhs ^ rhs."""

    signed_function = staticmethod(np.bitwise_xor)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        if self.lhs is self.rhs:
            return zero_like(self.out)
        return self.lhs if is_every(operands[1], 0) else self.rhs if is_every(operands[0], 0) else None


class MaxSIOp(IntegerBinaryOp, name="arith.maxsi", traits=(Commutative,)):
    """out = the larger of both as signed numbers."""

    signed_function = staticmethod(np.maximum)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return self.lhs if self.lhs is self.rhs else None


class MinSIOp(MaxSIOp, name="arith.minsi"):
    """out = the smaller of both as signed numbers."""

    signed_function = staticmethod(np.minimum)


class MaxUIOp(IntegerBinaryOp, name="arith.maxui", traits=(Commutative,)):
    """out = the larger of both as unsigned numbers."""

    unsigned_function = staticmethod(np.maximum)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return self.lhs if self.lhs is self.rhs else None


class MinUIOp(MaxUIOp, name="arith.minui"):
    """out = the smaller of both as unsigned numbers."""

    unsigned_function = staticmethod(np.minimum)


# --- divisions -------------------------------------------------------------------------------------------------------


class DivisionOp(IntegerBinaryOp, ConditionallySpeculatable, OperandDomains):
    """A quotient or a remainder. Evaluating fails where the divisor is 0."""

    overflows = False
    """Whether the least number divided by -1 fails too."""

    def operand_domains(self) -> Sequence[Domain]:
        return Domain(), Domain(without=frozenset({0, -1})) if self.overflows else NOT_ZERO

    def can_fail(self) -> bool:
        divisor = known_array(self.rhs)
        if divisor is None:
            return True
        return bool(np.any(signed(divisor) == 0)) or (self.overflows and bool(np.any(signed(divisor) == -1)))

    def compute(self, x: Array, y: Array) -> Any:
        if np.any(np.asarray(y) == 0):
            raise ZeroDivisionError("an integer is divided by 0")
        if self.overflows:
            least = -(1 << (width_of(self.out) - 1))
            if np.any((signed(x) == least) & (signed(y) == -1)):
                raise OverflowError(f"{least} divided by -1 does not fit")
        return super().compute(x, y)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return self.lhs if is_every(operands[1], 1) and computed_element(self.out) is not i1 else None


def _truncated(x: Array, y: Array) -> Array:
    quotient = x // y
    return quotient + ((quotient * y != x) & ((x < 0) != (y < 0)))


def _ceiling(x: Array, y: Array) -> Array:
    quotient = x // y
    return quotient + (quotient * y != x).astype(quotient.dtype)


def _signed_remainder(x: Array, y: Array) -> Array:
    minus_one = y == -1
    return np.where(minus_one, 0, np.fmod(x, np.where(minus_one, 1, y)))


_NOT_I1 = tuple((e, e) for e in INTEGERS if e is not i1)


class DivSIOp(DivisionOp, name="arith.divsi"):
    """out = lhs / rhs as signed numbers, rounded toward 0."""

    overflows = True
    sample_elements = _NOT_I1
    signed_function = staticmethod(_truncated)


class FloorDivSIOp(DivisionOp, name="arith.floordivsi"):
    """out = lhs / rhs as signed numbers, rounded down."""

    overflows = True
    sample_elements = _NOT_I1
    signed_function = staticmethod(np.floor_divide)


class CeilDivSIOp(DivisionOp, name="arith.ceildivsi"):
    """out = lhs / rhs as signed numbers, rounded up."""

    overflows = True
    sample_elements = _NOT_I1
    signed_function = staticmethod(_ceiling)


class DivUIOp(DivisionOp, name="arith.divui"):
    """out = lhs / rhs as unsigned numbers, rounded down."""

    unsigned_function = staticmethod(np.floor_divide)


class CeilDivUIOp(DivisionOp, name="arith.ceildivui"):
    """out = lhs / rhs as unsigned numbers, rounded up."""

    unsigned_function = staticmethod(_ceiling)


class _RemainderOp(DivisionOp):
    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        return zero_like(self.out) if is_every(operands[1], 1) else None


class RemSIOp(_RemainderOp, name="arith.remsi"):
    """out = the remainder of `divsi`, with the sign of lhs; by -1 it is 0."""

    signed_function = staticmethod(_signed_remainder)


class RemUIOp(_RemainderOp, name="arith.remui"):
    """out = the remainder of `divui`."""

    unsigned_function = staticmethod(np.remainder)


# --- both halves of a result -----------------------------------------------------------------------------------------


class AddUIExtendedOp(ArithOp, InferTypes, name="arith.addui_extended", traits=(Commutative,)):
    """out = lhs + rhs; overflow = whether it is more than the type holds as an unsigned number."""

    lhs: Operand = operand(signless_integer_like)
    rhs: Operand = operand(signless_integer_like)
    out: Result = result(signless_integer_like)
    overflow: Result = result(bool_like)

    assembly_format = "$lhs `,` $rhs attr-dict `:` shared-type($lhs, $rhs, $out) `,` type($overflow)"
    sample_elements = tuple((e, e) for e in INTEGERS)

    def infer_types(self) -> tuple[Type, ...]:
        same_type(self, self.lhs, self.rhs)
        return self.lhs.type, with_element(self.lhs.type, i1)

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.lhs)
        total = wrapped(signed(x) + signed(y), self.lhs)
        return total, unsigned(total, width) < unsigned(x, width)


class MulExtendedOp(ArithOp, InferTypes, traits=(Commutative,)):
    """low and high = the halves of lhs * rhs, which is twice as wide."""

    lhs: Operand = operand(signless_integer_like)
    rhs: Operand = operand(signless_integer_like)
    low: Result = result(signless_integer_like)
    high: Result = result(signless_integer_like)

    assembly_format = "$lhs `,` $rhs attr-dict `:` shared-type($lhs, $rhs, $low, $high)"
    sample_elements = tuple((e, e) for e in INTEGERS)

    def infer_types(self) -> tuple[Type, ...]:
        same_type(self, self.lhs, self.rhs)
        return self.lhs.type, self.lhs.type

    def halves(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Of the product of 64-bit numbers, exact."""
        width = width_of(self.lhs)
        product = np.asarray(x.astype(object) * y.astype(object), object)
        low, high = (np.asarray((product >> shift) & ((1 << width) - 1), np.uint64) for shift in (0, width))
        return wrapped(low, self.lhs), wrapped(high, self.lhs)


class MulSIExtendedOp(MulExtendedOp, name="arith.mulsi_extended"):
    """low and high = the halves of lhs * rhs as signed numbers."""

    def compute(self, x: Array, y: Array) -> Any:
        return self.halves(signed(x), signed(y))


class MulUIExtendedOp(MulExtendedOp, name="arith.mului_extended"):
    """low and high = the halves of lhs * rhs as unsigned numbers."""

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.lhs)
        return self.halves(unsigned(x, width), unsigned(y, width))
