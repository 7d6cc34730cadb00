"""Strata: numbered parts of the space of programs. The n-th plan of each is found without those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs

from tx8ir.core import Op
from tx8ir.dialects.samples import Sample

from .catalogue import Catalogue
from .pair_wirings import PAIRS, PairWiring, chain_2
from .wirings import ONE, Wiring

_TRIES: Final = 12
"""How many samples are tried for a wiring that may have no form for them."""

_FOR_SEVERAL_RESULTS: Final = PAIRS.index(chain_2)
"""Where the two wirings are that take several results. Few operations have these, and are tried there first."""


@attrs.frozen
class Plan:
    """A program to be: a wiring, the samples it takes, and the number by which it chooses."""

    wiring: Wiring | PairWiring
    samples: tuple[Sample, ...]
    turn: int


@attrs.frozen
class Stratum:
    """A part of the space.

    Attributes:
        size: how many places it has.
        plans: for a place, the plans to try there, of which the first that fits is its program.
    """

    size: int
    plans: Callable[[int], Iterator[Plan]]


def interleaved(*strata: Stratum | tuple[Stratum, int]) -> Stratum:
    """One place of each in turn, or as many as it comes with; the shorter ones end earlier."""
    weighted = [s if isinstance(s, tuple) else (s, 1) for s in strata]
    slots = [(s, weight, number) for s, weight in weighted for number in range(weight)]
    rounds = max((-(-s.size // weight) for s, weight in weighted), default=0)

    def plans(index: int) -> Iterator[Plan]:
        turn, slot = divmod(index, len(slots))
        stratum, weight, number = slots[slot]
        place = turn * weight + number
        return stratum.plans(place) if place < stratum.size else iter(())

    return Stratum(rounds * len(slots), plans)


def _from(samples: Sequence[Sample], start: int) -> Iterator[Sample]:
    """Up to so many as are tried, from a place on."""
    count = len(samples)
    return (samples[(start + i) % count] for i in range(min(count, _TRIES)))


def one_in_each_wiring(catalogue: Catalogue, ops: Sequence[type[Op]]) -> Stratum:
    """Each operation in each wiring of one operation, with the first sample that fits."""

    def plans(index: int) -> Iterator[Plan]:
        turn, op = divmod(index, len(ops))
        wiring = ONE[(turn + op * 7) % len(ONE)]  # each round of operations meets many wirings
        return (Plan(wiring, (s,), index) for s in _from(catalogue.samples(ops[op]), 0))

    return Stratum(len(ONE) * len(ops), plans)


def one_with_each_sample(catalogue: Catalogue, ops: Sequence[type[Op]]) -> Stratum:
    """Each sample of each operation, in a wiring after the other."""
    most = max((len(catalogue.samples(op)) for op in ops), default=0)

    def plans(index: int) -> Iterator[Plan]:
        number, which = divmod(index, len(ops))
        samples = catalogue.samples(ops[which])
        if number >= len(samples):
            return iter(())
        first = number * 7 + which
        wirings = (ONE[(first + i) % len(ONE)] for i in range(len(ONE)))
        return (Plan(wiring, (samples[number],), number) for wiring in wirings)

    return Stratum(most * len(ops), plans)


def one_with_everything(catalogue: Catalogue, ops: Sequence[type[Op]]) -> Stratum:
    """Each sample of each operation in each wiring of one operation."""
    most = max((len(catalogue.samples(op)) for op in ops), default=0)

    def plans(index: int) -> Iterator[Plan]:
        rest, which = divmod(index, len(ops))
        number, wiring = divmod(rest, len(ONE))
        samples = catalogue.samples(ops[which])
        if number < len(samples):
            yield Plan(ONE[wiring], (samples[number],), number)

    return Stratum(most * len(ONE) * len(ops), plans)


def _may_have_several_results(op: type[Op]) -> bool:
    results = op.definition.results
    return len(results) > 1 or any(field.count == "many" for field in results)


def each_in_each_pair_wiring(catalogue: Catalogue, ops: Sequence[type[Op]]) -> Stratum:
    """Each operation as the first and as the second of a pair in each wiring, with one other or the other."""
    count = len(ops)
    with_several = [i for i, op in enumerate(ops) if _may_have_several_results(op)]
    several = {i: _FOR_SEVERAL_RESULTS + number % 2 for number, i in enumerate(with_several)}

    def plans(index: int) -> Iterator[Plan]:
        rest, role = divmod(index, 2)
        turn, which = divmod(rest, count)
        first = several[which] if which in several else which * 7
        wiring = (turn + first) % len(PAIRS)
        for step in range(4):
            other = (which * 7 + wiring * 11 + step * 5 + role) % count
            pair = (ops[which], ops[other]) if role == 0 else (ops[other], ops[which])
            yield from _pairs(catalogue, PAIRS[wiring], pair, turn, index)

    return Stratum(2 * len(PAIRS) * count, plans)


def each_pair(catalogue: Catalogue, first: Sequence[type[Op]], second: Sequence[type[Op]]) -> Stratum:
    """Each pair of operations, in a wiring after the other."""

    def plans(index: int) -> Iterator[Plan]:
        a, b = divmod(index, len(second))
        for step in range(4):
            wiring = PAIRS[(index + a + step * 5) % len(PAIRS)]
            yield from _pairs(catalogue, wiring, (first[a], second[b]), index, index)

    return Stratum(len(first) * len(second), plans)


def each_pair_in_each_wiring(
    catalogue: Catalogue, first: Sequence[type[Op]], second: Sequence[type[Op]], start: int = 0
) -> Stratum:
    """Each pair of operations in each wiring, with samples that fit, from a place on."""

    def plans(index: int) -> Iterator[Plan]:
        wiring, rest = divmod(index, len(first) * len(second))
        a, b = divmod(rest, len(second))
        return _pairs(catalogue, PAIRS[wiring], (first[a], second[b]), start * (a + b + wiring), index)

    return Stratum(len(PAIRS) * len(first) * len(second), plans)


def pairs_with_everything(catalogue: Catalogue, first: Sequence[type[Op]], second: Sequence[type[Op]]) -> Stratum:
    """Each pair of samples in each wiring: the whole space of two operations."""
    most = max((len(catalogue.samples(op)) for op in (*first, *second)), default=0)

    def plans(index: int) -> Iterator[Plan]:
        rest, pair = divmod(index, len(first) * len(second))
        numbers, wiring = divmod(rest, len(PAIRS))
        i, j = divmod(numbers, most)
        a, b = divmod(pair, len(second))
        s, t = catalogue.samples(first[a]), catalogue.samples(second[b])
        if i < len(s) and j < len(t):
            yield Plan(PAIRS[wiring], (s[i], t[j]), i + j)

    return Stratum(most * most * len(PAIRS) * len(first) * len(second), plans)


def _pairs(
    catalogue: Catalogue, wiring: PairWiring, ops: tuple[type[Op], type[Op]], start: int, turn: int
) -> Iterator[Plan]:
    """Plans with samples of both from a place on: first the first of one with all of the other that are tried."""
    first, second = (catalogue.samples(op) for op in ops)
    for number, s in enumerate(_from(first, start)):
        for t in _from(second, start) if number < 2 else _from(second, start + number):
            yield Plan(wiring, (s, t), turn)
            if number >= 2:
                break
