"""The vector unit's element-wise arithmetic: unary functions, and binary ones in the forms VV, VS, VuV and VuV_loop.

All of them run over `count` elements of one floating-point format that lie densely: on a channel-blocked tensor over
its physical elements. The result is rounded once, to the format; `rounding` is the mode of that rounding
(`target.rounding.Rounding`), and what is beyond the range of the format goes where the mode says. add, sub, mul, div,
square, recip, sqrt and leakyrelu are the exact result, so rounded; the other functions are within 2 ulp of it. An exact
zero is +0, but -0 when a sum is rounded down (IEEE 754). NaN propagates, subnormals are kept.
"""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target.chip import Engine, Target
from tx8ir.target.rounding import Rounding
from tx8ir.target.vector_functions import UNARY, unary_names, vector_function

from .access import Access
from .instruction import FLOATS, Instruction, PerTile, format_bytes, spm_access

UNARY_FUNCTIONS = tuple(function.name for function in UNARY)
UNARY_WITH_ALPHA = tuple(function.name for function in UNARY if function.takes_alpha)
RELATIONS = ("eq", "ne", "ge", "gt", "le", "lt")
LOGIC = ("and", "or", "xor")
BINARY_FUNCTIONS = ("max", "min", "add", "sub", "mul", "div", *RELATIONS, *LOGIC)

UNIT_BLOCK = 64
"""Elements of the unit vector of one VuV_loop step: the channel block [S]."""


class ElementwiseOp(Instruction):
    """Base of the element-wise instructions."""

    engine: ClassVar[Engine | None] = Engine.CT

    dst: PerTile = attribute(doc="SPM address of the result")
    count: int = attribute(doc="elements, at least 1")
    format: str = attribute(doc="f32, f16, bf16 or tf32")
    rounding: int = attribute(default=0, doc="0 nearest even, 1 toward zero, 2 up, 3 down, 4 stochastic")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, FLOATS)
        self.require_range("count", self.count, 1)
        self.require_range("rounding", self.rounding, 0, max(Rounding))

    def _vector(self, operand: str, addresses: PerTile, count: int, *, writes: bool = False) -> Access:
        return spm_access(operand, addresses, count * format_bytes(self.format), writes=writes, format=self.format)


class UnaryOp(ElementwiseOp, name="tx8.unary"):
    __doc__ = f"""`dst[i] = function(src[i])` for `i < count`.

    {"; ".join(f"{function.name}: {function.formula}" for function in UNARY)}.
    """

    function: str = attribute(doc=" ".join(UNARY_FUNCTIONS))
    src: PerTile = attribute(doc="SPM address of the operand")
    alpha: float | None = attribute(default=None, doc=f"a number of {' and '.join(UNARY_WITH_ALPHA)}; else absent")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("function", self.function, unary_names())
        needed = vector_function(self.function).takes_alpha
        self.require(
            (self.alpha is not None) == needed,
            f"alpha is {self.alpha}; {self.function} {'needs a value' if needed else 'takes none'}",
        )

    def effects(self) -> tuple[Access, ...]:
        return self._vector("src", self.src, self.count), self._vector("dst", self.dst, self.count, writes=True)


class BinaryOp(ElementwiseOp):
    """Base of the binary forms.

    Relations give 1.0 or 0.0; with a NaN all but ne are 0.0. `packed` makes that one bit for each element, eight to a
    byte, the first in the lowest bit, and the unused bits of the last byte zero. Logic takes every value but zero (a
    NaN too) as true and gives 1.0 or 0.0; on packed bits it is `tx8.bit_logic`. max and min give NaN for a NaN, and +0
    is larger than -0.
    """

    function: str = attribute(doc="max min add sub mul div, relations eq ne ge gt le lt, logic and or xor")
    packed: bool = attribute(default=False, doc="relations: dst is packed bits")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("function", self.function, BINARY_FUNCTIONS)
        self.require(
            not self.packed or self.function in RELATIONS,
            f"packed is set; {self.function} is not a relation ({', '.join(RELATIONS)}) and gives values",
        )

    def _result(self, count: int) -> Access:
        if self.packed:
            return spm_access("dst", self.dst, -(-count // 8), writes=True, format="i1")
        return self._vector("dst", self.dst, count, writes=True)


class BinaryVVOp(BinaryOp, name="tx8.binary_vv"):
    """`dst[i] = lhs[i] op rhs[i]` for `i < count`."""

    lhs: PerTile = attribute(doc="SPM address of the left operand")
    rhs: PerTile = attribute(doc="SPM address of the right operand")

    def effects(self) -> tuple[Access, ...]:
        return (
            self._vector("lhs", self.lhs, self.count),
            self._vector("rhs", self.rhs, self.count),
            self._result(self.count),
        )


class BinaryVSOp(BinaryOp, name="tx8.binary_vs"):
    """`dst[i] = src[i] op scalar` for `i < count`; `scalar` holds the raw bits of a number of the format."""

    src: PerTile = attribute(doc="SPM address of the left operand")
    scalar: int = attribute(doc="the right operand: raw bits, 0..2^16-1 or 0..2^32-1 by the format")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_range("scalar", self.scalar, 0, (1 << 8 * format_bytes(self.format)) - 1)

    def effects(self) -> tuple[Access, ...]:
        return self._vector("src", self.src, self.count), self._result(self.count)


class BinaryVuVOp(BinaryOp, name="tx8.binary_vuv"):
    """`dst[i] = src[i] op unit[i % unit_count]` for `i < count`."""

    src: PerTile = attribute(doc="SPM address of the left operand")
    unit: PerTile = attribute(doc="SPM address of the unit vector")
    unit_count: int = attribute(doc="elements of the unit vector, 1..count; 64 in vuv_loop")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_range("unit_count", self.unit_count, 1, self.count)

    def effects(self) -> tuple[Access, ...]:
        return (
            self._vector("src", self.src, self.count),
            self._vector("unit", self.unit, self.unit_count),
            self._result(self.count),
        )


class BinaryVuVLoopOp(BinaryVuVOp, name="tx8.binary_vuv_loop"):
    """VuV over channel blocks: with n = `count` and u = `unit_count` = 64,

        dst[j*n + i] = src[j*n + i] op unit[j*u + i % u]   for i < n and j < full_count / n

    where `full_count / full_unit_count == count / unit_count`. A tail of fewer channels than a block is one more VuV.
    """

    full_count: int = attribute(doc="elements of src and dst, a positive multiple of count")
    full_unit_count: int = attribute(doc="elements of unit, a multiple of unit_count")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        n, u = self.count, self.unit_count
        self.require(u == UNIT_BLOCK, f"unit_count is {u}; expected {UNIT_BLOCK}, the channel block")
        self.require(n % u == 0, f"count is {n}; expected a multiple of unit_count {u}")
        self.require_range("full_count", self.full_count, n)
        self.require(self.full_count % n == 0, f"full_count is {self.full_count}; expected a multiple of count {n}")
        self.require(
            self.full_count * u == self.full_unit_count * n,
            f"full_unit_count is {self.full_unit_count}; expected {self.full_count // n * u}, so that "
            "full_count / full_unit_count == count / unit_count",
        )

    def effects(self) -> tuple[Access, ...]:
        return (
            self._vector("src", self.src, self.full_count),
            self._vector("unit", self.unit, self.full_unit_count),
            self._result(self.full_count),
        )
