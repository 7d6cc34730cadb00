"""Ranges of integers, and `InferIntRange`: which range an operation's results are in, given those of its operands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from .interfaces import Interface

if TYPE_CHECKING:
    from .block import Region


@attrs.frozen
class IntRange:
    """What is known of integers of some bits: bounds as signed numbers and, of the same bits, as unsigned ones.

    A tensor has one range for all its elements. After MLIR's ConstantIntRanges.

    Attributes:
        width: bits, at least 1.
        smin, smax: bounds as signed numbers in two's complement, both included.
        umin, umax: bounds as unsigned numbers, both included.
    """

    width: int
    smin: int
    smax: int
    umin: int
    umax: int

    @classmethod
    def full(cls, width: int) -> IntRange:
        """All integers of some bits."""
        half = 1 << (width - 1)
        return cls(width, -half, half - 1, 0, 2 * half - 1)

    @classmethod
    def wrapped(cls, width: int, low: int, high: int) -> IntRange:
        """The low bits of the whole numbers from `low` to `high`, both included."""
        half, size = 1 << (width - 1), 1 << width
        if high - low >= size - 1:
            return cls.full(width)
        smin, smax = ((n + half) % size - half for n in (low, high))
        umin, umax = low % size, high % size
        signed = (smin, smax) if smin <= smax else (-half, half - 1)
        unsigned = (umin, umax) if umin <= umax else (0, size - 1)
        return cls(width, *signed, *unsigned)

    @classmethod
    def constant(cls, width: int, number: int) -> IntRange:
        """One number, signed or unsigned."""
        return cls.wrapped(width, number, number)

    @property
    def as_constant(self) -> int | None:
        """The one number, signed, that is left; None when there are more."""
        return self.smin if self.smin == self.smax else None

    @property
    def is_full(self) -> bool:
        """Whether nothing is known."""
        return self == IntRange.full(self.width)

    def join(self, other: IntRange) -> IntRange:
        """A range around both; this very range when the other one is in it."""
        smin, smax = min(self.smin, other.smin), max(self.smax, other.smax)
        umin, umax = min(self.umin, other.umin), max(self.umax, other.umax)
        if (smin, smax, umin, umax) == (self.smin, self.smax, self.umin, self.umax):
            return self
        return IntRange(self.width, smin, smax, umin, umax)

    def meet(self, other: IntRange) -> IntRange:
        """What is in both, of which each holds of the same numbers."""
        smin, smax = max(self.smin, other.smin), min(self.smax, other.smax)
        umin, umax = max(self.umin, other.umin), min(self.umax, other.umax)
        if smin > smax or umin > umax:  # no such number: the operation never runs, or what was said is not so
            return self
        return IntRange(self.width, smin, smax, umin, umax)._tightened()

    def _tightened(self) -> IntRange:
        """Each of the two views with what the other one says, where that is without a break."""
        smin, smax, umin, umax = self.smin, self.smax, self.umin, self.umax
        size = 1 << self.width
        if smin >= 0 or smax < 0:
            umin, umax = max(umin, smin % size), min(umax, smax % size)
        if umax < size // 2 or umin >= size // 2:
            wrap = 0 if umax < size // 2 else size
            smin, smax = max(smin, umin - wrap), min(smax, umax - wrap)
        if smin > smax or umin > umax:
            return self
        return IntRange(self.width, smin, smax, umin, umax)

    def contains(self, number: int) -> bool:
        """Whether a number, signed or unsigned, may be in it."""
        size = 1 << self.width
        unsigned = number % size
        signed = unsigned - size if unsigned >= size // 2 else unsigned
        return self.smin <= signed <= self.smax and self.umin <= unsigned <= self.umax

    def __str__(self) -> str:
        shown = f"[{self.smin}, {self.smax}]"
        return (
            shown
            if (self.umin, self.umax) == (self.smin, self.smax)
            else f"{shown} unsigned [{self.umin}, {self.umax}]"
        )


class InferIntRange(Interface):
    """Says in which ranges results are, where operands are in given ones."""

    __slots__ = ()

    @abstractmethod
    def infer_ranges(self, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
        """For each result the range of its elements; None for one that holds no integers, or may be any.

        It must grow with the ranges of the operands.

        Args:
            operands: the ranges of the operands, None for one that holds no integers.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def argument_ranges(self, region: Region, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
        """The same for the first arguments of a region, which the operation makes itself: the counter of a loop."""
        return ()
