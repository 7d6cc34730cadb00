"""Combination states: what parts of a reduced or scanned axis leave behind, and how two such states become one.

A state is a tuple of arrays. `init` is the state of no positions and `merge` is associative, so that parts may be
folded over time in one psum buffer, and over tiles in a tree (an all-reduce or a reduce-scatter). How a part makes its
state (`step`) and how the result follows from it (`finish`) belongs to the op: `Axes` in `interface`.

Sources: the online normaliser of softmax is Milakov and Gimelshein (2018), "Online normalizer calculation for
softmax"; merged moments are Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target.extrema import maximum, minimum
from tx8ir.target.formats import F32, F64, I32, I64, Format

__all__ = [
    "Array", "Combination", "Maximum", "Minimum", "Moments", "Normalizer", "State", "Sum", "accumulator",
]  # fmt: skip

Array: TypeAlias = NDArray[Any]
State: TypeAlias = tuple[Array, ...]


def accumulator(format: Format) -> Format:
    """The format in which sums of products of `format` are kept between parts: fp32, or int32 for one-byte integers.

    The neural engine multiplies no other integers; a reference evaluation of those sums in 64 bits.
    """
    if format.is_float:
        return F64 if format == F64 else F32
    return I32 if format.bits <= 8 else I64


class Combination(ABC):
    """The state of a reduced axis: its components, its neutral element, and how two states merge."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its components, as in `sum` or `(max, sum)`."""

    @property
    @abstractmethod
    def formats(self) -> tuple[Format, ...]:
        """The format of each component in memory."""

    @property
    def is_exact(self) -> bool:
        """Whether merging in another order gives the same bits."""
        return False

    @property
    def bits(self) -> int:
        """Bits of the state of one element of the result."""
        return sum(format.bits for format in self.formats)

    @abstractmethod
    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        """The neutral state: of no positions."""

    @abstractmethod
    def merge(self, a: State, b: State) -> State:
        """The state of the positions of both, those of `a` before those of `b`."""


@attrs.frozen
class Sum(Combination):
    """A sum in `format`."""

    format: Format

    @property
    def name(self) -> str:
        return "sum"

    @property
    def formats(self) -> tuple[Format, ...]:
        return (self.format,)

    @property
    def is_exact(self) -> bool:
        return self.format.is_integer

    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        return (np.zeros(shape, dtype),)

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0],)


@attrs.frozen
class _Extremum(Combination):
    format: Format

    @property
    def formats(self) -> tuple[Format, ...]:
        return (self.format,)

    @property
    def is_exact(self) -> bool:
        return True


@attrs.frozen
class Maximum(_Extremum):
    """The largest number, in the operand's format."""

    @property
    def name(self) -> str:
        return "max"

    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        return (np.full(shape, -np.inf if self.format.is_float else self.format.integer_range[0], dtype),)

    def merge(self, a: State, b: State) -> State:
        return (maximum(a[0], b[0]),)


@attrs.frozen
class Minimum(_Extremum):
    """The smallest number, in the operand's format."""

    @property
    def name(self) -> str:
        return "min"

    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        return (np.full(shape, np.inf if self.format.is_float else self.format.integer_range[1], dtype),)

    def merge(self, a: State, b: State) -> State:
        return (minimum(a[0], b[0]),)


@attrs.frozen
class Normalizer(Combination):
    """The largest number of a row and the sum of `exp(x - largest)`: softmax in one read."""

    format: Format = F32

    @property
    def name(self) -> str:
        return "(max, sum)"

    @property
    def formats(self) -> tuple[Format, ...]:
        return (self.format, self.format)

    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        return np.full(shape, -np.inf, dtype), np.zeros(shape, dtype)

    def merge(self, a: State, b: State) -> State:
        largest = np.maximum(a[0], b[0])
        scaled = [total * np.exp(np.where(most == largest, 0, most - largest)) for most, total in (a, b)]
        return largest, scaled[0] + scaled[1]


@attrs.frozen
class Moments(Combination):
    """The number of elements of a row, their mean, and the sum of squared distances from it."""

    format: Format = F32

    @property
    def name(self) -> str:
        return "(count, mean, M2)"

    @property
    def formats(self) -> tuple[Format, ...]:
        return (self.format,) * 3

    def init(self, shape: Sequence[int], dtype: np.dtype[Any]) -> State:
        return np.zeros(shape, dtype), np.zeros(shape, dtype), np.zeros(shape, dtype)

    def merge(self, a: State, b: State) -> State:
        (n, mean_a, m2_a), (m, mean_b, m2_b) = a, b
        count = n + m
        share = np.divide(m, count, out=np.zeros_like(count), where=count > 0)
        distance = mean_b - mean_a
        return count, mean_a + distance * share, m2_a + m2_b + distance * distance * n * share
