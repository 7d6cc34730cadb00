"""Domains: which numbers an operand may hold, so that an operation evaluates without error.

Most operations take any number. Those that do not (an index, a divisor) say so through `OperandDomains`, so that inputs
can be drawn on which a whole program evaluates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Interface


@attrs.frozen
class Domain:
    """A set of whole numbers, or all numbers of a format.

    Attributes:
        low: the smallest number of a range; None for no bound.
        high: the largest number of the range, included; None for no bound.
        also: numbers that belong to it besides those of the range.
        without: numbers that do not belong to it.
    """

    low: int | None = None
    high: int | None = None
    also: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()

    @property
    def is_everything(self) -> bool:
        """Whether every number belongs to it, NaN included."""
        return self.low is None and self.high is None and not self.without

    def contains(self, array: NDArray[Any]) -> NDArray[np.bool_]:
        """For each number of an array, whether it belongs to the domain."""
        inside = np.ones(array.shape, np.bool_)
        if self.low is not None:
            inside &= array >= self.low
        if self.high is not None:
            inside &= array <= self.high
        for number in self.also:
            inside |= array == number
        for number in self.without:
            inside &= array != number
        return inside

    def meet(self, other: Domain) -> Domain:
        """The numbers that belong to both."""
        low = max((n for n in (self.low, other.low) if n is not None), default=None)
        high = min((n for n in (self.high, other.high) if n is not None), default=None)
        also = {n for n in self.also | other.also if self._has(n) and other._has(n)}
        return Domain(low, high, frozenset(also), self.without | other.without)

    def numbers(self, low: int, high: int, count: int = 8) -> tuple[int, ...]:
        """Up to `count` of its whole numbers from `low` to `high`, the range of a format: the smallest, and the rest of
        them from above. Empty when none of these belongs to it.
        """
        first = low if self.low is None else max(low, self.low)
        last = high if self.high is None else min(high, self.high)
        spread = [*range(first, min(first + count, last + 1)), *range(last, max(last - count, first - 1), -1)]
        near_zero = [n for n in (1, -1, 0, 2) if first <= n <= last]
        others = [n for n in sorted(self.also) if low <= n <= high]
        found = dict.fromkeys(n for n in (*near_zero, *spread[:1], *others, *spread) if n not in self.without)
        return tuple(found)[:count]

    def _has(self, number: int) -> bool:
        return bool(self.contains(np.asarray(number)))


ANYTHING: Final = Domain()
"""Every number of the format."""
NOT_ZERO: Final = Domain(without=frozenset({0}))
"""What an integer is divided by."""


def indices(extent: int) -> Domain:
    """The places along an axis of that extent, from 0; of a dynamic one, the first."""
    return Domain(0, max(extent, 1) - 1)


class OperandDomains(Interface):
    """An operation whose evaluation fails where operands hold other numbers than these."""

    __slots__ = ()

    @abstractmethod
    def operand_domains(self) -> Sequence[Domain]:
        """A domain for each operand."""
