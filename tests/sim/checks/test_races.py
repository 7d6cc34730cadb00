"""Cross-tile races in DDR are found, exactly where a model that keeps every byte finds them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tx8ir.core import parse
from tx8ir.dialects.tx8 import Access, MemorySpace
from tx8ir.sim import SimError, Simulator
from tx8ir.sim.checks.races import RaceDetector, shared_bytes
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import ByteStore, Memory
from tx8ir.target.chip import TX8

SIZE = 64
BASE = TX8.ddr_base


@st.composite
def accesses(draw: st.DrawFn) -> Any:
    """(tiles, access) to 64 bytes of scratch DDR, or (tiles, None) for a barrier."""
    tiles = tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1))))
    if draw(st.integers(0, 3)) == 0:
        return tiles, None
    nbytes = draw(st.integers(1, 4))
    walk = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9)), max_size=2))
    access = Access("ddr", MemorySpace.DDR, draw(st.booleans()), (BASE,), nbytes, tuple(walk))
    last = SIZE - access.extent
    at = draw(st.lists(st.integers(0, last), min_size=len(tiles), max_size=len(tiles)))
    return tiles, Access("ddr", MemorySpace.DDR, access.writes, tuple(BASE + a for a in at), nbytes, tuple(walk))


def bytes_of(access: Access, position: int) -> set[int]:
    start = access.addresses[position]
    return {
        start + sum(i * s for i, (_, s) in zip(index, access.walk, strict=True)) + byte
        for index in itertools.product(*(range(n) for n, _ in access.walk))
        for byte in range(access.nbytes)
    }


def record(detector: RaceDetector, memory: Memory, access: Access, tiles: tuple[int, ...], index: int) -> None:
    for shared in shared_bytes(memory.place(access, tiles)):
        detector.access(shared, index)


def first_race(stream: list[Any]) -> int | None:
    """Position of the first access that races, by vector clocks over single bytes."""
    clocks = {t: dict.fromkeys(range(TX8.tiles), 0) for t in range(TX8.tiles)}
    past: list[tuple[int, int, bool, set[int]]] = []  # tile, its time, writes, bytes
    for number, (tiles, access) in enumerate(stream):
        if access is None:
            for t in tiles:
                clocks[t][t] += 1
            joined = {u: max(clocks[t][u] for t in tiles) for u in range(TX8.tiles)}
            for t in tiles:
                clocks[t] = dict(joined)
            continue
        for i, t in enumerate(tiles):
            mine = bytes_of(access, i)
            for tile, time, wrote, touched in past:
                if tile != t and (wrote or access.writes) and mine & touched and clocks[t][tile] <= time:
                    return number
            past.append((t, clocks[t][t], access.writes, mine))
    return None


@given(st.lists(accesses(), min_size=1, max_size=8))
@settings(max_examples=300)
def test_races_are_those_of_the_model(stream: list[Any]) -> None:
    memory = Memory(TX8, [ByteStore("scratch", BASE, SIZE, "scratch")])
    detector = RaceDetector(TX8.tiles)
    found = None
    for number, (tiles, access) in enumerate(stream):
        if access is None:
            detector.barrier(tiles)
            continue
        try:
            record(detector, memory, access, tiles, number)
        except Fault:
            found = number
            break
    assert found == first_race(stream)


def test_barriers_order_through_a_third_tile() -> None:
    memory = Memory(TX8, [ByteStore("scratch", BASE, SIZE, "scratch")])
    for barriers, races in (([(0, 1), (1, 2)], False), ([(1, 2), (0, 1)], True), ([(0, 1)], True)):
        detector = RaceDetector(TX8.tiles)
        record(detector, memory, write(0), (0,), 0)
        for tiles in barriers:
            detector.barrier(tiles)
        if races:
            with pytest.raises(Fault, match="tile 2 reads DDR byte 0x280000000, which tile 0 wrote"):
                record(detector, memory, write(0, writes=False), (2,), 1)
        else:
            record(detector, memory, write(0, writes=False), (2,), 1)


def write(*addresses: int, writes: bool = True, nbytes: int = 4, walk: Any = ()) -> Access:
    return Access("ddr", MemorySpace.DDR, writes, tuple(BASE + a for a in addresses), nbytes, walk)


def test_a_race_names_both_instructions_the_tile_and_the_byte() -> None:
    memory = Memory(TX8, [ByteStore("scratch", BASE, SIZE, "scratch")])
    detector = RaceDetector(TX8.tiles)
    record(detector, memory, write(0, 8), (2, 3), 0)
    message = (
        "race: tile 7 reads DDR byte 0x280000008, which tile 3 wrote in instruction 0, "
        "with no barrier or message between them"
    )
    with pytest.raises(Fault) as caught:
        record(detector, memory, write(4, writes=False, nbytes=8), (7,), 5)
    assert caught.value.message == message
    assert (caught.value.tile, caught.value.addresses) == (7, (BASE + 8, BASE + 9))


def test_interleaved_columns_do_not_race_but_one_byte_too_many_does() -> None:
    memory = Memory(TX8, [ByteStore("scratch", BASE, SIZE, "scratch")])
    tiles = (0, 1, 2, 3)
    columns = write(0, 4, 8, 12, walk=((4, 16),))
    record(RaceDetector(TX8.tiles), memory, columns, tiles, 0)
    wider = write(0, 4, 8, 12, nbytes=5, walk=((3, 16),))
    message = "race: tile 0 writes DDR byte 0x280000004, which another tile writes in the same instruction"
    with pytest.raises(Fault, match=message):
        record(RaceDetector(TX8.tiles), memory, wider, tiles, 0)


# Tile 0 writes 64 bytes of scratch, then both tiles read them.
EXCHANGE = """
module {
  "tx8.program"() ({
    "tx8.segment"() {name = "scratch", address = 10737418240, size = 64, kind = "scratch"} : () -> ()
    "tx8.memset"() {tiles = array<i64: 0>, dst = array<i64: 65536>, count = 16, format = "f32", value = 1} : () -> ()
    "tx8.wdma"() {tiles = array<i64: 0>, spm = array<i64: 65536>, ddr = array<i64: 10737418240>, element_bytes = 4,
                  count = 16, source = "producer"} : () -> ()
    "tx8.barrier"() {tiles = array<i64: 0, 1>} : () -> ()
    "tx8.rdma"() {tiles = array<i64: 0, 1>, spm = array<i64: 66560>, ddr = array<i64: 10737418240>, element_bytes = 4,
                  count = 16, source = "consumer"} : () -> ()
  }) : () -> ()
}
"""


def test_tiles_exchange_data_through_ddr_only_across_a_barrier() -> None:
    program = parse(EXCHANGE)
    program.verify()
    simulator = Simulator(program)
    simulator.run({})
    scratchpads = simulator.memory.spm.data.reshape(TX8.tiles, -1)
    assert (scratchpads[:2, 66560 : 66560 + 64].view("u4") == 1).all()

    without = "\n".join(line for line in EXCHANGE.splitlines() if "tx8.barrier" not in line)
    message = r'instruction 2 \(tx8.rdma from "consumer"\): race: tile 1 reads DDR byte 0x280000000, which tile 0 wrote'
    with pytest.raises(SimError, match=message):
        Simulator(parse(without)).run({})
    with pytest.raises(SimError, match="race: tile 1 reads"):
        Simulator(parse(EXCHANGE.replace("tiles = array<i64: 0, 1>} : ()", "tiles = array<i64: 0, 2>} : ()"))).run({})
    Simulator(parse(without), checks=False).run({})


def test_tiles_that_store_to_one_address_race() -> None:
    text = EXCHANGE.replace("tiles = array<i64: 0>", "tiles = array<i64: 0, 1>")
    with pytest.raises(SimError, match=r"tx8.wdma .* which another tile writes in the same instruction"):
        Simulator(parse(text)).run({})
