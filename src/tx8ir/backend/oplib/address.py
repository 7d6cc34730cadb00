"""Addresses that follow loops: what a kernel is given for the slices of a pipelined program.

A kernel adds offsets to the addresses of its tensors and knows nothing of loops. An `Address` is the integer of the
first trip and keeps, through such additions, how it moves with the trips.
"""

from __future__ import annotations

import attrs

__all__ = ["Address", "Term"]


@attrs.frozen
class Term:
    """`stride * t` bytes, with `t` the counter of a repeat plus `phase`, modulo `modulo` where that is not 0.

    Attributes:
        repeat: the repeats around count from the outermost, 0.
    """

    repeat: int
    stride: int
    modulo: int = 0
    phase: int = 0


class Address(int):
    """The address in the first trip of all repeats around, and the terms that the trips add to it."""

    terms: tuple[Term, ...]

    def __new__(cls, first: int, terms: tuple[Term, ...] = ()) -> Address:
        made = super().__new__(cls, first)
        made.terms = terms
        return made

    def __add__(self, offset: int) -> Address:
        return Address(int(self) + offset, self.terms)

    __radd__ = __add__

    def __sub__(self, offset: int) -> Address:
        return Address(int(self) - offset, self.terms)
