"""Numbers that depend on the trips of loops: `constant + sum(factor * trip)`, and trips modulo a number of buffers."""

from __future__ import annotations

from typing import TypeAlias

import attrs
import numpy as np

from tx8ir.dialects.tx8 import LoopOp

from .errors import KernelError


@attrs.frozen
class Term:
    """`factor * (trip + phase)`, or with a modulo `factor * ((trip + phase) mod modulo)`, of the trip of a loop."""

    loop: LoopOp = attrs.field(eq=id)
    factor: int
    modulo: int = 0
    phase: int = 0


@attrs.frozen
class Affine:
    """`constant` plus terms. Sums, products with integers, and one trip modulo a number are affine again."""

    constant: int = 0
    terms: tuple[Term, ...] = ()

    @classmethod
    def of(cls, value: Number) -> Affine:
        """A number as an affine one."""
        return value if isinstance(value, Affine) else Affine(value)

    def __add__(self, other: Number) -> Affine:
        other = Affine.of(other)
        return Affine(self.constant + other.constant, self.terms + other.terms)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Affine:
        return self + Affine.of(other) * -1

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, tuple(attrs.evolve(t, factor=t.factor * factor) for t in self.terms))

    __rmul__ = __mul__

    def __mod__(self, modulo: int) -> Affine:
        """`(trip + phase) mod modulo`, which is all that an address can follow. Raises KernelError for others."""
        if len(self.terms) == 1 and self.constant >= 0:
            (term,) = self.terms
            if term.factor == 1 and not term.modulo:
                return Affine(0, (Term(term.loop, 1, modulo, self.constant + term.phase),))
        raise KernelError("only a trip, or a trip plus a number that is not negative, can be taken modulo a number")

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest value over all trips."""
        by_loop: dict[int, tuple[LoopOp, list[tuple[int, int, int]]]] = {}
        loops = {id(term.loop): term.loop for term in self.terms}
        for (loop, modulo, phase), factor in _folded(self.terms).items():
            by_loop.setdefault(loop, (loops[loop], []))[1].append((factor, modulo, phase))
        low = high = self.constant
        for loop, parts in by_loop.values():
            if len(parts) == 1 and not parts[0][1]:
                factor, _, phase = parts[0]
                values = factor * np.array([phase, phase + loop.count - 1])
            else:
                values = np.zeros(loop.count, np.int64)
                for factor, modulo, phase in parts:
                    trips = np.arange(phase, phase + loop.count)
                    values += factor * (trips % modulo if modulo else trips)
            low, high = low + int(values.min()), high + int(values.max())
        return low, high

    def distance(self, other: Affine) -> int | None:
        """`self - other` if that does not depend on trips."""
        mine, others = _folded(self.terms), _folded(other.terms)
        return self.constant - other.constant if mine == others else None


Number: TypeAlias = "int | Affine"


def trip_of(loop: LoopOp) -> Affine:
    """The trip of a loop, 0 in the first."""
    return Affine(0, (Term(loop, 1),))


def _folded(terms: tuple[Term, ...]) -> dict[tuple[int, int, int], int]:
    sums: dict[tuple[int, int, int], int] = {}
    for term in terms:
        key = (id(term.loop), term.modulo, term.phase)
        sums[key] = sums.get(key, 0) + term.factor
    return {key: factor for key, factor in sums.items() if factor}
