"""The clock: engines overlap, conflicts and barriers wait, and times equal a plain model that remembers everything."""

from __future__ import annotations

from typing import Any
from unittest import mock

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tx8ir.dialects import tx8
from tx8ir.sim.clock import ENGINES, Clock, Footprint, footprint
from tx8ir.target import cost
from tx8ir.target.chip import BOARD, TX8, Engine


@st.composite
def streams(draw: st.DrawFn) -> list[Any]:
    """Instructions (engine, tiles, cycles, accesses) and barriers (tiles,); few tiles and bytes, so that they meet."""
    stream: list[Any] = []
    for _ in range(draw(st.integers(1, 40))):
        tiles = tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1))))
        if draw(st.integers(0, 9)) == 0:
            stream.append((draw(st.sampled_from((tiles, tuple(range(TX8.tiles))))),))
            continue
        accesses = draw(
            st.lists(
                st.tuples(
                    st.booleans(),
                    st.lists(
                        st.tuples(st.integers(0, 30), st.integers(1, 8)), min_size=len(tiles), max_size=len(tiles)
                    ),
                ),
                max_size=3,
            )
        )
        intervals = [(writes, [(low, low + size) for low, size in pairs]) for writes, pairs in accesses]
        cycles = draw(
            st.one_of(st.integers(0, 50), st.lists(st.integers(0, 50), min_size=len(tiles), max_size=len(tiles)))
        )
        stream.append((draw(st.sampled_from(ENGINES)), tiles, cycles, intervals))
    return stream


def bytes_of(intervals: list[Any], tiles: tuple[int, ...]) -> Footprint:
    """The footprint of accesses (writes, [(first byte, end) per tile])."""
    accesses = [(writes, [low for low, _ in pairs], [high for _, high in pairs]) for writes, pairs in intervals]
    return footprint(accesses, np.array(tiles), TX8.tiles)


def model(stream: list[Any], issue: int, barrier: int) -> tuple[int, dict[tuple[int, Engine], int]]:
    """The end of the last instruction, and when each engine of each tile is free, from the rule as it is written."""
    free = {(t, e): 0 for t in range(TX8.tiles) for e in ENGINES}
    issued = dict.fromkeys(range(TX8.tiles), 0)
    past: list[tuple[int, bool, int, int, int]] = []  # tile, writes, low, high, end
    for item in stream:
        if len(item) == 1:
            for t in item[0]:
                issued[t] += issue
            together = max(max(issued[t], *(free[t, e] for e in ENGINES)) for t in item[0]) + barrier
            for t in item[0]:
                issued[t] = together
                free.update({(t, e): together for e in ENGINES})
            continue
        engine, tiles, cycles, intervals = item
        for i, t in enumerate(tiles):
            issued[t] += issue
            start = max(issued[t], free[t, engine])
            mine = [(writes, *pairs[i]) for writes, pairs in intervals]
            for tile, wrote, low, high, end in past:
                if tile == t and any((w or wrote) and lo < high and low < hi for w, lo, hi in mine):
                    start = max(start, end)
            end = start + (cycles[i] if isinstance(cycles, list) else cycles)
            free[t, engine] = end
            past += [(t, w, lo, hi, end) for w, lo, hi in mine]
    return max(*free.values(), *issued.values()), free


@given(streams(), st.sampled_from((0, 7)))
@settings(max_examples=100)
def test_times_equal_the_rule(stream: list[Any], issue: int) -> None:
    target = attrs.evolve(TX8, profile=attrs.evolve(TX8.profile, issue_cycles=issue, barrier_cycles=11))
    with mock.patch("tx8ir.sim.clock._FIRST_LIMIT", 4):  # accesses are swept after every few instructions
        clock = Clock(target)
    for _ in range(3):  # long enough that old accesses are forgotten
        for item in stream:
            if len(item) == 1:
                clock.barrier(np.array(item[0]))
            else:
                engine, tiles, cycles, intervals = item
                clock.run(engine, np.array(tiles), np.array(cycles), bytes_of(intervals, tiles))
    now, free = model(stream * 3, issue, 11)
    assert clock.now == now
    assert {(t, e): clock.free[i, t] for i, e in enumerate(ENGINES) for t in range(TX8.tiles)} == free


def test_a_barrier_of_other_tiles_forgets_no_conflict() -> None:
    """What a barrier lets the clock forget is only what cannot hold back anything any more."""
    clock = Clock(TX8)
    others = np.arange(1, TX8.tiles)
    tile = np.array([0])

    def bytes_at_0(writes: bool) -> Footprint:
        return footprint([(writes, 0, 8)], tile, TX8.tiles)

    clock.run(Engine.CT, tile, 1000, bytes_at_0(writes=True))
    clock.run(Engine.NE, tile, 10, bytes_at_0(writes=False))  # waits for the write, and covers its bytes
    clock.barrier(others)
    clock.run(Engine.TDMA, tile, 5, bytes_at_0(writes=False))
    assert clock.free[ENGINES.index(Engine.TDMA), 0] == 1005

    clock = Clock(TX8)
    clock.run(Engine.CT, tile, 1000, bytes_at_0(writes=True))
    for engine in set(Engine) - {Engine.CT}:
        clock.run(engine, tile, cost.barrier(TX8), footprint([], tile, TX8.tiles))
    clock.barrier(others)  # now no engine of the chip is free before the barrier's end
    clock.run(Engine.NE, tile, 10, bytes_at_0(writes=False))
    assert clock.free[ENGINES.index(Engine.NE), 0] == 1010


def copies(tools: Any, *, second_reads: int) -> Any:
    """A TDMA of 4 KiB into `a`, then work of another engine that reads 4 KiB at `a + second_reads`."""
    bench = tools.Bench((0,))
    src, (a,) = bench.put(np.zeros((1, 4096), np.uint8)), bench.put(np.zeros((1, 8192), np.uint8))
    dst = bench.room(4096)
    bench.do(tx8.tdma, src=src, dst=(a,), segment_bytes=4096)
    bench.do(tx8.unary, function="abs", src=(a + second_reads,), dst=dst, count=1024, format="f32")
    return bench


def test_engines_overlap_unless_their_bytes_conflict(tools: Any) -> None:
    def cycles(second_reads: int) -> int:
        bench = copies(tools, second_reads=second_reads)
        bench.run()
        return bench.report.cycles

    t, c = cost.tdma(TX8, 4096), cost.ct(TX8, 4096)
    dependent, independent = cycles(4092), cycles(4096)
    assert dependent - independent == min(t, c)


def test_the_board_profile_adds_the_time_to_issue(tools: Any) -> None:
    bench = tools.Bench((0, 1))
    src = bench.put_array(np.zeros((2, 64), np.float32))
    for _ in range(5):
        bench.do(tx8.unary, function="abs", src=src, dst=src, count=64, format="f32")
    bench.get(src, 256)
    bench.run(attrs.evolve(TX8, profile=BOARD))
    report = bench.report
    assert report.cycles >= report.instructions * 1000
    assert report.instructions == 7


def test_a_barrier_joins_the_tiles_it_names(tools: Any) -> None:
    clock = Clock(TX8)
    nothing = footprint([], (0,), TX8.tiles)
    clock.run(Engine.CT, np.array([0]), 1000, nothing)
    clock.barrier(np.array([0, 1]))
    clock.run(Engine.NE, np.array([1]), 10, nothing)
    assert clock.now == 1000 + cost.barrier(TX8) + 10
    clock.run(Engine.NE, np.array([2]), 10, nothing)
    assert clock.busy[list(ENGINES).index(Engine.NE)].tolist() == [0, 10, 10] + [0] * 13


def test_report_adds_up_by_engine_path_and_source(tools: Any) -> None:
    bench = tools.Bench((0, 1, 2, 3))
    src, dst = bench.put_array(np.zeros((4, 64), np.float32)), bench.room(256)
    bench.do(tx8.unary, function="abs", src=src, dst=dst, count=64, format="f32", source="first")
    bench.do(tx8.unary, function="exp", src=dst, dst=dst, count=64, format="f32", source="second")
    bench.do(tx8.tdma, src=dst, dst=src, segment_bytes=256, source="second")
    bench.do(tx8.barrier)
    bench.get(src, 256)
    bench.run()
    report = bench.report
    assert report.instructions == 6
    assert report.bytes == {"DDR to SPM": 1024, "SPM to DDR": 1024, "SPM to SPM": 1024}
    ct, tdma, dma = cost.ct(TX8, 256), cost.tdma(TX8, 256), cost.dma(TX8, 256)
    assert report.cycles_by_engine["CT"] == 2 * ct
    assert report.cycles_by_engine["TDMA"] == tdma
    assert report.cycles_by_engine["NE"] == 0
    inside = cost.dma(TX8, 256, 256)  # the transfer of tile 0 starts at a bank, those of the others inside
    assert inside > dma
    assert report.cycles == 2 * inside + 2 * ct + tdma + cost.barrier(TX8)
    assert report.utilisation["CT"] == pytest.approx(2 * ct * 4 / (16 * report.cycles))
    assert [(r.source, r.instructions, r.cycles, r.bytes) for r in report.by_source] == [
        ("(no source)", 3, 2 * inside, 2048),
        ("first", 1, ct, 0),
        ("second", 2, ct + tdma, 1024),
    ]
    assert report.microseconds == report.cycles / 1000


def test_report_reads_as_text_and_as_html(tools: Any, golden: Any) -> None:
    bench = tools.Bench((0, 1))
    src = bench.put_array(np.zeros((2, 64), np.float32))
    bench.do(tx8.unary, function="abs", src=src, dst=src, count=64, format="f32", source="a < b")
    bench.get(src, 256)
    bench.run()
    report = bench.report
    golden(str(report), "sim/report.txt")
    html = report._repr_html_()
    assert '<td style="text-align:left">a &lt; b</td>' in html
    assert html.count("<table>") == html.count("</table>") == 4
