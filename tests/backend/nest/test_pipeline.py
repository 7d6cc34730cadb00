"""The pipelined program of a nest: every iteration of every stage once, in an order that buffers and sums allow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.nest.choice import Level
from tx8ir.backend.nest.pipeline import Node, Repeat, Slot, pipelined
from tx8ir.backend.nest.stages import Place, Stage

Done = tuple[Stage, str, tuple[int, ...]]


def unrolled(nodes: Sequence[Node], counters: tuple[int, ...] = ()) -> Iterator[Done]:
    """What happens, one after the other: the stage, its phase, and its iteration."""
    for node in nodes:
        if isinstance(node, Repeat):
            for trip in range(node.times):
                yield from unrolled(node.body, (*counters, trip))
        else:
            yield from ((slot.stage, slot.phase, iteration(slot, counters)) for slot in node.slots)


def iteration(slot: Slot, counters: Sequence[int]) -> tuple[int, ...]:
    return tuple(first + (counters[repeat] if repeat >= 0 else 0) for repeat, first in slot.at)[: slot.stage.depth]


LEVELS = st.lists(st.builds(Level, st.just(0), st.integers(2, 6), st.booleans()), min_size=1, max_size=3).map(tuple)


@given(LEVELS, st.integers(0, 2), st.data())
def test_a_sum_of_loads_ahead(levels: tuple[Level, ...], ahead: int, data: st.DataObject) -> None:
    trips = [level.trips for level in levels]
    depth, outer = len(levels), data.draw(st.integers(0, len(levels)))
    load = Stage("load", "ld", 0, depth, Place.INSIDE, ahead)
    early = Stage("load", "ld", 1, outer, Place.INSIDE if outer == depth else Place.BEFORE)
    add = Stage("compute", "ne", 0, depth, Place.INSIDE, combined=(depth - 1,))
    store = Stage("store", "st", 0, depth - 1, Place.AFTER)
    stages = (early, add, load, store) if ahead else (early, load, add, store)
    done = list(unrolled(pipelined(levels, stages)))
    for stage in stages:
        iterations = [at for found, _, at in done if found == stage]
        assert iterations == list(itertools.product(*map(range, trips[: stage.depth])))
    place = {(stage, at): i for i, (stage, _, at) in enumerate(done)}
    adds = [at for stage, _, at in done if stage == add]
    for number, at in enumerate(adds):
        assert place[load, at] < place[add, at]
        assert place[early, at[:outer]] < place[add, at]
        if number > ahead:  # the buffer has been read
            assert place[add, adds[number - ahead - 1]] < place[load, at]
    for stage, phase, at in done:
        if stage == add:
            assert phase == ("first" if at[-1] == 0 else "last" if at[-1] == trips[-1] - 1 else "next")
        if stage == store:
            assert place[add, (*at, trips[-1] - 1)] < place[store, at]


@given(st.integers(2, 5), st.integers(2, 6))
def test_two_passes(rows: int, chunks: int) -> None:
    levels = (Level(0, rows), Level(-1, 2), Level(1, chunks))
    load = Stage("load", "ld", 0, 3, Place.INSIDE, 1)
    gather = Stage("compute", "ct", 0, 3, Place.INSIDE, combined=(2,), gives=False, only=(1, 0))
    merge = Stage("merge", "dte", 0, 2, Place.AFTER, only=(1, 0))
    finish = Stage("compute", "ct", 0, 3, Place.INSIDE, phase="finish", only=(1, 1))
    store = Stage("store", "st", 0, 3, Place.INSIDE, only=(1, 1))
    done = [entry for entry in unrolled(pipelined(levels, (gather, finish, load, merge, store))) if entry[0] != load]
    expected: list[tuple[Stage, str, tuple[int, ...]]] = []
    for row in range(rows):
        expected += [(gather, "next" if c else "first", (row, 0, c)) for c in range(chunks)]
        expected.append((merge, "", (row, 0)))
        for c in range(chunks):
            expected += [(finish, "finish", (row, 1, c)), (store, "", (row, 1, c))]
    assert done == expected


def test_the_program_has_the_size_of_the_nest() -> None:
    def nodes(found: Sequence[Node]) -> int:
        return sum(1 + (nodes(node.body) if isinstance(node, Repeat) else 0) for node in found)

    stages = (
        Stage("compute", "ne", 0, 3, Place.INSIDE, combined=(2,)),
        Stage("load", "ld", 0, 3, Place.INSIDE, 2),
        Stage("store", "st", 0, 2, Place.AFTER),
    )
    small, large = (
        pipelined(tuple(Level(0, trips) for trips in found), stages) for found in ((6, 6, 6), (64, 100, 4096))
    )
    assert nodes(small) == nodes(large) < 50
