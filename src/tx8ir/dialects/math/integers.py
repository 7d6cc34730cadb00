"""Functions of signless integers and index."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tx8ir.core import (
    ConditionallySpeculatable,
    Operand,
    Result,
    SameOperandsAndResultType,
    i1,
    operand,
    result,
)
from tx8ir.dialects.arith.constants import known_array
from tx8ir.dialects.arith.declaration import INTEGERS, SHAPES, ArithOp, shaped, signless_integer_like, width_of
from tx8ir.dialects.arith.integers import Array, IntegerBinaryOp, signed, unsigned, wrapped
from tx8ir.dialects.domains import NOT_ZERO, Domain, OperandDomains
from tx8ir.dialects.samples import Sample


class IntegerUnaryOp(ArithOp, traits=(SameOperandsAndResultType,)):
    """A function of one integer."""

    x: Operand = operand(signless_integer_like)
    out: Result = result(signless_integer_like)

    assembly_format = "$x attr-dict `:` type($out)"

    @abstractmethod
    def count(self, n: int, width: int) -> int:
        """The function of the bits as a number without a sign, and of how many they are."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def compute(self, x: Array) -> Any:
        width = width_of(self.x)
        numbers = (self.count(int(n), width) for n in unsigned(x, width).ravel())
        return wrapped(np.fromiter(numbers, np.uint64, count=np.size(x)).reshape(np.shape(x)), self.out)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for shape in SHAPES:
            yield Sample(cls, (shaped(INTEGERS[0], shape),), {})
        for element in INTEGERS[1:]:
            yield Sample(cls, (element,), {})


class AbsIOp(IntegerUnaryOp, name="math.absi"):
    """out = |x| of the signed number x; the least number is its own.

    %1 = math.absi %0 : i32
    """

    def count(self, n: int, width: int) -> int:
        return (1 << width) - n if n >> (width - 1) else n


class CountLeadingZerosOp(IntegerUnaryOp, name="math.ctlz"):
    """out = how many bits are 0 from the highest on; the width of the type for 0.

    %1 = math.ctlz %0 : i32
    """

    def count(self, n: int, width: int) -> int:
        return width - n.bit_length()


class CountTrailingZerosOp(IntegerUnaryOp, name="math.cttz"):
    """out = how many bits are 0 from the lowest on; the width of the type for 0.

    %1 = math.cttz %0 : i32
    """

    def count(self, n: int, width: int) -> int:
        return (n & -n).bit_length() - 1 if n else width


class CtPopOp(IntegerUnaryOp, name="math.ctpop"):
    """out = how many bits are 1.

    %1 = math.ctpop %0 : i32
    """

    def count(self, n: int, width: int) -> int:
        return n.bit_count()


class IPowIOp(IntegerBinaryOp, ConditionallySpeculatable, OperandDomains, name="math.ipowi"):
    """out = the low bits of lhs to the power rhs, both signed; toward 0 where rhs is negative.

    Evaluating fails where 0 has a negative power, which is a division by 0.

        %2 = math.ipowi %0, %1 : i32
    """

    sample_elements = tuple((e, e) for e in INTEGERS if e is not i1)

    def operand_domains(self) -> Sequence[Domain]:
        return NOT_ZERO, Domain()

    def can_fail(self) -> bool:
        base, power = map(known_array, self.operands)
        if power is not None and not np.any(signed(power) < 0):
            return False
        return base is None or bool(np.any(base == 0))

    def compute(self, x: Array, y: Array) -> Any:
        width = width_of(self.out)
        pairs = zip(signed(x).ravel().tolist(), signed(y).ravel().tolist(), strict=True)
        numbers = (_power(base, power) % (1 << width) for base, power in pairs)
        return wrapped(np.fromiter(numbers, np.uint64, count=np.size(x)).reshape(np.shape(x)), self.out)


def _power(base: int, power: int) -> int:
    if power >= 0:
        return pow(base, power, 1 << 64)
    if base == 0:
        raise ZeroDivisionError("0 has a negative power")
    return 0 if abs(base) != 1 else base if power % 2 else 1
