"""The enumeration: plans of all strata in order, made into programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from tx8ir.core import Op, Program
from tx8ir.dialects.samples import Sample
from tx8ir.testing.guidance.direction import ANYTHING, Direction

from . import strata
from .catalogue import Catalogue, features_of
from .draft import Draft, Unfit
from .pair_wirings import PairWiring
from .strata import Plan, Stratum
from .wirings import Wiring, may_take


@attrs.frozen(order=True)
class Position:
    """A place in the enumeration.

    Attributes:
        stratum: which part of the space.
        index: which place there.
    """

    stratum: int = 0
    index: int = 0


@attrs.frozen(eq=False)
class Candidate:
    """A program of the enumeration.

    Attributes:
        program: valid, and evaluated without error on the inputs that `draw_inputs` draws.
        ops: the names of the operations it is about, one or two.
        wiring: how they stand in it.
        features: what it shows: operations, wirings, attributes, element types, ranks, and which of them together.
        position: the place after it, from which the enumeration goes on.
    """

    program: Program
    ops: tuple[str, ...]
    wiring: str
    features: frozenset[str]
    position: Position


def programs(
    direction: Direction = ANYTHING, *, start: Position | None = None, ops: Sequence[type[Op]] | None = None
) -> Iterator[Candidate]:
    """All programs of one and two operations over the samples, lazily, in the same order every time.

    What has not been shown comes first: each operation in each wiring and each of its samples, then each pair of
    operations, each pair in each wiring, and last the product of all samples and wirings, of which those before are a
    part; so a program may come twice.

    With operations in `direction`, programs of these come first: all of one, all pairs inside the set in every wiring,
    then those of one of the set and any other.

    Args:
        direction: what to look at first.
        start: where to go on: the `position` of the last candidate seen. From the beginning by default.
        ops: the operations that programs are made of; by default all shipped ones that have samples.
    """
    catalogue = Catalogue(direction, ops)
    place = start or Position()
    for number, stratum in enumerate(_strata(catalogue)):
        if number < place.stratum:
            continue
        for index in range(place.index if number == place.stratum else 0, stratum.size):
            for plan in stratum.plans(index):
                program = program_of(plan.wiring, *plan.samples, turn=plan.turn, numbers=direction.numbers)
                if program is not None:
                    yield _candidate(plan, program, Position(number, index + 1))
                    break


def _strata(catalogue: Catalogue) -> Sequence[Stratum]:
    near, all_ = catalogue.near, catalogue.ops
    directed = [
        strata.interleaved(
            strata.one_in_each_wiring(catalogue, near),
            strata.one_with_each_sample(catalogue, near),
            strata.each_pair_in_each_wiring(catalogue, near, near),
        ),
        strata.interleaved(
            strata.each_pair_in_each_wiring(catalogue, near, all_),
            strata.each_pair_in_each_wiring(catalogue, all_, near),
            strata.one_with_everything(catalogue, near),
            strata.each_pair_in_each_wiring(catalogue, near, near, 1),
        ),
    ]
    return [
        *directed,  # empty without operations in the direction
        strata.interleaved(
            (strata.one_with_each_sample(catalogue, all_), 2),
            strata.one_in_each_wiring(catalogue, all_),
            strata.each_in_each_pair_wiring(catalogue, all_),
        ),
        strata.each_pair(catalogue, all_, all_),
        strata.interleaved(
            strata.each_pair_in_each_wiring(catalogue, all_, all_, 1),
            strata.one_with_everything(catalogue, all_),
        ),
        strata.pairs_with_everything(catalogue, all_, all_),
    ]


def program_of(
    wiring: Wiring | PairWiring, *samples: Sample, turn: int = 0, numbers: tuple[float, ...] = ()
) -> Program | None:
    """The program in which operations of samples stand so; None where the wiring has no form for them.

    Args:
        wiring: one of `ONE` for one sample, of `PAIRS` for two.
        samples: what the operations take.
        turn: the number by which the wiring chooses where it has a choice.
        numbers: what constants that are one number may be, besides those of their element type.
    """
    if not may_take(wiring, samples):
        return None
    draft = Draft(numbers)
    try:
        with draft.writing():
            wiring(draft, *samples, turn)  # pyright: ignore[reportCallIssue]  # as many as it takes
        return draft.finish()
    except Unfit:
        return None


def _candidate(plan: Plan, program: Program, position: Position) -> Candidate:
    names = tuple(s.op.name for s in plan.samples)
    wiring = plan.wiring.__name__
    found = {f"wiring {wiring}", *(f"{name} in {wiring}" for name in names)}
    if len(names) == 2:
        found |= {f"{names[0]} then {names[1]}", f"{names[0]} then {names[1]} in {wiring}"}
    return Candidate(program, names, wiring, frozenset(found.union(*map(features_of, plan.samples))), position)
