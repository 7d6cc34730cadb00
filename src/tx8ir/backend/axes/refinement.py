"""Equal axes and equal products of axes: union-find over axes that split into factors.

Two chains of axes (outermost first) that enumerate the same positions in the same order are made equal factor by
factor from the innermost on. Where one factor divides the other, the larger one is split; where neither does, the
positions up to the least common product of both chains belong to no common axis and are never cut. This is how Shardy
refines factors through a reshape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import attrs

__all__ = ["Factor", "Refinement"]


@attrs.define(eq=False)
class Factor:
    """A class of equal axes, or a part of one; `parts`, outermost first, once it is split.

    `owners` are those of its axes: each has at most one in a class.
    """

    extent: int
    owners: set[Hashable]
    merged: Factor | None = None
    parts: tuple[Factor, ...] | None = None
    is_fixed: bool = False


class Refinement:
    """Axes, made equal step by step."""

    def axis(self, extent: int, owner: Hashable) -> Factor:
        """A new axis of `owner`. Two axes of one owner are never made equal: it iterates over both."""
        return Factor(extent, {owner})

    def chain(self, factors: Sequence[Factor]) -> list[Factor]:
        """The unsplit classes that a product of axes consists of, outermost first, without extents of 1."""
        found: list[Factor] = []
        stack = list(reversed(factors))
        while stack:
            factor = _root(stack.pop())
            if factor.parts is not None:
                stack.extend(reversed(factor.parts))
            elif factor.extent != 1:
                found.append(factor)
        return found

    def equate(self, a: Sequence[Factor], b: Sequence[Factor]) -> None:
        """Make two products of axes of equal extent the same positions, as far as owners allow.

        Raises:
            ValueError: the extents differ.
        """
        left, right = self.chain(a), self.chain(b)
        if math.prod(f.extent for f in left) != math.prod(f.extent for f in right):
            raise ValueError(f"{[f.extent for f in left]} and {[f.extent for f in right]} are products of other sizes")
        while left and right:
            x, y = _take(left), _take(right)  # the classes as they are now: unions and splits change chains
            if x is y:
                continue
            if x.extent == y.extent:
                _unite(x, y)
            elif y.extent % x.extent == 0:
                right.extend(_split(y, x.extent))
                left.append(x)
            elif x.extent % y.extent == 0:
                left.extend(_split(x, y.extent))
                right.append(y)
            else:
                _fix_common_product(left, right, x, y)

    def settle(self, chains: Callable[[], Sequence[Sequence[Factor]]]) -> None:
        """Fix every factor that lies inside a fixed one in a chain: a cut of it would be strided there."""
        changed = True
        while changed:
            changed = False
            for chain in chains():
                inside = False
                for factor in self.chain(chain):
                    if inside and not factor.is_fixed:
                        factor.is_fixed = changed = True
                    inside = inside or factor.is_fixed


def _root(factor: Factor) -> Factor:
    while factor.merged is not None:
        if factor.merged.merged is not None:
            factor.merged = factor.merged.merged
        factor = factor.merged
    return factor


def _take(chain: list[Factor]) -> Factor:
    """The innermost unsplit class of a chain, taken from it."""
    while True:
        factor = _root(chain.pop())
        if factor.parts is None:
            return factor
        chain.extend(factor.parts)


def _split(factor: Factor, inner: int) -> tuple[Factor, Factor]:
    """Split a class into an outer and an inner part of extent `inner`."""
    parts = tuple(
        Factor(extent, set(factor.owners), is_fixed=factor.is_fixed) for extent in (factor.extent // inner, inner)
    )
    factor.parts = parts
    return parts[0], parts[1]


def _unite(a: Factor, b: Factor) -> None:
    """Make two classes one, unless an owner has an axis in each."""
    large, small = (a, b) if len(a.owners) >= len(b.owners) else (b, a)
    if large.owners.isdisjoint(small.owners):
        small.merged = large
        large.owners |= small.owners
        large.is_fixed = large.is_fixed or small.is_fixed


def _fix_common_product(left: list[Factor], right: list[Factor], x: Factor, y: Factor) -> None:
    """Fix the inner factors of both chains up to a common product of theirs."""
    sides = [(left, x), (right, y)]
    taken = [x.extent, y.extent]
    for _, factor in sides:
        factor.is_fixed = True
    while taken[0] != taken[1]:
        side = 0 if taken[0] < taken[1] else 1
        chain = sides[side][0]
        need = math.lcm(taken[0], taken[1]) // taken[side]
        factor = _take(chain)
        if factor.extent > need and factor.extent % need == 0:
            outer, factor = _split(factor, need)
            chain.append(outer)
        factor.is_fixed = True
        taken[side] *= factor.extent
