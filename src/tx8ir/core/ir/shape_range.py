"""Ranges of the extents of tensors, and `InferShapeRange`: what an operation makes of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tx8ir.core.attrs.types import DYNAMIC

from .interfaces import Interface


class Extents(NamedTuple):
    """The extents that one dimension may have.

    Attributes:
        low: the least one, 0 or more.
        high: the greatest one, included; None: there is no bound.
    """

    low: int
    high: int | None

    @classmethod
    def of(cls, extent: int) -> Extents:
        """Those of a dimension of a type: one, or any where it is dynamic."""
        return cls(0, None) if extent == DYNAMIC else cls(extent, extent)

    def join(self, other: Extents) -> Extents:
        """Those that either may be."""
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Extents(min(self.low, other.low), high)

    def meet(self, other: Extents) -> Extents:
        """Those that both may be; these very ones when none is."""
        highs = [h for h in (self.high, other.high) if h is not None]
        low, high = max(self.low, other.low), min(highs) if highs else None
        return self if high is not None and low > high else Extents(low, high)

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}..{'' if self.high is None else self.high}"


ShapeRange: TypeAlias = tuple[Extents, ...]
"""The extents of each dimension of a tensor."""


class InferShapeRange(Interface):
    """Says which extents results have, where operands have given ones."""

    __slots__ = ()

    @abstractmethod
    def infer_shapes(self, operands: Sequence[ShapeRange | None]) -> Sequence[ShapeRange | None]:
        """For each result its extents, of its rank; None for one of which nothing is known but its type.

        They must grow with those of the operands.

        Args:
            operands: the extents of the operands, None for one that is not a tensor.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it
